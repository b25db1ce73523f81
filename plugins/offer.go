package plugins

// This file holds what plugins offer over many Spaces, and how those who list it learn that it may have changed.

import (
	"cmp"
	"context"
	"slices"

	"plexus/graph"
)

// Offer is a plugin that runs in a Space, with its commands.
type Offer struct {
	Space    graph.ID
	Plugin   string
	File     string // CID
	Commands []Action
}

// Offers lists the plugins with commands that run in some Spaces, by name and Space. It waits, as View does, for them to be compiled, and not for their state.
func (h *Host) Offers(ctx context.Context, spaces map[graph.ID]bool) []Offer {
	h.wait(ctx, func() bool {
		for id := range spaces {
			if !h.listed[id] {
				return false
			}
		}
		return true
	})
	h.state.RLock()
	defer h.state.RUnlock()
	var out []Offer
	for k, s := range h.slots {
		if spaces[k.space] && len(s.pub.spec.plugin.Commands) > 0 {
			out = append(out, Offer{k.space, k.name, s.pub.spec.file.cid, s.pub.spec.plugin.Commands})
		}
	}
	slices.SortFunc(out, func(a, b Offer) int {
		return cmp.Or(cmp.Compare(a.Plugin, b.Plugin), a.Space.Compare(b.Space))
	})
	return out
}

// Changed is closed with the next commit: of folds, pins, or whatever else the log has brought.
func (h *Host) Changed() <-chan struct{} { return h.change() }
