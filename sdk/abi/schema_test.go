package abi

import (
	"errors"
	"strconv"
	"testing"
)

// free is a purse without a bottom.
func free(int64) {}

func TestCheckSchema(t *testing.T) {
	deep := any("x")
	for range 60 {
		deep = []any{deep}
	}
	person := Fields{"type": "object", "required": []string{"name"}, "additionalProperties": false, "properties": Fields{
		"name": Fields{"type": "string", "minLength": 1, "maxLength": 4}, "age": Fields{"type": "integer", "minimum": 0, "exclusiveMaximum": 150},
		"tags": Fields{"type": "array", "items": Fields{"enum": []string{"a", "b"}}, "uniqueItems": true, "maxItems": 2},
	}}
	tree := Fields{"type": "object", "properties": Fields{"left": Fields{"$ref": "#"}, "n": Fields{"$ref": "#/$defs/n"}}, "$defs": Fields{"n": Fields{"type": "integer"}}}
	for name, test := range map[string]struct {
		schema, value any
		want          string
	}{
		"true":              {true, 1, ""},
		"false":             {false, 1, " isn't allowed"},
		"no schema":         {"x", 1, " can't be checked: a schema is an object, or true or false"},
		"empty":             {Fields{}, 1, ""},
		"fits":              {person, Fields{"name": "Äöüß", "age": 3.0, "tags": []string{"a"}}, ""},
		"missing":           {person, Fields{}, ".name is missing"},
		"another":           {person, Fields{"name": "A", "nickname": "B"}, ".nickname isn't allowed"},
		"type":              {person, Fields{"name": 1}, ".name must be of type string"},
		"types":             {Fields{"type": []string{"string", "null"}}, 1, " must be of type string or null"},
		"not whole":         {person, Fields{"name": "A", "age": 1.5}, ".age must be of type integer"},
		"least":             {person, Fields{"name": "A", "age": -1}, ".age breaks its minimum of 0"},
		"below":             {person, Fields{"name": "A", "age": 150}, ".age breaks its exclusiveMaximum of 150"},
		"short":             {person, Fields{"name": ""}, ".name breaks its minLength of 1"},
		"long":              {person, Fields{"name": "Äöüßx"}, ".name breaks its maxLength of 4"},
		"item":              {person, Fields{"name": "A", "tags": []string{"a", "c"}}, ".tags[1] isn't one of the values it may be: a, b"},
		"twice":             {person, Fields{"name": "A", "tags": []string{"a", "a"}}, ".tags has an item twice"},
		"many":              {person, Fields{"name": "A", "tags": []string{"a", "b", "a"}}, ".tags breaks its maxItems of 2"},
		"const":             {Fields{"const": 1}, 1.0, ""},
		"other const":       {Fields{"const": "1"}, 1, " isn't the one value it must be"},
		"all":               {Fields{"allOf": []any{Fields{"type": "integer"}, Fields{"minimum": 5}}}, 4, " breaks its minimum of 5"},
		"any":               {Fields{"anyOf": []any{Fields{"type": "string"}, Fields{"minimum": 5}}}, 4, " fits none of anyOf"},
		"one":               {Fields{"oneOf": []any{Fields{"type": "integer"}, Fields{"minimum": 5}}}, 6, " must fit exactly one of oneOf"},
		"not":               {Fields{"not": Fields{"type": "integer"}}, 6, " is what it must not be"},
		"then":              {Fields{"if": Fields{"required": []string{"a"}}, "then": Fields{"required": []string{"b"}}}, Fields{"a": 1}, ".b is missing"},
		"else":              {Fields{"if": Fields{"required": []string{"a"}}, "else": Fields{"required": []string{"b"}}}, Fields{}, ".b is missing"},
		"multiple":          {Fields{"multipleOf": 0.25}, 1.3, " breaks its multipleOf of 0.25"},
		"prefix":            {Fields{"prefixItems": []any{true, Fields{"type": "string"}}, "items": false}, []any{1, 2}, "[1] must be of type string"},
		"behind":            {Fields{"prefixItems": []any{true}, "items": Fields{"type": "string"}}, []any{1, 2}, "[1] must be of type string"},
		"contains":          {Fields{"contains": Fields{"const": 3}}, []any{1, 2}, " has no item of the kind it must contain"},
		"contains too much": {Fields{"contains": Fields{"const": 3}, "maxContains": 1}, []any{3, 3}, " breaks its maxContains of 1"},
		"names":             {Fields{"propertyNames": Fields{"maxLength": 1}}, Fields{"ab": 1}, ".ab breaks its maxLength of 1"},
		"dependent":         {Fields{"dependentRequired": Fields{"a": []string{"b"}}}, Fields{"a": 1}, ".b is missing"},
		"few":               {Fields{"minProperties": 1}, Fields{}, " breaks its minProperties of 1"},
		"patterns":          {Fields{"patternProperties": Fields{"^x": true}, "additionalProperties": false}, Fields{"y": 1}, ""},
		"unknown":           {Fields{"format": "email", "pattern": "^a"}, "b", ""},
		"tree":              {tree, Fields{"left": Fields{"left": Fields{"n": "x"}}}, ".left.left.n must be of type integer"},
		"nowhere":           {Fields{"$ref": "#/x"}, 1, " can't be checked: its schema refers to #/x, which isn't in it"},
		"elsewhere":         {Fields{"not": Fields{"$ref": "http://example.org/s"}}, 1, " can't be checked: its schema refers to http://example.org/s, which isn't in it"},
		"itself":            {Fields{"$ref": "#"}, 1, " can't be checked: its schema nests more than 128 deep"},
		"deep value":        {Fields{"$defs": Fields{}, "items": Fields{"$ref": "#"}, "type": []string{"array", "string"}}, deep, ""},
		"absent":            {Fields{}, Value(nil), " is missing"},
	} {
		v, ok := test.value.(Value)
		if !ok {
			v = Encode(test.value)
		}
		if got := CheckSchema(Encode(test.schema), "", v, free); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestCheckSchemaByPointer(t *testing.T) {
	doc := Encode(Fields{"oneOf": []any{Fields{"type": "string"}, Fields{"$ref": "#/$defs/a~1b"}}, "$defs": Fields{"a/b": Fields{"type": "integer"}}})
	for pointer, want := range map[string]string{
		"/oneOf/0": " must be of type string", "/oneOf/1": "", "/$defs/a~1b": "", "/oneOf/2": " can't be checked: the schema has no /oneOf/2",
		"oneOf": " can't be checked: the schema has no oneOf", "/oneOf/x": " can't be checked: the schema has no /oneOf/x",
	} {
		if got := CheckSchema(doc, pointer, Encode(1), free); got != want {
			t.Errorf("%s: %q, want %q", pointer, got, want)
		}
	}
}

// What doubles at each level is paid for before it is done, so that it ends.
func TestCheckSchemaIsPaidFor(t *testing.T) {
	defs := Fields{"40": false}
	for i := range 40 {
		next := Fields{"$ref": "#/$defs/" + strconv.Itoa(i+1)}
		defs[strconv.Itoa(i)] = Fields{"anyOf": []any{next, next}}
	}
	left := int64(10_000_000)
	ended := errors.New("no gas")
	defer func() {
		if r := recover(); r != ended {
			t.Errorf("it ended with %v", r)
		}
	}()
	CheckSchema(Encode(Fields{"$ref": "#/$defs/0", "$defs": defs}), "", Encode(1), func(gas int64) {
		if left -= gas; left < 0 {
			panic(ended)
		}
	})
}
