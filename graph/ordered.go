package graph

// This file holds the reads in canonical order, and those of kinds other than message.

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// Range yields visible messages with lo ≤ key < hi in canonical order, from one consistent view.
func (s *Space) Range(ctx context.Context, lo, hi Key) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for kv, err := range s.log.st.Scan(blockKey(s.num, lo), blockKey(s.num, hi), false) {
			var h blockHead
			if err == nil {
				h, err = readBlock(kv.Value)
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if h.kind != kMessage || h.flags&visible == 0 {
				continue
			}
			e, err := decodeStored(lastKey(kv.Key).ID, slices.Clone(h.block))
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Kind yields all admitted entries of a kind other than message in canonical order, void ones included.
func (s *Space) Kind(ctx context.Context, k Kind) iter.Seq2[*Entry, error] {
	prefix := kindPrefix(s.num, k)
	return func(yield func(*Entry, error) bool) {
		for kv, err := range s.log.st.Scan(prefix, prefixEnd(prefix), false) {
			if err == nil {
				err = ctx.Err()
			}
			var e *Entry
			if err == nil {
				e, err = s.log.entry(place{s.num, lastKey(kv.Key)})
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Profiles yields, per author, the last visible profile entry of this Space in canonical order; by author.
func (s *Space) Profiles(ctx context.Context) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		next := spaceKey(ksProfile, s.num, 0)
		for {
			author, ok, err := s.firstProfile(next)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !ok {
				return
			}
			prefix := append(spaceKey(ksProfile, s.num, 32), author[:]...)
			if next = prefixEnd(prefix); next[0] != ksProfile {
				next = spaceKey(ksProfile, s.num+1, 0)
			}
			e, err := s.Profile(author)
			if isNotFound(err) {
				continue
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// firstProfile returns the author of the first profile at or behind a key.
func (s *Space) firstProfile(from []byte) (author NodeID, ok bool, err error) {
	for kv, err := range s.log.st.Scan(from, spaceKey(ksProfile, s.num+1, 0), false) {
		if err != nil {
			return author, false, err
		}
		return NodeID(kv.Key[5:37]), true, nil
	}
	return author, false, nil
}

// Profile returns one author's last visible profile entry, or ErrNotFound.
func (s *Space) Profile(author NodeID) (*Entry, error) {
	prefix := append(spaceKey(ksProfile, s.num, 32), author[:]...)
	for kv, err := range s.log.st.Scan(prefix, prefixEnd(prefix), true) {
		if err != nil {
			return nil, fmt.Errorf("read profile of %s: %w", author, err)
		}
		return s.log.entry(place{s.num, lastKey(kv.Key)})
	}
	return nil, fmt.Errorf("profile of '%s': %w", author, ErrNotFound)
}
