package node

// This file tests that a pinned plugin speaks as a Node only once the user of the machine has granted what it asks for.

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"plexus/graph"
	"plexus/sdk/client"
)

func TestGrant(t *testing.T) {
	greeter, err := os.ReadFile("testdata/greeter.wasm") // asks for timer
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	n := open(t, dir)
	stop := run(t, n)
	ann, annID := register(t, n, "ann")
	_, bobID := register(t, n, "bob")
	space := join(t, ann, "plan")
	if _, err := n.Pin(t.Context(), space, client.Pin{Wasm: greeter}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the plugin is there", func() bool { return pluginNamed(t, n, space, "gree").State == client.StateCurrent })
	if err := n.React(t.Context(), space, "gree", annID, true); !errors.Is(err, graph.ErrForbidden) || !strings.Contains(err.Error(), "plexus plugin grant gree") {
		t.Errorf("it reacts without a grant: %v", err)
	}
	for _, bad := range []struct {
		plugin string
		grants []string
		want   error
	}{{"gree", []string{"now"}, graph.ErrInvalid}, {"gree", []string{"timer", ""}, graph.ErrInvalid}, {"gre", nil, graph.ErrNotFound}} {
		if _, err := n.Grant(t.Context(), space, bad.plugin, bad.grants); !errors.Is(err, bad.want) {
			t.Errorf("%s %v: %v", bad.plugin, bad.grants, err)
		}
	}
	if p := pluginNamed(t, n, space, "gree"); !slices.Equal(p.Asks, []string{"timer"}) || len(p.Granted) != 0 {
		t.Errorf("asks %v, granted %v: what was refused counts", p.Asks, p.Granted)
	}
	got, err := n.Grant(t.Context(), space, "gree", []string{"timer"})
	if err != nil || !slices.Equal(got.Asks, []string{"timer"}) || !slices.Equal(got.Granted, []string{"timer"}) {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := errors.Join(stop(), n.Close()); err != nil {
		t.Fatal(err)
	}

	n = open(t, dir)
	run(t, n)
	eventually(t, "the plugin is there again", func() bool { return pluginNamed(t, n, space, "gree").State == client.StateCurrent })
	if err := n.React(t.Context(), space, "gree", annID, true); err != nil {
		t.Fatal(err)
	}
	again, err := n.As(annID)
	if err != nil {
		t.Fatal(err)
	}
	other, err := n.As(bobID)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "what was granted before the restart speaks", func() bool {
		if _, err := other.Send(t.Context(), space, client.SendMessage{ContentType: "x", Content: json.RawMessage(`{}`)}); err != nil {
			t.Fatal(err)
		}
		page, err := again.Read(t.Context(), client.ReadQuery{SpaceID: space, All: true})
		return err == nil && slices.ContainsFunc(page.Messages, func(m client.Message) bool { return m.ContentType == "seen" && m.Sender == annID })
	})
	if got, err := n.Grant(t.Context(), space, "gree", []string{}); err != nil || len(got.Granted) != 0 {
		t.Errorf("taken back: %+v, %v", got, err)
	}
}
