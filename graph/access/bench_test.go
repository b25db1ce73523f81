package access

// This file measures an evaluation of a large Network.

import (
	"fmt"
	"testing"
)

func BenchmarkEvaluate(b *testing.B) {
	w := newWorld(b, "f")
	for h := range 100 {
		host := fmt.Sprint("h", h)
		w.grant("f", host, Writer)
		for n := range 100 {
			w.enrol(host, fmt.Sprint(host, "n", n), Writer)
		}
	}
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			Evaluate(w.network, w.entries)
		}
	})
	ev := NewEvaluator(w.network)
	ev.Add(w.entries...)
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			ev.State()
		}
	})
	s := space(b, w, "plan")
	st, id := ev.State(), w.id("h7n7")
	b.Run("standing", func(b *testing.B) {
		for b.Loop() {
			st.Standing(s, id)
		}
	})
}
