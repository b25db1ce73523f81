package main

// This file holds a command's flags, made from the JSON Schema of its parameters: types, enums, bounds, defaults, what is required. The plugin's node checks all
// of the schema; what is wrong with a flag is said here, by its name.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plexus/sdk/client"
)

// schema is what flags are made of.
type schema struct {
	Required   []string            `json:"required"`
	Properties map[string]property `json:"properties"`
}

// property is the schema of one parameter.
type property struct {
	Type        types             `json:"type"`
	Description string            `json:"description"`
	Enum        []json.RawMessage `json:"enum"`
	Default     json.RawMessage   `json:"default"`
	Minimum     *float64          `json:"minimum"`
	Maximum     *float64          `json:"maximum"`
	MinLength   int               `json:"minLength"`
	MaxLength   int               `json:"maxLength"`
	Items       *property         `json:"items"`
	AnyOf       []property        `json:"anyOf"`
	OneOf       []property        `json:"oneOf"`
}

// types is a schema's type: one, or several.
type types []string

// UnmarshalJSON takes a text or a list; what is neither says nothing.
func (t *types) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = types{one}
		return nil
	}
	var several []string
	_ = json.Unmarshal(b, &several)
	*t = several
	return nil
}

// kind is how a flag's text is read: a JSON type, or "value" for JSON where it is some, and else text.
func (p *property) kind() string {
	all := slices.Clone(p.Type)
	for _, sub := range slices.Concat(p.AnyOf, p.OneOf) {
		all = append(all, sub.Type...)
	}
	all = slices.DeleteFunc(all, func(t string) bool { return t == "null" })
	if len(slices.Compact(slices.Sorted(slices.Values(all)))) == 1 {
		return all[0]
	}
	if len(all) == 0 && len(p.Enum) > 0 && len(p.choices()) == len(p.Enum) {
		return "string"
	}
	return "value"
}

// choices are the texts of an enum.
func (p *property) choices() (out []string) {
	for _, raw := range p.Enum {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			out = append(out, s)
			continue
		}
		out = append(out, string(raw))
	}
	return out
}

// about is a flag's line of help.
func (p *property) about(required bool) string {
	of := p
	if p.kind() == "array" && p.Items != nil {
		of = p.Items
	}
	parts := []string{strings.ReplaceAll(p.Description, "`", "'")} // pflag takes backquotes for its own
	if choices := of.choices(); len(choices) > 0 {
		parts = append(parts, "One of: "+strings.Join(choices, ", ")+".")
	}
	switch lo, hi := of.Minimum, of.Maximum; {
	case lo != nil && hi != nil:
		parts = append(parts, "From "+decimal(*lo)+" to "+decimal(*hi)+".")
	case lo != nil:
		parts = append(parts, "At least "+decimal(*lo)+".")
	case hi != nil:
		parts = append(parts, "At most "+decimal(*hi)+".")
	}
	if p.kind() == "array" {
		parts = append(parts, "May be given again.")
	}
	if required {
		parts = append(parts, "Required.")
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// read turns a flag's text into JSON.
func (p *property) read(text string) (json.RawMessage, error) {
	var v json.RawMessage
	switch kind := p.kind(); kind {
	case "string":
		if n := len([]rune(text)); n < p.MinLength || p.MaxLength > 0 && n > p.MaxLength {
			return nil, fmt.Errorf("must have %s characters, not %d", span(p.MinLength, p.MaxLength), n)
		}
		v = mustJSON(text)
	case "integer":
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return nil, fmt.Errorf("must be a whole number")
		}
		v = json.RawMessage(text)
	case "number":
		if _, err := strconv.ParseFloat(text, 64); err != nil || !json.Valid([]byte(text)) {
			return nil, fmt.Errorf("must be a number")
		}
		v = json.RawMessage(text)
	case "boolean":
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("must be true or false")
		}
		v = mustJSON(b)
	case "object":
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &m) != nil || m == nil {
			return nil, fmt.Errorf(`must be a JSON object, such as {"a":1}`)
		}
		v = json.RawMessage(text)
	default:
		if v = json.RawMessage(text); !json.Valid(v) {
			v = mustJSON(text)
		}
	}
	return v, p.allowed(text, v)
}

// allowed checks an enum and bounds.
func (p *property) allowed(text string, v json.RawMessage) error {
	if len(p.Enum) > 0 && !slices.Contains(p.choices(), text) {
		hint := ""
		if name := client.Closest(text, p.choices()); name != "" {
			hint = ", did you mean " + name + "?"
		}
		return fmt.Errorf("must be one of: %s%s", strings.Join(p.choices(), ", "), hint)
	}
	var n float64
	if p.Minimum == nil && p.Maximum == nil || json.Unmarshal(v, &n) != nil {
		return nil
	}
	if p.Minimum != nil && n < *p.Minimum {
		return fmt.Errorf("must be at least %s", decimal(*p.Minimum))
	}
	if p.Maximum != nil && n > *p.Maximum {
		return fmt.Errorf("must be at most %s", decimal(*p.Maximum))
	}
	return nil
}

func span(lo, hi int) string {
	switch {
	case hi == 0:
		return "at least " + strconv.Itoa(lo)
	case lo == 0:
		return "at most " + strconv.Itoa(hi)
	}
	return strconv.Itoa(lo) + " to " + strconv.Itoa(hi)
}

