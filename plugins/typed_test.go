package plugins

import (
	"testing"

	"plexus/sdk/abi"
)

func TestTextsGetTheirType(t *testing.T) {
	known := []abi.Command{{Name: "v", Params: abi.Schema(`{"properties":{"n":{"type":"integer"},"f":{"type":"number"},"b":{"type":"boolean"},"s":{"type":"string"}}}`)}, {Name: "none"}}
	for params, want := range map[string]string{
		`{"n":"5","f":"1.5","b":"true","s":"5","x":"5"}`: `{"b":true,"f":1.5,"n":5,"s":"5","x":"5"}`,
		`{"n":"five"}`: `{"n":"five"}`, `{"n":"05"}`: `{"n":"05"}`, `{"b":"1"}`: `{"b":"1"}`, `{"f":"0x1"}`: `{"f":"0x1"}`, `{"n":5}`: `{"n":5}`, `[]`: `[]`, ``: ``, `{"n":`: `{"n":`,
	} {
		if got := string(typed(known, "v", []byte(params))); got != want {
			t.Errorf("%s: %s", params, got)
		}
	}
	for _, view := range []string{"none", "other"} {
		if got := string(typed(known, view, []byte(`{"n":"5"}`))); got != `{"n":"5"}` {
			t.Errorf("%s: %s", view, got)
		}
	}
}
