package api_test

// This file tests the shapes of answers and the modes of reading.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"plexus/sdk/client"
)

func TestReadModes(t *testing.T) {
	w := open(t)
	ada, bob, eve := w.register("ada"), w.register("bob"), w.register("eve")
	space := ada.join("desk")
	bob.join("desk")
	root := ada.say(space, "root", nil, nil).ID
	left := bob.say(space, "left", []string{root}, nil).ID
	right := bob.say(space, "right", []string{root}, []string{ada.ID}).ID
	merge := ada.say(space, "merge", []string{left, right}, nil).ID
	toBob := eve.say(space, "to bob", nil, []string{bob.ID}).ID
	own := bob.say(space, "own root", nil, nil).ID
	all := []string{root, left, right, merge, toBob, own}
	path := "/spaces/" + space + "/messages"

	for _, c := range []struct {
		name, query string
		want        []string
	}{
		{"related, both ways, no siblings", "?message_id=" + left, []string{root, left, merge}},
		{"upstream", "?direction=upstream&message_id=" + merge, []string{root, left, right, merge}},
		{"downstream", "?direction=downstream&message_id=" + right, []string{right, merge}},
		{"empty direction", "?direction=&message_id=" + right, []string{root, right, merge}},
		{"message_id goes before all", "?all=true&message_id=" + toBob, []string{toBob}},
		{"all", "?all=true", all},
		{"all=1", "?all=1", all},
		{"for the caller", "", []string{root, toBob}},
		{"all=false is for the caller", "?all=false", []string{root, toBob}},
		{"limit alone: the newest", "?all=true&limit=2", []string{toBob, own}},
		{"after: the oldest after it", "?all=true&limit=2&after=" + root, []string{left, right}},
		{"after the last", "?all=true&after=" + own, nil},
		{"after without limit", "?all=true&after=" + merge, []string{toBob, own}},
		{"related after", "?message_id=" + merge + "&after=" + left + "&limit=1", []string{right}},
		{"a limit beyond a page", "?all=true&limit=99999999999999999999", all},
		{"empty limit", "?all=true&limit=", all},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.tb = t
			if got, _ := bob.read(path + c.query); !slices.Equal(got, c.want) {
				t.Errorf("got %v\nwant %v", got, c.want)
			}
		})
	}
	w.tb = t
	if got, _ := ada.read(path); !slices.Equal(got, []string{right, own}) {
		t.Errorf("for ada: %v, want %v", got, []string{right, own})
	}
	r := w.do("GET", path, "", "X-Access-Key", w.key)
	if got := decode[[]client.Message](t, r, 200); !slices.Equal(ids(got...), []string{root, own}) {
		t.Errorf("the access key alone reads %v, want the roots", ids(got...))
	}
	canonical, _ := bob.read(path + "?all=true&order=canonical")
	slices.Sort(canonical)
	slices.Sort(all)
	if !slices.Equal(canonical, all) {
		t.Errorf("canonical order has other messages: %v", canonical)
	}
}

func TestPagesLeadToTheEnd(t *testing.T) {
	w := open(t)
	ada, bob := w.register("ada"), w.register("bob")
	space := ada.join("desk")
	var want []string
	for i := range 25 {
		want = append(want, ada.say(space, fmt.Sprint(i), nil, []string{bob.ID}).ID)
	}
	for _, path := range []string{
		"/spaces/" + space + "/messages?all=true&limit=10&after=" + want[0],
		"/messages?limit=10&space_id=" + space + "&after=" + want[0],
		"/nodes/me/inbox?limit=10&after=" + want[0],
		"/nodes/" + bob.ID + "/inbox?limit=10&unacked=true&after=" + want[0],
	} {
		var got []string
		pages := 0
		for next := path; next != ""; pages++ {
			var page []string
			page, next = bob.read(next)
			got = append(got, page...)
			if pages > 5 {
				t.Fatalf("%s: pages never end", path)
			}
		}
		if !slices.Equal(got, want[1:]) {
			t.Errorf("%s: %d messages in %d pages, want %d", path, len(got), pages, len(want)-1)
		}
	}
}

