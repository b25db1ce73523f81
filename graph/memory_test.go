package graph

// This file holds tests of what a Space and a Log remember, at the bounds.

import "testing"

func TestIDSet(t *testing.T) {
	ids := testIDs(5)
	s := idSet{max: 3}
	for _, n := range []int{0, 1, 1, 2, 0} {
		s.add(ids[n])
	}
	if !s.has(ids[0]) || !s.has(ids[1]) || !s.has(ids[2]) {
		t.Fatal("three are too many")
	}
	s.add(ids[3])
	s.add(ids[4])
	if s.has(ids[0]) || s.has(ids[1]) || !s.has(ids[2]) || !s.has(ids[4]) || len(s.ids) != 3 {
		t.Fatalf("kept %d", len(s.ids))
	}
}

// The cache forgets by generations, the older one whole, and keeps an entry it has when only its meta is put again.
func TestRecent(t *testing.T) {
	var c recent
	e := mustSeal(t, testBody(1), testKey(1))
	c.put(e.id, meta{seq: 1}, e)
	c.put(e.id, meta{seq: 2}, nil)
	if m, ok := c.meta(e.id); !ok || m.seq != 2 || c.entry(e.id) != e {
		t.Fatalf("meta %+v, entry %v", m, c.entry(e.id))
	}
	fill := func(from int) {
		for i := range maxRecent/200 + 1 {
			c.put(testID(from+i), meta{}, nil)
		}
	}
	fill(0)
	if c.entry(e.id) != e {
		t.Fatal("forgotten with the first generation")
	}
	fill(1 << 20)
	if c.entry(e.id) != nil || len(c.young)+len(c.old) > 2*(maxRecent/200+1) {
		t.Fatalf("%d and %d are kept", len(c.young), len(c.old))
	}
}
