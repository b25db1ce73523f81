package client

// This file holds P2A: tasks asked for by programs that are no Nodes, with a caller's token (docs/guides/p2a.md).

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// The modes of a TaskRequest.
const (
	ModeAsync    = "async"    // answer at once; poll, or Wait
	ModeSync     = "sync"     // answer when the task has ended, or after WaitS as it stands
	ModeCallback = "callback" // answer at once; CallbackURL is told
	ModeHybrid   = "hybrid"   // as sync; where it takes longer than WaitS, CallbackURL is told
)

// TaskRequest is the body of POST /p2a/tasks.
type TaskRequest struct {
	Space       string          `json:"space,omitempty"` // by ID or name; "" where the token is for one alone
	TaskType    string          `json:"task_type"`
	Title       string          `json:"title,omitempty"`
	Payload     json.RawMessage `json:"payload,omitempty"`      // an object; checked against the input schema of the capability, where one is declared
	Priority    *int            `json:"priority,omitempty"`     // 0–9; nil is 5
	Deadline    string          `json:"deadline,omitempty"`     // RFC 3339: when all must be done
	ExpiresAt   string          `json:"expires_at,omitempty"`   // RFC 3339: until when somebody may take it
	HeartbeatS  int             `json:"heartbeat_s,omitempty"`  // how long who does it may be silent
	MaxAttempts int             `json:"max_attempts,omitempty"` // of the task and its retries
	RetryOf     string          `json:"retry_of,omitempty"`     // a task of the caller's that failed, was cancelled or rejected
	Nodes       []string        `json:"nodes,omitempty"`        // who may do it; none: who declared the capability, else anyone
	Mode        string          `json:"mode,omitempty"`         // one of the Modes; "" is async
	WaitS       int             `json:"wait_s,omitempty"`       // of sync and hybrid, at most 60; 0 is 30
	CallbackURL string          `json:"callback_url,omitempty"` // of callback and hybrid

	IdempotencyKey string `json:"-"` // the Idempotency-Key header; "": Submit makes one
}

// Task is a task as it stands.
type Task struct {
	ID            string          `json:"id"` // the request's message ID
	SpaceID       string          `json:"space_id"`
	TaskType      string          `json:"task_type"`
	Title         string          `json:"title,omitempty"`
	Status        string          `json:"status"` // pending, confirmed, executing, info_needed, need_human, completed, failed, cancelled, rejected
	Final         bool            `json:"final"`  // the last four
	CreatedAt     string          `json:"created_at"`
	Deadline      string          `json:"deadline,omitempty"`
	ExpiresAt     string          `json:"expires_at,omitempty"`
	Priority      int             `json:"priority"`
	Attempt       int             `json:"attempt,omitempty"` // from 2 on for a retry
	Nodes         []string        `json:"nodes,omitempty"`   // who may do it; none: anyone
	By            string          `json:"by,omitempty"`      // the Node that took it
	Percent       *int            `json:"percent,omitempty"`
	Text          string          `json:"text,omitempty"`     // what was said last
	Question      string          `json:"question,omitempty"` // at info_needed and need_human
	Reason        string          `json:"reason,omitempty"`
	Result        json.RawMessage `json:"result,omitempty"`
	ResultFits    *bool           `json:"result_fits,omitempty"`    // whether it fits the capability's output schema, where one is declared
	ResultProblem string          `json:"result_problem,omitempty"` // what doesn't
	Error         string          `json:"error,omitempty"`          // of a failed one
	Artefacts     []Artefact      `json:"artefacts,omitempty"`
	Mode          string          `json:"mode"`
	Poll          string          `json:"poll"` // the path to ask again at
	Callbacks     []Callback      `json:"callbacks,omitempty"`
}

// Artefact is a file that came with a result.
type Artefact struct {
	Name string `json:"name"`
	CID  string `json:"cid"`
}

// Callback is one webhook of a task and what became of it.
type Callback struct {
	ID       string `json:"id"`    // the webhook-id: the same at each try
	Event    string `json:"event"` // task.completed, task.failed, task.cancelled, task.rejected, task.info_needed
	URL      string `json:"url"`
	State    string `json:"state"` // one of the Callback states
	Attempts int    `json:"attempts"`
	NextAt   string `json:"next_at,omitempty"` // of one that waits
	Status   int    `json:"status,omitempty"`  // the last answer's HTTP status
	Error    string `json:"error,omitempty"`   // of the last try, where there was no answer
}

