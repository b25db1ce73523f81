package capability

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"plexus/sdk/plugin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type trial struct {
	*plugin.Trial
	t *testing.T
}

func (r trial) say(by, what string, content plugin.Map, want string, refs []string, nodes ...string) string {
	r.t.Helper()
	id, err := r.Send(plugin.Message{Sender: by, Type: what, Parents: refs, Nodes: nodes}, content)
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		r.t.Errorf("%s %s %v: %v, want %q", by, what, content, err, want)
	}
	return id
}

func TestSchemas(t *testing.T) {
	type m = plugin.Map
	for _, row := range []struct {
		schema, value any
		problem       string
	}{
		{nil, 1, ""},
		{true, 1, ""},
		{false, 1, "isn't allowed"},
		{m{}, nil, ""},
		{m{"type": "string"}, "x", ""},
		{m{"type": "string"}, 1, "of type string"},
		{m{"type": "integer"}, 1.5, "of type integer"},
		{m{"type": "number"}, 1, ""},
		{m{"type": "null"}, nil, ""},
		{m{"type": "boolean"}, true, ""},
		{m{"type": []string{"string", "null"}}, 1, "of type string or null"},
		{m{"type": []string{"string", "null"}}, nil, ""},
		{m{"const": 1}, 1, ""},
		{m{"const": 1}, 2, "one value"},
		{m{"enum": []any{1, "a"}}, "a", ""},
		{m{"enum": []any{1, "a"}}, "b", "values it may be"},
		{m{"minimum": 1}, 1, ""},
		{m{"minimum": 1}, 0, "minimum"},
		{m{"exclusiveMaximum": 1}, 1, "exclusiveMaximum"},
		{m{"maximum": 1.5}, 1.6, "maximum"},
		{m{"exclusiveMinimum": 0}, 1, ""},
		{m{"minLength": 2}, "äö", ""},
		{m{"minLength": 3}, "äö", "minLength"},
		{m{"maxLength": 1}, "äö", "maxLength"},
		{m{"items": m{"type": "integer"}}, []any{1, "x"}, "v[1] must be"},
		{m{"minItems": 1}, []any{}, "minItems"},
		{m{"maxItems": 1}, []any{1, 2}, "maxItems"},
		{m{"required": []string{"a"}}, m{}, "v.a is missing"},
		{m{"properties": m{"a": m{"type": "string"}}}, m{"a": 1}, "v.a must be"},
		{m{"additionalProperties": false}, m{"a": 1}, "v.a isn't allowed"},
		{m{"properties": m{"a": true}, "additionalProperties": false}, m{"a": 1}, ""},
		{m{"maxProperties": 0}, m{"a": 1}, "maxProperties"},
		{m{"allOf": []any{m{"minimum": 1}, m{"maximum": 2}}}, 3, "maximum"},
		{m{"anyOf": []any{m{"minimum": 5}, m{"maximum": 2}}}, 3, "anyOf"},
		{m{"anyOf": []any{m{"minimum": 5}, m{"maximum": 2}}}, 1, ""},
		{m{"oneOf": []any{m{"minimum": 1}, m{"minimum": 2}}}, 3, "exactly one"},
		{m{"oneOf": []any{m{"minimum": 1}, m{"minimum": 2}}}, 1, ""},
		{m{"not": m{"type": "string"}}, "x", "must not be"},
	} {
		var schema plugin.Value
		if row.schema != nil {
			schema = plugin.Encode(row.schema)
		}
		got := ""
		asked := plugin.NewTrial(plugin.Plugin{Views: map[string]plugin.View{"check": func(s plugin.State, _ plugin.Query) (any, error) {
			got = check(s, schema, plugin.Encode(row.value), "v")
			return nil, nil
		}}})
		if _, err := asked.View("check", nil, ""); err != nil {
			t.Fatal(err)
		}
		if row.problem == "" && got != "" || row.problem != "" && !strings.Contains(got, row.problem) {
			t.Errorf("%v of %v: %q, want %q", row.value, row.schema, got, row.problem)
		}
	}
}

