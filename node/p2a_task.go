package node

// This file holds how a task stands, as its caller sees it: the task plugin's view, with what became of callbacks. There is no other state of it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

// The states the gateway acts on; the others it hands on as they are.
const (
	taskPending   = "pending"
	taskInfo      = "info_needed"
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskCancelled = "cancelled"
	taskRejected  = "rejected"
)

func isFinal(status string) bool {
	return slices.Contains([]string{taskCompleted, taskFailed, taskCancelled, taskRejected}, status)
}

// taskView is an item of the task plugin's view task.
type taskView struct {
	Status        string            `json:"status"`
	Priority      int               `json:"priority"`
	Attempt       int               `json:"attempt"`
	Nodes         []string          `json:"nodes"`
	By            string            `json:"by"`
	Percent       *int              `json:"percent"`
	Text          string            `json:"text"`
	Question      string            `json:"question"`
	Deadline      string            `json:"deadline"`
	ExpiresAt     string            `json:"expires_at"`
	Seen          string            `json:"seen"`
	Last          string            `json:"last"`
	ResultMessage string            `json:"result_message"`
	Result        json.RawMessage   `json:"result"`
	Error         json.RawMessage   `json:"error"`
	Artefacts     []client.Artefact `json:"artefacts"`
	ResultCut     bool              `json:"result_cut"`
	ErrorCut      bool              `json:"error_cut"`
	ArtefactsCut  bool              `json:"artefacts_cut"`
	Accepted      bool              `json:"accepted"`
	Disputed      bool              `json:"disputed"`
}

// mine finds a caller's task.
func (g *gateway) mine(caller, id string) (graph.ID, taskRecord, error) {
	none := notFound("Task", id)
	task, err := graph.ParseID(id)
	if err != nil {
		return task, taskRecord{}, none
	}
	rec, err := readJSON[taskRecord](g.rec.task, task[:])
	if errors.Is(err, graph.ErrNotFound) || err == nil && rec.Caller.String() != caller {
		return task, rec, none
	}
	return task, rec, err
}

// Task returns a task as it stands, at once where it has ended or needs information, else after wait, or when ctx ends.
func (g *gateway) Task(ctx context.Context, caller, id string, wait time.Duration) (client.Task, error) {
	task, rec, err := g.mine(caller, id)
	if err != nil {
		return client.Task{}, err
	}
	if wait == 0 {
		t, _, err := g.stand(ctx, task, rec)
		return t, err
	}
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	for {
		moved, leave := g.await(task)
		t, _, err := g.stand(ctx, task, rec)
		if err != nil || t.Final || t.Status == taskInfo {
			leave()
			return t, err
		}
		over := false
		select {
		case <-moved:
		case <-timeout.C:
			over = true
		case <-ctx.Done():
			over = true
		}
		leave()
		if c, err := g.callerOf(caller); err != nil || c.Revoked {
			return t, errors.Join(err, noCaller("this caller was revoked"))
		}
		if over {
			return t, nil
		}
	}
}

// fresh is a task nobody can have answered yet.
func (g *gateway) fresh(id graph.ID, rec taskRecord) client.Task {
	return client.Task{
		ID: id.String(), SpaceID: rec.Space.String(), TaskType: rec.Type, Title: rec.Title, Status: taskPending, CreatedAt: rec.Created.String(),
		Priority: 5, Mode: rec.Mode, Poll: "/p2a/tasks/" + id.String(),
	}
}

// stand asks the task plugin. Where its state doesn't know the request yet, nobody's answer is known either: it is pending.
func (g *gateway) stand(ctx context.Context, id graph.ID, rec taskRecord) (client.Task, taskView, error) {
	t := g.fresh(id, rec)
	var v taskView
	err := g.view(ctx, rec.Space, taskPlugin, "task", map[string]string{"task": t.ID}, rec.Caller, &v)
	if errors.Is(err, graph.ErrInvalid) {
		return t, v, g.unknown(ctx, rec, &t)
	}
	if err != nil {
		return t, v, err
	}
	if err := g.whole(rec, &v); err != nil {
		return t, v, err
	}
	t.Status, t.Final, t.Deadline, t.ExpiresAt, t.Nodes, t.By = v.Status, isFinal(v.Status), v.Deadline, v.ExpiresAt, v.Nodes, v.By
	t.Priority, t.Percent, t.Text, t.Error, t.Artefacts = v.Priority, v.Percent, v.Text, textOf(v.Error), v.Artefacts
	if v.Attempt > 1 {
		t.Attempt = v.Attempt
	}
	if t.Status == taskInfo || t.Status == "need_human" {
		t.Question = v.Question
	}
	switch {
	case t.Status == taskCompleted:
		t.Result = v.Result
		err = g.judge(ctx, id, rec, &t, v)
	case t.Final && t.Error == "":
		err = g.why(ctx, id, rec, &t)
	}
	if err != nil {
		return t, v, err
	}
	t.Callbacks, err = g.callbacks(id, rec)
	return t, v, err
}

// unknown is a task that the plugin's state doesn't hold: since it is behind, or since the request was refused or withdrawn, which nothing mends.
func (g *gateway) unknown(ctx context.Context, rec taskRecord, t *client.Task) error {
	list, err := g.node.plugins.Plugins(ctx, rec.Space)
	if err != nil {
		return err
	}
	for _, p := range list {
		if p.Name == taskPlugin && p.Current {
			t.Status, t.Final, t.Reason = taskRejected, true, "the request has no effect in this Space: it came too late for its own times, or was withdrawn"
		}
	}
	return nil
}

