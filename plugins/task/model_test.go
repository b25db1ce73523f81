package task

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plexus/plugins/internal/model"
	"plexus/sdk/plugin"
)

// Random commands and messages on three replicas, parted and merged at random, against a model of the whole pattern.
func TestModel(t *testing.T) {
	p := model.Task()
	model.Play(t, p, model.Native{Plugin: Plugin(), Pattern: p}, 1, 1)
}

// Whatever is said by whomever in whatever order: what is recorded walks drawn arrows, and what
// is final stays so, but for a completion the author called off without knowing it.
func TestAnyMessages(t *testing.T) {
	types := []string{Confirm, Reject, Start, Progress, InfoRequest, Info, Complete, Fail, Cancel, Timeout, Escalate, Decision, Ack, Nack, ""}
	rapid.Check(t, func(rt *rapid.T) {
		r := newTrial(t)
		task := r.say("ann", Request, "")
		said, status := []string{task}, Pending
		for range rapid.IntRange(1, 25).Draw(rt, "messages") {
			m := plugin.Message{
				Sender: rapid.SampledFrom([]string{"ann", "bob", "cem", "eve", "hal"}).Draw(rt, "by"), Type: rapid.SampledFrom(types).Draw(rt, "type"),
				Parents: []string{rapid.SampledFrom(said).Draw(rt, "ref")}, Kind: "agent",
			}
			if m.Sender == "hal" {
				m.Kind = "human"
			}
			id, err := r.Send(m, contents[m.Type])
			if err == nil {
				said = append(said, id)
			}
			next := r.status(task)
			if err != nil && next != status {
				rt.Fatalf("a refused %s moved the task from %s to %s", m.Type, status, next)
			}
			if settles := m.Sender == "ann" && (m.Type == Ack || m.Type == "" || m.Type == Cancel); final(status) && next != status && !settles {
				rt.Fatalf("%s by %s moved the task from %s to %s", m.Type, m.Sender, status, next)
			}
			status = next
		}
		moves := 0
		for mv := range r.view("history", task).Get("moves").Items() {
			steps := mv.Get("steps").Texts()
			for i := 0; i < len(steps); i += 2 {
				if !slices.Contains(drawn, edge{steps[i], steps[i+1]}) {
					rt.Fatalf("%s → %s isn't drawn", steps[i], steps[i+1])
				}
				if i > 0 && steps[i] != steps[i-1] {
					rt.Fatalf("%v leaves a gap", steps)
				}
			}
			moves++
		}
		if moves == 0 && status != Pending {
			rt.Fatalf("the task is %s without a move", status)
		}
	})
}