// The states of a Callback.
const (
	CallbackWaiting   = "waiting"   // it will be tried (again) at NextAt
	CallbackDelivered = "delivered" // answered 2xx
	CallbackFailed    = "failed"    // given up after the last try
	CallbackDisabled  = "disabled"  // the receiver answered 410 Gone: nothing more of tasks asked for before that goes there
	CallbackDropped   = "dropped"   // the caller was revoked
)

// TaskQuery selects tasks of the caller, newest first.
type TaskQuery struct {
	SpaceID  string
	TaskType string
	Status   string
	After    string // the last task ID of the page before
	Limit    int    // 0: 50
}

// TaskPage is one page of tasks. Next, where not "", is the cursor for more; a page may hold fewer than asked for, even none, and have a Next.
type TaskPage struct {
	Tasks []Task
	Next  string
}

// TaskInfo is the body of POST /p2a/tasks/{id}/info: the information a task at info_needed waits for.
type TaskInfo struct {
	Text    string          `json:"text,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"` // an object
}

// TaskCancel is the body of POST /p2a/tasks/{id}/cancel.
type TaskCancel struct {
	Reason string `json:"reason,omitempty"`
}

// Offer is a kind of task that somebody in a Space of the caller's declared to do.
type Offer struct {
	SpaceID       string          `json:"space_id"`
	Node          string          `json:"node"`
	TaskType      string          `json:"task_type"`
	Name          string          `json:"name,omitempty"`
	Description   string          `json:"description,omitempty"`
	Version       string          `json:"version,omitempty"`
	EstimatedTime int             `json:"estimated_time_s,omitempty"`
	InputSchema   json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema  json.RawMessage `json:"output_schema,omitempty"`
}

// Caller is a program that may ask for tasks, without being a Node.
type Caller struct {
	ID         string   `json:"id"` // of the Node that the host speaks as for it
	Name       string   `json:"name"`
	Spaces     []string `json:"spaces"`          // IDs
	Types      []string `json:"types,omitempty"` // task types; none: all
	RatePerMin int      `json:"rate_per_min"`
	Created    string   `json:"created"`
	Expires    string   `json:"expires,omitempty"`
	Revoked    bool     `json:"revoked,omitempty"`
	OpenTasks  int      `json:"open_tasks,omitempty"`        // without an end that was seen
	Waiting    int      `json:"callbacks_waiting,omitempty"` // to be tried (again); counted to 1,000
}

// CallerCreate makes a caller.
type CallerCreate struct {
	Name       string   `json:"name"`
	Spaces     []string `json:"spaces"` // IDs
	Types      []string `json:"types,omitempty"`
	RatePerMin int      `json:"rate_per_min,omitempty"` // 0 is 60
	ExpiresIn  string   `json:"expires_in,omitempty"`   // a Go duration; "" never
}

// CallerRotate asks for new secrets of a caller.
type CallerRotate struct {
	Webhook bool `json:"webhook,omitempty"` // the webhook secret, with the old one signing too for a day; else the token, of which the old one ends at once
}

// CallerSecrets are shown once.
type CallerSecrets struct {
	Caller
	Token         string `json:"token,omitempty"`
	WebhookSecret string `json:"webhook_secret,omitempty"` // whsec_…
}

// Submit asks for a task. Without an IdempotencyKey it makes one, so that a try repeated after a lost connection can't become a second task.
// In the modes sync and hybrid it answers when the task has ended or needs information, or after WaitS as it stands.
func (c *Client) Submit(ctx context.Context, in TaskRequest) (Task, error) {
	var out Task
	key := in.IdempotencyKey
	if key == "" {
		key = rand.Text()
	}
	body, err := json.Marshal(in)
	if err != nil {
		return out, &Error{Code: CodeInvalid, Detail: "payload is not valid JSON", Hint: "payload must be one JSON object", cause: err}
	}
	_, err = c.call(ctx, request{
		method: http.MethodPost, path: "/p2a/tasks", header: http.Header{"Idempotency-Key": {key}}, body: body, replayable: true,
	}, &out)
	return out, err
}

