package kit

import (
	"os"
	"testing"
)

// FuzzTrace: a trace is a stranger's bytes, run by whoever installs a plugin. Whatever it is, it is refused or makes a scene, and what is
// printed anew is read again.
func FuzzTrace(f *testing.F) {
	for _, path := range []string{"../vote/trace.json", "../checkpoint/trace.json"} {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"trace":1,"messages":[{"id":"a","by":"ann","at":-1,"content":{"x":"$a","@b":["$"]},"meta":null}]}`))
	f.Add([]byte(`{"trace":1,"messages":[{"id":"a","by":"ann","at":9223372036854775807,"content":{}},{"id":"b","by":"ann","content":{},"refs":["a","a"],"after":["a"],"to":[""]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		trace, err := ParseTrace(b)
		if err != nil {
			return
		}
		s, err := trace.scene()
		if err == nil && len(s.order(random(1))) != len(s.entries) {
			t.Error("an order has lost an entry")
		}
		again, err := trace.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseTrace(again); err != nil && len(again) <= maxTrace {
			t.Errorf("%s: %v", again, err)
		}
	})
}
