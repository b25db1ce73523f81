package graph

// This file holds bounds that can't be reached from outside: damaged clocks, long reports.

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

func TestClockRecordBounds(t *testing.T) {
	pair := func(index, seq uint64) []byte { return binary.AppendUvarint(binary.AppendUvarint(nil, index), seq) }
	for name, c := range map[string]struct {
		v    []byte
		size int // of the clock; -1: refused
	}{
		"nothing":          {nil, 0},
		"one":              {pair(0, 7), 1},
		"two":              {append(pair(3, 7), pair(2, 9)...), 6},
		"the last author":  {pair(maxAuthors-1, 1), maxAuthors},
		"one too many":     {pair(maxAuthors, 1), -1},
		"gaps add up":      {append(pair(maxAuthors-1, 1), pair(1, 1)...), -1},
		"an overflow":      {append(pair(1, 1), pair(1<<64-1, 1)...), -1},
		"cut short":        {pair(5, 300)[:2], -1},
		"no seq":           {[]byte{1}, -1},
		"number too large": {[]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), -1},
	} {
		got, err := clock(nil).apply(c.v)
		if c.size < 0 {
			if !errors.Is(err, errDamaged) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || len(got) != c.size {
			t.Errorf("%s: %d authors, %v", name, len(got), err)
		}
	}
}

func TestReportBound(t *testing.T) {
	var r Report
	for i := range maxProblems {
		r.problem("%d", i)
	}
	if len(r.Problems) != maxProblems || r.Problems[maxProblems-1] != "999" {
		t.Fatal(len(r.Problems))
	}
	r.problem("another")
	r.problem("another")
	if len(r.Problems) != maxProblems+1 || !strings.HasPrefix(r.Problems[maxProblems], "and more") {
		t.Fatal(r.Problems[maxProblems:])
	}
}

func TestRecordNames(t *testing.T) {
	for key, want := range map[string]string{
		"\x15\x00\x00\x00\x01\x02":              "head record 0000000102",
		"\x99":                                  "unknown record ",
		string(blockKey(1, Key{ID: ID{1}})):     "block of entry " + ID{1}.String(),
		string(entryKey(ID{2})):                 "record of entry " + ID{2}.String(),
		string(entryKey(ID{2})) + "\x00":        "entry record " + "02" + strings.Repeat("00", 32),
		string(blockKey(1, Key{ID: ID{1}})[1:]): "unknown record ",
	} {
		if got := recordName([]byte(key)); !strings.HasPrefix(got, want) {
			t.Errorf("%x: %s", key, got)
		}
	}
}
