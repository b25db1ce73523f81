package graph_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"plexus/graph"
)

func TestRecords(t *testing.T) {
	r := newReplica(t, everybody, nil)
	a, ab, b := r.Records("a"), r.Records("ab"), r.Records(strings.Repeat("b", graph.MaxRecordName))
	put := func(rec graph.Records, keys ...string) {
		for _, k := range keys {
			check(t, rec.Apply(graph.Op{Kind: graph.Set, Key: []byte(k), Value: []byte("v" + k)}))
		}
	}
	put(a, "1", "2", "3", "\xff\xff")
	put(ab, "1")
	put(b, "", "9")
	list := func(rec graph.Records, lo, hi []byte, reverse bool) (keys []string) {
		for kv, err := range rec.Scan(lo, hi, reverse) {
			check(t, err)
			if string(kv.Value) != "v"+string(kv.Key) {
				t.Errorf("%q has %q", kv.Key, kv.Value)
			}
			keys = append(keys, string(kv.Key))
		}
		return keys
	}
	for _, c := range []struct {
		rec     graph.Records
		lo, hi  []byte
		reverse bool
		want    []string
	}{
		{a, nil, nil, false, []string{"1", "2", "3", "\xff\xff"}},
		{a, nil, nil, true, []string{"\xff\xff", "3", "2", "1"}},
		{a, []byte("2"), []byte("3"), false, []string{"2"}},
		{ab, nil, nil, false, []string{"1"}},
		{b, nil, nil, false, []string{"", "9"}},
	} {
		if got := list(c.rec, c.lo, c.hi, c.reverse); !slices.Equal(got, c.want) {
			t.Errorf("scan %q %q: %q, want %q", c.lo, c.hi, got, c.want)
		}
	}
	check(t, a.ApplyNoSync(graph.Op{Kind: graph.DelRange, Key: []byte("2")}))
	if got := list(a, nil, nil, false); !slices.Equal(got, []string{"1"}) {
		t.Errorf("after the removal: %q", got)
	}
	if got := list(ab, nil, nil, false); len(got) != 1 {
		t.Error("the removal reached another keyspace")
	}
	check(t, a.Apply(graph.Op{Kind: graph.DelRange, Key: []byte("0"), Value: []byte("1")}))
	if _, err := a.Get([]byte("1")); err != nil {
		t.Errorf("got %v", err)
	}
	check(t, r.Close())
	if err := a.Apply(graph.Op{Kind: graph.Del, Key: []byte("1")}); !errors.Is(err, graph.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if err := a.ApplyNoSync(graph.Op{Kind: graph.Del, Key: []byte("1")}); !errors.Is(err, graph.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestRecordsName(t *testing.T) {
	r := newReplica(t, everybody, nil)
	for _, name := range []string{"", strings.Repeat("n", graph.MaxRecordName+1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q is taken", name)
				}
			}()
			r.Records(name)
		}()
	}
}
