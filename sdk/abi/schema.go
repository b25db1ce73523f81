package abi

// This file holds the schema check (docs/plugins.md §6.3): JSON Schema over values as guests see them, with its keywords counted out,
// so that it says the same on every replica.

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What a step of the check costs in gas: a schema looked at, and each byte of a map that is gone through.
const (
	SchemaStep = 100
	SchemaByte = 4
)

const (
	schemaDepth = 128 // of schemas in one another, references included: else one to itself never ends
	schemaName  = 64  // bytes of a name in a problem
)

// CheckSchema says in what a value breaks a JSON Schema, or "". What it says belongs behind the value's name: ".title is missing". pointer, where
// not "", is a JSON pointer to the part of the document that is meant. spend is told of the work before it is done, and may panic.
func CheckSchema(document Value, pointer string, v Value, spend func(gas int64)) string {
	c := schemaCheck{root: document, spend: spend}
	schema, ok := c.find(pointer)
	if !ok {
		return " can't be checked: the schema has no " + cut(pointer)
	}
	problem := c.check(schema, v, nil, schemaDepth)
	if c.broken != "" {
		return c.broken
	}
	return problem
}

type schemaCheck struct {
	root   Value
	spend  func(gas int64)
	broken string // what is wrong with the schema itself
}

// place is where in the value the check is.
type place struct {
	up    *place
	name  string
	index int // of a list; -1: name counts
}

func (p *place) text() string {
	switch {
	case p == nil:
		return ""
	case p.index >= 0:
		return p.up.text() + "[" + strconv.Itoa(p.index) + "]"
	}
	return p.up.text() + "." + cut(p.name)
}

func cut(s string) string {
	if len(s) <= schemaName {
		return s
	}
	return strings.ToValidUTF8(s[:schemaName], "") + "…"
}

