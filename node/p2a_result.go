package node

// This file holds what a task's end says beside its state: a result that is too long for a view, whether it fits, and why there is none.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"plexus/graph"
	"plexus/sdk/client"
)

// whole takes from the result's message what was too long for a view.
func (g *gateway) whole(rec taskRecord, v *taskView) error {
	if !v.ResultCut && !v.ErrorCut && !v.ArtefactsCut {
		return nil
	}
	var c struct {
		Result    json.RawMessage   `json:"result"`
		Error     json.RawMessage   `json:"error"`
		Artefacts []client.Artefact `json:"artefacts"`
	}
	if err := g.content(rec, v.ResultMessage, &c); err != nil {
		return err
	}
	v.Result, v.Error, v.Artefacts = c.Result, c.Error, c.Artefacts
	return nil
}

// judge says whether a result fits what was declared, where the capability plugin holds it against a schema.
func (g *gateway) judge(ctx context.Context, id graph.ID, rec taskRecord, t *client.Task, v taskView) error {
	var i struct {
		Result  string `json:"result"`
		Fits    *bool  `json:"result_fits"`
		Problem string `json:"result_error"`
	}
	err := g.view(ctx, rec.Space, capabilityPlugin, "invocation", map[string]string{"task": id.String()}, rec.Caller, &i)
	if errors.Is(err, graph.ErrNotFound) || errors.Is(err, graph.ErrInvalid) {
		return nil // no such plugin here, or nothing was declared
	}
	if err == nil && i.Result == v.ResultMessage {
		t.ResultFits, t.ResultProblem = i.Fits, i.Problem
	}
	return err
}

// ending says whether a message ends a task without a result, and what is said of that where the message gives no reason.
func ending(contentType string) (words string, ends bool) {
	switch contentType {
	case "p2p:task_cancel":
		return "it was called off", true
	case "p2p:task_reject":
		return "those asked won't do it", true
	case "p2p:task_timeout":
		return "its time has passed", true
	}
	return "", false
}

// why finds the reason of an end in the message that brought it.
func (g *gateway) why(ctx context.Context, id graph.ID, rec taskRecord, t *client.Task) error {
	q := struct {
		Task  string `json:"task"`
		After string `json:"after,omitempty"`
		Limit int    `json:"limit"`
	}{id.String(), "", viewPage}
	last := ""
	for range whyPages {
		var page struct {
			Moves []struct {
				Message     string `json:"message"`
				ContentType string `json:"content_type"`
			} `json:"moves"`
			Next string `json:"next"`
		}
		if err := g.view(ctx, rec.Space, taskPlugin, "history", q, rec.Caller, &page); err != nil {
			return err
		}
		for _, m := range page.Moves {
			if words, ends := ending(m.ContentType); ends {
				t.Reason, last = words, m.Message
			}
		}
		if q.After = page.Next; page.Next == "" {
			break
		}
	}
	if last == "" {
		return nil
	}
	var c struct {
		Reason string `json:"reason"`
	}
	if err := g.content(rec, last, &c); err != nil {
		return err
	}
	if c.Reason != "" {
		t.Reason = c.Reason
	}
	return nil
}

// content reads a message of a task's Space. Fields of another type than v's stay zero.
func (g *gateway) content(rec taskRecord, message string, v any) error {
	sp, err := g.node.log.Space(rec.Space)
	if err != nil {
		return err
	}
	id, err := graph.ParseID(message)
	if err != nil {
		return fmt.Errorf("read a message of a task: %w", err)
	}
	st, err := sp.Message(id)
	if err != nil {
		return fmt.Errorf("read a message of a task: %w", err)
	}
	m, err := public(st.Entry, false)
	if err != nil {
		return err
	}
	var te *json.UnmarshalTypeError
	if err := json.Unmarshal(m.Content, v); err != nil && !errors.As(err, &te) {
		return fmt.Errorf("read a message of a task: %w: %w", err, graph.ErrUnavailable)
	}
	return nil
}
