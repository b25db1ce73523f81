package api

// This file holds streams of answers: what a question is answered with now, then each answer that differs. A slow reader gets the newest.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"net/http"
	"strings"

	"plexus/graph"
	"plexus/sdk/client"
)

const streamType = "text/event-stream"

// orWatch makes a GET answer with a stream where the request accepts nothing but one, as a browser's EventSource does.
func (a action) orWatch(f func(*exchange) error) action {
	once := a.serve
	a.watched = true
	a.serve = func(x *exchange) error {
		if kind, _, _ := strings.Cut(x.r.Header.Get("Accept"), ";"); strings.EqualFold(strings.TrimSpace(kind), streamType) {
			return f(x)
		}
		return once(x)
	}
	return a
}

// watch is an action that answers with a stream of answers.
func watch(f func(*exchange) error) action {
	return action{outType: streamType, watched: true, status: http.StatusOK, serve: f}
}

// watchRoutes are those whose answers are followed, beside views.
func watchRoutes() []route {
	return []route{
		{
			method: "GET", path: "/nodes/{id}/commands", name: "listCommands", who: itself,
			summary: "The commands of the plugins in the Spaces that the caller has joined", action: give(http.StatusOK, listCommands),
		},
		{
			method: "GET", path: "/nodes/{id}/commands/sse", name: "streamCommands", who: itself, headers: []param{pResume},
			summary: "Follow that list: it changes with what is pinned, unpinned, upgraded or joined", action: watch(watchCommands),
		},
	}
}

func listCommands(x *exchange) ([]client.PluginCommand, error) {
	if x.h.cfg.Commands == nil {
		return []client.PluginCommand{}, nil
	}
	return x.h.cfg.Commands.Commands(x.r.Context(), x.id())
}

func watchCommands(x *exchange) error {
	if x.h.cfg.Commands == nil {
		return invalid("this node runs no plugins", "")
	}
	return x.watch(func(ctx context.Context) iter.Seq2[json.RawMessage, error] {
		return x.h.cfg.Commands.WatchCommands(ctx, x.id())
	})
}

func watchView(x *exchange) error {
	params, err := viewParams(x)
	if err != nil {
		return err
	}
	return x.watch(func(ctx context.Context) iter.Seq2[json.RawMessage, error] {
		return x.h.cfg.Views.WatchView(ctx, x.r.PathValue("id"), x.r.PathValue("name"), x.r.PathValue("view"), params, x.caller.node)
	})
}

// watch streams answers. Whoever comes back with the id of the answer that still holds isn't given it again.
func (x *exchange) watch(answers func(context.Context) iter.Seq2[json.RawMessage, error]) error {
	ctx, leave, ok := x.h.live.enter(x.r.Context())
	defer leave()
	if !ok {
		return graph.ErrClosed
	}
	out := newEvents(x, leave)
	defer out.close()
	opened := false
	for answer, err := range answers(ctx) {
		switch {
		case err != nil && !opened:
			return err // there is still a status to answer with
		case err != nil:
			x.broken(ctx, out, err)
			return nil
		}
		id := answerID(answer)
		if !opened {
			opened = true
			known := ""
			if x.r.Header.Get("Last-Event-ID") == id {
				known = id
			}
			if out.open(known) != nil {
				return nil
			}
			if known != "" {
				continue
			}
		}
		if out.answer(id, answer) != nil {
			return nil
		}
	}
	if !opened {
		return graph.ErrClosed
	}
	return nil
}

// answerID names an answer: equal ones alike, on every node.
func answerID(answer []byte) string {
	sum := sha256.Sum256(answer)
	return hex.EncodeToString(sum[:8])
}

// answer sends an answer, which is JSON on one line.
func (e *events) answer(id string, answer []byte) error {
	return e.write(func(b []byte) []byte {
		b = append(append(append(b, "id: "...), id...), "\nevent: answer\ndata: "...)
		return append(append(b, answer...), "\n\n"...)
	})
}
