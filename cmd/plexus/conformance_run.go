package main

// This file holds the runner: one case after the other, over plain HTTP.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"plexus/sdk/client"
)

const (
	conformanceAnswer = 4 << 20          // bytes of an answer: a page of messages is far below
	conformanceWait   = 30 * time.Second // for one answer; a view waits up to 10 s for its fold
)

// conformanceRun is a run against one node.
type conformanceRun struct {
	url, key string
	id       string // of the run: in the Spaces' names
	cases    int
}

// conformanceStage is one case being run.
type conformanceStage struct {
	*conformanceRun
	suite  suite
	labels labels
	tokens map[string]string // by Node's name
	space  string            // ID
	marked int
}

// run runs a case and returns what was otherwise. An error is for a node that can't be asked at all.
func (r *conformanceRun) run(ctx context.Context, s suite, c conformanceCase) (failed []string, err error) {
	r.cases++
	st := &conformanceStage{conformanceRun: r, suite: s, labels: labels{}, tokens: map[string]string{}}
	if err := st.enter(ctx, c); err != nil {
		return nil, err
	}
	for i, step := range c.Steps {
		err := st.step(ctx, step)
		if err == nil {
			continue
		}
		if lost := new(client.Error); errors.As(err, &lost) {
			return nil, lost
		}
		failed = append(failed, fmt.Sprintf("step %d (%s): %s", i+1, step.what(), st.labels.plain(err.Error())))
		if errors.Is(err, errStep) {
			break
		}
	}
	return failed, nil
}

// enter makes the case's Nodes and its Space.
func (st *conformanceStage) enter(ctx context.Context, c conformanceCase) error {
	name := fmt.Sprintf("conformance %s %d %s", st.id, st.cases, c.Name)
	st.labels["$space_name"] = name
	for node, kind := range c.Nodes {
		var who struct{ ID, Token string }
		in := map[string]string{"name": node, "kind": kind, "access_key": st.key}
		if status, body, err := st.ask(ctx, "", "POST", "/auth/register", in); err != nil || status != http.StatusCreated || json.Unmarshal(body, &who) != nil {
			return st.refused("register a Node", status, body, err)
		}
		st.labels["@"+node], st.tokens[node] = who.ID, who.Token
		var space struct{ ID string }
		status, body, err := st.ask(ctx, node, "POST", "/spaces", map[string]string{"name": name, "description": node})
		if err != nil || status != http.StatusOK || json.Unmarshal(body, &space) != nil {
			return st.refused("join a Space", status, body, err)
		}
		st.labels["$space"], st.space = space.ID, space.ID
	}
	return nil
}

func (st *conformanceStage) refused(what string, status int, body []byte, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	code := client.CodeInternal
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		code = client.CodeForbidden
	}
	return &client.Error{Code: code, Detail: fmt.Sprintf("%s: the node answers %d: %.200s", what, status, body), Hint: "is this its access key?"}
}

func (s conformanceStep) what() string {
	switch {
	case s.Send != "":
		return "send " + s.Send + " by " + s.By
	case s.Do != "":
		return "do " + s.Do + " by " + s.By
	case s.Join != nil:
		return "join by " + s.By
	case s.View != "":
		return "view " + s.View
	case s.Read != nil:
		return "read by " + s.By
	case s.Other != "":
		return s.Other
	}
	return "pause"
}

func (st *conformanceStage) step(ctx context.Context, s conformanceStep) error {
	switch {
	case s.Send != "":
		return st.send(ctx, s)
	case s.Do != "":
		return st.command(ctx, s)
	case s.Join != nil:
		return st.expect(ctx, s, "POST", "/spaces", s.Join, http.StatusOK)
	case s.View != "":
		params, err := st.labels.fill(s.Params)
		if err != nil {
			return err
		}
		q := url.Values{}
		if len(params) > 0 {
			q.Set("params", string(params))
		}
		return st.expect(ctx, s, "GET", st.plugin(s)+"/views/"+s.View+"?"+q.Encode(), nil, http.StatusOK)
	case s.Read != nil:
		return st.read(ctx, s)
	case s.Other != "":
		method, path, _ := strings.Cut(s.Other, " ")
		return st.expect(ctx, s, method, st.labels.path(path), s.Body, http.StatusOK)
	case s.Pause > 0:
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Duration(s.Pause) * time.Millisecond):
			return nil
		}
	}
	return fmt.Errorf("it asks for nothing: %w", errStep)
}

