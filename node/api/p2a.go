package api

// This file serves P2A: tasks asked for by programs that are no Nodes, each with a caller's token that opens nothing else.

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"plexus/graph"
	"plexus/sdk/client"
)

// P2A is what callers ask. caller is a Caller's ID; a task that isn't the caller's is ErrNotFound.
type P2A interface {
	// Submit sends a task's request as the caller's Node and returns it, pending. With an idempotency key used before, the same body gives the
	// same task, another ErrConflict.
	Submit(ctx context.Context, caller string, in client.TaskRequest) (client.Task, error)
	// Task returns a task as it stands: at once where it has ended or needs information, else after wait, or when ctx ends.
	Task(ctx context.Context, caller, id string, wait time.Duration) (client.Task, error)
	// Answered says that a hybrid task's end was told in the answer, so that no callback is needed.
	Answered(ctx context.Context, caller, id string) error
	Tasks(ctx context.Context, caller string, q client.TaskQuery) (client.TaskPage, error)
	Cancel(ctx context.Context, caller, id, reason string) (client.Task, error)
	Inform(ctx context.Context, caller, id string, in client.TaskInfo) (client.Task, error)
}

// Callers are those who may ask. Add, list, revoke and rotate are the host's.
type Callers interface {
	// Caller returns whom a token belongs to; ErrUnauthorized for one that is unknown, expired or revoked.
	Caller(ctx context.Context, token string) (client.Caller, error)
	Offers(ctx context.Context, caller string) ([]client.Offer, error)
	AddCaller(ctx context.Context, in client.CallerCreate) (client.CallerSecrets, error)
	Callers(ctx context.Context) ([]client.Caller, error)
	RevokeCaller(ctx context.Context, name string) error
	RotateCaller(ctx context.Context, name string, in client.CallerRotate) (client.CallerSecrets, error)
}

// CallerPrefix begins each caller's token, so that it is told from a Node's.
const CallerPrefix = "p2a_"

func p2aRoutes() []route {
	pWait := param{name: "wait_s", kind: isCount, doc: fmt.Sprintf("Wait up to so many seconds, at most %d, for its end.", maxTaskWait)}
	return append([]route{
		{
			method: "POST", path: "/p2a/tasks", name: "submitTask", summary: "Ask for a task: async, sync, callback or hybrid", who: aCaller,
			headers: []param{{name: "Idempotency-Key", doc: "A repeated request with the same key gives the task that was made first."}},
			action:  take(http.StatusCreated, submitTask),
		},
		{
			method: "GET", path: "/p2a/tasks", name: "listTasks", summary: "The caller's tasks, newest first", who: aCaller,
			params: []param{
				pSpaceID,
				{name: "task_type", doc: "Only tasks of this type."},
				{name: "status", kind: isChoice, of: taskStates(), doc: "Only tasks in this state."},
				{name: "after", doc: "A task ID: what comes behind it."},
				{name: "limit", kind: isCount, doc: fmt.Sprintf("The most tasks in the page, at most %d. A page may hold fewer and yet have a next one.", maxTaskPage)},
			},
			action: taskPages(),
		},
		{
			method: "GET", path: "/p2a/tasks/{id}", name: "getTask", summary: "A task as it stands", who: aCaller, params: []param{pWait},
			action: give(http.StatusOK, getTask),
		},
		{
			method: "POST", path: "/p2a/tasks/{id}/cancel", name: "cancelTask", summary: "Call a task off", who: aCaller,
			action: take(http.StatusOK, cancelTask),
		},
		{
			method: "POST", path: "/p2a/tasks/{id}/info", name: "informTask", summary: "Give a task at info_needed what it asks for", who: aCaller,
			action: take(http.StatusOK, informTask),
		},
		{
			method: "GET", path: "/p2a/capabilities", name: "listOffers", summary: "What Nodes in the caller's Spaces declared to do", who: aCaller,
			action: give(http.StatusOK, func(x *exchange) ([]client.Offer, error) {
				return x.h.cfg.Callers.Offers(x.r.Context(), x.caller.node)
			}),
		},
	}, callerRoutes()...)
}

