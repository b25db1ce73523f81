package main

// This file follows each pattern's SKILL.md word by word: its run, with the three tools alone, must end as it says, and its examples must
// be what its schema allows.

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"plexus/plugins"
	"plexus/sdk/client"
)

var (
	fenced   = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	sends    = regexp.MustCompile(`^(\w+)\s+(\w+)\s+(\{.*\})$`)
	answers  = regexp.MustCompile(`^view (\w+) (\{.*?\}) = (\{.*\})$`)
	standsAt = regexp.MustCompile(`<(\w+)>`)
)

// skill is a SKILL.md taken apart.
type skill struct {
	run      []string // lines
	examples []string // the other fenced blocks
}

func readSkill(t *testing.T, plugin string) (s skill) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "plugins", plugin, "SKILL.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, run, ok := strings.Cut(string(b), "\n## A whole run\n")
	if !ok {
		t.Fatal("there is no section: A whole run")
	}
	block := fenced.FindStringSubmatch(run)
	if block == nil {
		t.Fatal("the run has no fenced block")
	}
	s.run = strings.Split(strings.TrimSpace(block[2]), "\n")
	for _, m := range fenced.FindAllStringSubmatch(string(b), -1) {
		if m[1] == "json" {
			s.examples = append(s.examples, m[2])
		}
	}
	return s
}