func TestDeclarations(t *testing.T) {
	r := trial{plugin.NewTrial(Plugin()), t}
	deep := plugin.Map{}
	for range maxNesting {
		deep = plugin.Map{"items": deep}
	}
	for _, row := range []struct {
		content plugin.Map
		refused string
	}{
		{plugin.Map{}, "type must be"},
		{plugin.Map{"type": strings.Repeat("x", maxType+1)}, "type must be"},
		{plugin.Map{"type": strings.Repeat("x", maxType)}, ""},
		{plugin.Map{"type": "t", "name": strings.Repeat("x", maxName+1)}, "name must be"},
		{plugin.Map{"type": "t", "estimated_time_s": -1}, "estimated_time_s"},
		{plugin.Map{"type": "t", "input_schema": 1}, "a schema is an object"},
		{plugin.Map{"type": "t", "input_schema": true}, ""},
		{plugin.Map{"type": "t", "output_schema": plugin.Map{"properties": plugin.Map{"a": plugin.Map{"$ref": "#"}}}}, "isn't followed"},
		{plugin.Map{"type": "t", "output_schema": plugin.Map{"anyOf": []any{plugin.Map{"$ref": "#"}}}}, "isn't followed"},
		{plugin.Map{"type": "t", "input_schema": plugin.Map{"title": strings.Repeat("x", maxSchema)}}, "16 KiB"},
		{plugin.Map{"type": "t", "input_schema": deep}, "16 deep"},
		{plugin.Map{"type": "t", "input_schema": deep["items"]}, ""},
	} {
		r.say("bob", Declare, row.content, row.refused, nil)
		if _, err := r.Command("declare", row.content, "bob"); (err != nil) != (row.refused != "") {
			t.Errorf("command %v: %v", row.content, err)
		}
	}
	r.say("bob", Withdraw, plugin.Map{"type": "t"}, "", nil)
	r.say("bob", Withdraw, plugin.Map{"type": "t"}, "haven't declared", nil)
	if _, err := r.Command("withdraw", plugin.Map{"type": "t"}, "bob"); err == nil {
		t.Error("withdrawn twice")
	}
}

func TestFindAndInvoke(t *testing.T) {
	r := trial{plugin.NewTrial(Plugin()), t}
	number := plugin.Map{"type": "object", "required": []string{"n"}, "properties": plugin.Map{"n": plugin.Map{"type": "integer"}}}
	r.say("bob", Declare, plugin.Map{"type": "math:square", "name": "Square", "version": "1", "input_schema": number, "output_schema": plugin.Map{"type": "integer"}}, "", nil)
	r.say("cem", Declare, plugin.Map{"type": "math:square", "description": "squares Fast", "estimated_time_s": 2}, "", nil)
	r.say("cem", Declare, plugin.Map{"type": "text:upper"}, "", nil)
	for _, row := range []struct {
		view   string
		params plugin.Map
		caller string
		want   string
	}{
		{"find", nil, "", "bob math:square cem math:square cem text:upper"},
		{"find", plugin.Map{"type": "math:square"}, "", "bob math:square cem math:square"},
		{"find", plugin.Map{"type": "math"}, "", ""},
		{"find", plugin.Map{"text": "fast"}, "", "cem math:square"},
		{"find", plugin.Map{"payload": plugin.Map{"n": "x"}}, "", "cem math:square cem text:upper"},
		{"of", nil, "cem", "cem math:square cem text:upper"},
		{"of", plugin.Map{"node": "bob"}, "cem", "bob math:square"},
	} {
		v, err := r.View(row.view, row.params, row.caller)
		var got []string
		for c := range v.Get("capabilities").Items() {
			got = append(got, c.Get("node").Text(), c.Get("type").Text())
		}
		if err != nil || strings.Join(got, " ") != row.want {
			t.Errorf("%s %v: %v %v, want %s", row.view, row.params, got, err, row.want)
		}
	}
	if v, err := r.View("capability", plugin.Map{"type": "math:square", "node": "bob"}, ""); err != nil || v.Get("input_schema") == nil {
		t.Error(err)
	}
	for _, row := range []struct {
		payload, result any
		fits, resultFit bool
	}{{plugin.Map{"n": 3}, 9, true, true}, {plugin.Map{"n": 3}, "nine", true, false}, {plugin.Map{}, 9, false, true}} {
		d, err := r.Command("invoke", plugin.Map{"type": "math:square", "node": "bob", "payload": row.payload}, "ann")
		if (err == nil) != row.fits || err == nil && (d[0].Type != Request || d[0].Content["task_type"] != "math:square" || d[0].Nodes[0] != "bob") {
			t.Errorf("invoke %v: %v %v", row.payload, d, err)
		}
		task := r.say("ann", Request, plugin.Map{"task_type": "math:square", "payload": row.payload}, "", nil, "bob")
		r.say("eve", Complete, plugin.Map{"result": "forged"}, "", []string{task})
		r.say("bob", Complete, plugin.Map{"result": row.result}, "", []string{task})
		v, err := r.View("invocation", plugin.Map{"task": task}, "")
		if err != nil || v.Get("fits").Bool() != row.fits || v.Get("result_fits").Bool() != row.resultFit {
			t.Errorf("%v → %v: fits %v, result %v (%v)", row.payload, row.result, v.Get("fits").Bool(), v.Get("result_fits").Bool(), err)
		}
	}
	task := r.say("ann", Request, plugin.Map{"task_type": "other"}, "", nil, "bob")
	for view, params := range map[string]plugin.Map{"invocation": {"task": task}, "capability": {"type": "x", "node": "bob"}, "of": nil} {
		if _, err := r.View(view, params, ""); err == nil {
			t.Errorf("%s %v is answered", view, params)
		}
	}
}
