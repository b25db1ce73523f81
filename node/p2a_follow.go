package node

// This file follows tasks that have not ended: which message moves which, whom that wakes, and what is to be told.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"plexus/graph"
)

// followed is an open task. Its messages are its request, what refers to that, what refers to these …
type followed struct {
	space    graph.ID
	messages []graph.ID
	crowded  bool // there are more than are kept: any message about tasks in the Space may be one
}

// waiter is those who wait for a task to move.
type waiter struct {
	moved chan struct{}
	n     int
}

// await returns a channel that is closed when a message moves a task. Each waiter leaves.
func (g *gateway) await(task graph.ID) (moved <-chan struct{}, leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.waiting[task]
	if w == nil {
		w = &waiter{moved: make(chan struct{})}
		g.waiting[task] = w
	}
	w.n++
	return w.moved, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if w.n--; w.n == 0 && g.waiting[task] == w {
			delete(g.waiting, task)
		}
	}
}

// wake has all who wait look again.
func (g *gateway) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.waiting {
		close(w.moved)
	}
	clear(g.waiting)
}

// touch marks a task as moved. The caller holds mu.
func (g *gateway) touch(task graph.ID) {
	g.dirty[task] = true
	if w := g.waiting[task]; w != nil {
		close(w.moved)
		delete(g.waiting, task)
	}
}

// count counts the open tasks of each caller.
func (g *gateway) count() error {
	for kv, err := range g.rec.open.Scan(nil, nil, false) {
		if err != nil {
			return fmt.Errorf("count open tasks: %w", err)
		}
		rec, err := readJSON[taskRecord](g.rec.task, kv.Key)
		if err != nil {
			return fmt.Errorf("count open tasks: %w", err)
		}
		g.open[rec.Caller]++
	}
	return nil
}

// reopen reads the open tasks and their messages, and has each looked at: a crash may have come between an end and what is to be told of it.
func (g *gateway) reopen(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for kv, err := range g.rec.open.Scan(nil, nil, false) {
		if err != nil {
			return fmt.Errorf("read open tasks: %w", err)
		}
		id := graph.ID(kv.Key)
		rec, err := readJSON[taskRecord](g.rec.task, id[:])
		if err != nil {
			return fmt.Errorf("read open tasks: %w", err)
		}
		if err := g.followTask(ctx, id, rec); err != nil {
			return err
		}
		g.dirty[id] = true
	}
	poke(g.look)
	return nil
}

// followTask begins to follow a task. The caller holds mu.
func (g *gateway) followTask(ctx context.Context, id graph.ID, rec taskRecord) error {
	if g.tasks[id] != nil {
		return nil
	}
	f := &followed{space: rec.Space}
	g.tasks[id] = f
	g.add(f, id, id)
	sp, err := g.node.log.Space(rec.Space)
	if err != nil {
		return fmt.Errorf("follow a task: %w", err)
	}
	p := graph.Page{HasAfter: true, Limit: graph.MaxPage}
	for !f.crowded {
		got, err := sp.Related(ctx, id, graph.Downstream, p)
		if errors.Is(err, graph.ErrNotFound) {
			return nil // withdrawn
		}
		if err != nil {
			return fmt.Errorf("follow a task: %w", err)
		}
		for _, st := range got {
			g.add(f, id, st.Entry.ID())
			p.After = st.Pos
		}
		if len(got) < p.Limit {
			break
		}
	}
	return nil
}

// add keeps a message of a task. The caller holds mu.
func (g *gateway) add(f *followed, task, message graph.ID) {
	if _, known := g.of[message]; known {
		return
	}
	if len(f.messages) >= maxFollowed {
		f.crowded = true
		return
	}
	f.messages = append(f.messages, message)
	g.of[message] = task
}

// follow reads what arrives, from a position before the open tasks were read.
func (g *gateway) follow(ctx context.Context, from graph.Pos) error {
	for st, err := range g.node.log.Tail(ctx, from) {
		if err != nil {
			return fmt.Errorf("follow tasks: %w", err)
		}
		if st.Entry.Body().Kind != graph.KindMessage {
			continue
		}
		moved, err := g.arrived(ctx, st)
		if err != nil {
			return err
		}
		if moved {
			poke(g.look)
		}
	}
	return nil
}