func TestReadWithoutLimitIsEverything(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	space := ada.join("desk")
	flood(t, w, ada, space, 1005, "x")
	first, next := ada.read("/spaces/" + space + "/messages?all=true")
	if len(first) != 1000 || next == "" {
		t.Fatalf("first page: %d messages, next %q", len(first), next)
	}
	second, last := ada.read(next)
	want := append(first, second...)
	if len(want) != 1005 || last != "" {
		t.Errorf("two pages: %d messages, next %q", len(want), last)
	}
	if newest, _ := ada.read("/spaces/" + space + "/messages?all=true&limit=1001"); !slices.Equal(newest, want[5:]) {
		t.Errorf("limit 1001 gives %d messages, want the newest 1000", len(newest))
	}
}

func TestContentIsVerbatim(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	space := ada.join("desk")
	for _, content := range []string{
		`{"n":12345678901234567890,"p":1.10,"e":1E+2}`,
		`{"html":"<a href='x'>&amp;</a>","sep":"\u2028 "}`,
		`{"z":1,"a":2,"m":{"y":[],"b":{}}}`,
		`{"esc":"\u00e9\/\n","utf":"é漢🙂"}`,
		`{ "white" :  [ 1 , 2 ] }`,
	} {
		m := ada.do("POST", "/spaces/"+space+"/messages", `{"content":`+content+`,"meta":{"k":1.0},"content_schema":{"type":"object","minProperties":0.0}}`)
		if !strings.Contains(m.body, `"content":`+content+`,`) {
			t.Errorf("answer of the send: %s\nwant in it: %s", m.body, content)
		}
		id := decode[client.Message](t, m, 201).ID
		r := ada.do("GET", "/spaces/"+space+"/messages?message_id="+id, "")
		for _, part := range []string{`"content":` + content + `,`, `"meta":{"k":1.0}`, `"content_schema":{"type":"object","minProperties":0.0}`} {
			if !strings.Contains(r.body, part) {
				t.Errorf("read: %s\nwant in it: %s", r.body, part)
			}
		}
	}
}

func TestFind(t *testing.T) {
	w := open(t)
	ada, bob := w.register("ada"), w.register("bob")
	s1, s2 := ada.join("one"), ada.join("two")
	a := ada.say(s1, "a", nil, nil)
	b := bob.say(s2, "b", nil, []string{ada.ID})
	c := bob.say(s1, "c", []string{a.ID}, nil)
	for _, q := range []struct {
		query string
		want  []string
	}{
		{"", ids(a, b, c)},
		{"?space_id=" + s1, ids(a, c)},
		{"?message_id=" + b.ID, ids(b)},
		{"?sender=" + bob.ID, ids(b, c)},
		{"?ref_message=" + a.ID, ids(c)},
		{"?ref_node=" + ada.ID, ids(b)},
		{"?sender=" + bob.ID + "&space_id=" + s2, ids(b)},
		{"?after=" + a.ID + "&limit=1", ids(b)},
		{"?limit=1", ids(c)},
	} {
		if got, _ := ada.read("/messages" + q.query); !slices.Equal(got, q.want) {
			t.Errorf("/messages%s: %v, want %v", q.query, got, q.want)
		}
	}
	for _, m := range decode[[]client.Message](t, ada.do("GET", "/messages", ""), 200) {
		if m.SpaceID != s1 && m.SpaceID != s2 {
			t.Errorf("space_id %q", m.SpaceID)
		}
	}
	wantProblem(t, ada.do("GET", "/messages?after=gone", ""), 422, "after: 'gone' not found…")
}