func callerRoutes() []route {
	return []route{
		{
			method: "POST", path: "/admin/callers", name: "addCaller", summary: "Make a caller and its secrets, which are shown once", who: host,
			action: take(http.StatusCreated, admins(func(x *exchange, in client.CallerCreate) (client.CallerSecrets, error) {
				return x.h.cfg.Callers.AddCaller(x.r.Context(), in)
			})),
		},
		{
			method: "GET", path: "/admin/callers", name: "listCallers", summary: "All callers", who: host,
			action: give(http.StatusOK, func(x *exchange) ([]client.Caller, error) {
				if x.h.cfg.Callers == nil {
					return nil, errNoP2A()
				}
				return x.h.cfg.Callers.Callers(x.r.Context())
			}),
		},
		{
			method: "DELETE", path: "/admin/callers/{id}", name: "revokeCaller", summary: "End a caller, by name or ID", who: host,
			action: give(http.StatusNoContent, func(x *exchange) (none, error) {
				if x.h.cfg.Callers == nil {
					return none{}, errNoP2A()
				}
				return none{}, x.h.cfg.Callers.RevokeCaller(x.r.Context(), x.r.PathValue("id"))
			}),
		},
		{
			method: "POST", path: "/admin/callers/{id}/rotate", name: "rotateCaller", summary: "Give a caller a new token or webhook secret", who: host,
			action: take(http.StatusOK, admins(func(x *exchange, in client.CallerRotate) (client.CallerSecrets, error) {
				return x.h.cfg.Callers.RotateCaller(x.r.Context(), x.r.PathValue("id"), in)
			})),
		},
	}
}

// admins serves only where there are callers at all.
func admins[In, Out any](f func(*exchange, In) (Out, error)) func(*exchange, In) (Out, error) {
	return func(x *exchange, in In) (Out, error) {
		if x.h.cfg.Callers == nil {
			var zero Out
			return zero, errNoP2A()
		}
		return f(x, in)
	}
}

func errNoP2A() error { return invalid("this node takes no P2A callers", "") }

func taskStates() []string {
	return []string{"pending", "confirmed", "executing", "info_needed", "need_human", "completed", "failed", "cancelled", "rejected"}
}

// admitCaller finds the caller of a P2A route and counts the request. No-auth mode doesn't open these: what a caller may do hangs on its token.
func (x *exchange) admitCaller() error {
	if x.h.cfg.Callers == nil || x.h.cfg.P2A == nil {
		return errNoP2A()
	}
	token := bearer(x.r)
	switch {
	case token == "":
		return &Fault{Kind: graph.ErrUnauthorized, Detail: "a caller's token is required", Hint: "make one with: plexus caller add NAME --space SPACE; send it as Authorization: Bearer <token>"}
	case !strings.HasPrefix(token, CallerPrefix):
		return &Fault{Kind: graph.ErrForbidden, Detail: "this needs a caller's token, not a Node's", Hint: "make one with: plexus caller add NAME --space SPACE"}
	}
	c, err := x.h.cfg.Callers.Caller(x.r.Context(), token)
	if err != nil {
		return err
	}
	x.caller.node = c.ID
	return x.h.rates.take(x.w.Header(), c, time.Now())
}

// refuseCaller keeps a caller's token out of all that isn't P2A.
func refuseCaller(token string) error {
	if strings.HasPrefix(token, CallerPrefix) {
		return &Fault{Kind: graph.ErrForbidden, Detail: "a caller's token opens /p2a alone", Hint: "register a Node for this: POST /auth/register"}
	}
	return nil
}

func submitTask(x *exchange, in client.TaskRequest) (client.Task, error) {
	if err := checkTask(&in); err != nil {
		return client.Task{}, err
	}
	in.IdempotencyKey = x.r.Header.Get("Idempotency-Key")
	wait := time.Duration(in.WaitS) * time.Second
	leave, err := x.h.waits.enter(x.caller.node, wait)
	if err != nil {
		return client.Task{}, err
	}
	defer leave()
	t, err := x.h.cfg.P2A.Submit(x.r.Context(), x.caller.node, in)
	if err != nil {
		return t, err
	}
	x.w.Header().Set("Location", t.Poll)
	if t, err = x.await(t, wait); err != nil {
		return t, err
	}
	x.after = func() { x.told(t) }
	return t, nil
}

// await waits for a task's end, the request's or the server's. The task exists: an error leaves it as it was last seen, unless it says that the
// caller is none any more.
func (x *exchange) await(t client.Task, wait time.Duration) (client.Task, error) {
	if wait == 0 {
		return t, nil
	}
	ctx, leave, ok := x.h.live.enter(x.r.Context())
	defer leave()
	if !ok {
		return t, nil
	}
	later, err := x.h.cfg.P2A.Task(ctx, x.caller.node, t.ID, wait)
	switch {
	case err == nil:
		return later, nil
	case errors.Is(err, graph.ErrUnauthorized):
		return t, err
	case !errors.Is(err, context.Canceled):
		x.h.cfg.Logger.Warn("wait for a task", "task", t.ID, "err", err)
	}
	return t, nil
}

