package plugins

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"plexus/graph"
	"plexus/plugins/internal/meter"
	"plexus/sdk/abi"
)

var importSchema = wasmImport{"schema_check", 6, 1}

// checker's fold holds a value against a schema, both CBOR, and is refused with what is wrong.
func checker(schema, value []byte, grants ...string) []byte {
	w := wasm{imports: []wasmImport{importSchema, importWrite}, data: string(schema) + string(value), pages: 8}
	const dst, size = 400 << 10, 1 << 10
	w.funcs = append(w.funcs, wasmFunc{export: abi.ExportFold, params: 1, results: 1, locals: 1, code: ops(
		num(16), num(int64(len(schema))), num(16+int64(len(schema))), num(int64(len(value))), num(dst), num(size), callFn(0),
		[]byte{0x22, 1}, num(0), []byte{0x48, 0x04, 0x40}, num(0), opReturn, opEnd, // below zero: it fits
		num(dst), get(1), callFn(1), num(1))},
		wasmFunc{export: abi.ExportView, params: 1, results: 1, code: num(1)}, wasmFunc{export: abi.ExportCommand, params: 1, results: 1, code: num(1)})
	module := w.build(abi.Plugin{
		Name: "check", Version: "1", Accepts: []string{"x"}, Grants: grants,
		Commands: []abi.Command{{Name: "go", Params: abi.Schema(`{"required":["id"]}`)}}, Views: []abi.Command{{Name: "all", Params: abi.Schema(`{"type":"string"}`)}, {Name: "none"}},
	})
	module = meter.AppendCustom(module, abi.SectionSchema+"check", []byte(`{"oneOf":[{"$ref":"#/$defs/a"},false],"$defs":{"a":{"type":"object","maxProperties":0}}}`))
	return meter.AppendCustom(module, abi.SectionSchema+"broken", []byte(`{`))
}

func schemaFile(schema, value []byte) []byte { return checker(schema, value, "schema") }

func TestSchemaCheck(t *testing.T) {
	bomb := abi.Fields{"40": false}
	for i := range 40 {
		next := abi.Fields{"$ref": "#/$defs/" + strconv.Itoa(i+1)}
		bomb[strconv.Itoa(i)] = abi.Fields{"anyOf": []any{next, next}}
	}
	long := abi.Encode(strings.Repeat("x", abi.MaxOutput))
	for name, test := range map[string]struct {
		schema, value []byte
		reason        string // "": it fits
	}{
		"given":          {abi.Encode(abi.Fields{"type": "integer"}), abi.Encode(1), ""},
		"given, unfit":   {abi.Encode(abi.Fields{"type": "integer"}), abi.Encode("x"), " must be of type integer"},
		"messages":       {abi.Encode("messages"), abi.Encode(abi.Fields{}), ""},
		"a part":         {abi.Encode("messages#/$defs/a"), abi.Encode(abi.Fields{"x": 1}), " breaks its maxProperties of 0"},
		"no such part":   {abi.Encode("messages#/$defs/b"), abi.Encode(1), "the schema has no /$defs/b"},
		"command":        {abi.Encode("commands/go"), abi.Encode(abi.Fields{}), ".id is missing"},
		"view":           {abi.Encode("views/all"), abi.Encode("x"), ""},
		"no value":       {abi.Encode("views/all"), nil, " is missing"},
		"without schema": {abi.Encode("views/none"), abi.Encode(1), `the file has no schema "views/none"`},
		"no such":        {abi.Encode("commands/" + strings.Repeat("x", 5000)), abi.Encode(1), "the file has no schema"},
		"of another":     {abi.Encode("../broken/messages"), abi.Encode(1), "the file has no schema"},
		"no schema":      {nil, abi.Encode(1), "a schema is an object"},
		"not CBOR":       {[]byte{0xff}, abi.Encode(1), "schema_check: not well-formed CBOR"},
		"value not CBOR": {abi.Encode(true), []byte{0x18, 1}, "schema_check: CBOR not in its deterministic form"},
		"tail":           {abi.Encode(true), []byte{1, 1}, "bytes behind the CBOR item"},
		"too long":       {abi.Encode(true), long, "at most 262144"},
		"to itself":      {abi.Encode(abi.Fields{"$ref": "#"}), abi.Encode(1), "nests more than 128 deep"},
		"bomb":           {abi.Encode(abi.Fields{"$ref": "#/$defs/0", "$defs": bomb}), abi.Encode(1), "out of gas"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReplica(t, schemaFile(test.schema, test.value), good)
			start := time.Now()
			r.say("ann", "x", obj{"n": 1})
			r.hash("check")
			r.hash("good")
			list, err := r.host.Plugins(r.ctx(), r.space.ID())
			r.must(err)
			if wrong := test.reason != ""; (list[0].Marked == 1) != wrong || !strings.Contains(list[0].Reason, test.reason) || list[1].Marked != 0 {
				t.Errorf("%+v, want the reason %q", list[0], test.reason)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestSchemaCheckNeedsItsGrant(t *testing.T) {
	e := load(t, schemaFile(abi.Encode(true), abi.Encode(1))).engine
	_, err := e.load(t.Context(), checker(abi.Encode(true), abi.Encode(1)), false)
	if !errors.Is(err, graph.ErrInvalid) || !strings.Contains(err.Error(), `schema_check, but its manifest doesn't ask for the grant "schema"`) {
		t.Errorf("without its grant: %v", err)
	}
}