func TestSpaces(t *testing.T) {
	w := open(t)
	ada, bob := w.register("ada"), w.register("bob")
	if r := ada.do("GET", "/spaces", ""); r.body != "[]" {
		t.Errorf("no Spaces: %s, want []", r.body)
	}
	first := decode[client.SpaceInfo](t, ada.do("POST", "/spaces", `{"name":" desk ","description":"first","tags":[" a ","b","a"]}`), 200)
	again := decode[client.SpaceInfo](t, bob.do("POST", "/spaces", `{"name":"desk","tags":["b","c"]}`), 200)
	if again.ID != first.ID || again.Name != "desk" {
		t.Errorf("the same name gives %q and %q", first.ID, again.ID)
	}
	if want := []string{"a", "b", "c"}; !slices.Equal(slices.Sorted(slices.Values(again.Tags)), want) {
		t.Errorf("tags %v, want %v", again.Tags, want)
	}
	if got := describe(again, bob.ID); got != "bob's own" {
		t.Errorf("bob without a description: %q, want the Node's own", got)
	}
	changed := decode[client.SpaceInfo](t, ada.do("POST", "/spaces", `{"name":"desk","description":"second"}`), 200)
	if got := describe(changed, ada.ID); got != "second" {
		t.Errorf("ada's description: %q", got)
	}
	ada.say(first.ID, "x", nil, nil)
	one := decode[client.SpaceInfo](t, bob.do("GET", "/spaces/"+first.ID, ""), 200)
	if one.MessageCount != 1 || len(one.Nodes) != 2 {
		t.Errorf("space %+v", one)
	}
	if list := decode[[]client.SpaceInfo](t, bob.do("GET", "/spaces", ""), 200); len(list) != 1 || list[0].ID != first.ID {
		t.Errorf("list %+v", list)
	}
}

func describe(s client.SpaceInfo, node string) string {
	for _, n := range s.Nodes {
		if n.ID == node {
			return n.Description
		}
	}
	return ""
}

func TestSpaceNeedsADescription(t *testing.T) {
	w := open(t)
	r := w.do("POST", "/auth/register", fmt.Sprintf(`{"name":"mute","access_key":%q}`, w.key))
	mute := user{w, decode[client.AuthResponse](t, r, http.StatusCreated)}
	wantProblem(t, mute.do("POST", "/spaces", `{"name":"desk"}`), 422, "Space description is required")
	wantProblem(t, mute.do("POST", "/spaces", `{"name":"desk","description":"  "}`), 422, "Space description is required")
	if r := mute.do("GET", "/spaces", ""); r.body != "[]" {
		t.Errorf("a refused join made a Space: %s", r.body)
	}
}

func TestNodes(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	n := decode[client.Node](t, ada.do("POST", "/nodes", `{"name":"tool","meta":{"big":12345678901234567890},"identities":[{"namespace":"ns","subject":"t1"}]}`), 201)
	if string(n.Meta) != `{"big":12345678901234567890}` {
		t.Errorf("meta %s", n.Meta)
	}
	got := decode[client.Node](t, ada.do("GET", "/nodes/"+n.ID, ""), 200)
	if got.Name != "tool" || len(got.Identities) != 1 {
		t.Errorf("node %+v", got)
	}
	if r := ada.do("GET", "/nodes/"+ada.ID, ""); !strings.Contains(r.body, `"meta":{}`) {
		t.Errorf("meta isn't {} by default: %s", r.body)
	}
	if me := decode[client.Node](t, ada.do("GET", "/nodes/me", ""), 200); me.ID != ada.ID {
		t.Errorf("me is %s", me.ID)
	}
	if who := decode[client.Node](t, ada.do("GET", "/nodes/resolve?namespace=ns&subject=t1", ""), 200); who.ID != n.ID {
		t.Errorf("resolved %s", who.ID)
	}
	wantProblem(t, ada.do("PUT", "/nodes/me/identities", `{"namespace":"ns","subject":"t1"}`), 409, "")
	bound := decode[client.Node](t, ada.do("PUT", "/nodes/"+ada.ID+"/identities", `{"namespace":"ns","subject":"a1","claims":{"x":1}}`), 200)
	if len(bound.Identities) != 1 || string(bound.Identities[0].Claims) != `{"x":1}` {
		t.Errorf("bound %+v", bound)
	}
	if free := decode[client.Node](t, ada.do("DELETE", "/nodes/me/identities?namespace=ns&subject=a1", ""), 200); len(free.Identities) != 0 {
		t.Errorf("unbound %+v", free)
	}
	wantProblem(t, ada.do("GET", "/nodes/resolve?namespace=ns&subject=a1", ""), 404, "")
}