func (st *conformanceStage) plugin(s conformanceStep) string {
	of := s.Of
	if of == "" {
		of = st.suite.Plugin
	}
	return "/spaces/" + st.space + "/plugins/" + of
}

// expect asks and compares status, detail and body.
func (st *conformanceStage) expect(ctx context.Context, s conformanceStep, method, path string, in json.RawMessage, status int) error {
	body, err := st.call(ctx, s, method, path, in, status)
	if err != nil || s.Want == nil {
		return err
	}
	return st.compare(body, s.Want)
}

func (st *conformanceStage) compare(body []byte, wanted json.RawMessage) error {
	filled, err := st.labels.fill(wanted)
	if err != nil {
		return err
	}
	want, err := decodeJSON(filled)
	if err != nil {
		return err
	}
	got, err := decodeJSON(body)
	if err != nil {
		return fmt.Errorf("the answer is no JSON: %.200s", body)
	}
	if d := differs("it", got, want); d != "" {
		return errors.New(d)
	}
	return nil
}

// call asks with a body that labels are put into, and wants the step's status, else the one given.
func (st *conformanceStage) call(ctx context.Context, s conformanceStep, method, path string, in json.RawMessage, status int) ([]byte, error) {
	filled, err := st.labels.fill(in)
	if err != nil {
		return nil, err
	}
	var v any
	if len(filled) > 0 {
		v = filled
	}
	got, body, err := st.ask(ctx, s.By, method, path, v)
	if err != nil {
		return nil, err
	}
	if s.Status != 0 {
		status = s.Status
	}
	if got != status {
		return nil, fmt.Errorf("status %d, wanted %d: %.300s: %w", got, status, body, errStep)
	}
	var problem struct{ Detail string }
	if s.Detail != "" && (json.Unmarshal(body, &problem) != nil || !strings.Contains(st.labels.plain(problem.Detail), s.Detail)) {
		return nil, fmt.Errorf("detail is %q, wanted %q in it", problem.Detail, s.Detail)
	}
	return body, nil
}

// send sends a message, holds the answer against it, and looks whether the plugin marked it.
func (st *conformanceStage) send(ctx context.Context, s conformanceStep) error {
	body, err := st.call(ctx, s, "POST", "/spaces/"+st.space+"/messages", s.Message, http.StatusCreated)
	if err != nil || s.Status >= 300 {
		return err
	}
	var m struct {
		ID, Sender string
		CreatedAt  string `json:"created_at"`
		Refs       struct{ Messages, Nodes []string }
	}
	if err := json.Unmarshal(body, &m); err != nil || m.ID == "" || m.CreatedAt == "" || m.Refs.Messages == nil || m.Refs.Nodes == nil {
		return fmt.Errorf("the answer is no message: %.300s: %w", body, errStep)
	}
	st.labels["$"+s.Send] = m.ID
	if m.Sender != st.labels["@"+s.By] {
		return fmt.Errorf("sender is %s, wanted @%s", m.Sender, s.By)
	}
	want := s.Want
	if want == nil {
		want = s.Message
	}
	if err := st.compare(body, want); err != nil {
		return err
	}
	return st.mark(ctx, s)
}

