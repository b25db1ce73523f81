package capability

// This file holds the check of a value against a JSON Schema: the keywords below. Others say nothing here, as JSON Schema has it of
// unknown ones; references are refused when declared, since ignoring them would pass anything.

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"plexus/sdk/plugin"
)

const maxNesting = 16 // of a schema

// lint says what a schema can't be used for, or "".
func lint(schema plugin.Value, depth int) string {
	if schema == nil || isBool(schema) {
		return ""
	}
	if !isMap(schema) {
		return "a schema is an object, or true or false"
	}
	if depth == 0 {
		return "it nests more than 16 deep"
	}
	for _, word := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if schema.Get(word) != nil {
			return word + " isn't followed here: write the schema out"
		}
	}
	for _, word := range []string{"items", "additionalProperties", "not"} {
		if problem := lint(schema.Get(word), depth-1); problem != "" {
			return problem
		}
	}
	for _, word := range []string{"anyOf", "allOf", "oneOf"} {
		for sub := range schema.Get(word).Items() {
			if problem := lint(sub, depth-1); problem != "" {
				return problem
			}
		}
	}
	for _, sub := range schema.Get("properties").Pairs() {
		if problem := lint(sub, depth-1); problem != "" {
			return problem
		}
	}
	return ""
}

func isBool(v plugin.Value) bool { return len(v) == 1 && (v[0] == 0xf4 || v[0] == 0xf5) }
func isMap(v plugin.Value) bool  { return len(v) > 0 && v[0]>>5 == 5 }
func isList(v plugin.Value) bool { return len(v) > 0 && v[0]>>5 == 4 }
func isText(v plugin.Value) bool { return len(v) > 0 && v[0]>>5 == 3 }

// check says in what a value breaks a schema, or "". An absent schema allows anything.
func check(schema, v plugin.Value, at string) string {
	if schema == nil || schema.Bool() {
		return ""
	}
	if isBool(schema) {
		return at + " isn't allowed"
	}
	if v == nil {
		return at + " is missing"
	}
	if problem := checkType(schema.Get("type"), v, at); problem != "" {
		return problem
	}
	if c := schema.Get("const"); c != nil && !bytes.Equal(c, v) {
		return at + " isn't the one value it must be"
	}
	if list := schema.Get("enum"); list != nil && !among(list, v) {
		return at + " isn't one of the values it may be"
	}
	for _, f := range []func(schema, v plugin.Value, at string) string{checkNumber, checkText, checkList, checkMap, checkCombined} {
		if problem := f(schema, v, at); problem != "" {
			return problem
		}
	}
	return ""
}

func among(list, v plugin.Value) bool {
	for item := range list.Items() {
		if bytes.Equal(item, v) {
			return true
		}
	}
	return false
}

func checkType(want, v plugin.Value, at string) string {
	if want == nil {
		return ""
	}
	if isText(want) {
		if !is(want.Text(), v) {
			return at + " must be of type " + want.Text()
		}
		return ""
	}
	for t := range want.Items() {
		if is(t.Text(), v) {
			return ""
		}
	}
	return at + " is of none of the types it may be"
}

func is(kind string, v plugin.Value) bool {
	_, number := v.Float()
	_, whole := v.Int()
	switch kind {
	case "object":
		return isMap(v)
	case "array":
		return isList(v)
	case "string":
		return isText(v)
	case "boolean":
		return isBool(v)
	case "null":
		return len(v) == 1 && v[0] == 0xf6
	case "integer":
		return whole
	case "number":
		return number
	}
	return false
}

func checkNumber(schema, v plugin.Value, at string) string {
	n, ok := v.Float()
	if !ok {
		return ""
	}
	for _, b := range []struct {
		word  string
		holds func(n, bound float64) bool
	}{
		{"minimum", func(n, b float64) bool { return n >= b }},
		{"maximum", func(n, b float64) bool { return n <= b }},
		{"exclusiveMinimum", func(n, b float64) bool { return n > b }},
		{"exclusiveMaximum", func(n, b float64) bool { return n < b }},
	} {
		if bound, ok := schema.Get(b.word).Float(); ok && !b.holds(n, bound) {
			return at + " breaks its " + b.word
		}
	}
	return ""
}

// within checks a length against the schema's words for least and most.
func within(schema plugin.Value, n int, least, most, at string) string {
	if b, ok := schema.Get(least).Int(); ok && int64(n) < b {
		return at + " breaks its " + least
	}
	if b, ok := schema.Get(most).Int(); ok && int64(n) > b {
		return at + " breaks its " + most
	}
	return ""
}

func checkText(schema, v plugin.Value, at string) string {
	if !isText(v) {
		return ""
	}
	return within(schema, utf8.RuneCountInString(v.Text()), "minLength", "maxLength", at)
}

func checkList(schema, v plugin.Value, at string) string {
	if !isList(v) {
		return ""
	}
	if problem := within(schema, v.Len(), "minItems", "maxItems", at); problem != "" {
		return problem
	}
	i := 0
	for item := range v.Items() {
		if problem := check(schema.Get("items"), item, at+"["+strconv.Itoa(i)+"]"); problem != "" {
			return problem
		}
		i++
	}
	return ""
}

func checkMap(schema, v plugin.Value, at string) string {
	if !isMap(v) {
		return ""
	}
	for name := range schema.Get("required").Items() {
		if v.Get(name.Text()) == nil {
			return at + "." + name.Text() + " is missing"
		}
	}
	if problem := within(schema, v.Len(), "minProperties", "maxProperties", at); problem != "" {
		return problem
	}
	properties, others := schema.Get("properties"), schema.Get("additionalProperties")
	for k, item := range v.Pairs() {
		name := k.Text()
		sub := properties.Get(name)
		if sub == nil {
			sub = others
		}
		if problem := check(sub, item, at+"."+plugin.Cut(name, 64)); problem != "" {
			return problem
		}
	}
	return ""
}

func checkCombined(schema, v plugin.Value, at string) string {
	for sub := range schema.Get("allOf").Items() {
		if problem := check(sub, v, at); problem != "" {
			return problem
		}
	}
	if list := schema.Get("anyOf"); list != nil && fits(list, v, at) == 0 {
		return at + " fits none of anyOf"
	}
	if list := schema.Get("oneOf"); list != nil && fits(list, v, at) != 1 {
		return at + " must fit exactly one of oneOf"
	}
	if not := schema.Get("not"); not != nil && check(not, v, at) == "" {
		return at + " is what it must not be"
	}
	return ""
}

func fits(list, v plugin.Value, at string) (n int) {
	for sub := range list.Items() {
		if check(sub, v, at) == "" {
			n++
		}
	}
	return n
}
