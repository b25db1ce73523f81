package graph

// This file holds the walk over everything (verify) and the rebuild of indexes from entries.

import "context"

// Report is what Check found.
type Report struct {
	Entries  int
	Messages int
	Problems []string // empty: all is well; each names the key or entry and what is wrong with it
}

// Check walks the Space: hashes, signatures, rules, and each index against the entries.
func (s *Space) Check(ctx context.Context) (Report, error) { panic("unimplemented") }

// Rebuild writes all indexes anew from the entries; arrival numbers are kept where their records are whole.
func (s *Space) Rebuild(ctx context.Context) error { panic("unimplemented") }
