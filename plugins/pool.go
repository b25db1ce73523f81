package plugins

// This file holds the instances of a file: one of a Host for folds, a few for views.

import "context"

// folder returns what folds for a file: its instance, fresh. It is Run's. An error is the file's fault, and stays: it isn't tried again.
func (h *Host) folder(ctx context.Context, f *file) (runner, error) {
	if h.config.native != nil {
		return h.config.native, nil
	}
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