// arrived says whether a message moves a task, and marks that.
func (g *gateway) arrived(ctx context.Context, st graph.Stored) (moved bool, err error) {
	m, ok := st.Entry.Message()
	if !ok {
		return false, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if st.Event == graph.Withdrawn {
		return g.touchSpace(m.Space, false), nil
	}
	if m.ContentType == "p2p:task_request" {
		rec, err := readJSON[taskRecord](g.rec.task, idBytes(m.ID))
		switch {
		case err == nil && g.isOpen(m.ID):
			g.touch(m.ID)
			return true, g.followTask(ctx, m.ID, rec)
		case err != nil && !errors.Is(err, graph.ErrNotFound):
			return false, err
		}
	}
	for _, ref := range m.Refs.Messages {
		if task, ok := g.of[ref]; ok {
			g.add(g.tasks[task], task, m.ID)
			g.touch(task)
			moved = true
		}
	}
	if strings.HasPrefix(m.ContentType, "p2p:") || strings.HasPrefix(m.ContentType, "hil:") {
		moved = g.touchSpace(m.Space, true) || moved
	}
	return moved, nil
}

func (g *gateway) isOpen(task graph.ID) bool {
	_, err := g.rec.open.Get(task[:])
	return err == nil
}

// touchSpace marks a Space's open tasks, or the crowded ones of them. The caller holds mu.
func (g *gateway) touchSpace(space graph.ID, crowded bool) (moved bool) {
	for id, f := range g.tasks {
		if f.space == space && (!crowded || f.crowded) {
			g.touch(id)
			moved = true
		}
	}
	return moved
}

// settle looks at tasks that moved, or of which a time has come, until ctx ends.
func (g *gateway) settle(ctx context.Context) error {
	when := map[graph.ID]graph.Time{} // a task → when it is looked at again, moved or not
	all := time.NewTicker(lookAll)
	defer all.Stop()
	next := time.NewTimer(lookAll)
	defer next.Stop()
	for ctx.Err() == nil {
		now := g.now()
		for _, id := range g.moved(when, now) {
			at, err := g.lookAt(ctx, id)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				g.node.cfg.Logger.Debug("look at a task", "task", id, "err", err)
				at = g.now() + graph.Time(lookAgain.Microseconds())
			}
			if delete(when, id); at != 0 {
				when[id] = at
			}
		}
		next.Reset(until(when, g.now()))
		select {
		case <-ctx.Done():
		case <-g.look:
		case <-next.C:
		case <-all.C:
			g.touchAll()
		}
	}
	return nil
}

// until is how long it is to the first of the times.
func until(when map[graph.ID]graph.Time, now graph.Time) time.Duration {
	first := now + graph.Time(lookAll.Microseconds())
	for _, at := range when {
		first = min(first, at)
	}
	return max(time.Duration(first-now)*time.Microsecond, time.Millisecond)
}

// moved takes what is to be looked at.
func (g *gateway) moved(when map[graph.ID]graph.Time, now graph.Time) (out []graph.ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, at := range when {
		if at <= now {
			g.dirty[id] = true
		}
	}
	for id := range g.dirty {
		out = append(out, id)
	}
	clear(g.dirty)
	return out
}

func (g *gateway) touchAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id := range g.tasks {
		g.dirty[id] = true
	}
}

// lookAt does what a task's state asks for, and says when to look again, moved or not (0: needn't).
func (g *gateway) lookAt(ctx context.Context, id graph.ID) (again graph.Time, err error) {
	rec, err := readJSON[taskRecord](g.rec.task, id[:])
	if err != nil || !g.isOpen(id) {
		return 0, err
	}
	t, v, err := g.stand(ctx, id, rec)
	if err != nil {
		return 0, err
	}
	now := g.now()
	switch {
	case t.Final:
		if err := g.accept(ctx, id, rec, t, v); err != nil {
			return 0, err
		}
		told := g.wasTold(id)
		if rec.Hold > now && !told {
			return rec.Hold, nil
		}
		return 0, g.end(id, rec, t, !told)
	case t.Status == taskInfo && v.Last != rec.Asked:
		rec.Asked = v.Last
		if err := g.tell(id, rec, t, nil); err != nil {
			return 0, err
		}
	}
	due := dueAt(rec, v)
	if v.Status == "" { // the plugin doesn't know it yet
		return now + graph.Time(lookAgain.Microseconds()), nil
	}
	if due == 0 || due >= now {
		return due, nil
	}
	err = g.command(ctx, rec, "timeout", map[string]string{"task": id.String()})
	if errors.Is(err, graph.ErrInvalid) { // the plugin knows of no time that has passed: its clock is the messages'
		return now + graph.Time(lookAgain.Microseconds()), nil
	}
	return now + graph.Time(lookAgain.Microseconds()), err
}

// dueAt is the first of a task's times that may pass, 0 where it has none: nobody but the gateway may be there to say so.
func dueAt(rec taskRecord, v taskView) (due graph.Time) {
	first := func(s string, plus graph.Time) {
		at, err := time.Parse(time.RFC3339Nano, s)
		if n := graph.TimeOf(at) + plus; err == nil && (due == 0 || n < due) {
			due = n
		}
	}
	first(v.Deadline, 0)
	if v.By == "" {
		first(v.ExpiresAt, 0)
	} else if rec.HeartbeatS > 0 && (v.Status == "confirmed" || v.Status == "executing") {
		first(v.Seen, graph.Time(rec.HeartbeatS)*1_000_000)
	}
	if due != 0 {
		due++
	}
	return due
}
