package node

// This file holds Submit: what a caller may ask, the check against what is declared, and the one send that makes the task and all that is
// remembered of it, or neither.

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

const (
	taskPlugin       = "task"
	capabilityPlugin = "capability"
)

// asking is a request on its way.
type asking struct {
	in     client.TaskRequest
	caller callerRecord
	space  *graph.Space
	as     *participant
	idem   []byte // the record's key, nil without an idempotency key
	body   [sha256.Size]byte
}

// Submit checks a request, has the task plugin make its message, and sends that as the caller's Node.
func (g *gateway) Submit(ctx context.Context, caller string, in client.TaskRequest) (client.Task, error) {
	a, err := g.ask(caller, in)
	if err != nil {
		return client.Task{}, err
	}
	if a.idem == nil {
		return g.send(ctx, a, nil)
	}
	lock := &g.keyed[binary.BigEndian.Uint16(a.idem[32:])%sendLocks]
	lock.Lock()
	defer lock.Unlock()
	now := g.now()
	if old, err := g.before(a, now); err != nil || old != (graph.ID{}) {
		if err != nil {
			return client.Task{}, err
		}
		return g.Task(ctx, caller, old.String(), 0)
	}
	prune, err := g.node.pruneIdem(now)
	if err != nil {
		return client.Task{}, err
	}
	return g.send(ctx, a, func(id graph.ID) []graph.Op {
		return append(prune, g.node.idemOps(a.idem, idemRecord{a.body, id, now + graph.Time(keepIdempotent.Microseconds())})...)
	})
}

// ask checks what may be known without asking a plugin: whose, where, which type, where to tell.
func (g *gateway) ask(caller string, in client.TaskRequest) (*asking, error) {
	c, err := g.callerOf(caller)
	if err != nil {
		return nil, err
	}
	a := &asking{in: in, caller: c}
	if a.space, err = g.within(c, in.Space); err != nil {
		return nil, err
	}
	a.in.Space = a.space.ID().String()
	if len(c.Types) > 0 && !slices.Contains(c.Types, in.TaskType) {
		return nil, forbidden("this caller may ask for: "+list(c.Types), "task_type '%s' isn't this caller's", clip(in.TaskType))
	}
	if in.CallbackURL != "" {
		if err := g.checkURL(in.CallbackURL); err != nil {
			return nil, err
		}
	}
	key, err := g.node.keys.key(c.ID)
	if err != nil {
		return nil, err
	}
	a.as = &participant{node: g.node, id: c.ID, key: key}
	if in.IdempotencyKey == "" {
		return a, nil
	}
	if len(in.IdempotencyKey) > MaxKey {
		return nil, invalid("Idempotency-Key is over %d bytes", MaxKey)
	}
	sum := sha256.Sum256([]byte(in.IdempotencyKey))
	a.idem = append(slices.Clone(c.ID[:]), sum[:]...)
	raw, err := json.Marshal(a.in)
	if err != nil {
		return nil, invalid("payload is not valid JSON: %v", err)
	}
	a.body = sha256.Sum256(raw)
	return a, nil
}

// within finds the Space of a request among the caller's, by ID or name.
func (g *gateway) within(c callerRecord, space string) (*graph.Space, error) {
	if space == "" && len(c.Spaces) > 1 {
		return nil, invalid("space is required: this caller has %d", len(c.Spaces))
	}
	for _, id := range c.Spaces {
		sp, err := g.node.log.Space(id)
		if err != nil {
			return nil, err
		}
		if space == "" || space == id.String() || space == sp.Genesis().Name {
			return sp, nil
		}
	}
	return nil, forbidden("the host's owner gives a caller its Spaces: plexus caller list", "space '%s' isn't this caller's", clip(space))
}

// list is at most a few words of many.
func list(all []string) string {
	out := ""
	for i, s := range all {
		if i == 10 {
			return out + ", …"
		}
		if i > 0 {
			out += ", "
		}
		out += clip(s)
	}
	return out
}

// before finds the task a key was used for, zero where there is none.
func (g *gateway) before(a *asking, now graph.Time) (graph.ID, error) {
	b, err := g.node.rec.idem.Get(a.idem)
	if errors.Is(err, graph.ErrNotFound) {
		return graph.ID{}, nil
	}
	if err != nil {
		return graph.ID{}, fmt.Errorf("look an idempotency key up: %w", err)
	}
	old, err := readIdem(b)
	switch {
	case err != nil:
		return graph.ID{}, err
	case old.expires <= now:
		return graph.ID{}, nil
	case old.body != a.body:
		return graph.ID{}, &api.Fault{
			Kind: graph.ErrConflict, Detail: fmt.Sprintf("Idempotency-Key '%s' was used for another task", clip(a.in.IdempotencyKey)),
			Hint: "use a fresh key for each task, and the same key only to retry the same one",
		}
	}
	return old.message, nil
}

