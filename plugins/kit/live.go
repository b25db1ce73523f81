package kit

// This file holds the live Space: what a plugin under development makes of messages that are really there.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"plexus/graph"
	"plexus/graph/store"
	"plexus/plugins"
	"plexus/sdk/abi"
)

// Live is a copy of a Space, in memory.
type Live struct {
	log   *graph.Log
	space *graph.Space
}

// OpenLive reads a Space's export. Everybody in it may speak, so what a revoked Node said is shown too; roles and kinds
// aren't known.
func OpenLive(ctx context.Context, car io.Reader) (*Live, error) {
	log, err := graph.OpenLog(store.Memory(), graph.LogOptions{Rights: &stage{}})
	if err != nil {
		return nil, err
	}
	space, _, err := log.Import(ctx, car)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return &Live{log, space}, nil
}

// Close drops the copy.
func (l *Live) Close() error { return l.log.Close() }

// Snapshot is what a plugin made of the Space.
type Snapshot struct {
	Plugin  string            `json:"plugin"`
	Version string            `json:"version"`
	Folded  int               `json:"folded"`
	Marked  map[string]string `json:"marked"` // message → reason
	Gas     int64             `json:"gas"`
	MostGas int64             `json:"most_gas"`
	Seconds float64           `json:"seconds"`
	Hash    string            `json:"hash"`
	Logs    []string          `json:"logs,omitempty"`
	Views   []ViewAnswer      `json:"views"`
}

// ViewAnswer is one view, or why there is none.
type ViewAnswer struct {
	View    string          `json:"view"`
	Answer  json.RawMessage `json:"answer,omitempty"`
	Refused string          `json:"refused,omitempty"`
}

// Ask is a view to be looked at; Name "" is every view that needs no parameters.
type Ask struct {
	Name   string
	Params json.RawMessage
}

// Fold folds the Space with every plugin of a file and asks views.
func (l *Live) Fold(ctx context.Context, f *File, ask Ask) ([]Snapshot, error) {
	byName := map[string]*Snapshot{}
	names := f.Plugins()
	for _, name := range names {
		byName[name] = &Snapshot{Plugin: name, Version: f.plugin(name).Version, Marked: map[string]string{}, Views: []ViewAnswer{}}
	}
	start := time.Now()
	try, err := f.bench.Try(ctx, l.log, plugins.TryOptions{Observer: func(o plugins.Folded) { byName[o.Plugin].note(o) }})
	if err != nil {
		return nil, err
	}
	defer try.Close()
	if err := try.Settle(ctx); err != nil {
		return nil, err
	}
	took := time.Since(start).Seconds()
	var out []Snapshot
	for _, name := range names {
		s := byName[name]
		s.Seconds = took
		if s.Hash, err = try.Hash(ctx, l.space.ID(), name); err != nil {
			return nil, err
		}
		for _, v := range f.plugin(name).Views {
			if ask.Name != "" && ask.Name != v.Name || ask.Name == "" && NeedsParams(v) {
				continue
			}
			a := ViewAnswer{View: v.Name}
			if a.Answer, err = try.View(ctx, l.space.ID(), name, v.Name, ask.Params, graph.NodeID{}); err != nil {
				a.Refused = err.Error()
			}
			s.Views = append(s.Views, a)
		}
		out = append(out, *s)
	}
	return out, nil
}

func (s *Snapshot) note(f plugins.Folded) {
	s.Folded++
	s.Gas += f.Gas
	s.MostGas = max(s.MostGas, f.Gas)
	s.Logs = append(s.Logs, f.Logs...)
	if f.Reason != "" {
		s.Marked[f.Message.String()] = f.Reason
	}
}

// NeedsParams says whether a view's schema requires some.
func NeedsParams(v abi.Command) bool {
	var schema struct{ Required []string }
	return json.Unmarshal(v.Params, &schema) == nil && len(schema.Required) > 0
}
