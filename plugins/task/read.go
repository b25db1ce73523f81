package task

// This file holds the reading of contents, alike for messages and commands.

import "plexus/sdk/plugin"

const (
	maxNodes     = 64  // whom a task names: each is a key of the state
	maxType      = 128 // bytes of a task's type
	maxAttempts  = 100
	maxHeartbeat = 30 * 24 * 3600 // seconds
	maxArtefacts = 32
)

// readRequest checks what a request says of its task.
func readRequest(c, meta plugin.Value, now int64) (plugin.Map, error) {
	t := plugin.Map{"priority": int64(5)}
	kind := c.Get("task_type").Text()
	if kind == "" || len(kind) > maxType {
		return nil, plugin.Refusal("a task needs content.task_type, a text of 1 to 128 bytes")
	}
	t["type"] = kind
	if p := c.Get("payload"); p != nil && p.Kind() != mapKind {
		return nil, plugin.Refusal("content.payload must be an object")
	}
	if err := number(c, meta, "priority", 0, 9, t, "priority", 1); err != nil {
		return nil, err
	}
	if err := number(c, nil, "heartbeat_s", 1, maxHeartbeat, t, "heartbeat", 1_000_000); err != nil {
		return nil, err
	}
	if err := number(c, nil, "max_attempts", 1, maxAttempts, t, "max", 1); err != nil {
		return nil, err
	}
	if err := moment(c, meta, "deadline", now, t, "deadline"); err != nil {
		return nil, err
	}
	return t, moment(c, meta, "expires_at", now, t, "expires")
}

// mapKind is the kind of a JSON object.
var mapKind = plugin.Value{0xa0}.Kind()

func either(c, meta plugin.Value, field string) plugin.Value {
	if v := c.Get(field); v != nil {
		return v
	}
	return meta.Get(field)
}

func number(c, meta plugin.Value, field string, least, most int64, t plugin.Map, as string, unit int64) error {
	v := either(c, meta, field)
	if v == nil {
		return nil
	}
	n, ok := v.Int()
	if !ok || n < least || n > most {
		return plugin.Refusal(field + " must be a whole number from " + digits(least) + " to " + digits(most))
	}
	t[as] = n * unit
	return nil
}

func moment(c, meta plugin.Value, field string, now int64, t plugin.Map, as string) error {
	v := either(c, meta, field)
	if v == nil {
		return nil
	}
	at, ok := plugin.ParseTime(v.Text())
	if !ok || at <= now {
		return plugin.Refusal(field + " must be a time after the message's, like 2026-11-30T15:04:05Z")
	}
	t[as] = at
	return nil
}

func digits(n int64) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return digits(n/10) + string(rune('0'+n%10))
}

// lineage checks retry_of and subtask_of.
func lineage(s plugin.State, c plugin.Value, sender string, t plugin.Map) error {
	if old := c.Get("retry_of").Text(); old != "" {
		o := s.Value("t/" + old)
		status := statusOf(s, old, o)
		attempt, _ := o.Get("attempt").Int()
		most, ok := o.Get("max").Int()
		switch {
		case o == nil:
			return plugin.Refusal("retry_of must be the ID of a task's request")
		case o.Get("sender").Text() != sender:
			return plugin.Refusal("only its author may retry task " + old)
		case !final(status) || status == Completed:
			return plugin.Refusal("task " + old + " is " + status + ": only one that failed, was cancelled or rejected can be retried")
		case o.Get("retried") != nil:
			return plugin.Refusal("task " + old + " is retried already, as " + o.Get("retried").Text())
		case ok && attempt >= most || attempt >= maxAttempts:
			return plugin.Refusal("task " + old + " was attempt " + digits(attempt) + ": no more are allowed")
		}
		t["retry_of"], t["attempt"] = old, attempt+1
		if ok && t["max"] == nil {
			t["max"] = most
		}
	}
	if parent := c.Get("subtask_of").Text(); parent != "" {
		p := s.Value("t/" + parent)
		switch {
		case p == nil:
			return plugin.Refusal("subtask_of must be the ID of a task's request")
		case p.Get("sender").Text() != sender && !s.Has("w/"+parent+"/"+sender):
			return plugin.Refusal("only the author of task " + parent + " or who confirmed it may split it")
		case final(statusOf(s, parent, p)):
			return plugin.Refusal("task " + parent + " is " + statusOf(s, parent, p) + ": it can't be split any more")
		}
		t["subtask_of"] = parent
		if c.Get("delegate").Bool() {
			t["delegated"] = true
		}
	}
	return nil
}

// readContent checks what is said on the way.
func readContent(what string, c plugin.Value) error {
	switch what {
	case Progress:
		v := c.Get("percent")
		if p, ok := v.Int(); v != nil && (!ok || p < 0 || p > 100) {
			return plugin.Refusal("percent must be a whole number from 0 to 100")
		}
	case InfoRequest:
		if c.Get("question").Text() == "" {
			return plugin.Refusal("say what you need to know: content.question, a text")
		}
	case Fail:
		if c.Get("error").Text() == "" {
			return plugin.Refusal("say why: content.error, a text")
		}
		return readArtefacts(c.Get("artefacts"))
	case Complete:
		return readArtefacts(c.Get("artefacts"))
	}
	return nil
}

func readArtefacts(list plugin.Value) error {
	if list.Len() > maxArtefacts {
		return plugin.Refusal("artefacts are at most 32")
	}
	for a := range list.Items() {
		if a.Get("name").Text() == "" || a.Get("cid").Text() == "" {
			return plugin.Refusal("each of artefacts needs a name and a cid")
		}
	}
	return nil
}