// Poll returns a task as it stands.
func (c *Client) Poll(ctx context.Context, id string) (Task, error) { return c.pollFor(ctx, id, 0) }

func (c *Client) pollFor(ctx context.Context, id string, waitS int) (Task, error) {
	var out Task
	v := url.Values{}
	setInt(v, "wait_s", waitS)
	err := c.get(ctx, taskPath(id), v, &out)
	return out, err
}

// Wait asks again and again until the task has ended or needs information (Status "info_needed": see Inform), or ctx ends. It goes on through
// restarts of the daemon and rate limits.
func (c *Client) Wait(ctx context.Context, id string) (Task, error) {
	for n := 0; ; n++ {
		t, err := c.pollFor(ctx, id, waitPoll)
		switch {
		case err == nil && (t.Final || t.Status == "info_needed"):
			return t, nil
		case err == nil:
			n = 0
			continue
		case ctx.Err() != nil:
			return t, ctx.Err()
		case !IsUnreachable(err) && !IsCode(err, CodeUnavailable) && !IsCode(err, CodeRateLimited):
			return t, err
		}
		if !rest(ctx, n, err) {
			return t, ctx.Err()
		}
	}
}

// rest waits before try n+1: as long as the daemon said, else as between any tries.
func rest(ctx context.Context, n int, err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.RetryAfter == 0 {
		return pause(ctx, n) == nil
	}
	t := time.NewTimer(e.RetryAfter)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// Cancel calls a task off. One that is cancelled already is no error; one that ended otherwise is a conflict.
func (c *Client) Cancel(ctx context.Context, id, reason string) (Task, error) {
	var out Task
	err := c.post(ctx, taskPath(id)+"/cancel", TaskCancel{reason}, &out, true)
	return out, err
}

// Inform gives a task at info_needed what it asked for. It isn't repeated on a lost connection.
func (c *Client) Inform(ctx context.Context, id string, in TaskInfo) (Task, error) {
	var out Task
	err := c.post(ctx, taskPath(id)+"/info", in, &out, false)
	return out, err
}

// Tasks returns one page of the caller's tasks, newest first.
func (c *Client) Tasks(ctx context.Context, q TaskQuery) (TaskPage, error) {
	v := url.Values{}
	set(v, "space_id", q.SpaceID)
	set(v, "task_type", q.TaskType)
	set(v, "status", q.Status)
	set(v, "after", q.After)
	setInt(v, "limit", q.Limit)
	var p TaskPage
	h, err := c.call(ctx, request{method: http.MethodGet, path: "/p2a/tasks", query: v, replayable: true}, &p.Tasks)
	p.Next = next(h)
	return p, err
}

// Offers returns what Nodes declared to do in the caller's Spaces, of the caller's types.
func (c *Client) Offers(ctx context.Context) ([]Offer, error) {
	var out []Offer
	err := c.get(ctx, "/p2a/capabilities", nil, &out)
	return out, err
}

// AddCaller makes a caller; it takes the host's access key. Token and webhook secret are shown this once.
func (c *Client) AddCaller(ctx context.Context, in CallerCreate) (CallerSecrets, error) {
	var out CallerSecrets
	err := c.post(ctx, "/admin/callers", in, &out, false)
	return out, err
}

// Callers lists the callers by name.
func (c *Client) Callers(ctx context.Context) ([]Caller, error) {
	var out []Caller
	err := c.get(ctx, "/admin/callers", nil, &out)
	return out, err
}

// RevokeCaller ends a caller, by name or ID: its token at once, and what waits to be told to it.
func (c *Client) RevokeCaller(ctx context.Context, name string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: "/admin/callers/" + url.PathEscape(name), replayable: true}, nil)
	return err
}

// RotateCaller gives a caller, by name or ID, a new token or webhook secret.
func (c *Client) RotateCaller(ctx context.Context, name string, in CallerRotate) (CallerSecrets, error) {
	var out CallerSecrets
	err := c.post(ctx, "/admin/callers/"+url.PathEscape(name)+"/rotate", in, &out, false)
	return out, err
}

func taskPath(id string) string { return "/p2a/tasks/" + url.PathEscape(id) }

// waitPoll is how long one request of Wait stays open, in seconds: below the idle time-outs of common proxies.
const waitPoll = int(45 * time.Second / time.Second)
