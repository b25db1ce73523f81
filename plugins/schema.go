package plugins

// This file holds the host's side of the schema check (docs/plugins.md §6.3).

import (
	"bytes"
	"fmt"
	"strings"

	"plexus/plugins/internal/meter"
	"plexus/sdk/abi"
)

// gasPerByteChecked pays for seeing that a schema or value is CBOR in its form.
const gasPerByteChecked = 2

// schemas are a file's own, as guests name them: "PLUGIN/messages", "PLUGIN/commands/NAME", "PLUGIN/views/NAME".
type schemas map[string]abi.Value

// readSchemas makes CBOR of a file's schemas. One that is no JSON is left out: whoever names it learns so.
func readSchemas(wasm []byte, m abi.Manifest) (schemas, error) {
	out := schemas{}
	put := func(name string, text []byte) {
		if text = bytes.TrimSpace(text); len(text) == 0 {
			return
		}
		if b, err := appendJSON(nil, text); err == nil {
			out[name] = b
		}
	}
	for _, p := range m.Plugins {
		for _, c := range p.Commands {
			put(p.Name+"/commands/"+c.Name, c.Params)
		}
		for _, v := range p.Views {
			put(p.Name+"/views/"+v.Name, v.Params)
		}
	}
	err := meter.Custom(wasm, func(name string, data []byte) error {
		if plugin, ok := strings.CutPrefix(name, abi.SectionSchema); ok {
			put(plugin+"/messages", data)
		}
		return nil
	})
	return out, err
}

// schemaCheck answers with the length of what is wrong, or −1 where the value fits.
func schemaCheck(g guestCall, s []uint64) {
	schema, value := g.item(s[0], s[1]), g.item(s[2], s[3])
	document, pointer := schema, ""
	if schema.Kind() == abi.Text {
		var name string
		name, pointer, _ = strings.Cut(schema.Text(), "#")
		if document = g.spec.file.schemas[g.spec.plugin.Name+"/"+name]; document == nil {
			panic(trapError(fmt.Sprintf("schema_check: the file has no schema %q", cutReason(name))))
		}
	}
	problem := abi.CheckSchema(document, pointer, value, g.inst.charge)
	if problem != "" {
		g.write(s[4], s[5], []byte(problem))
	}
	s[0] = answer(problem != "", len(problem))
}

// item reads a CBOR item; no bytes are an absent one.
func (g guestCall) item(p, n uint64) abi.Value {
	b := g.read(p, n, abi.MaxOutput)
	g.inst.charge(gasPerByteChecked * int64(len(b)))
	if len(b) == 0 {
		return nil
	}
	if err := abi.Check(b); err != nil {
		panic(trapError("schema_check: " + err.Error()))
	}
	return bytes.Clone(b) // the answer may be written over it
}
