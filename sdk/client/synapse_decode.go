package client

// This file holds the reading of an envelope's JSON, strictly: a field that isn't known is refused rather than lost. And the calls that
// speak envelopes.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// DecodeSynapse reads an envelope's JSON. An *Error names the field that is unknown or of the wrong kind; what the fields say, Message and Send check.
func DecodeSynapse(b []byte) (e UnifiedSynapseMessage, err error) {
	if err := knownFields(b, "", reflect.TypeFor[UnifiedSynapseMessage]()); err != nil {
		return e, err
	}
	err = json.Unmarshal(b, &e)
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) {
		return e, badField(te.Field, "must be "+kindOf(te.Type), "")
	}
	if err != nil {
		return e, badField("the envelope", "is not valid JSON: "+err.Error(), "")
	}
	return e, nil
}

// knownFields walks an object and the structs in it. Names count letter by letter.
func knownFields(raw json.RawMessage, at string, t reflect.Type) error {
	have := members(raw)
	if have == nil {
		what := strings.TrimSuffix(at, ".")
		if what == "" {
			what = "the envelope"
		}
		return badField(what, "must be a JSON object", "")
	}
	for name, value := range have {
		f, ok := fieldNamed(t, name)
		if !ok {
			return badField(fmt.Sprintf("unknown field '%.64s'", at+name), "in the envelope", "known fields: "+strings.Join(fieldNames(t), ", "))
		}
		if f.Kind() == reflect.Pointer && f.Elem().Kind() == reflect.Struct && string(value) != "null" {
			if err := knownFields(value, at+name+".", f.Elem()); err != nil {
				return err
			}
		}
	}
	return nil
}

func fieldNamed(t reflect.Type, name string) (reflect.Type, bool) {
	i := slices.Index(fieldNames(t), name)
	if i < 0 {
		return nil, false
	}
	return t.Field(i).Type, true
}

func fieldNames(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Int:
		return "a whole number"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

// SynapsePage is one page of envelopes in arrival order. Next, where not empty, is the cursor for more.
type SynapsePage struct {
	Messages []UnifiedSynapseMessage
	Next     string
}

// ReadSynapse is Read with envelopes, in which the daemon also says how far its user trusts each sender.
func (c *Client) ReadSynapse(ctx context.Context, q ReadQuery) (SynapsePage, error) {
	v := readValues(q)
	v.Set("format", "synapse")
	var p SynapsePage
	h, err := c.call(ctx, request{
		method: http.MethodGet, path: "/spaces/" + url.PathEscape(q.SpaceID) + "/messages", query: v, replayable: true,
	}, &p.Messages)
	if err != nil {
		return SynapsePage{}, err
	}
	p.Next = next(h)
	return p, nil
}

// SendSynapse sends an envelope and returns the one the message has from now on. With an ID of the sender's own in it, a repeated call sends
// nothing new.
func (c *Client) SendSynapse(ctx context.Context, spaceID string, e UnifiedSynapseMessage) (UnifiedSynapseMessage, error) {
	var out UnifiedSynapseMessage
	if e.Payload != nil && !json.Valid(e.Payload) {
		return out, badField("payload", "is not valid JSON", "it must be one JSON object")
	}
	header := http.Header{}
	if e.ID == "" {
		header.Set("Idempotency-Key", idempotencyKey())
	}
	_, err := c.call(ctx, request{
		method: http.MethodPost, path: "/spaces/" + url.PathEscape(spaceID) + "/messages", query: url.Values{"format": {"synapse"}},
		header: header, body: e.AppendJSON(nil), replayable: true,
	}, &out)
	return out, err
}
