package graph

// This file holds the only way out: replay from a position, then follow.

import (
	"context"
	"encoding/binary"
	"iter"
)

// Tail yields every record after a position in every Space, in arrival order, and waits for more until ctx ends
// (which ends the sequence without an error). Only durable records are seen. A slow reader is read back
// from the store; it holds up nobody. Close ends it with ErrClosed.
func (l *Log) Tail(ctx context.Context, after Pos) iter.Seq2[Stored, error] {
	return l.follow(ctx, &l.mark, after, l.arrivals)
}

// Tail is Log.Tail for this Space alone.
func (s *Space) Tail(ctx context.Context, after Pos) iter.Seq2[Stored, error] {
	return s.log.follow(ctx, &s.mark, after, s.arrivals)
}

// follow is Tail over a mark and a way to read up to tailPage records with after < pos ≤ last.
func (l *Log) follow(ctx context.Context, m *mark, after Pos, read func(after, last Pos) ([]arrival, error)) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		for after := after; ; {
			last, err := m.wait(ctx, after)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				yield(Stored{}, err)
				return
			}
			page, err := read(after, last)
			if err != nil {
				yield(Stored{}, err)
				return
			}
			for _, a := range page {
				e, err := l.entry(a.at)
				if ctx.Err() != nil || !yield(Stored{a.pos, a.event, e}, err) || err != nil {
					return
				}
				after = a.pos
			}
			if len(page) < tailPage {
				after = last
			}
		}
	}
}

// arrivals reads records of all Spaces, run by run.
func (l *Log) arrivals(after, last Pos) (out []arrival, err error) {
	for r, err := range l.runs(after, false) {
		if err != nil {
			return nil, err
		}
		if r.first > last {
			break
		}
		if out, err = l.appendArrivals(out, r.space, max(r.first, after+1), min(r.last, last)); err != nil {
			return nil, err
		}
		if len(out) == tailPage {
			break
		}
	}
	return out, nil
}

// arrivals reads records of this Space.
func (s *Space) arrivals(after, last Pos) ([]arrival, error) {
	return s.log.appendArrivals(nil, s.num, after+1, last)
}

// appendArrivals appends a Space's records with first ≤ pos ≤ last until there are tailPage.
func (l *Log) appendArrivals(out []arrival, s num, first, last Pos) ([]arrival, error) {
	for kv, err := range l.st.Scan(arrivalKey(s, first), arrivalKey(s, last+1), false) {
		if err != nil {
			return nil, err
		}
		a, err := readArrival(kv.Key, kv.Value)
		if err != nil {
			return nil, err
		}
		if out = append(out, a); len(out) == tailPage {
			break
		}
	}
	return out, nil
}

// run is a row of consecutive records of one Space.
type run struct {
	space       num
	first, last Pos
}

// runs yields the runs that end after a position; reverse is from the newest. Runs of one Space that follow each other come as one, up
// to about a page: where every send is a run, a reader does one scan a page and not one a record.
func (l *Log) runs(after Pos, reverse bool) iter.Seq2[run, error] {
	return func(yield func(run, error) bool) {
		var r run
		for kv, err := range l.st.Scan(runKey(after+1), []byte{ksRun + 1}, reverse) {
			if err == nil && (len(kv.Key) != 9 || len(kv.Value) != 12) {
				err = corrupt("run", kv.Value)
			}
			if err != nil {
				yield(run{}, err)
				return
			}
			next := run{num(binary.BigEndian.Uint32(kv.Value)), get64[Pos](kv.Value[4:]), get64[Pos](kv.Key[1:])}
			if r.join(next) {
				continue
			}
			if r.last != 0 && !yield(r, nil) {
				return
			}
			r = next
		}
		if r.last != 0 {
			yield(r, nil)
		}
	}
}

// join takes a neighbour in, on either side, if it is of the same Space and the run isn't a page long yet.
func (r *run) join(n run) bool {
	if r.last == 0 || r.space != n.space || r.last-r.first >= tailPage {
		return false
	}
	switch {
	case n.first == r.last+1:
		r.last = n.last
	case n.last+1 == r.first:
		r.first = n.first
	default:
		return false
	}
	return true
}
