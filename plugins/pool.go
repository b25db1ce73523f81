package plugins

// This file holds the instances of a file: one of a Host for folds, a few for views.

import (
	"context"

	"plexus/graph"
)

// folder returns what folds for a file: its instance, fresh. It is Run's. An error is the file's fault, and stays: it isn't tried again.
func (h *Host) folder(ctx context.Context, f *file) (runner, error) {
	switch {
	case h.config.native != nil:
		return h.config.native, nil
	case h.config.Astray != nil:
		i, err := h.instance(ctx, f)
		return stray{i, h.config.Astray}, err
	}
	return h.instance(ctx, f)
}

// stray is a guest whose folds go wrong now and then.
type stray struct {
	*instance
	wrong func(plugin string, message graph.ID) (reason string)
}

func (s stray) run(ctx context.Context, export string, c *call) (outcome, error) {
	out, err := s.instance.run(ctx, export, c)
	w := c.world.(*foldWorld)
	if why := s.wrong(w.slot.plugin().plugin.Name, w.current); why != "" && err == nil && out.reason == "" {
		out = outcome{why, true}
	}
	return out, err
}

func (h *Host) instance(ctx context.Context, f *file) (*instance, error) {
	if err := h.stillborn[f]; err != nil {
		return nil, err
	}
	i := h.folders[f]
	if i != nil && i.reset() {
		return i, nil
	}
	if i != nil {
		i.close(ctx)
		delete(h.folders, f)
	}
	i, err := f.instantiate(context.WithoutCancel(ctx))
	if err != nil {
		h.stillborn[f] = err
		return nil, err
	}
	h.folders[f] = i
	return i, nil
}

// borrow returns a fresh instance for a view; it waits where too many run.
func (f *file) borrow(ctx context.Context) (*instance, error) {
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case i := <-f.pool:
		if i.reset() {
			return i, nil
		}
		i.close(ctx)
	default:
	}
	i, err := f.instantiate(context.WithoutCancel(ctx))
	if err != nil {
		<-f.slots
	}
	return i, err
}

// giveBack takes an instance back; what was borrowed longest ago is kept.
func (f *file) giveBack(ctx context.Context, i *instance) {
	select {
	case f.pool <- i:
	default:
		i.close(ctx)
	}
	<-f.slots
}
