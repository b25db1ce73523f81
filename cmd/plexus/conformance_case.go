package main

// This file holds the suite's format: docs/conformance/README.md.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// suite is one file.
type suite struct {
	Version int               `json:"conformance"`
	About   string            `json:"about"`
	Plugin  string            `json:"plugin"` // whose marks are counted; "": none
	Cases   []conformanceCase `json:"cases"`
	Name    string            `json:"-"` // the file's
}

type conformanceCase struct {
	Name  string            `json:"name"`
	About string            `json:"about"`
	Needs []string          `json:"needs"` // "time"
	Nodes map[string]string `json:"nodes"` // name → "agent" or "human"
	Steps []conformanceStep `json:"steps"`
}

// conformanceStep is one thing done, and what must come of it. Exactly one of Send, Do, Join, View, Read, Request and Pause is there.
type conformanceStep struct {
	By string `json:"by"`

	Send    string          `json:"send"` // the message's label
	Message json.RawMessage `json:"message"`
	Marked  string          `json:"marked"` // part of the reason

	Do    string `json:"do"`    // a command
	Label string `json:"label"` // of the first message it sends

	Join  json.RawMessage `json:"join"` // the body of POST /spaces
	View  string          `json:"view"`
	Of    string          `json:"of"` // the plugin of View and Do; "": the suite's
	Read  map[string]any  `json:"read"`
	Other string          `json:"request"` // METHOD /path
	Body  json.RawMessage `json:"body"`
	Pause int             `json:"pause_ms"`

	Params json.RawMessage `json:"params"`
	Status int             `json:"status"`
	Detail string          `json:"detail"` // part of the error's
	Want   json.RawMessage `json:"want"`
}

func parseSuite(file string, b []byte) (suite, error) {
	s := suite{Name: strings.TrimSuffix(path.Base(file), ".json")}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, wrongUse("docs/conformance/README.md has the format", "%s: %v", file, err)
	}
	if s.Version != 1 {
		return s, wrongUse("this program knows format 1", "%s: it is of format %d", file, s.Version)
	}
	return s, nil
}

// labels are what texts of a case stand for: "$label" a message's ID, "@name" a Node's.
type labels map[string]string

var mentioned = regexp.MustCompile(`[$@][a-z][a-z0-9_-]*`)

// later is a time so many seconds from now.
var later = regexp.MustCompile(`^now([+-][0-9]+)$`)

// fill puts IDs and times where whole texts and keys of JSON stand for them.
func (l labels) fill(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return raw, nil
	}
	v, err := decodeJSON(raw)
	if err != nil {
		return nil, err
	}
	return json.Marshal(l.replace(v))
}

func (l labels) replace(v any) any {
	switch v := v.(type) {
	case string:
		return l.stand(v)
	case []any:
		for i := range v {
			v[i] = l.replace(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[l.stand(k)] = l.replace(x)
		}
		return out
	}
	return v
}

func (l labels) stand(text string) string {
	if id, ok := l[text]; ok {
		return id
	}
	if m := later.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return time.Now().Add(time.Duration(n) * time.Second).UTC().Format("2006-01-02T15:04:05Z")
		}
	}
	return text
}

// path puts IDs into a path.
func (l labels) path(p string) string {
	return mentioned.ReplaceAllStringFunc(p, func(s string) string { return l.stand(s) })
}

// plain turns IDs back, so that who reads a failure knows them.
func (l labels) plain(text string) string {
	for label, id := range l {
		text = strings.ReplaceAll(text, id, label)
	}
	return text
}

func decodeJSON(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// differs says where an answer isn't what is wanted, "" where it is: an object must have the fields that the wanted one names, where null
// stands for none; lists must have the same length; all else must be equal.
func differs(at string, got, want any) string {
	switch want := want.(type) {
	case map[string]any:
		m, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %s, wanted an object", at, show(got))
		}
		for _, k := range slices.Sorted(maps.Keys(want)) {
			if d := differs(at+"."+k, m[k], want[k]); d != "" {
				return d
			}
		}
		return ""
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Sprintf("%s is %s, wanted %s", at, show(got), show(want))
		}
		for i := range want {
			if d := differs(at+"["+strconv.Itoa(i)+"]", list[i], want[i]); d != "" {
				return d
			}
		}
		return ""
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("%s is %s, wanted %s", at, show(got), show(want))
	}
	return ""
}

func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
