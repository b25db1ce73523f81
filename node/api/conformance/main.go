//go:build conformance

package main

// This file holds the server, its capabilities, prompts, resources and completion.

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"plexus/node/api"
)

// headerTime bounds a client's headers.
const headerTime = 10 * time.Second

// pixel is a PNG of one red pixel, tone an empty WAV: the smallest that are legal.
var (
	pixel = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde" +
		"\x00\x00\x00\x0cIDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xaeB`\x82")
	tone = []byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x44\xac\x00\x00\x88\x58\x01\x00\x02\x00\x10\x00data\x00\x00\x00\x00")
)

// main listens on the address given and prints its URL.
func main() {
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func serve(args []string) error {
	addr := "127.0.0.1:0"
	if len(args) == 1 {
		addr = args[0]
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	mux := http.NewServeMux()
	mux.Handle("/mcp", loopbackOnly(api.MCPHandler(fixtures())))
	return (&http.Server{Handler: mux, ReadHeaderTimeout: headerTime}).Serve(l)
}

// loopbackOnly stands in for the daemon's check of Host and Origin.
func loopbackOnly(h http.Handler) http.Handler {
	local := func(s string) bool {
		host, _, err := net.SplitHostPort(s)
		if err != nil {
			host = s
		}
		return host == "localhost" || host == "127.0.0.1" || host == "[::1]" || host == "::1"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, origin, found := strings.Cut(r.Header.Get("Origin"), "://")
		if !local(r.Host) || (found && !local(origin)) {
			http.Error(w, "forbidden host", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func fixtures() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "plexus-conformance", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{r.Params.Argument.Value + "is"}, Total: 1}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	addContentTools(s)
	addTalkingTools(s)
	addAskingTools(s)
	addPrompts(s)
	addResources(s)
	return s
}

func addPrompts(s *mcp.Server) {
	user := func(c ...mcp.Content) *mcp.GetPromptResult {
		r := &mcp.GetPromptResult{}
		for _, one := range c {
			r.Messages = append(r.Messages, &mcp.PromptMessage{Role: "user", Content: one})
		}
		return r
	}
	add := func(name string, args []string, make func(a map[string]string) *mcp.GetPromptResult) {
		p := &mcp.Prompt{Name: name, Description: "fixture"}
		for _, a := range args {
			p.Arguments = append(p.Arguments, &mcp.PromptArgument{Name: a, Description: "fixture", Required: true})
		}
		s.AddPrompt(p, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return make(r.Params.Arguments), nil
		})
	}
	add("test_simple_prompt", nil, func(map[string]string) *mcp.GetPromptResult {
		return user(text("This is a simple prompt for testing."))
	})
	add("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(a map[string]string) *mcp.GetPromptResult {
		return user(text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])))
	})
	add("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(a map[string]string) *mcp.GetPromptResult {
		return user(embedded(a["resourceUri"], "text/plain", "Embedded resource content for testing."), text("Please process the embedded resource above."))
	})
	add("test_prompt_with_image", nil, func(map[string]string) *mcp.GetPromptResult {
		return user(&mcp.ImageContent{Data: pixel, MIMEType: "image/png"}, text("Please analyze the image above."))
	})
	s.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "fixture"},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if said := answerTo(r.Params.InputResponses, "user_context"); said != nil {
				return user(text(fmt.Sprintf("Context: %v", said["context"]))), nil
			}
			return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{
				"user_context": elicit("What context should the prompt use?", form("context", "string")),
			}}, nil
		})
}

func addResources(s *mcp.Server) {
	add := func(uri, mime string, c mcp.ResourceContents) {
		c.URI, c.MIMEType = uri, mime
		s.AddResource(&mcp.Resource{URI: uri, Name: strings.TrimPrefix(uri, "test://"), Description: "fixture", MIMEType: mime},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&c}}, nil
			})
	}
	add("test://static-text", "text/plain", mcp.ResourceContents{Text: "This is the content of the static text resource."})
	add("test://static-binary", "image/png", mcp.ResourceContents{Blob: pixel})
	add("test://watched-resource", "text/plain", mcp.ResourceContents{Text: "watched"})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", Description: "fixture", MIMEType: "application/json"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
				URI: r.Params.URI, MIMEType: "application/json",
				Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id),
			}}}, nil
		})
}
