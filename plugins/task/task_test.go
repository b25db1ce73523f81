package task

import (
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"plexus/sdk/plugin"
)

func TestMain(m *testing.M) {
	plugin.Clock = start
	goleak.VerifyTestMain(m)
}

// start is what commands take for now: these tests' messages are said in 1970.
const start = 1_000_000

type trial struct {
	*plugin.Trial
	t *testing.T
}

func newTrial(t *testing.T) trial {
	r := trial{plugin.NewTrial(Plugin()), t}
	r.Nodes = map[string]string{"hal": "writer/human"}
	return r
}

// commandAt asks a command at a second, 0 for the beginning.
func (r trial) commandAt(second int, name string, params plugin.Map, by string) error {
	defer func(before int64) { plugin.Clock = before }(plugin.Clock)
	plugin.Clock = max(start, int64(second)*1_000_000)
	_, err := r.Command(name, params, by)
	return err
}

const deadline = 1000 // seconds: of every task in these tests

// contents are what messages need to be well-formed.
var contents = map[string]plugin.Map{
	Request:     {"task_type": "review", "deadline": "1970-01-01T00:16:40Z"},
	InfoRequest: {"question": "which?"},
	Fail:        {"error": "no disk"},
}

// say folds a message; a refusal must have want in it, "" is none, "*" is any.
func (r trial) say(by, what, want string, refs ...string) string {
	r.t.Helper()
	return r.sayAt(0, by, what, contents[what], want, refs...)
}

func (r trial) sayAt(second int, by, what string, content plugin.Map, want string, refs ...string) string {
	r.t.Helper()
	m := plugin.Message{Sender: by, Type: what, Parents: refs, Time: int64(second) * 1_000_000, Kind: "agent"}
	if by == "hal" {
		m.Kind = "human"
	}
	if what == Request {
		m.Nodes = []string{"bob", "cem"}
	}
	id, err := r.Send(m, content)
	if ok := err == nil && want == "" || err != nil && (want == "*" || want != "" && strings.Contains(err.Error(), want)); !ok {
		r.t.Errorf("%s %s %v: %v, want %q", by, what, content, err, want)
	}
	return id
}