// textOf is a JSON text's, or the JSON.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

// callbacks lists a task's, oldest first.
func (g *gateway) callbacks(id graph.ID, rec taskRecord) (out []client.Callback, err error) {
	if rec.Events == 0 {
		return nil, nil
	}
	for kv, err := range g.rec.event.Scan(id[:], after(id[:]), false) {
		if err != nil {
			return nil, fmt.Errorf("list callbacks: %w", err)
		}
		var e eventRecord
		if err := json.Unmarshal(kv.Value, &e); err != nil || len(kv.Key) != 34 {
			return nil, fmt.Errorf("list callbacks: a record of %d bytes can't be read; run plexus verify: %w", len(kv.Value), graph.ErrUnavailable)
		}
		k := eventKey{id, uint16(kv.Key[32])<<8 | uint16(kv.Key[33])}
		c := client.Callback{ID: k.id(), Event: e.Type, URL: rec.CallbackURL, State: e.State, Attempts: e.Attempts, Status: e.Status, Error: e.Error}
		if e.State == client.CallbackWaiting {
			c.NextAt = e.Due.String()
		}
		out = append(out, c)
	}
	return out, nil
}

// Tasks lists a caller's tasks, newest first.
func (g *gateway) Tasks(ctx context.Context, caller string, q client.TaskQuery) (client.TaskPage, error) {
	page := client.TaskPage{Tasks: []client.Task{}}
	c, err := g.callerOf(caller)
	if err != nil {
		return page, err
	}
	from := slices.Clone(c.ID[:])
	if q.After != "" {
		id, rec, err := g.mine(caller, q.After)
		if errors.Is(err, graph.ErrNotFound) {
			return page, invalid("after: '%s' is no task of this caller's", clip(q.After))
		}
		if err != nil {
			return page, err
		}
		from = append(listKey(c.ID, rec.Created, id), 0)
	}
	seen, last := 0, ""
	for kv, err := range g.rec.list.Scan(from, after(c.ID[:]), false) {
		if err != nil {
			return page, fmt.Errorf("list tasks: %w", err)
		}
		if len(page.Tasks) == q.Limit || seen == listScan {
			page.Next = last
			break
		}
		seen++
		id := graph.ID(kv.Key[40:])
		last = id.String()
		t, ok, err := g.pick(ctx, id, q)
		if err != nil {
			return page, err
		}
		if ok {
			page.Tasks = append(page.Tasks, t)
		}
	}
	return page, nil
}

// pick says whether a task is one that is asked for, and how it stands.
func (g *gateway) pick(ctx context.Context, id graph.ID, q client.TaskQuery) (client.Task, bool, error) {
	rec, err := readJSON[taskRecord](g.rec.task, id[:])
	if err != nil {
		return client.Task{}, false, err
	}
	if q.TaskType != "" && rec.Type != q.TaskType || q.SpaceID != "" && rec.Space.String() != q.SpaceID {
		return client.Task{}, false, nil
	}
	t, _, err := g.stand(ctx, id, rec)
	return t, err == nil && (q.Status == "" || t.Status == q.Status), err
}

// Cancel has the task plugin call a task off. One that is called off already is as it should be; one that ended otherwise is a conflict.
func (g *gateway) Cancel(ctx context.Context, caller, id, reason string) (client.Task, error) {
	task, rec, err := g.mine(caller, id)
	if err != nil {
		return client.Task{}, err
	}
	t, _, err := g.stand(ctx, task, rec)
	switch {
	case err != nil:
		return t, err
	case t.Status == taskCancelled, t.Status == taskRejected:
		return t, nil
	case t.Final:
		return t, &api.Fault{Kind: graph.ErrConflict, Detail: fmt.Sprintf("task '%s' is %s: that is final", id, t.Status), Hint: "read it: GET " + t.Poll}
	}
	params := map[string]string{"task": id}
	if reason != "" {
		params["reason"] = reason
	}
	return g.say(ctx, task, rec, "cancel", params)
}

// Inform gives a task what it asked for.
func (g *gateway) Inform(ctx context.Context, caller, id string, in client.TaskInfo) (client.Task, error) {
	task, rec, err := g.mine(caller, id)
	if err != nil {
		return client.Task{}, err
	}
	t, _, err := g.stand(ctx, task, rec)
	if err != nil {
		return t, err
	}
	if t.Status != taskInfo {
		return t, &api.Fault{Kind: graph.ErrConflict, Detail: fmt.Sprintf("task '%s' is %s: it asks for nothing", id, t.Status), Hint: "read it: GET " + t.Poll}
	}
	return g.say(ctx, task, rec, "inform", struct {
		Task    string          `json:"task"`
		Text    string          `json:"text,omitempty"`
		Payload json.RawMessage `json:"payload,omitempty"`
	}{id, in.Text, in.Payload})
}

// say runs a command of the task plugin as the caller's Node, and returns the task after it.
func (g *gateway) say(ctx context.Context, task graph.ID, rec taskRecord, command string, params any) (client.Task, error) {
	if err := g.command(ctx, rec, command, params); err != nil {
		return client.Task{}, err
	}
	t, _, err := g.stand(ctx, task, rec)
	return t, err
}

func (g *gateway) command(ctx context.Context, rec taskRecord, command string, params any) error {
	b, err := json.Marshal(params)
	if err != nil {
		return invalid("the parameters can't be read: %v", err)
	}
	_, err = g.node.Do(ctx, rec.Space.String(), taskPlugin, command, b, rec.Caller.String())
	return err
}
