//go:build conformance

package main

//lint:file-ignore SA1019 the suite asks for what is deprecated, as long as clients speak it

// This file holds the tools that ask the client something: by requests of their own on the older wire, by results that
// ask to be called again on the newer one.

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func form(name, kind string) string {
	return fmt.Sprintf(`{"type":"object","properties":{%q:{"type":%q}},"required":[%q]}`, name, kind, name)
}

func elicit(message, schema string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)}
}

func sample(prompt string, tokens int64) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{MaxTokens: tokens, Messages: []*mcp.SamplingMessage{{Role: "user", Content: text(prompt)}}}
}

// answerTo is what the user entered, or nil.
func answerTo(in mcp.InputResponseMap, key string) map[string]any {
	if r, ok := in[key].(*mcp.ElicitResult); ok && r != nil && r.Action == "accept" {
		return r.Content
	}
	return nil
}

const (
	defaults = `{"type":"object","required":[],"properties":{
"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`
	enums = `{"type":"object","required":[],"properties":{
"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`
	person = `{"type":"object","required":["username","email"],"properties":{
"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}}}`
)

func addAskingTools(s *mcp.Server) {
	ask := func(message func(*mcp.CallToolRequest) string, schema, word string) func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			got, err := r.Session.Elicit(ctx, elicit(message(r), schema))
			if err != nil {
				return nil, err
			}
			content, err := json.Marshal(got.Content)
			return result(text(fmt.Sprintf("%s: action=%s, content=%s", word, got.Action, content))), err
		}
	}
	given := func(r *mcp.CallToolRequest) string { return argument(r, "message") }
	fixed := func(*mcp.CallToolRequest) string { return "Please fill this in" }
	addTool(s, "test_elicitation", []string{"message"}, ask(given, person, "User response"))
	addTool(s, "test_elicitation_sep1034_defaults", nil, ask(fixed, defaults, "Elicitation completed"))
	addTool(s, "test_elicitation_sep1330_enums", nil, ask(fixed, enums, "Elicitation completed"))
	addTool(s, "test_sampling", []string{"prompt"}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		got, err := r.Session.CreateMessage(ctx, sample(argument(r, "prompt"), 100))
		if err != nil {
			return nil, err
		}
		return result(text("LLM response: " + sampled(got))), nil
	})
	addRounds(s)
	addStates(s)
}

func sampled(r *mcp.CreateMessageResult) string {
	if t, ok := r.Content.(*mcp.TextContent); ok {
		return t.Text
	}
	return ""
}

// again is a result that asks for more.
func again(state string, in mcp.InputRequestMap) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: in, RequestState: state}
}

var (
	askName  = elicit("What is your name?", form("name", "string"))
	askRoots = &mcp.ListRootsParams{}
)

func addRounds(s *mcp.Server) {
	addTool(s, "test_input_required_result_elicitation", nil, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if said := answerTo(r.Params.InputResponses, "user_name"); said["name"] != nil {
			return result(text(fmt.Sprintf("Hello, %v!", said["name"]))), nil
		}
		return again("", mcp.InputRequestMap{"user_name": askName}), nil
	})
	addTool(s, "test_input_required_result_sampling", nil, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if got, ok := r.Params.InputResponses["capital_question"].(*mcp.CreateMessageResult); ok {
			return result(text(sampled(got))), nil
		}
		if got, ok := r.Params.InputResponses["capital_question"].(*mcp.CreateMessageWithToolsResult); ok {
			raw, err := json.Marshal(got.Content)
			return result(text(string(raw))), err
		}
		return again("", mcp.InputRequestMap{"capital_question": sample("What is the capital of France?", 100)}), nil
	})
	addTool(s, "test_input_required_result_list_roots", nil, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		got, ok := r.Params.InputResponses["client_roots"].(*mcp.ListRootsResult)
		if !ok {
			return again("", mcp.InputRequestMap{"client_roots": askRoots}), nil
		}
		var uris []string
		for _, root := range got.Roots {
			uris = append(uris, root.URI)
		}
		return result(text("roots: " + strings.Join(uris, ", "))), nil
	})
	addTool(s, "test_input_required_result_capabilities", nil, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(r.Params.InputResponses) > 0 {
			return result(text("answered")), nil
		}
		in := mcp.InputRequestMap{}
		if c := r.ClientCapabilities(); c != nil {
			if c.Elicitation != nil {
				in["user_name"] = askName
			}
			if c.Sampling != nil {
				in["greeting"] = sample("Generate a greeting", 50)
			}
		}
		if len(in) == 0 {
			return result(text("the client can be asked nothing")), nil
		}
		return again("", in), nil
	})
}

// secret signs the state that clients carry for us.
var secret = []byte(rand.Text())

func signed(state string) string {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(state))
	return state + "." + hex.EncodeToString(m.Sum(nil))
}

// opened is the state of a retry, "" of a first call; an error where it isn't ours.
func opened(r *mcp.CallToolRequest) (string, error) {
	if r.Params.RequestState == "" {
		return "", nil
	}
	state, _, _ := strings.Cut(r.Params.RequestState, ".")
	if !hmac.Equal([]byte(signed(state)), []byte(r.Params.RequestState)) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState was changed on its way"}
	}
	return state, nil
}

func addStates(s *mcp.Server) {
	confirm := func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		state, err := opened(r)
		if err != nil {
			return nil, err
		}
		if state == "asked" && answerTo(r.Params.InputResponses, "confirm") != nil {
			return result(text("state-ok")), nil
		}
		return again(signed("asked"), mcp.InputRequestMap{"confirm": elicit("Please confirm", form("ok", "boolean"))}), nil
	}
	addTool(s, "test_input_required_result_request_state", nil, confirm)
	addTool(s, "test_input_required_result_tampered_state", nil, confirm)
	addTool(s, "test_input_required_result_multiple_inputs", nil, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if state, err := opened(r); err != nil || (state == "asked" && len(r.Params.InputResponses) >= 3) {
			return result(text("all three answered")), err
		}
		return again(signed("asked"), mcp.InputRequestMap{
			"user_name": askName, "greeting": sample("Generate a greeting", 50), "client_roots": askRoots,
		}), nil
	})
	addTool(s, "test_input_required_result_multi_round", nil, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		state, err := opened(r)
		in := r.Params.InputResponses
		switch {
		case err != nil:
			return nil, err
		case state == "two" && answerTo(in, "step2") != nil:
			return result(text(fmt.Sprintf("You like %v.", answerTo(in, "step2")["color"]))), nil
		case state == "one" && answerTo(in, "step1") != nil:
			return again(signed("two"), mcp.InputRequestMap{"step2": elicit("Step 2: What is your favorite color?", form("color", "string"))}), nil
		}
		return again(signed("one"), mcp.InputRequestMap{"step1": elicit("Step 1: What is your name?", form("name", "string"))}), nil
	})
}
