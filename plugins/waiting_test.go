package plugins

import (
	"encoding/json"
	"testing"
)

func TestListOf(t *testing.T) {
	for answer, want := range map[string]int{
		`{"tasks":[]}`: 0, `{"tasks":[1,{"a":[2]}]}`: 2, `{"tasks":[1],"next":"k","of":7}`: 1, `{"next":[3]}`: 0, `{}`: 0,
		`{"a":[1],"b":[2]}`: -1, `[1]`: -1, `7`: -1, ``: -1,
	} {
		items, _, err := listOf(json.RawMessage(answer))
		if n := len(items); (err != nil) != (want < 0) || err == nil && n != want {
			t.Errorf("%s: %d items, %v; want %d", answer, n, err, want)
		}
	}
	if _, more, _ := listOf(json.RawMessage(`{"tasks":[1],"next":"k"}`)); !more {
		t.Error("the next page isn't told of")
	}
}
