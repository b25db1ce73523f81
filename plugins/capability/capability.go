// Package capability is Synapse's capability: what a Node can do, declared with the schemas of what goes in and comes out, found by
// type, by words, or by what fits, and invoked as a task. SKILL.md says how to use it.
//
// It is guest code: it imports sdk/plugin alone.
package capability

// This file holds the plugin and its fold.
//
// State (type and Node are joined with NUL, which no type has in it):
//
//	c/<type>/<node>  {id, order}: the newest declaration
//	n/<node>/<type>  nothing: the capabilities of a Node
//	i/<task>         {type, node, declared, fits, error?, result?, result_fits?, result_error?}: tasks that invoke one

import (
	"strings"

	"plexus/sdk/plugin"
)

// The content types. The last two are a task's: an invocation is a task.
const (
	Declare  = "capability:declare"
	Withdraw = "capability:withdraw"
	Request  = "p2p:task_request"
	Complete = "p2p:task_complete"
)

const (
	maxType   = 100      // bytes of a capability's type
	maxName   = 200      // bytes
	maxSchema = 16 << 10 // bytes of a schema, encoded
	maxTime   = 366 * 24 * 3600
)

// Plugin is the pattern.
func Plugin() plugin.Plugin {
	return plugin.Plugin{
		Name:     "capability",
		Fold:     fold,
		Views:    map[string]plugin.View{"find": find, "of": of, "capability": one, "invocation": invocation},
		Commands: map[string]plugin.Action{"declare": declare, "withdraw": withdraw, "invoke": invoke},
	}
}

func key(kind, a, b string) string { return kind + "/" + a + "\x00" + b }

func fold(s plugin.State, m plugin.Message) error {
	switch m.Type {
	case Request:
		foldRequest(s, m)
		return nil
	case Complete:
		foldComplete(s, m)
		return nil
	}
	kind, err := readType(m.Content)
	if err != nil {
		return err
	}
	if m.Type == Withdraw {
		if !s.Has(key("c", kind, m.Sender)) {
			return plugin.Refusal("you haven't declared " + kind)
		}
		s.Delete(key("c", kind, m.Sender))
		s.Delete(key("n", m.Sender, kind))
		return nil
	}
	if err := readDeclaration(m.Content); err != nil {
		return err
	}
	s.SetValue(key("c", kind, m.Sender), plugin.Map{"id": m.ID, "order": m.Order()})
	s.SetText(key("n", m.Sender, kind), "")
	return nil
}

func readType(c plugin.Value) (string, error) {
	kind := c.Get("type").Text()
	if kind == "" || len(kind) > maxType || strings.Contains(kind, "\x00") {
		return "", plugin.Refusal("type must be a text of 1 to 100 bytes")
	}
	return kind, nil
}

func readDeclaration(c plugin.Value) error {
	for _, field := range []string{"name", "version"} {
		if len(c.Get(field).Text()) > maxName {
			return plugin.Refusal(field + " must be a text of at most 200 bytes")
		}
	}
	if v := c.Get("estimated_time_s"); v != nil {
		if n, ok := v.Int(); !ok || n < 0 || n > maxTime {
			return plugin.Refusal("estimated_time_s must be a number of seconds, at most a year")
		}
	}
	for _, field := range []string{"input_schema", "output_schema"} {
		schema := c.Get(field)
		if len(schema) > maxSchema {
			return plugin.Refusal(field + " is longer than 16 KiB")
		}
		if problem := lint(schema, maxNesting); schema != nil && problem != "" {
			return plugin.Refusal(field + ": " + problem)
		}
	}
	return nil
}

// foldRequest notes a task that invokes a capability, and whether its payload fits. One that doesn't is still a task: who is
// asked may see the note and reject it.
func foldRequest(s plugin.State, m plugin.Message) {
	kind := m.Content.Get("task_type").Text()
	if len(kind) > maxType {
		return
	}
	for _, node := range m.Nodes {
		c := s.Value(key("c", kind, node))
		d, ok := s.Message(c.Get("id").Text())
		if !ok {
			continue
		}
		i := plugin.Map{"type": kind, "node": node, "declared": d.ID, "fits": true}
		if problem := check(s, d.Content.Get("input_schema"), payload(m.Content), "payload"); problem != "" {
			i["fits"], i["error"] = false, problem
		}
		s.SetValue("i/"+m.ID, i)
		return
	}
}

// payload is what a request carries; one without is an empty object.
func payload(c plugin.Value) plugin.Value {
	if p := c.Get("payload"); p != nil {
		return p
	}
	return plugin.Encode(plugin.Map{})
}

// foldComplete notes whether a result fits.
func foldComplete(s plugin.State, m plugin.Message) {
	for _, p := range m.Parents {
		i := s.Value("i/" + p)
		if i == nil || i.Get("node").Text() != m.Sender {
			continue
		}
		d, _ := s.Message(i.Get("declared").Text())
		next := plugin.MapOf(i)
		next["result"], next["result_fits"] = m.ID, true
		delete(next, "result_error")
		if problem := check(s, d.Content.Get("output_schema"), m.Content.Get("result"), "result"); problem != "" {
			next["result_fits"], next["result_error"] = false, problem
		}
		s.SetValue("i/"+p, next)
	}
}
