package kit

import "testing"

// Every runner, metered or not, ends with one state.
func TestRace(t *testing.T) {
	r, err := NewRace(t.Context(), t.TempDir(), 3*raceVotes)
	if err != nil {
		t.Fatal(err)
	}
	want, langs := "", []string{"c", "go"}
	if sampled {
		langs = langs[:1] // Go's takes long to compile
	}
	for _, lang := range langs {
		for _, unmetered := range []bool{false, true} {
			by, err := r.NewRunner(t.Context(), lang, unmetered)
			if err != nil {
				t.Skip(err)
			}
			defer by.Close(t.Context())
			for _, by := range []*Runner{by, by.Native()} {
				lap, err := r.Run(t.Context(), by, func(do func() error) error { return do() })
				if err != nil {
					t.Fatal(err)
				}
				t.Log(lang, unmetered, by.Name, lap)
				if want == "" {
					want = lap.Hash
				}
				if lap.Hash != want || lap.Hash == "" {
					t.Errorf("%s: %s, want %s", by.Name, lap.Hash, want)
				}
			}
		}
	}
}

func BenchmarkRace(b *testing.B) {
	r, err := NewRace(b.Context(), b.TempDir(), 50_000)
	if err != nil {
		b.Fatal(err)
	}
	for _, lang := range append(Langs(), "native") {
		b.Run(lang, func(b *testing.B) {
			from := lang
			if lang == "native" {
				from = "c"
			}
			by, err := r.NewRunner(b.Context(), from, false)
			if err != nil {
				b.Skip(err)
			}
			defer by.Close(b.Context())
			if lang == "native" {
				by = by.Native()
			}
			for range b.N {
				lap, err := r.Run(b.Context(), by, func(do func() error) error { return do() })
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(50_000/lap.Took.Seconds(), "messages/s")
			}
		})
	}
}