// command has a command say something.
func (st *conformanceStage) command(ctx context.Context, s conformanceStep) error {
	params := s.Params
	if params == nil {
		params = json.RawMessage("{}")
	}
	body, err := st.call(ctx, s, "POST", st.plugin(s)+"/commands/"+s.Do, params, http.StatusCreated)
	if err != nil || s.Status >= 300 {
		return err
	}
	var said []struct{ ID string }
	if err := json.Unmarshal(body, &said); err != nil || len(said) == 0 {
		return fmt.Errorf("it says nothing: %.300s: %w", body, errStep)
	}
	if s.Label != "" {
		st.labels["$"+s.Label] = said[0].ID
	}
	if s.Want != nil {
		if err := st.compare(body, s.Want); err != nil {
			return err
		}
	}
	return st.mark(ctx, s)
}

// mark wants that the suite's plugin marked the last message, with the reason, or didn't.
func (st *conformanceStage) mark(ctx context.Context, s conformanceStep) error {
	if st.suite.Plugin == "" {
		return nil
	}
	if s.Marked != "" {
		st.marked++
	}
	end := time.Now().Add(conformanceWait)
	for {
		status, body, err := st.ask(ctx, s.By, "GET", "/spaces/"+st.space+"/plugins", nil)
		if err != nil {
			return err
		}
		var list []client.Plugin
		if status != http.StatusOK || json.Unmarshal(body, &list) != nil {
			return fmt.Errorf("the list of plugins: %d: %.200s: %w", status, body, errStep)
		}
		i := slices.IndexFunc(list, func(p client.Plugin) bool { return p.Name == st.suite.Plugin })
		switch {
		case i < 0:
			return fmt.Errorf("the node has no plugin %s: %w", st.suite.Plugin, errStep)
		case !list[i].Current && time.Now().Before(end): // a state's hash is answered once it covers what was sent
			if _, _, err := st.ask(ctx, s.By, "GET", "/spaces/"+st.space+"/plugins/"+st.suite.Plugin+"/state", nil); err != nil {
				return err
			}
		case int(list[i].Marked) != st.marked && s.Marked == "":
			st.marked = int(list[i].Marked)
			return fmt.Errorf("it is marked: %s", list[i].Reason)
		case int(list[i].Marked) != st.marked:
			st.marked = int(list[i].Marked)
			return fmt.Errorf("it isn't marked, wanted %q", s.Marked)
		case s.Marked != "" && !strings.Contains(st.labels.plain(list[i].Reason), s.Marked):
			return fmt.Errorf("it is marked: %q, wanted %q in it", list[i].Reason, s.Marked)
		default:
			return nil
		}
	}
}

// read reads a Space and compares the messages' IDs.
func (st *conformanceStage) read(ctx context.Context, s conformanceStep) error {
	q := url.Values{}
	for k, v := range s.Read {
		q.Set(k, fmt.Sprint(st.labels.replace(v)))
	}
	body, err := st.call(ctx, s, "GET", "/spaces/"+st.space+"/messages?"+q.Encode(), nil, http.StatusOK)
	if err != nil || s.Want == nil {
		return err
	}
	var page []struct{ ID string }
	if err := json.Unmarshal(body, &page); err != nil {
		return fmt.Errorf("the answer is no list of messages: %.200s", body)
	}
	ids := []string{}
	for _, m := range page {
		ids = append(ids, m.ID)
	}
	got, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	return st.compare(got, s.Want)
}

// ask makes a request as a Node, or as nobody. in is JSON as it stands, or a value.
func (st *conformanceStage) ask(ctx context.Context, by, method, path string, in any) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, conformanceWait)
	defer cancel()
	var raw []byte
	if in != nil {
		if raw, err = json.Marshal(in); err != nil {
			return 0, nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(st.url, "/")+path, bytes.NewReader(raw))
	if err != nil {
		return 0, nil, err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if t := st.tokens[by]; t != "" {
		req.Header.Set("Authorization", "Bearer "+t)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if lost := new(url.Error); errors.As(err, &lost) {
			err = lost.Err // the rest names the whole address
		}
		return 0, nil, &client.Error{Code: client.CodeUnreachable, Detail: method + " " + path + ": no answer: " + err.Error(), Hint: "is a node running at " + st.url + "?"}
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, conformanceAnswer))
	return resp.StatusCode, body, err
}