func TestSkillsAreFollowed(t *testing.T) {
	d := startChild(t)
	runPlexus(t, "status", "--dir", d.dir) // waits until it has started
	key, err := accessKey(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := plugins.ReadManifest(plugins.Bundle())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Plugins {
		t.Run(p.Name, func(t *testing.T) {
			f := &follower{t: t, url: "http://" + d.addr, key: key, plugin: p.Name, ids: map[string]string{}, agents: map[string]*mcp.ClientSession{}}
			s := readSkill(t, p.Name)
			f.enter(s.run)
			ends := 0
			for _, line := range s.run {
				if v := answers.FindStringSubmatch(line); v != nil {
					f.look(v[1], v[2], v[3])
					ends++
				} else {
					f.send(line)
				}
			}
			if ends == 0 {
				t.Error("the run doesn't say how it ends")
			}
		})
	}
}

// follower is a script that knows the three tools and the SKILL.md.
type follower struct {
	t                       *testing.T
	url, key, plugin, space string
	ids                     map[string]string // of Nodes and messages by name
	agents                  map[string]*mcp.ClientSession
	asker                   *client.Client
}

// asBearer is a Node's way in.
type asBearer string

func (b asBearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// enter gives each one in the run a Node and has it join: those named human are people.
func (f *follower) enter(run []string) {
	f.t.Helper()
	owner := &client.Client{URL: f.url, AccessKey: f.key}
	for _, line := range run {
		m := sends.FindStringSubmatch(line)
		if m == nil || f.agents[m[1]] != nil {
			continue
		}
		kind := "agent"
		if m[1] == "human" {
			kind = "human"
		}
		who, err := owner.Register(f.t.Context(), client.AuthRegister{NodeCreate: client.NodeCreate{Name: m[1]}, Kind: kind, AccessKey: f.key})
		if err != nil {
			f.t.Fatal(err)
		}
		s, err := mcp.NewClient(&mcp.Implementation{Name: m[1], Version: "1"}, nil).Connect(f.t.Context(),
			&mcp.StreamableClientTransport{Endpoint: f.url + "/mcp", HTTPClient: &http.Client{Transport: asBearer(who.Token)}}, nil)
		if err != nil {
			f.t.Fatal(err)
		}
		f.t.Cleanup(func() { _ = s.Close() })
		f.agents[m[1]], f.ids[m[1]] = s, who.ID
		joined := tool(f.t, s, "ioa_space", map[string]any{"name": "skill " + f.plugin, "description": "I am the " + m[1]})
		f.space, _ = joined["id"].(string)
		f.asker = &client.Client{URL: f.url, Token: who.Token}
	}
}

// fill puts IDs for names; a name that stands for nothing is a fault of the SKILL.md.
func (f *follower) fill(text string) string {
	return standsAt.ReplaceAllStringFunc(text, func(s string) string {
		id := f.ids[s[1:len(s)-1]]
		if id == "" {
			f.t.Fatalf("%s stands for nothing yet in %s", s, text)
		}
		return id
	})
}

func (f *follower) send(line string) {
	f.t.Helper()
	m := sends.FindStringSubmatch(line)
	if m == nil {
		f.t.Fatalf("not a line of a run: %s", line)
	}
	var args map[string]any
	if err := json.Unmarshal([]byte(f.fill(m[3])), &args); err != nil {
		f.t.Fatalf("%v: %s", err, line)
	}
	args["space_id"] = f.space
	sent := tool(f.t, f.agents[m[1]], "ioa_send", args)
	f.ids[m[2]], _ = sent["id"].(string)
	// Whom it names finds it by reading, as the SKILL.md has it.
	got := tool(f.t, f.agents[m[1]], "ioa_read", map[string]any{"space_id": f.space, "message_id": f.ids[m[2]]})
	if raw, _ := json.Marshal(got["messages"]); !bytes.Contains(raw, []byte(f.ids[m[2]])) {
		f.t.Errorf("%s isn't read back", m[2])
	}
}

// look holds a view against what the run says, and that nothing was marked on the way.
func (f *follower) look(view, params, want string) {
	f.t.Helper()
	got, err := f.asker.View(f.t.Context(), f.space, f.plugin, view, json.RawMessage(f.fill(params)))
	if err != nil {
		f.t.Fatal(err)
	}
	a, errA := decodeJSON(got)
	b, errB := decodeJSON([]byte(f.fill(want)))
	if errA != nil || errB != nil {
		f.t.Fatal(errA, errB)
	}
	if d := differs(view, a, b); d != "" {
		f.t.Error(d)
	}
	list, err := f.asker.Plugins(f.t.Context(), f.space)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, p := range list {
		if p.Marked > 0 {
			f.t.Errorf("%s marks %d of its messages: %s", p.Name, p.Marked, p.Reason)
		}
	}
}

// Every example, and every line of a run, is what the schema says of its content type.
func TestSkillsExamples(t *testing.T) {
	m, err := plugins.ReadManifest(plugins.Bundle())
	if err != nil {
		t.Fatal(err)
	}
	var all []contentSchema
	for _, p := range m.Plugins {
		all = append(all, contentSchemas(t, p.Name)...)
	}
	for _, p := range m.Plugins {
		t.Run(p.Name, func(t *testing.T) {
			s := readSkill(t, p.Name)
			for _, line := range s.run {
				if v := sends.FindStringSubmatch(line); v != nil && !answers.MatchString(line) {
					s.examples = append(s.examples, v[3])
				}
			}
			for _, text := range s.examples {
				checkExample(t, p.Name, all, text)
			}
		})
	}
}

// checkExample holds the messages of a block against the schemas.
func checkExample(t *testing.T, plugin string, all []contentSchema, text string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	for d.More() {
		var e map[string]any
		if err := d.Decode(&e); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for k := range e {
			if !slices.Contains([]string{"content_type", "content", "refs", "meta"}, k) {
				t.Errorf("a message has no %s: %s", k, text)
			}
		}
		kind, _ := e["content_type"].(string)
		found := kind == "" // a reply without a type may be any talk
		for _, s := range all {
			if kind == "" || !strings.Contains(s.says, `"`+kind+`"`) {
				continue
			}
			found = true
			if err := s.schema.Validate(e["content"]); err != nil && (s.plugin == plugin || !strings.HasPrefix(kind, "hil:")) {
				t.Errorf("%s: %v", text, err)
			}
		}
		if !found {
			t.Errorf("no schema speaks of %q", kind)
		}
	}
}

// contentSchema is one of a pattern's, for the content types that its description names.
type contentSchema struct {
	plugin, says string
	schema       *jsonschema.Schema
}

func contentSchemas(t *testing.T, plugin string) (out []contentSchema) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "plugins", plugin, "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	add := func(v any, at string) {
		says, _ := v.(map[string]any)["description"].(string)
		s, err := c.Compile("schema.json" + at)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, contentSchema{plugin, says, s})
	}
	list, ok := doc.(map[string]any)["anyOf"].([]any)
	if !ok {
		add(doc, "")
	}
	for i, v := range list {
		add(v, "#/anyOf/"+strconv.Itoa(i))
	}
	return out
}
