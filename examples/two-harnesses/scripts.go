package main

// This file holds what the two agents do, as scripts: what a language model would decide from the tools' answers.

import (
	"strings"

	"plexus/internal/scripted"
)

type args = map[string]any

// patience is how long a read waits for something new, in milliseconds.
const patience = 20_000

func call(tool string, a args) scripted.Turn { return scripted.Turn{Tool: tool, Args: a} }

// asks: enter, submit a checkpoint, wait for its answer, settle it, hand over.
func asks(results []string) scripted.Turn {
	switch len(results) {
	case 0:
		return call("ioa_space", args{"name": space, "description": "I prepare releases"})
	case 1:
		return call("ioa_send", args{
			"space_id": scripted.Field(results[0], "id"), "content_type": "checkpoint",
			"content": args{"id": "build-7", "title": "May build 7 go out?", "content": "All tests pass.", "options": []string{"Approve", "Wait"}},
		})
	}
	id, question, last := scripted.Field(results[0], "id"), scripted.Field(results[1], "id"), results[len(results)-1]
	switch {
	case strings.Contains(last, "Handing over"): // what the handoff's own send returned
		return scripted.Turn{Text: "Handed over."}
	case strings.Contains(last, "Thank you."): // the reply that settled the answer
		return call("ioa_send", args{
			"space_id": id, "content_type": "handoff", "refs": args{"messages": []string{scripted.Field(last, "id")}},
			"content": args{"title": "Roll out build 7", "message": "Handing over: approved, see the answer.", "context": "ancestors"},
		})
	case len(results) > 2 && strings.Contains(last, "Approve"):
		return call("ioa_send", args{
			"space_id": id, "content": args{"text": "Thank you."}, "refs": args{"messages": []string{scripted.Field(last, "id")}},
		})
	}
	return call("ioa_read", args{"space_id": id, "message_id": question, "direction": "downstream", "after": question, "wait_ms": patience})
}

// works: enter, wait for a handoff, claim it, read what goes along, do it.
func works(results []string) scripted.Turn {
	if len(results) == 0 {
		return call("ioa_space", args{"name": space, "description": "I roll out"})
	}
	id, last := scripted.Field(results[0], "id"), results[len(results)-1]
	switch {
	case strings.Contains(last, "build 7 is out"):
		return scripted.Turn{Text: "Rolled out."}
	case strings.Contains(last, "but not on Friday") && claimed(results):
		return call("ioa_send", args{
			"space_id": id, "content": args{"text": "build 7 is out, on a Monday: the human said 'but not on Friday'"},
			"refs": args{"messages": []string{scripted.Field(claim(results), "id")}},
		})
	case strings.Contains(last, "handoff:claim"):
		return call("ioa_read", args{"space_id": id, "message_id": scripted.Field(last, "id"), "direction": "upstream"})
	case strings.Contains(last, "Handing over"):
		return call("ioa_send", args{
			"space_id": id, "content_type": "handoff:claim", "content": args{}, "refs": args{"messages": []string{handoff(last)}},
		})
	}
	return call("ioa_read", args{"space_id": id, "all": true, "wait_ms": patience})
}

// claim is what the tool said to the claim.
func claim(results []string) string {
	for _, r := range results {
		if strings.Contains(r, "handoff:claim") {
			return r
		}
	}
	return ""
}

func claimed(results []string) bool { return claim(results) != "" }

// handoff finds the handoff's ID: of the message whose text says so, the last ID before it.
func handoff(result string) string {
	plain := strings.ReplaceAll(result, `\"`, `"`)
	before, _, _ := strings.Cut(plain, "Handing over")
	return scripted.Field(before[strings.LastIndex(before, `"id"`):], "id")
}
