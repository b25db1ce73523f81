package node

// This file checks that a content_schema is a JSON Schema. It is declarative: no message's content is held against it.

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"plexus/graph"
)

// schemaURL is a base that names no file and no server; it is taken out of error texts again.
const schemaURL = "schema:"

// noLoader refuses what isn't in the schema itself.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("refers to %s: only references within the schema are followed", url)
}

// checkSchema returns ErrInvalid where the text is no legal JSON Schema.
func checkSchema(raw []byte) error {
	if len(raw) > graph.MaxPayload {
		return fmt.Errorf("content_schema has %d bytes, at most %d are allowed: %w", len(raw), graph.MaxPayload, graph.ErrTooLarge)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err == nil {
		err = compile(doc)
	}
	if err != nil {
		return invalid("content_schema is not valid JSON Schema: %s", schemaText(err))
	}
	return nil
}

// compile checks a schema against its metaschema and follows its references, once each: "$ref": "#" ends.
func compile(doc any) error {
	switch doc.(type) {
	case map[string]any, bool:
	default:
		return errors.New("it must be an object or a boolean")
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return err
	}
	_, err := c.Compile(schemaURL)
	return err
}

// schemaText is an error's text on one line, without the base URL.
func schemaText(err error) string {
	var v *jsonschema.SchemaValidationError
	if errors.As(err, &v) {
		err = v.Err
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		err = load.Err
	}
	s := strings.ReplaceAll(err.Error(), schemaURL, "")
	return strings.Join(strings.Fields(s), " ")
}
