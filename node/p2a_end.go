package node

// This file holds what is done when a task has ended: its result is accepted as its author would, its caller is told, and it isn't followed any more.

import (
	"context"
	"encoding/json"
	"fmt"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

// accept says as the task's author that a result holds, so that no rival that comes late undoes what the caller is told; or that it doesn't fit
// what was declared.
func (g *gateway) accept(ctx context.Context, id graph.ID, rec taskRecord, t client.Task, v taskView) error {
	if t.Status != taskCompleted || v.Accepted || v.Disputed {
		return nil
	}
	params := map[string]string{"task": id.String()}
	if t.ResultFits != nil && !*t.ResultFits {
		params["reason"] = "the result doesn't fit output_schema: " + t.ResultProblem
		return g.command(ctx, rec, "nack", params)
	}
	return g.command(ctx, rec, "ack", params)
}

// end closes a task: it isn't followed any more, and its caller is told where that was asked for.
func (g *gateway) end(id graph.ID, rec taskRecord, t client.Task, tell bool) error {
	closing := drop(g.rec.open, id[:])
	var err error
	if tell {
		err = g.tell(id, rec, t, closing)
	} else {
		err = g.node.write(closing)
	}
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.tasks[id]; f != nil {
		for _, m := range f.messages {
			if g.of[m] == id {
				delete(g.of, m)
			}
		}
		delete(g.tasks, id)
	}
	delete(g.told, id)
	if g.open[rec.Caller]--; g.open[rec.Caller] <= 0 {
		delete(g.open, rec.Caller)
	}
	return nil
}

// Answered notes that a hybrid task's end stood in the answer; the task is closed when it is looked at.
func (g *gateway) Answered(_ context.Context, caller, id string) error {
	task, _, err := g.mine(caller, id)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isOpen(task) {
		g.told[task], g.dirty[task] = true, true
		poke(g.look)
	}
	return nil
}

func (g *gateway) wasTold(task graph.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.told[task]
}

// tell keeps an event for the callback, in one transaction with also and the record.
func (g *gateway) tell(id graph.ID, rec taskRecord, t client.Task, also []graph.Op) error {
	ops := also
	if rec.CallbackURL != "" {
		now := g.now()
		rec.Events++
		k := eventKey{id, rec.Events}
		t.Callbacks = nil
		e := eventRecord{Type: "task." + t.Status, State: client.CallbackWaiting, Created: now, Due: now}
		var err error
		if e.Body, err = json.Marshal(client.TaskEvent{Type: e.Type, Timestamp: now.String(), Data: t}); err != nil {
			return fmt.Errorf("make an event: %w", err)
		}
		set, err := setJSON(g.rec.event, k.bytes(), e)
		if err != nil {
			return err
		}
		ops = append(append(ops, set...), mark(g.rec.due, dueKey(rec.Caller, now, k))...)
	}
	set, err := setJSON(g.rec.task, id[:], rec)
	if err != nil {
		return err
	}
	if err := g.node.write(append(ops, set...)); err != nil {
		return err
	}
	poke(g.post)
	return nil
}

var _ interface {
	api.P2A
	api.Callers
} = (*gateway)(nil)
