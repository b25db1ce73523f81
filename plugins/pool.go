package plugins

// This file holds the instances of a file: one for folds, a few for views.

import "context"

// folder returns the instance for folds, fresh. Only Run's goroutine folds.
func (f *file) folder(ctx context.Context) (*instance, error) {
	if f.fold != nil && f.fold.reset() {
		return f.fold, nil
	}
	if f.fold != nil {
		f.fold.close(ctx)
		f.fold = nil
	}
	var err error
	f.fold, err = f.instantiate(context.WithoutCancel(ctx))
	return f.fold, err
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