func TestRegistration(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	if again := w.register("ada"); again.ID == ada.ID || again.Token == ada.Token {
		t.Error("the same name gives the same Node to whoever has the key")
	}
	body := fmt.Sprintf(`{"name":"ada","id":%q}`, ada.ID)
	for name, headers := range map[string][]string{
		"X-Access-Key":      {"X-Access-Key", w.key},
		"the URL's user":    {"Authorization", basic(w.key)},
		"with a dead token": {"X-Access-Key", w.key, "Authorization", "Bearer dead"},
	} {
		if r := w.do("POST", "/auth/register", `{"name":"x"}`, headers...); r.status != 201 {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	r := w.do("POST", "/auth/register", body, "X-Access-Key", w.key, "Authorization", "Bearer "+ada.Token)
	if same := decode[client.AuthResponse](t, r, 201); same.ID != ada.ID {
		t.Errorf("with its token the Node is %s, want %s", same.ID, ada.ID)
	}
	if r := w.do("POST", "/auth/register", body, "X-Access-Key", w.key); r.status == 201 && decode[client.AuthResponse](t, r, 201).ID == ada.ID {
		t.Error("a Node is handed out to one who only names it")
	}
}

func TestInbox(t *testing.T) {
	w := open(t)
	ada, bob := w.register("ada"), w.register("bob")
	s1, s2 := ada.join("one"), ada.join("two")
	if r := bob.do("GET", "/nodes/me/inbox", ""); r.body != "[]" {
		t.Errorf("empty inbox: %s", r.body)
	}
	a := ada.say(s1, "a", nil, []string{bob.ID})
	b := ada.say(s2, "b", nil, []string{ada.ID, bob.ID})
	ada.say(s1, "c", nil, nil)
	msgs := decode[[]client.Message](t, bob.do("GET", "/nodes/"+bob.ID+"/inbox", ""), 200)
	if !slices.Equal(ids(msgs...), ids(a, b)) || msgs[0].SpaceID != s1 || msgs[1].SpaceID != s2 {
		t.Fatalf("inbox %+v", msgs)
	}
	body, _ := json.Marshal(client.InboxAck{Messages: ids(a)})
	for range 2 {
		if r := bob.do("POST", "/nodes/me/inbox/ack", string(body)); r.status != http.StatusNoContent || r.body != "" {
			t.Fatalf("ack: %d %s", r.status, r.body)
		}
	}
	if got, _ := bob.read("/nodes/me/inbox?unacked=true"); !slices.Equal(got, ids(b)) {
		t.Errorf("unacknowledged %v", got)
	}
	if got, _ := bob.read("/nodes/me/inbox"); !slices.Equal(got, ids(a, b)) {
		t.Errorf("all %v", got)
	}
	wantProblem(t, bob.do("POST", "/nodes/me/inbox/ack", `{"messages":["`+a.ID+`","gone"]}`), 404, "")
	over, _ := json.Marshal(client.InboxAck{Messages: make([]string, 1001)})
	wantProblem(t, bob.do("POST", "/nodes/me/inbox/ack", string(over)), 413, "")
	wantProblem(t, ada.do("POST", "/nodes/me/inbox/ack", `{"messages":["`+a.ID+`"]}`), 404, "")
}

func TestIdempotentSend(t *testing.T) {
	w := open(t)
	ada := w.register("ada")
	space := ada.join("desk")
	auth := []string{"Authorization", "Bearer " + ada.Token, "Idempotency-Key", "k1"}
	first := decode[client.Message](t, w.do("POST", "/spaces/"+space+"/messages", `{"content":{"n":1}}`, auth...), 201)
	again := decode[client.Message](t, w.do("POST", "/spaces/"+space+"/messages", `{"content":{"n":1}}`, auth...), 201)
	if first.ID != again.ID || first.CreatedAt != again.CreatedAt {
		t.Errorf("a repeated send made another message: %s, %s", first.ID, again.ID)
	}
	if got, _ := ada.read("/spaces/" + space + "/messages?all=true"); len(got) != 1 {
		t.Errorf("%d messages", len(got))
	}
}