// find follows a JSON pointer from the root.
func (c *schemaCheck) find(pointer string) (Value, bool) {
	at := c.root
	if pointer == "" {
		return at, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	for part := range strings.SplitSeq(pointer[1:], "/") {
		c.spend(SchemaByte * int64(len(at)))
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		if at.Kind() == Map {
			at = at.Get(part)
		} else {
			at = item(at, part)
		}
		if at == nil {
			return nil, false
		}
	}
	return at, true
}

func item(list Value, index string) Value {
	n, err := strconv.Atoi(index)
	if err != nil {
		return nil
	}
	for v := range list.Items() {
		if n == 0 {
			return v
		}
		n--
	}
	return nil
}

func (c *schemaCheck) unfit(at *place, why string) string {
	if c.broken == "" {
		c.broken = at.text() + " can't be checked: " + why
	}
	return c.broken
}

func (c *schemaCheck) check(schema, v Value, at *place, depth int) string {
	if depth == 0 {
		return c.unfit(at, "its schema nests more than "+strconv.Itoa(schemaDepth)+" deep")
	}
	c.spend(SchemaStep + SchemaByte*int64(len(schema)))
	switch kind := schema.Kind(); {
	case kind == Bool && schema.Bool():
		return ""
	case kind == Bool:
		return at.text() + " isn't allowed"
	case kind != Map:
		return c.unfit(at, "a schema is an object, or true or false")
	case v == nil:
		return at.text() + " is missing"
	}
	for k, rule := range schema.Pairs() {
		if problem := c.keyword(schema, k.Text(), rule, v, at, depth-1); problem != "" || c.broken != "" {
			return problem
		}
	}
	return ""
}

// keyword holds a value against one keyword of a schema. Others say nothing.
func (c *schemaCheck) keyword(schema Value, word string, rule, v Value, at *place, depth int) string {
	switch word {
	case "type", "const", "enum":
		return c.plain(word, rule, v, at)
	case "$ref", "allOf", "anyOf", "oneOf", "not", "if":
		return c.combined(schema, word, rule, v, at, depth)
	case "$dynamicRef", "$recursiveRef":
		return c.unfit(at, word+" isn't followed here")
	}
	kind := v.Kind()
	switch {
	case kind == Int || kind == Float:
		return number(word, rule, v, at)
	case kind == Text && (word == "minLength" || word == "maxLength"):
		return within(word, rule, utf8.RuneCount(v.raw(3)), at)
	case kind == List:
		return c.list(schema, word, rule, v, at, depth)
	case kind == Map:
		return c.object(schema, word, rule, v, at, depth)
	}
	return ""
}

func (c *schemaCheck) plain(word string, rule, v Value, at *place) string {
	switch {
	case word == "const" && !same(rule, v):
		return at.text() + " isn't the one value it must be"
	case word == "enum" && !among(rule, v):
		return at.text() + " isn't one of the values it may be" + listed(rule)
	case word == "type" && rule.Kind() == Text && !is(rule.Text(), v):
		return at.text() + " must be of type " + cut(rule.Text())
	case word == "type" && rule.Kind() == List:
		for _, t := range rule.Texts() {
			if is(t, v) {
				return ""
			}
		}
		return at.text() + " must be of type " + cut(strings.Join(rule.Texts(), " or "))
	}
	return ""
}

// listed names the texts of an enum, where they are few.
func listed(enum Value) string {
	if texts := enum.Texts(); len(texts) == enum.Len() && len(enum) <= 4*schemaName {
		return ": " + strings.Join(texts, ", ")
	}
	return ""
}

func among(list, v Value) bool {
	for item := range list.Items() {
		if same(item, v) {
			return true
		}
	}
	return false
}

// same compares values; of numbers, whether they are whole or not makes no difference.
func same(a, b Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, okX := a.Float()
	y, okY := b.Float()
	return okX && okY && a.Kind() != b.Kind() && x == y
}

func is(kind string, v Value) bool {
	k := v.Kind()
	switch kind {
	case "object":
		return k == Map
	case "array":
		return k == List
	case "string":
		return k == Text
	case "boolean":
		return k == Bool
	case "null":
		return k == Null
	case "number":
		return k == Int || k == Float
	case "integer":
		f, ok := v.Float()
		return ok && f == math.Trunc(f)
	}
	return false
}

func (c *schemaCheck) combined(schema Value, word string, rule, v Value, at *place, depth int) string {
	switch word {
	case "$ref":
		ref := rule.Text()
		to, ok := Value(nil), false
		if strings.HasPrefix(ref, "#") {
			to, ok = c.find(ref[1:])
		}
		if !ok {
			return c.unfit(at, "its schema refers to "+cut(ref)+", which isn't in it")
		}
		return c.check(to, v, at, depth)
	case "allOf":
		for sub := range rule.Items() {
			if problem := c.check(sub, v, at, depth); problem != "" {
				return problem
			}
		}
	case "anyOf", "oneOf":
		n := 0
		for sub := range rule.Items() {
			if c.check(sub, v, at, depth) == "" {
				n++
			}
		}
		if n == 0 {
			return at.text() + " fits none of " + word
		}
		if n > 1 && word == "oneOf" {
			return at.text() + " must fit exactly one of oneOf"
		}
	case "not":
		if c.check(rule, v, at, depth) == "" {
			return at.text() + " is what it must not be"
		}
	case "if":
		next := "else"
		if c.check(rule, v, at, depth) == "" {
			next = "then"
		}
		if sub := schema.Get(next); sub != nil {
			return c.check(sub, v, at, depth)
		}
	}
	return ""
}

func number(word string, rule, v Value, at *place) string {
	bound, ok := rule.Float()
	n, _ := v.Float()
	if !ok {
		return ""
	}
	fits := true
	switch word {
	case "minimum":
		fits = n >= bound
	case "maximum":
		fits = n <= bound
	case "exclusiveMinimum":
		fits = n > bound
	case "exclusiveMaximum":
		fits = n < bound
	case "multipleOf":
		fits = bound <= 0 || math.Mod(n, bound) == 0
	}
	if fits {
		return ""
	}
	return at.text() + " breaks its " + word + " of " + decimal(rule)
}

func decimal(v Value) string {
	if v.Kind() == Int {
		n, _ := v.Int()
		return strconv.FormatInt(n, 10)
	}
	f, _ := v.Float()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// within holds a count against a bound, which the word says is the least or the most.
func within(word string, rule Value, n int, at *place) string {
	bound, ok := rule.Float()
	if !ok || strings.HasPrefix(word, "min") && float64(n) >= bound || strings.HasPrefix(word, "max") && float64(n) <= bound {
		return ""
	}
	return at.text() + " breaks its " + word + " of " + decimal(rule)
}
