package plugins

// This file holds messages that come to be taken late: the fold had refused one when it arrived, and takes it now that the past has
// changed. A reaction is asked about these again.

import (
	"context"
	"errors"

	"plexus/graph"
)

// refuse notes a message that the fold has marked, and that the log is read so far. Where too many wait, the oldest is given up.
func (a *reactor) refuse(k graph.Key, at graph.Pos) error {
	records := a.host.records
	key := a.record(kindRefused, orderKey(0, k)[1:])
	ops := []graph.Op{a.moved(at), {Kind: graph.Set, Key: key, Value: []byte{1}}}
	switch _, err := records.Get(key); {
	case err == nil:
		return records.ApplyNoSync(ops[0])
	case !errors.Is(err, graph.ErrNotFound):
		return err
	}
	if a.refused >= maxRefused {
		oldest, err := a.refusedKeys(1)
		if err != nil {
			return err
		}
		for _, k := range oldest {
			ops = append([]graph.Op{{Kind: graph.Del, Key: a.record(kindRefused, orderKey(0, k)[1:])}}, ops...)
			a.refused--
		}
	}
	a.refused++
	return records.ApplyNoSync(ops...)
}

func (a *reactor) countRefused() (int, error) {
	keys, err := a.refusedKeys(maxRefused)
	return len(keys), err
}

// refusedKeys are the first n of those that wait, in canonical order.
func (a *reactor) refusedKeys(n int) (out []graph.Key, err error) {
	lo := a.record(kindRefused, "")
	hi := a.record(kindRefused+1, "")
	for kv, err := range a.host.records.Scan(lo, hi, false) {
		if err != nil {
			return nil, err
		}
		if k, ok := readOrder(kv.Key[len(lo):]); ok {
			out = append(out, k)
		}
		if len(out) == n {
			break
		}
	}
	return out, nil
}

// again reacts to what the fold had refused and takes now.
func (a *reactor) again(ctx context.Context) error {
	if a.refused == 0 {
		return nil
	}
	sp, s, err := a.host.current(ctx, a.space.ID(), a.plugin)
	if errors.Is(err, graph.ErrUnavailable) {
		return nil // the next turn looks
	}
	if err != nil {
		return err
	}
	now, _ := a.host.outlook(slotKey{a.space.ID(), a.plugin})
	if now.same(a.looked) {
		return nil
	}
	keys, err := a.refusedKeys(maxRefused)
	for _, k := range keys {
		if err == nil {
			err = a.againOne(ctx, sp, s, k)
		}
	}
	if errors.Is(err, graph.ErrUnavailable) {
		return nil
	}
	if err == nil {
		a.looked = now
	}
	return err
}

func (a *reactor) againOne(ctx context.Context, sp *spec, s *slot, k graph.Key) error {
	folded, marked, err := a.host.outcome(s, k)
	if err != nil || !folded || marked {
		return err
	}
	m, ok, err := visible(a.space, k.ID)
	if err != nil || !ok {
		return err
	}
	in, err := a.input(&m, "", true)
	if err != nil {
		return err
	}
	gone := graph.Op{Kind: graph.Del, Key: a.record(kindRefused, orderKey(0, k)[1:])}
	if err := a.call(ctx, sp, s, in, "m"+m.ID.String(), gone); err != nil {
		return err
	}
	a.refused--
	return nil
}