// told takes note that a hybrid task's end was in the answer: of one that a caller took who didn't leave. That it left shows a moment after
// the answer has been written to nobody; in doubt the caller is called back.
func (x *exchange) told(t client.Task) {
	if t.Mode != client.ModeHybrid || !t.Final {
		return
	}
	if err := http.NewResponseController(x.w).Flush(); err != nil {
		return
	}
	select {
	case <-x.r.Context().Done():
		return
	case <-time.After(leftWait):
	}
	if err := x.h.cfg.P2A.Answered(x.r.Context(), x.caller.node, t.ID); err != nil {
		x.h.cfg.Logger.Warn("note that a task was answered", "task", t.ID, "err", err)
	}
}

// checkTask checks the shape of a request and fills in what is left out.
func checkTask(in *client.TaskRequest) error {
	if in.TaskType == "" {
		return invalid("task_type is required", `send {"task_type":"…","payload":{…}}; GET /p2a/capabilities lists what is on offer`)
	}
	if err := object("payload", &in.Payload); err != nil {
		return err
	}
	waits, tells := false, false
	switch in.Mode {
	case "":
		in.Mode = client.ModeAsync
	case client.ModeAsync:
	case client.ModeSync:
		waits = true
	case client.ModeCallback:
		tells = true
	case client.ModeHybrid:
		waits, tells = true, true
	default:
		return invalid("mode must be 'async', 'sync', 'callback' or 'hybrid'", "")
	}
	switch {
	case tells && in.CallbackURL == "":
		return invalid("callback_url is required in mode "+in.Mode, "give an https address that takes a POST")
	case !tells && in.CallbackURL != "":
		return invalid("callback_url has no meaning in mode "+in.Mode, "ask with mode callback or hybrid")
	case !waits && in.WaitS != 0:
		return invalid("wait_s has no meaning in mode "+in.Mode, "ask with mode sync or hybrid")
	case in.WaitS < 0 || in.WaitS > maxTaskWait:
		return invalid(fmt.Sprintf("wait_s must be from 1 to %d", maxTaskWait), "for longer, poll or use a callback")
	case waits && in.WaitS == 0:
		in.WaitS = taskWait
	}
	return nil
}

func taskPages() action {
	a := give(http.StatusOK, func(x *exchange) ([]client.Task, error) {
		limit := x.count("limit")
		if limit == 0 {
			limit = taskPage
		}
		page, err := x.h.cfg.P2A.Tasks(x.r.Context(), x.caller.node, client.TaskQuery{
			SpaceID: x.text("space_id"), TaskType: x.text("task_type"), Status: x.text("status"), After: x.text("after"), Limit: min(limit, maxTaskPage),
		})
		if err != nil {
			return nil, err
		}
		x.linkNext(page.Next)
		return page.Tasks, nil
	})
	a.paged = true
	return a
}

func getTask(x *exchange) (client.Task, error) {
	wait := x.count("wait_s")
	if wait > maxTaskWait {
		return client.Task{}, invalid(fmt.Sprintf("wait_s must be from 1 to %d", maxTaskWait), "ask again for longer")
	}
	leave, err := x.h.waits.enter(x.caller.node, time.Duration(wait)*time.Second)
	if err != nil {
		return client.Task{}, err
	}
	defer leave()
	ctx, end, ok := x.h.live.enter(x.r.Context())
	defer end()
	if !ok {
		return client.Task{}, graph.ErrClosed
	}
	return x.h.cfg.P2A.Task(ctx, x.caller.node, x.r.PathValue("id"), time.Duration(wait)*time.Second)
}

func cancelTask(x *exchange, in client.TaskCancel) (client.Task, error) {
	return x.h.cfg.P2A.Cancel(x.r.Context(), x.caller.node, x.r.PathValue("id"), in.Reason)
}

func informTask(x *exchange, in client.TaskInfo) (client.Task, error) {
	if err := object("payload", &in.Payload); err != nil {
		return client.Task{}, err
	}
	if in.Text == "" && in.Payload == nil {
		return client.Task{}, invalid("text or payload is required", `send {"text":"…"}`)
	}
	return x.h.cfg.P2A.Inform(x.r.Context(), x.caller.node, x.r.PathValue("id"), in)
}