func mustJSON(v any) json.RawMessage {
	b, _ := json.Marshal(v) // texts and booleans always are
	return b
}

// flagValue is a parameter as pflag has it.
type flagValue struct {
	property
	given []json.RawMessage
	list  bool
}

// Set reads one more value; of those that aren't lists the last counts.
func (f *flagValue) Set(text string) error {
	of := &f.property
	if f.list {
		of = cmp.Or(f.Items, &property{Type: types{"string"}})
	}
	v, err := of.read(text)
	if err != nil {
		return err
	}
	if !f.list {
		f.given = nil
	}
	f.given = append(f.given, v)
	return nil
}

// String is what was given.
func (f *flagValue) String() string { return string(bytes.Join(rawBytes(f.given), []byte(","))) }

func rawBytes(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i, r := range list {
		out[i] = r
	}
	return out
}

// Type is what help calls the value.
func (f *flagValue) Type() string {
	names := map[string]string{"boolean": "bool", "object": "json"}
	if !f.list {
		return cmp.Or(names[f.kind()], f.kind())
	}
	of := cmp.Or(f.Items, &property{Type: types{"string"}})
	return cmp.Or(names[of.kind()], of.kind())
}

// json is the parameter.
func (f *flagValue) json() json.RawMessage {
	if f.list {
		return slices.Concat([]byte("["), bytes.Join(rawBytes(f.given), []byte(",")), []byte("]"))
	}
	return f.given[0]
}

// parameters are a command's flags.
type parameters struct {
	action   client.PluginAction
	flags    *pflag.FlagSet
	values   map[string]*flagValue
	required []string
}

func newParameters(action client.PluginAction) *parameters {
	p := &parameters{action: action, flags: pflag.NewFlagSet(action.Name, pflag.ContinueOnError), values: map[string]*flagValue{}}
	p.flags.SetOutput(io.Discard)
	p.flags.String("params", "", "all parameters as one JSON object, instead of the others")
	var s schema
	if json.Unmarshal(action.Params, &s) != nil {
		return p // no schema we can read: --params takes everything
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if p.flags.Lookup(name) != nil || name == "help" || name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, "= \t\n") {
			continue
		}
		of := s.Properties[name]
		required := slices.Contains(s.Required, name)
		if required {
			p.required = append(p.required, name)
		}
		v := &flagValue{property: of, list: of.kind() == "array"}
		f := p.flags.VarPF(v, name, "", of.about(required))
		if of.kind() == "boolean" {
			f.NoOptDefVal = "true"
		}
		if len(of.Default) > 0 && string(of.Default) != "null" {
			f.DefValue = string(of.Default)
			if text := ""; of.kind() == "string" && json.Unmarshal(of.Default, &text) == nil {
				f.DefValue = text
			}
		}
		p.values[name] = v
	}
	return p
}

func (p *parameters) usage(w io.Writer, words []string) {
	fmt.Fprintf(w, "%s\n\nUsage:\n  plexus do %s [flags]\n\nFlags:\n%s", plain(p.action.About), strings.Join(words, " "), plain(p.flags.FlagUsages()))
}

// parse makes the parameters' object of the flags.
func (p *parameters) parse(cmd *cobra.Command, words, args []string) (json.RawMessage, error) {
	how := "plexus do " + strings.Join(words, " ")
	cmd.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if p.flags.Lookup(f.Name) == nil && (f.Shorthand == "" || p.flags.ShorthandLookup(f.Shorthand) == nil) {
			p.flags.AddFlag(f)
		}
	})
	if err := p.flags.Parse(args); err != nil {
		return nil, p.wrongFlag(err, how)
	}
	if extra := p.flags.Args(); len(extra) > 0 {
		return nil, wrongUse("parameters are flags: --name value; "+how+" --help lists them", "%q is no flag", extra[0])
	}
	if whole, _ := p.flags.GetString("params"); p.flags.Changed("params") {
		return object("--params", []byte(whole))
	}
	out := map[string]json.RawMessage{}
	for name, v := range p.values {
		if p.flags.Changed(name) {
			out[name] = v.json()
		}
	}
	var missing []string
	for _, name := range p.required {
		if _, ok := out[name]; !ok {
			missing = append(missing, "--"+name)
		}
	}
	if len(missing) == 1 {
		return nil, wrongUse(how+" --help lists the flags", "%s is required", missing[0])
	}
	if len(missing) > 0 {
		return nil, wrongUse(how+" --help lists the flags", "%s are required", strings.Join(missing, ", "))
	}
	return json.Marshal(out)
}

// wrongFlag is what pflag says, with the flag that was probably meant.
func (p *parameters) wrongFlag(err error, how string) error {
	text := firstLine(err.Error())
	hint := how + " --help lists the flags"
	if name, ok := strings.CutPrefix(text, "unknown flag: --"); ok {
		if meant := client.Closest(name, slices.Collect(maps.Keys(p.values))); meant != "" {
			hint = "did you mean --" + meant + "? " + hint
		}
	}
	if _, after, ok := strings.Cut(text, `for "`); ok && strings.HasPrefix(text, "invalid argument") { // invalid argument "x" for "--n" flag: must be …
		if flag, why, ok := strings.Cut(after, `" flag: `); ok {
			given, _, _ := strings.Cut(strings.TrimPrefix(text, "invalid argument "), " for ")
			return wrongUse(hint, "%s %s, and is %s", flag, why, given)
		}
	}
	return wrongUse(hint, "%s", text)
}
