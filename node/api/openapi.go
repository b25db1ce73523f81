package api

// This file makes the OpenAPI 3.1 document from the table of routes and the types that serve.

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"plexus/graph"
	"plexus/sdk/client"
)

// document is the JSON served at /openapi.json.
func document(table []route, version string) []byte {
	if version == "" {
		version = "0.0.0"
	}
	reg := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	api := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Plexus", Version: version,
			Description: "A peer-to-peer node for people and agents. Errors are problems by RFC 9457.",
			License:     &huma.License{Name: "Apache 2.0", Identifier: "Apache-2.0"},
		},
		Components: &huma.Components{
			Schemas: reg,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"token":       {Type: "http", Scheme: "bearer", Description: "A token owns one Node."},
				"callerToken": {Type: "http", Scheme: "bearer", Description: "A caller's token opens P2A alone: plexus caller add."},
				"accessKey":   {Type: "apiKey", In: "header", Name: "X-Access-Key", Description: "The host's key; also as the user of http://<key>@host."},
			},
		},
	}
	for i := range table {
		api.AddOperation(operation(&table[i], reg))
	}
	refine(reg, table)
	out, err := json.Marshal(api)
	if err != nil {
		panic("encode the OpenAPI document: " + err.Error())
	}
	return out
}

func operation(t *route, reg huma.Registry) *huma.Operation {
	op := &huma.Operation{
		Method: t.method, Path: t.path, OperationID: t.name, Summary: t.summary,
		Parameters: parameters(t), Security: security(t.who), Responses: map[string]*huma.Response{},
	}
	switch {
	case t.in != nil:
		op.RequestBody = &huma.RequestBody{Required: t.method != http.MethodDelete, Content: content("application/json", schemaOf(reg, t.in))}
		if t.inType != "" {
			op.RequestBody.Content[t.inType] = binary()
		}
	case t.inType != "":
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{t.inType: binary()}}
	}
	op.Responses[strconv.Itoa(t.status)] = success(t, reg)
	orEnvelope(op, t, reg)
	op.Responses["default"] = &huma.Response{
		Description: "A problem; detail says what, hint what to do next",
		Content:     content("application/problem+json", schemaOf(reg, reflect.TypeFor[client.Problem]())),
	}
	return op
}

func success(t *route, reg huma.Registry) *huma.Response {
	resp := &huma.Response{Description: http.StatusText(t.status)}
	switch {
	case t.outType == streamType && t.watched:
		resp.Description = answersDoc
		resp.Content = content(t.outType, &huma.Schema{})
	case t.outType == streamType:
		resp.Description = "Server-Sent Events: id is the message ID, event is message, fork or withdrawn, data is a Message on one line"
		resp.Content = content(t.outType, schemaOf(reg, reflect.TypeFor[client.Message]()))
	case t.outType != "":
		resp.Content = content(t.outType, &huma.Schema{Type: huma.TypeString, Format: "binary"})
	case t.out != reflect.TypeFor[none]():
		resp.Content = content("application/json", schemaOf(reg, t.out))
	}
	if t.watched && t.outType == "" {
		resp.Content[streamType] = &huma.MediaType{Schema: &huma.Schema{}}
		resp.Description += "; as a stream: " + answersDoc
	}
	if t.paged {
		resp.Headers = map[string]*huma.Param{"Link": {
			Description: `rel="next": the next page, where more may follow`, Schema: &huma.Schema{Type: huma.TypeString},
		}}
	}
	return resp
}

const answersDoc = "Server-Sent Events: id names the answer, event is answer, data is the answer on one line"

func content(contentType string, s *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{contentType: {Schema: s}}
}

func binary() *huma.MediaType {
	return &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
}

func schemaOf(reg huma.Registry, t reflect.Type) *huma.Schema { return reg.Schema(t, true, t.Name()) }

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

func parameters(t *route) []*huma.Param {
	var out []*huma.Param
	for _, m := range pathParam.FindAllStringSubmatch(t.path, -1) {
		out = append(out, &huma.Param{Name: m[1], In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	for _, p := range t.params {
		out = append(out, &huma.Param{Name: p.name, In: "query", Description: p.doc, Schema: p.schema()})
	}
	for _, p := range t.headers {
		out = append(out, &huma.Param{Name: p.name, In: "header", Description: p.doc, Schema: p.schema()})
	}
	return out
}

func (p param) schema() *huma.Schema {
	switch p.kind {
	case isFlag:
		return &huma.Schema{Type: huma.TypeBoolean}
	case isCount:
		one := 1.0
		return &huma.Schema{Type: huma.TypeInteger, Minimum: &one}
	case isChoice:
		s := &huma.Schema{Type: huma.TypeString}
		for _, v := range p.of {
			s.Enum = append(s.Enum, v)
		}
		return s
	}
	return &huma.Schema{Type: huma.TypeString}
}

func security(w who) []map[string][]string {
	token, key := map[string][]string{"token": {}}, map[string][]string{"accessKey": {}}
	switch w {
	case member:
		return []map[string][]string{token, key}
	case asNode, itself:
		return []map[string][]string{token}
	case aCaller:
		return []map[string][]string{{"callerToken": {}}}
	case host:
		return []map[string][]string{key}
	}
	return []map[string][]string{}
}

// refine says what Go's types can't: lists are never null, answers may grow, raw JSON is mostly an object.
func refine(reg huma.Registry, table []route) {
	schemas, requests := reg.Map(), map[string]bool{}
	for _, t := range table {
		if t.in != nil {
			requests[t.in.Name()] = true
		}
	}
	for name, s := range schemas {
		for field, p := range s.Properties {
			p.Nullable = false
			switch field {
			case "content", "meta", "claims", "payload":
				p.Type = huma.TypeObject
			case "created_at":
				p.Format = "date-time"
			}
		}
		if !requests[name] {
			s.AdditionalProperties = true
		}
	}
	refineEnvelope(schemas["UnifiedSynapseMessage"])
	schemas["SendMessage"].Description = "All but refs is at most " + strconv.Itoa(graph.MaxPayload) + " bytes of JSON. content is an object."
}