func (r trial) view(name, task string) plugin.Value {
	r.t.Helper()
	v, err := r.View(name, plugin.Map{"task": task}, "")
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

func (r trial) status(task string) string {
	r.t.Helper()
	return r.view("task", task).Get("status").Text()
}

// step is one message on the way to a state.
type step struct{ by, what string }

// ways lead a task of ann's, asked of bob and cem, into each state.
var ways = map[string][]step{
	Pending:    nil,
	Confirmed:  {{"bob", Confirm}},
	Executing:  {{"bob", Confirm}, {"bob", Start}},
	InfoNeeded: {{"bob", Confirm}, {"bob", Start}, {"bob", InfoRequest}},
	NeedHuman:  {{"bob", Confirm}, {"bob", Start}, {"bob", Escalate}},
	Completed:  {{"bob", Confirm}, {"bob", Start}, {"bob", Complete}},
	Failed:     {{"bob", Confirm}, {"bob", Start}, {"bob", Fail}},
	Cancelled:  {{"bob", Confirm}, {"bob", Start}, {"ann", Cancel}},
	Rejected:   {{"bob", Reject}, {"cem", Reject}},
}

// in makes a task in a state and returns it with its last message.
func (r trial) in(state string) (task, last string) {
	r.t.Helper()
	task = r.say("ann", Request, "")
	last = task
	for _, w := range ways[state] {
		last = r.say(w.by, w.what, "", last)
	}
	if got := r.status(task); got != state {
		r.t.Fatalf("the way to %s leads to %s", state, got)
	}
	return task, last
}

// rights is who may send each message.
var rights = map[string]string{
	Confirm: "bob", Reject: "bob", Start: "bob", Progress: "bob", InfoRequest: "bob", Info: "ann", Escalate: "bob", Decision: "hal",
	Complete: "bob", Fail: "bob", Cancel: "ann", Timeout: "eve",
}

// commandOf is the command that says a message.
func commandOf(what string) string {
	for name, says := range commandTypes {
		if says == what {
			return name
		}
	}
	return ""
}

// want is what each message makes of each state, said by who may. What isn't here is refused.
var want = map[string]map[string]string{
	Pending:    {Confirm: Confirmed, Reject: Pending /* cem hasn't */, Cancel: Rejected, Timeout: Rejected},
	Confirmed:  {Start: Executing, Cancel: Cancelled, Timeout: Failed},
	Executing:  {Progress: Executing, InfoRequest: InfoNeeded, Escalate: NeedHuman, Complete: Completed, Fail: Failed, Cancel: Cancelled, Timeout: Failed},
	InfoNeeded: {Info: Executing, Cancel: Cancelled, Timeout: Failed},
	NeedHuman:  {Decision: Executing, Cancel: Cancelled, Timeout: Failed},
	Completed:  {}, Failed: {}, Cancelled: {}, Rejected: {},
}

// Every message in every state, by everybody: by who may it does what want says; by all others it is refused and changes nothing.
// The commands say the same before anything is sent.
func TestEveryTransition(t *testing.T) {
	for state := range ways {
		for what, who := range rights {
			for _, by := range []string{"ann", "bob", "cem", "eve", "hal"} {
				r := newTrial(t)
				task, last := r.in(state)
				next, legal := want[state][what]
				legal = legal && (by == who || what == Timeout || by == "cem" && state == Pending && (what == Confirm || what == Reject))
				refused, second := "*", 0
				if legal {
					refused = ""
				} else {
					next = state
				}
				if what == Timeout {
					second = deadline + 1
				}
				name := commandOf(what)
				params := plugin.MapOf(nil)
				for k, v := range contents[what] {
					params[k] = v
				}
				params["task"] = task
				if err := r.commandAt(second, name, params, by); (err == nil) != legal {
					t.Errorf("%s: command %s by %s: %v, want legal %v", state, name, by, err, legal)
				}
				r.sayAt(second, by, what, contents[what], refused, last)
				if got := r.status(task); got != next {
					t.Errorf("%s: after %s by %s it is %s, want %s", state, what, by, got, next)
				}
			}
		}
	}
}

// drawing is the seed's, written out here a second time: from each state the arrows. Where it has none, nothing may walk.
var drawing = map[string]string{
	Pending: "confirmed rejected", Confirmed: "executing", Executing: "info_needed need_human completed failed cancelled",
	InfoNeeded: "executing", NeedHuman: "executing", Completed: "", Failed: "", Cancelled: "", Rejected: "",
}

// aims are the messages that are to lead into each state.
var aims = map[string][]string{
	Pending: nil, Confirmed: {Confirm}, Rejected: {Reject}, Executing: {Start, Info, Decision}, InfoNeeded: {InfoRequest}, NeedHuman: {Escalate},
	Completed: {Complete}, Failed: {Fail, Timeout}, Cancelled: {Cancel},
}

// throughExecuting are the ends from outside for which no arrow is drawn: they walk two that are, or the one that ends what nobody confirmed.
var throughExecuting = map[string]string{
	Pending: "pending rejected", Confirmed: "confirmed executing executing ", InfoNeeded: "info_needed executing executing ", NeedHuman: "need_human executing executing ",
}

// Each of the 81 pairs of states is a row: drawn in the seed, then there is a message that walks it, by fold and by command; or not, then what aims at
// it is marked and has no effect, and the command refuses it.
func TestEveryPairOfStates(t *testing.T) {
	rows, arrows := 0, 0
	for from := range ways {
		for to := range ways {
			rows++
			isDrawn := slices.Contains(strings.Fields(drawing[from]), to)
			if slices.Contains(drawn, edge{from, to}) != isDrawn {
				t.Errorf("%s → %s: the code's table and the drawing differ", from, to)
			}
			t.Run(from+"→"+to, func(t *testing.T) {
				walked := 0
				for _, what := range aims[to] {
					walked += walk(t, from, to, what)
				}
				if isDrawn != (walked > 0) {
					t.Errorf("walked by %d messages, drawn %v", walked, isDrawn)
				}
			})
			if isDrawn {
				arrows++
			}
		}
	}
	if rows != 81 || arrows != 10 {
		t.Errorf("%d rows, %d drawn", rows, arrows)
	}
}

// walk says a message that aims at a state in another and returns 1 where it walks the arrow between them; else it must be refused.
func walk(t *testing.T, from, to, what string) int {
	t.Helper()
	r := newTrial(t)
	task, last := r.in(from)
	by, second := rights[what], 0
	if what == Timeout {
		second = deadline + 1
	}
	if what == Reject && from == Pending {
		last = r.say("cem", Reject, "", last) // bob's is then the last that is asked
	}
	params := plugin.MapOf(nil)
	for k, v := range contents[what] {
		params[k] = v
	}
	params["task"] = task
	refused := r.commandAt(second, commandOf(what), params, by)
	kind := "agent"
	if by == "hal" {
		kind = "human"
	}
	id, marked := r.Send(plugin.Message{Sender: by, Type: what, Parents: []string{last}, Time: int64(second) * 1_000_000, Kind: kind}, contents[what])
	if (refused != nil) != (marked != nil) {
		t.Errorf("%s: the command says %v, the fold %v", what, refused, marked)
	}
	var steps string
	for mv := range r.view("history", task).Get("moves").Items() {
		if mv.Get("message").Text() == id {
			steps = strings.Join(mv.Get("steps").Texts(), " ")
		}
	}
	switch {
	case marked != nil:
		if steps != "" || r.status(task) != from || r.Marked[id] == "" {
			t.Errorf("%s is refused and yet walks %q to %s", what, steps, r.status(task))
		}
	case steps == from+" "+to && r.status(task) == to:
		return 1
	case (what == Cancel || what == Timeout) && (steps == throughExecuting[from]+to || from == Pending && steps == throughExecuting[from]):
	default:
		t.Errorf("%s walks %q to %s", what, steps, r.status(task))
	}
	return 0
}

func TestRequestsThatAreRefused(t *testing.T) {
	for _, row := range []struct {
		content plugin.Map
		refused string
	}{
		{plugin.Map{}, "task_type"},
		{plugin.Map{"task_type": strings.Repeat("x", maxType)}, ""},
		{plugin.Map{"task_type": strings.Repeat("x", maxType+1)}, "task_type"},
		{plugin.Map{"task_type": "t", "payload": "text"}, "payload must be an object"},
		{plugin.Map{"task_type": "t", "payload": plugin.Map{"a": 1}}, ""},
		{plugin.Map{"task_type": "t", "priority": 9}, ""},
		{plugin.Map{"task_type": "t", "priority": 10}, "from 0 to 9"},
		{plugin.Map{"task_type": "t", "priority": "high"}, "from 0 to 9"},
		{plugin.Map{"task_type": "t", "max_attempts": 0}, "from 1 to 100"},
		{plugin.Map{"task_type": "t", "heartbeat_s": maxHeartbeat + 1}, "from 1 to 2592000"},
		{plugin.Map{"task_type": "t", "deadline": "tomorrow"}, "deadline must be a time"},
		{plugin.Map{"task_type": "t", "expires_at": "1970-01-01T00:00:00Z"}, "expires_at must be a time"},
		{plugin.Map{"task_type": "t", "retry_of": "x"}, "retry_of must be"},
		{plugin.Map{"task_type": "t", "subtask_of": "x"}, "subtask_of must be"},
	} {
		r := newTrial(t)
		r.sayAt(5, "ann", Request, row.content, row.refused)
		if _, err := r.Command("request", row.content, "ann"); (err != nil) != (row.refused != "") {
			t.Errorf("request %v: %v", row.content, err)
		}
	}
	r := newTrial(t)
	for n, ok := range map[int]bool{maxNodes: true, maxNodes + 1: false} {
		if _, err := r.Send(plugin.Message{Sender: "ann", Type: Request, Nodes: make([]string, n)}, contents[Request]); (err == nil) != ok {
			t.Errorf("%d nodes: %v", n, err)
		}
	}
	r.say("bob", Start, "must name the task")
	r.say("bob", Decision, "") // about something else
}

// The message's time alone counts.
func TestTimes(t *testing.T) {
	late := plugin.Map{"task_type": "t", "deadline": "1970-01-01T00:16:40Z", "expires_at": "1970-01-01T00:01:40Z", "heartbeat_s": 60}
	for _, row := range []struct {
		name    string
		before  []step // at second 10
		at      int
		by      string
		what    string
		refused string
		status  string
	}{
		{"confirmed in time", nil, 100, "bob", Confirm, "", Confirmed},
		{"confirmed after it expired", nil, 101, "bob", Confirm, "expired at", Pending},
		{"expiry is no time-out yet", nil, 100, "eve", Timeout, "no time", Pending},
		{"expiry times out", nil, 101, "eve", Timeout, "", Rejected},
		{"rejecting is never too late", nil, 101, "bob", Reject, "", Pending},
		{"started on the deadline", []step{{"bob", Confirm}}, 1000, "bob", Start, "", Executing},
		{"started after the deadline", []step{{"bob", Confirm}}, 1001, "bob", Start, "too late", Confirmed},
		{"completed after the deadline", []step{{"bob", Confirm}, {"bob", Start}}, 1001, "bob", Complete, "too late", Executing},
		{"silent, but not long enough", []step{{"bob", Confirm}, {"bob", Start}}, 70, "eve", Timeout, "no time", Executing},
		{"silent too long", []step{{"bob", Confirm}, {"bob", Start}}, 71, "eve", Timeout, "", Failed},
		{"who waits for others may be silent", []step{{"bob", Confirm}, {"bob", Start}, {"bob", InfoRequest}}, 71, "eve", Timeout, "no time", InfoNeeded},
		{"cancelled after the deadline", []step{{"bob", Confirm}}, 1001, "ann", Cancel, "", Cancelled},
	} {
		r := newTrial(t)
		task := r.sayAt(1, "ann", Request, late, "")
		last := task
		for _, b := range row.before {
			last = r.sayAt(10, b.by, b.what, contents[b.what], "", last)
		}
		v, err := r.View("overdue", plugin.Map{"now": plugin.Time(int64(row.at) * 1_000_000)}, "")
		if row.what == Timeout && (err != nil || (v.Get("tasks").Len() == 1) != (row.refused == "")) {
			t.Errorf("%s: overdue lists %d, %v", row.name, v.Get("tasks").Len(), err)
		}
		params := plugin.Map{"task": task, "error": "e", "question": "?"}
		if err := r.commandAt(row.at, commandOf(row.what), params, row.by); (err != nil) != (row.refused != "") {
			t.Errorf("%s: the command says %v", row.name, err)
		}
		r.sayAt(row.at, row.by, row.what, contents[row.what], row.refused, last)
		if got := r.status(task); got != row.status {
			t.Errorf("%s: %s, want %s", row.name, got, row.status)
		}
	}
}

// Two confirm without knowing of one another; the author's word decides, and what sorts first loses to it.
func TestABackdatedConfirmationLosesToASettlement(t *testing.T) {
	for _, how := range []string{"", Ack} {
		for _, backdated := range []bool{false, true} {
			r := newTrial(t)
			task := r.say("ann", Request, "")
			if backdated {
				c := r.say("cem", Confirm, "", task)
				r.say("cem", Start, "", c)
			}
			c := r.say("bob", Confirm, "", task)
			st := r.say("bob", Start, "", c)
			if _, err := r.Command("settle", plugin.Map{"confirm": c}, "bob"); err == nil {
				t.Error("bob settles")
			}
			if _, err := r.Command("settle", plugin.Map{"confirm": c}, "ann"); err != nil {
				t.Error(err)
			}
			r.say("ann", how, "", c)
			r.say("bob", Complete, "", st)
			refused := ""
			if !backdated {
				refused = "*"
			} else {
				refused = "is with bob"
			}
			r.say("cem", Complete, refused, task)
			v := r.view("task", task)
			if v.Get("by").Text() != "bob" || v.Get("status").Text() != Completed || (v.Get("overruled").Len() == 1) != backdated {
				t.Errorf("backdated %v: %s %s", backdated, v.Get("by").Text(), v.Get("status").Text())
			}
		}
	}
	r := newTrial(t)
	task := r.say("ann", Request, "")
	c := r.say("bob", Confirm, "", task)
	r.say("cem", Confirm, "already confirmed by bob", c) // it knew
}

// The author's cancellation holds against a completion it didn't know of, unless it had accepted that.
func TestCancelAgainstComplete(t *testing.T) {
	for _, row := range []struct {
		name            string
		knows, accepted bool
		refused, status string
	}{
		{"not known", false, false, "", Cancelled},
		{"known", true, false, "is completed", Completed},
		{"accepted", false, true, "is completed", Completed},
	} {
		r := newTrial(t)
		task, last := r.in(Executing)
		done := r.say("bob", Complete, "", last)
		if row.accepted {
			r.say("ann", Ack, "", done)
		}
		ref := last
		if row.knows {
			ref = done
		}
		r.say("ann", Cancel, row.refused, ref)
		if got := r.status(task); got != row.status {
			t.Errorf("%s: %s, want %s", row.name, got, row.status)
		}
	}
}

func TestRetryAndSubtasks(t *testing.T) {
	r := newTrial(t)
	first := r.sayAt(0, "ann", Request, plugin.Map{"task_type": "t", "max_attempts": 2}, "")
	retry := func(of, refused string, by string) string {
		return r.sayAt(0, by, Request, plugin.Map{"task_type": "t", "retry_of": of}, refused, of)
	}
	retry(first, "is pending", "ann")
	r.say("ann", Cancel, "", first)
	retry(first, "only its author", "eve")
	second := retry(first, "", "ann")
	retry(first, "is retried already", "ann")
	if n, _ := r.view("task", second).Get("attempt").Int(); n != 2 {
		t.Errorf("attempt %d", n)
	}
	r.say("ann", Cancel, "", second)
	retry(second, "no more are allowed", "ann")

	task, last := r.in(Executing)
	split := func(by, refused string) string {
		return r.sayAt(0, by, Request, plugin.Map{"task_type": "part", "subtask_of": task, "delegate": true}, refused, task)
	}
	split("eve", "may split it")
	part := split("bob", "")
	c := r.say("cem", Confirm, "", part)
	c = r.say("cem", Start, "", c)
	c = r.say("cem", Complete, "", c)
	r.sayAt(0, "bob", Complete, plugin.Map{"result": plugin.Map{"ok": true}, "artefacts": []any{plugin.Map{"name": "log", "cid": "bafy"}}}, "", last, c)
	v := r.view("task", task)
	if merged := v.Get("merged").Texts(); len(merged) != 1 || merged[0] != part || v.Get("artefacts").Len() != 1 || v.Get("subtasks").Get(Completed) == nil {
		t.Errorf("merged %v", merged)
	}
	split("bob", "can't be split")
	if sub := r.view("subtasks", task).Get("tasks"); sub.Len() != 1 {
		t.Errorf("%d subtasks", sub.Len())
	}
}

func TestContentsAndWords(t *testing.T) {
	r := newTrial(t)
	task, last := r.in(Executing)
	many := make([]any, maxArtefacts+1)
	for i := range many {
		many[i] = plugin.Map{"name": "n", "cid": "c"}
	}
	for _, row := range []struct {
		what    string
		content plugin.Map
		refused string
	}{
		{Progress, plugin.Map{"percent": 101}, "from 0 to 100"},
		{Progress, plugin.Map{"percent": 40, "text": "halfway"}, ""},
		{InfoRequest, plugin.Map{}, "content.question"},
		{Fail, plugin.Map{}, "content.error"},
		{Complete, plugin.Map{"artefacts": []any{plugin.Map{"name": "n"}}}, "needs a name and a cid"},
		{Complete, plugin.Map{"artefacts": many}, "at most 32"},
		{Complete, plugin.Map{"artefacts": many[1:]}, ""},
	} {
		params := plugin.Map{"task": task}
		for k, v := range row.content {
			params[k] = v
		}
		if _, err := r.Command(commandOf(row.what), params, "bob"); (err != nil) != (row.refused != "") {
			t.Errorf("command %s %v: %v, want %q", row.what, row.content, err, row.refused)
		}
		last = r.sayAt(0, "bob", row.what, row.content, row.refused, task)
	}
	r.say("eve", Ack, "", last)
	r.say("ann", Nack, "", last)
	v := r.view("task", task)
	if n, _ := v.Get("percent").Int(); n != 40 || !v.Get("disputed").Bool() || v.Get("accepted").Bool() {
		t.Error("progress or nack is lost")
	}
	moves := slices.Collect(r.view("history", task).Get("moves").Items())
	if acks := moves[len(moves)-1].Get("acks"); acks.Len() != 2 {
		t.Errorf("%d acks", acks.Len())
	}
	r.say("ann", Ack, "", last)
	if v := r.view("task", task); !v.Get("accepted").Bool() || v.Get("disputed").Bool() {
		t.Error("the ack after a nack is lost")
	}
}

func TestLists(t *testing.T) {
	r := newTrial(t)
	low := r.sayAt(0, "ann", Request, plugin.Map{"task_type": "a", "priority": 1, "title": "low"}, "")
	high := r.sayAt(0, "ann", Request, plugin.Map{"task_type": "b", "priority": 9}, "")
	r.say("bob", Confirm, "", low)
	r.say("ann", Cancel, "", r.say("ann", Request, ""))
	ids := func(view string, params plugin.Map, caller string) string {
		v, err := r.View(view, params, caller)
		if err != nil {
			return err.Error()
		}
		var out []string
		for item := range v.Get("tasks").Items() {
			out = append(out, item.Get("task").Text())
		}
		return strings.Join(out, " ")
	}
	for _, row := range []struct {
		view   string
		params plugin.Map
		caller string
		want   string
	}{
		{"open", nil, "", high + " " + low},
		{"open", plugin.Map{"status": Confirmed}, "", low},
		{"open", plugin.Map{"task_type": "b"}, "", high},
		{"mine", plugin.Map{"status": Pending}, "cem", high},
		{"mine", plugin.Map{"node": "eve"}, "cem", ""},
		{"mine", nil, "", "say whose: node is required where nobody is signed in"},
		{"all", plugin.Map{"limit": 2}, "", low + " " + high},
		{"overdue", nil, "", "now is required, a time like 2026-11-30T15:04:05Z"},
	} {
		if got := ids(row.view, row.params, row.caller); got != row.want {
			t.Errorf("%s %v: %q, want %q", row.view, row.params, got, row.want)
		}
	}
	for _, view := range []string{"task", "history", "subtasks"} {
		if _, err := r.View(view, plugin.Map{"task": "x"}, ""); err == nil {
			t.Errorf("%s of no task is answered", view)
		}
	}
}

// TestWaiting asks for each state of a task who is to move.
func TestWaiting(t *testing.T) {
	for state := range ways {
		r := newTrial(t)
		task, _ := r.in(state)
		want := map[string]bool{"bob": state == Pending, "cem": state == Pending, "ann": state == InfoNeeded || state == NeedHuman}
		for _, node := range []string{"ann", "bob", "cem", "dan"} {
			v, err := r.View("waiting", nil, node)
			if err != nil {
				t.Fatal(err)
			}
			listed := false
			for item := range v.Get("tasks").Items() {
				listed = item.Get("task").Text() == task
			}
			if listed != want[node] {
				t.Errorf("%s: waits for %s: %t", state, node, listed)
			}
		}
	}
	r := newTrial(t)
	r.say("bob", Reject, "", r.say("ann", Request, ""))
	if v, err := r.View("waiting", nil, "bob"); err != nil || v.Get("tasks").Len() != 0 {
		t.Errorf("what bob has declined waits for him: %v", err)
	}
	if _, err := r.View("waiting", nil, ""); err == nil {
		t.Error("nobody in particular is waited for")
	}
}
