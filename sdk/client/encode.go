package client

// This file holds the writing of a message's body: the sender's JSON goes out byte for byte, where encoding/json would
// take out spaces and escape some characters.

import (
	"bytes"
	"encoding/json"
)

// encode writes the body of a send. A part that is no JSON is refused here, since it would break the whole.
func (in SendMessage) encode() ([]byte, error) {
	var b bytes.Buffer
	sep := byte('{')
	for _, part := range []struct {
		name string
		raw  json.RawMessage
	}{{"content", in.Content}, {"meta", in.Meta}, {"content_schema", in.ContentSchema}} {
		if part.raw == nil {
			continue
		}
		if !json.Valid(part.raw) {
			return nil, &Error{Code: CodeInvalid, Detail: part.name + " is not valid JSON", Hint: "content must be one JSON object"}
		}
		b.WriteByte(sep)
		b.WriteString(`"` + part.name + `":`)
		b.Write(part.raw)
		sep = ','
	}
	rest, err := json.Marshal(struct {
		ContentType string `json:"content_type,omitempty"`
		Refs        *Ref   `json:"refs,omitempty"`
	}{in.ContentType, in.Refs})
	if err != nil {
		return nil, err
	}
	if sep == '{' || len(rest) > 2 {
		b.WriteByte(sep)
		b.Write(rest[1:])
	} else {
		b.WriteByte('}')
	}
	return b.Bytes(), nil
}
