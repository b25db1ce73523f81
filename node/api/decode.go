package api

// This file reads request bodies: one JSON object in UTF-8, each field once, none that isn't known.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"plexus/graph"
)

// readBody reads a whole JSON body within the limits of size and time.
func (x *exchange) readBody() ([]byte, error) { return x.readUpTo(MaxBody) }

func (x *exchange) readUpTo(most int64) ([]byte, error) {
	rc := http.NewResponseController(x.w)
	// Not every writer has deadlines (tests' recorders); those that have come from the network.
	_ = rc.SetReadDeadline(time.Now().Add(x.h.cfg.BodyWait))
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, most))
	var over *http.MaxBytesError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, invalid(fmt.Sprintf("the body didn't arrive within %s", x.h.cfg.BodyWait), "")
	case errors.As(err, &over):
		return nil, &Fault{Kind: graph.ErrTooLarge, Detail: fmt.Sprintf("the body is over %d bytes", most)}
	case err != nil:
		return nil, invalid("the body ended early: "+err.Error(), "")
	}
	// Only now: net/http reads on after a body that was left half read, and mustn't wait for it without end.
	_ = rc.SetReadDeadline(time.Time{})
	return body, nil
}

// decode reads a body into *v, whose fields' JSON names are known.
func decode(body []byte, known map[string]bool, v any) error {
	if !utf8.Valid(body) {
		return invalid("the body is not valid UTF-8", "")
	}
	if err := checkFields(body, known); err != nil {
		return err
	}
	// Larger bodies hold a payload and many refs; the payload is checked where it is sealed.
	if len(body) <= graph.MaxPayload {
		if err := graph.CheckPayload(body); err != nil {
			return bodyError(err)
		}
	}
	return typeError(json.Unmarshal(body, v), reflect.TypeOf(v))
}

// checkFields walks the top level: one object, known names, each once, nothing behind it.
func checkFields(body []byte, known map[string]bool) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	if t, err := dec.Token(); err != nil {
		return syntaxError(err)
	} else if t != json.Delim('{') {
		return invalid("the body must be a JSON object", "")
	}
	seen := make(map[string]bool, len(known))
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return syntaxError(err)
		}
		name, _ := t.(string)
		switch {
		case !known[name]:
			return invalid(fmt.Sprintf("unknown field '%.64s'", name), "known fields: "+strings.Join(sortedKeys(known), ", "))
		case seen[name]:
			return invalid(fmt.Sprintf("duplicate field '%s'", name), "")
		}
		seen[name] = true
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return syntaxError(err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return syntaxError(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return invalid("the body holds more than one JSON value", "")
	}
	return nil
}

func syntaxError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return invalid("the body is not valid JSON: it ends early", "")
	}
	return invalid("the body is not valid JSON: "+err.Error(), "")
}

// bodyError says what is wrong inside a body in the words of its detail.
func bodyError(err error) error {
	var ie *graph.InvalidError
	if errors.As(err, &ie) && ie.Detail != "" {
		kind := graph.ErrInvalid
		if errors.Is(err, graph.ErrTooLarge) {
			kind = graph.ErrTooLarge
		}
		return &Fault{Kind: kind, Detail: "the body " + ie.Detail}
	}
	return err
}

// typeError names the field of t whose value is of another type than it should be.
func typeError(err error, t reflect.Type) error {
	var te *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &te):
		return syntaxError(err)
	}
	var path []string
	each := ""
	for _, name := range strings.Split(te.Field, ".") {
		t = elem(t)
		f, ok := fieldNamed(t, name)
		if !ok {
			continue // an embedded struct, which has no name in JSON
		}
		path, t = append(path, name), f.Type
	}
	if t.Kind() == reflect.Slice && te.Type.Kind() != reflect.Slice {
		each = "each of "
	}
	return invalid(each+strings.Join(path, ".")+" must be "+kindName(te.Type), "")
}

// elem is what a pointer or list is of.
func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	if t.Kind() == reflect.Struct {
		for _, f := range reflect.VisibleFields(t) {
			if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
				return f, true
			}
		}
	}
	return reflect.StructField{}, false
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "an object"
	}
	return "an integer"
}

// object makes an absent or null value nil, and refuses what is no JSON object.
func object(name string, raw *json.RawMessage) error {
	*raw = bytes.TrimSpace(*raw)
	switch {
	case len(*raw) == 0 || string(*raw) == "null":
		*raw = nil
	case (*raw)[0] != '{':
		return invalid(name+" must be a JSON object", "")
	}
	return nil
}
