package graph

// This file holds the walk along refs.messages.

import (
	"cmp"
	"context"
	"slices"
)

// Related returns the visible related subgraph of a message along refs.messages, in arrival order, paged. A void message is left
// out and not passed through. The cost is that of the whole subgraph (about 100 bytes of memory a message), whatever the page. An
// unknown or void message is ErrNotFound.
func (s *Space) Related(ctx context.Context, id ID, d Direction, p Page) ([]Stored, error) {
	start, err := s.Message(id)
	if err != nil {
		return nil, err
	}
	w := walk{s: s, seen: map[ID]found{id: s.foundAt(start)}}
	if d != Downstream {
		err = w.from(ctx, w.seen[id], w.parents)
	}
	if d != Upstream && err == nil {
		err = w.from(ctx, w.seen[id], w.children)
	}
	if err != nil {
		return nil, err
	}
	return w.page(p)
}

// walk is a breadth-first search.
type walk struct {
	s    *Space
	seen map[ID]found // visible ones
}

func (s *Space) foundAt(st Stored) found {
	return found{st.Pos, place{s.num, Key{st.Entry.body.Time, st.Entry.id}}}
}

// from visits everything that can be reached by steps.
func (w *walk) from(ctx context.Context, start found, step func(found) ([]found, error)) error {
	queue := []found{start}
	for len(queue) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		next, err := step(queue[0])
		if err != nil {
			return err
		}
		queue = queue[1:]
		for _, f := range next {
			if _, ok := w.seen[f.at.key.ID]; !ok {
				w.seen[f.at.key.ID] = f
				queue = append(queue, f)
			}
		}
	}
	return nil
}

// parents are the visible messages a message refs.
func (w *walk) parents(f found) (out []found, err error) {
	e, err := w.s.log.entry(f.at)
	if err != nil {
		return nil, err
	}
	for _, id := range e.body.Refs.Messages {
		if _, ok := w.seen[id]; ok {
			continue
		}
		m, err := w.s.log.meta(id)
		if err != nil {
			return nil, err
		}
		if m.flags&visible != 0 {
			out = append(out, found{m.shown, place{w.s.num, Key{m.time, id}}})
		}
	}
	return out, nil
}

// children are the visible messages that ref a message.
func (w *walk) children(f found) (out []found, err error) {
	prefix := append(spaceKey(ksChild, w.s.num, 32), f.at.key.ID[:]...)
	var places []place
	for kv, err := range w.s.log.st.Scan(prefix, prefixEnd(prefix), false) {
		if err != nil {
			return nil, err
		}
		if len(kv.Value) != placeSize {
			return nil, corrupt("child", kv.Value)
		}
		places = append(places, readPlace(kv.Value))
	}
	for _, at := range places {
		m, err := w.s.log.meta(at.key.ID)
		if err != nil {
			return nil, err
		}
		if m.flags&visible != 0 {
			out = append(out, found{m.shown, at})
		}
	}
	return out, nil
}

// page cuts the page out and reads its entries.
func (w *walk) page(p Page) ([]Stored, error) {
	rows := make([]found, 0, len(w.seen))
	for _, f := range w.seen {
		if !p.HasAfter || f.pos > p.After {
			rows = append(rows, f)
		}
	}
	slices.SortFunc(rows, func(a, b found) int { return cmp.Compare(a.pos, b.pos) })
	if n := p.size(); len(rows) > n {
		if p.HasAfter {
			rows = rows[:n]
		} else {
			rows = rows[len(rows)-n:]
		}
	}
	out := make([]Stored, 0, len(rows))
	for _, f := range rows {
		e, err := w.s.log.entry(f.at)
		if err != nil {
			return nil, err
		}
		out = append(out, Stored{f.pos, Shown, e})
	}
	return out, nil
}
