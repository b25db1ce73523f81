package plugin

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseTimeReadsWhatTimePrints(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Int64Range(0, 253_402_300_799_999_999).Draw(rt, "micros")
		if got, ok := ParseTime(Time(n)); got != n || !ok {
			rt.Fatalf("%s: %d %v", Time(n), got, ok)
		}
		zone := time.FixedZone("", rapid.IntRange(-14*60, 14*60).Draw(rt, "offset")*60)
		text := time.UnixMicro(n).In(zone).Format(time.RFC3339Nano)
		want, err := time.Parse(time.RFC3339, text)
		if err != nil {
			rt.Skip()
		}
		if got, ok := ParseTime(text); ok != (want.UnixMicro() >= 0) || ok && got != want.UnixMicro() {
			rt.Fatalf("%s: %d %v, want %d", text, got, ok, want.UnixMicro())
		}
	})
	for _, bad := range []string{"", "2026-11-30", "2026-11-30T15:04:05", "2026-13-30T15:04:05Z", "2026-02-29T15:04:05Z", "2026-11-30T15:04:05.Z", "2026-11-30T15:04:05+1:00", "2026-11-30T25:04:05Z", "1969-11-30T15:04:05Z"} {
		if n, ok := ParseTime(bad); ok {
			t.Errorf("%q is %d", bad, n)
		}
	}
}

func TestPage(t *testing.T) {
	tr := NewTrial(Plugin{
		Name: "list",
		Fold: func(s State, m Message) error { s.SetText("o/"+m.Order(), m.Sender); return nil },
		Views: map[string]View{"all": func(s State, q Query) (any, error) {
			return s.Page(q, "items", "o/", func(rest string, v Value) Map {
				if m, _ := s.Message(OrderID(rest)); m.Sender != "ann" {
					return nil
				}
				return Map{"id": OrderID(rest), "text": strings.Repeat("x", 2000)}
			})
		}},
	})
	for i := range 220 {
		sender := "ann"
		if i%2 == 1 {
			sender = "bob"
		}
		if _, err := tr.Send(Message{Sender: sender}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[int]int{0: 0, 1: 1, 40: 40, 200: 49, 201: 0} {
		v, err := tr.View("all", Map{"limit": limit}, "")
		if (err != nil) != (want == 0) || v.Get("items").Len() != want && want != 0 {
			t.Errorf("limit %d: %d items, %v", limit, v.Get("items").Len(), err)
		}
	}
	seen, after := 0, ""
	for {
		v, err := tr.View("all", Map{"after": after}, "")
		if err != nil {
			t.Fatal(err)
		}
		seen += v.Get("items").Len()
		if after = v.Get("next").Text(); after == "" {
			break
		}
	}
	if seen != 110 {
		t.Errorf("%d of 110 seen", seen)
	}
	if Cut("aä", 2) != "a" || Cut("aä", 3) != "aä" || OrderID("x") != "" {
		t.Error("Cut, OrderID")
	}
}

// Whatever a caller asks for, a key that can't be is only not there.
func TestLongKeysAreAbsent(t *testing.T) {
	s := State{NewTrial(Plugin{})}
	for _, key := range []string{strings.Repeat("x", 256), strings.Repeat("x", 257)} {
		_, ok := s.Get(key)
		if ok || s.Has(key) || s.Text(key) != "" || s.Value(key) != nil {
			t.Errorf("%d bytes are there", len(key))
		}
		for range s.Scan(key) {
			t.Error("a long prefix has keys")
		}
		for range s.Keys("x", key) {
			t.Error("there are keys behind a long one")
		}
	}
}
