package plugins

// This file holds what waits for a Node over all Spaces, as the plugins' own views say it.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"plexus/graph"
)

// Waiting is what waits for a Node in one Space, by one plugin's view. Items are as the view gives them; More: it has more.
type Waiting struct {
	Space        graph.ID
	Plugin, View string
	Items        []json.RawMessage
	More         bool
}

// Waiting asks every view that its manifest says lists what waits for a Node, in every Space where its plugin has folded something, by Space
// and plugin. One that can't answer is left out and told in err, beside the others.
func (h *Host) Waiting(ctx context.Context, node graph.NodeID) (out []Waiting, err error) {
	params, err := json.Marshal(map[string]string{"node": node.String()})
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, w := range h.waitingViews() {
		answer, err := h.View(ctx, w.Space, w.Plugin, w.View, params, node)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err == nil {
			w.Items, w.More, err = listOf(answer)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("view %s of %s in space %s: %w", w.View, w.Plugin, w.Space, err))
		} else if len(w.Items) > 0 {
			out = append(out, w)
		}
	}
	return out, errors.Join(errs...)
}

// waitingViews are the views to ask, without items.
func (h *Host) waitingViews() (out []Waiting) {
	h.state.RLock()
	defer h.state.RUnlock()
	for k, s := range h.slots {
		if s.pub.meta.Folded == 0 && s.pub.settled {
			continue
		}
		for _, v := range s.pub.spec.plugin.Views {
			if v.Waits {
				out = append(out, Waiting{Space: k.space, Plugin: k.name, View: v.Name})
			}
		}
	}
	slices.SortFunc(out, func(a, b Waiting) int {
		return cmp.Or(a.Space.Compare(b.Space), cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.View, b.View))
	})
	return out
}

// nextPage is the field by which a view says that there is more.
const nextPage = "next"

// listOf takes the one list out of a view's answer, and whether there is a next page.
func listOf(answer json.RawMessage) (items []json.RawMessage, more bool, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(answer, &fields); err != nil {
		return nil, false, fmt.Errorf("its answer is no object: %w", graph.ErrInvalid)
	}
	lists := 0
	for name, v := range fields {
		switch {
		case name == nextPage:
			more = true
		case len(v) > 0 && v[0] == '[':
			if lists++; json.Unmarshal(v, &items) != nil || lists > 1 {
				return nil, false, fmt.Errorf("its answer isn't one list: %w", graph.ErrInvalid)
			}
		}
	}
	return items, more, nil
}
