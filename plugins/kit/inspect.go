package kit

// This file holds the look into a file.

import (
	"cmp"
	"context"
	"slices"

	"plexus/plugins"
	"plexus/sdk/abi"
)

// Inspection is what a file says and does.
type Inspection struct {
	File     string            `json:"file"` // CID
	Bytes    int               `json:"bytes"`
	ABI      int               `json:"abi"`
	Plugins  []abi.Plugin      `json:"plugins"` // their limits as they hold
	Imports  []string          `json:"imports"`
	Grants   []string          `json:"grants"`   // effects whose functions it imports
	Sections map[string]int    `json:"sections"` // bytes
	Traces   []TraceInspection `json:"traces"`
}

// TraceInspection is a golden trace, replayed.
type TraceInspection struct {
	Plugin   string           `json:"plugin"`
	Messages int              `json:"messages"`
	Hash     string           `json:"hash"`
	Total    int64            `json:"gas"`
	Most     int64            `json:"most_gas"` // of one message
	Gas      map[string]int64 `json:"gas_of"`
	Differ   []string         `json:"differs,omitempty"` // from what it wants
}

// Inspect checks a file as a node would and replays its golden traces.
func Inspect(ctx context.Context, wasm []byte) (*Inspection, error) {
	f, err := Open(ctx, wasm, false)
	if err != nil {
		return nil, err
	}
	defer f.Close(ctx)
	sections, err := plugins.Sections(wasm)
	if err != nil {
		return nil, err
	}
	in := &Inspection{
		File: f.bench.CID(), Bytes: len(wasm), ABI: f.bench.Manifest().ABI, Plugins: f.bench.Manifest().Plugins,
		Imports: f.bench.Imports(), Grants: f.bench.Grants(), Sections: map[string]int{}, Traces: []TraceInspection{},
	}
	in.Plugins = slices.Clone(in.Plugins)
	for i := range in.Plugins {
		l := &in.Plugins[i].Limits
		*l = abi.Limits{Gas: cmp.Or(l.Gas, abi.Gas), MemoryPages: cmp.Or(l.MemoryPages, abi.MemoryPages)}
	}
	if in.Grants == nil {
		in.Grants = []string{}
	}
	for name, b := range sections {
		in.Sections[name] = len(b)
	}
	traces, err := f.Traces()
	if err != nil {
		return nil, err
	}
	for _, name := range f.Plugins() {
		t := traces[name]
		if t == nil {
			continue
		}
		o, err := f.Replay(ctx, name, t)
		if err != nil {
			return nil, err
		}
		ti := TraceInspection{Plugin: name, Messages: len(t.Messages), Hash: o.Hash, Gas: o.Gas, Differ: o.Differ}
		for _, g := range o.Gas {
			ti.Total += g
			ti.Most = max(ti.Most, g)
		}
		in.Traces = append(in.Traces, ti)
	}
	return in, nil
}