// send makes the task.
func (g *gateway) send(ctx context.Context, a *asking, also func(graph.ID) []graph.Op) (client.Task, error) {
	if err := g.fits(ctx, a); err != nil {
		return client.Task{}, err
	}
	if err := g.checkTimes(a.in); err != nil {
		return client.Task{}, err
	}
	params, err := a.params()
	if err != nil {
		return client.Task{}, err
	}
	drafts, err := g.node.plugins.Command(ctx, a.space.ID(), taskPlugin, "request", params, a.caller.ID)
	if err != nil {
		return client.Task{}, err
	}
	if len(drafts) != 1 {
		return client.Task{}, fmt.Errorf("the task plugin said %d messages for one request: %w", len(drafts), graph.ErrUnavailable)
	}
	if err := g.take(a.caller.ID); err != nil {
		return client.Task{}, err
	}
	rec := a.record(g.pace.grace)
	var failed error
	st, err := a.as.send(ctx, a.space, outgoing(drafts[0]), func(e *graph.Entry) []graph.Op {
		rec.Created = e.Body().Time
		if rec.Hold != 0 {
			rec.Hold += rec.Created
		}
		ops, err := setJSON(g.rec.task, idBytes(e.ID()), rec)
		failed = err
		ops = append(ops, mark(g.rec.open, idBytes(e.ID()))...)
		ops = append(ops, mark(g.rec.list, listKey(rec.Caller, rec.Created, e.ID()))...)
		if also != nil {
			ops = append(ops, also(e.ID())...)
		}
		return ops
	})
	if err = errors.Join(err, failed); err != nil {
		g.giveBack(a.caller.ID)
		return client.Task{}, err
	}
	t := g.fresh(st.Entry.ID(), rec)
	t.Deadline, t.ExpiresAt, t.Nodes = a.in.Deadline, a.in.ExpiresAt, a.in.Nodes
	if a.in.Priority != nil {
		t.Priority = *a.in.Priority
	}
	return t, nil
}

// checkTimes refuses what would be over before it is sent; the plugin's command doesn't know the time.
func (g *gateway) checkTimes(in client.TaskRequest) error {
	for _, f := range [...][2]string{{"deadline", in.Deadline}, {"expires_at", in.ExpiresAt}} {
		if f[1] == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, f[1])
		if err != nil || graph.TimeOf(at) <= g.now() {
			return invalid("%s must be a time to come, like 2026-11-30T15:04:05Z", f[0])
		}
	}
	return nil
}

func idBytes(id graph.ID) []byte { return id[:] }

// record is what will be remembered; Hold is still a span.
func (a *asking) record(grace time.Duration) taskRecord {
	rec := taskRecord{
		Caller: a.caller.ID, Space: a.space.ID(), Type: a.in.TaskType, Title: a.in.Title, Mode: a.in.Mode, CallbackURL: a.in.CallbackURL, HeartbeatS: a.in.HeartbeatS,
	}
	if a.in.Mode == client.ModeHybrid {
		rec.Hold = graph.Time(grace.Microseconds()) + graph.Time(a.in.WaitS)*1_000_000
	}
	return rec
}

// params are those of the task plugin's command.
func (a *asking) params() (json.RawMessage, error) {
	b, err := json.Marshal(struct {
		TaskType    string          `json:"task_type"`
		Title       string          `json:"title,omitempty"`
		Payload     json.RawMessage `json:"payload,omitempty"`
		Priority    *int            `json:"priority,omitempty"`
		Deadline    string          `json:"deadline,omitempty"`
		ExpiresAt   string          `json:"expires_at,omitempty"`
		HeartbeatS  int             `json:"heartbeat_s,omitempty"`
		MaxAttempts int             `json:"max_attempts,omitempty"`
		RetryOf     string          `json:"retry_of,omitempty"`
		Nodes       []string        `json:"nodes,omitempty"`
	}{a.in.TaskType, a.in.Title, a.in.Payload, a.in.Priority, a.in.Deadline, a.in.ExpiresAt, a.in.HeartbeatS, a.in.MaxAttempts, a.in.RetryOf, a.in.Nodes})
	if err != nil {
		return nil, invalid("payload is not valid JSON: %v", err)
	}
	return b, nil
}

// take counts one more open task of a caller.
func (g *gateway) take(caller graph.NodeID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[caller] >= MaxOpenTasks {
		return &api.Fault{
			Kind: api.ErrRateLimited, Detail: fmt.Sprintf("this caller has %d tasks without an end, as many as it may", MaxOpenTasks),
			Hint: "cancel some, or ask with a deadline: GET /p2a/tasks?status=pending",
		}
	}
	g.open[caller]++
	return nil
}

func (g *gateway) giveBack(caller graph.NodeID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[caller]--; g.open[caller] <= 0 {
		delete(g.open, caller)
	}
}
