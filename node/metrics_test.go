package node

// This file tests that what happened is counted.

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"plexus/graph"
)

func TestMetrics(t *testing.T) {
	n := open(t, t.TempDir())
	s, _ := register(t, n, "ann")
	space := join(t, s, "plan")
	say(t, s, space, "a")
	say(t, s, space, "b")
	refuseOne(t, n, space)
	get := func(key string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/metrics", nil)
		r.Header.Set("X-Access-Key", key)
		w := httptest.NewRecorder()
		n.Handler().ServeHTTP(w, r)
		return w
	}
	if w := get("wrong"); w.Code != http.StatusForbidden {
		t.Errorf("with a wrong key: %d", w.Code)
	}
	w := get(accessKey(t, n.cfg.Dir))
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	for _, want := range []string{
		"plexus_spaces 1\n", "plexus_messages 2\n", "plexus_entries 3\n", "plexus_nodes 1\n", "plexus_hosts 1\n",
		"plexus_held_entries{for=\"grant\"} 0\n", "plexus_peers_connected 0\n",
		"plexus_refused_entries_total{rule=\"seq\"} 1\n",
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %q in\n%s", want, w.Body)
		}
	}
}

// refuseOne offers the Space an entry that leaves a seq out.
func refuseOne(t *testing.T, n *Node, space string) {
	t.Helper()
	sp, err := n.space(space)
	if err != nil {
		t.Fatal(err)
	}
	key, err := n.keys.key(n.keys.ids()[0])
	if err != nil {
		t.Fatal(err)
	}
	var tip graph.ChainTip
	for tip, err = range sp.Frontier(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	e, err := graph.Seal(graph.Body{
		Kind: graph.KindMessage, Space: sp.ID(), Author: tip.Author, Seq: tip.Seq + 2, Time: graph.TimeOf(n.cfg.Now()),
		Prev: []graph.ID{tip.ID}, Payload: []byte(`{"content":{}}`),
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sp.Add(t.Context(), []*graph.Entry{e}, graph.AddOptions{}); err != nil || len(got.Refused) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
}
