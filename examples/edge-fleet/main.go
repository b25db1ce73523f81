// Command edge-fleet has twenty sensors and a station work on one task over bad links, and through a partition of ten minutes. The network and
// the clock are simulated (testing/synctest), so that the minutes take seconds; the nodes are whole ones.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"plexus/sdk/client"
)

const (
	sensors   = 20
	cutOff    = 8                // of them lie beyond the hill
	partition = 10 * time.Minute // how long the hill is out of reach
	patience  = 180              // seconds that a sensor has for its part
	turn      = 15 * time.Second // how often a sensor looks whether there is something to do
)

// Simulated time belongs to tests, so this program is one.
func main() {
	fmt.Println("Edge fleet: twenty sensors on bad links, one task, and a partition of ten minutes in simulated time.")
	began := time.Now()
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "edge-fleet", F: func(t *testing.T) {
		synctest.Test(t, play)
		if !t.Failed() {
			fmt.Printf("\nAll checks hold. It took %.1f s.\n", time.Since(began).Seconds())
		}
	}}}, nil, nil)
}

// story is what the acts share.
type story struct {
	*field
	operator, station *box
	sensors           []*box
	space, group      string
	task, job         string
}

func play(t *testing.T) {
	s := &story{field: newField(t)}
	ctx := t.Context()
	s.gather(ctx)
	s.ask(ctx)
	s.part(ctx)
	s.heal(ctx)
}

func (s *story) everyone() []*box { return append([]*box{s.station}, s.sensors...) }
func (s *story) far() []*box      { return s.sensors[sensors-cutOff:] }

func act(format string, args ...any) { fmt.Printf("\n"+format+"\n", args...) }

// gather starts the machines, joins them by one ticket, and founds the group.
func (s *story) gather(ctx context.Context) {
	act("1. A station and twenty sensors, on links with up to 1.2 s each way and one packet in fifty lost")
	s.station = s.box(ctx, "station", "agent")
	s.operator = s.station.also(ctx, "operator", "human")
	invite, err := s.station.node.Invite(ctx, client.InviteCreate{Uses: sensors})
	s.must(err, "invite")
	for i := range sensors {
		b := s.box(ctx, fmt.Sprintf("sensor-%02d", i+1), "agent")
		s.until(time.Minute, b.name+" joins", func() bool { _, err := b.node.Join(ctx, invite.Ticket); return err == nil })
		s.sensors = append(s.sensors, b)
	}
	s.tell("all have joined the station's Network by one ticket")
	for _, b := range append(s.everyone(), s.operator) {
		s.space = b.enter(ctx, "field")
	}
	s.group = s.station.do(ctx, s.space, "group", "create", object{"name": "field", "topology": "star", "open": true})
	s.same(ctx, s.space, s.everyone())
	for i, b := range s.sensors {
		b.do(ctx, s.space, "group", "join", object{"group": s.group, "capabilities": []string{"temperature", zone(i)}})
	}
	s.must(s.station.node.React(ctx, s.space, "group", s.station.id, true), "turn the station's reaction on")
	s.tell("the station founds a group, the sensors join it and say what they can do")
	s.same(ctx, s.space, s.everyone())
}

func zone(i int) string { return fmt.Sprintf("zone-%02d", i+1) }

// measured is what a sensor, or one that stands in for it, finds in a zone: tenths of a degree.
func measured(zone int) int { return 180 + zone*zone*7%61 }

// ask has the operator ask for a task, which the station splits.
func (s *story) ask(ctx context.Context) {
	act("2. A task, split among all")
	s.task = s.operator.do(ctx, s.space, "task", "request", object{"task_type": "heat_map", "title": "Which zone is the hottest?", "nodes": []string{s.station.id}})
	s.station.do(ctx, s.space, "task", "confirm", object{"task": s.task})
	s.station.do(ctx, s.space, "task", "start", object{"task": s.task})
	s.tell("the operator asks which zone is the hottest; the station confirms and starts")
	var parts []object
	for i := range sensors {
		parts = append(parts, object{"name": zone(i), "capability": "temperature", "payload": object{"zone": i}})
	}
	s.job = s.station.do(ctx, s.space, "group", "split", object{"group": s.group, "title": "Measure", "parts": parts, "timeout_s": patience})
	s.tell("the station splits it in %d parts, each with %d seconds", sensors, patience)
	s.same(ctx, s.space, s.everyone())
}

// job is how the work stands.
type job struct {
	Status string
	Open   int
	Parts  []struct {
		Part               int
		Status, Result, By string
	}
}

func (s *story) look(ctx context.Context, b *box) (j job) {
	b.view(ctx, s.space, "group", "job", object{"job": s.job}, &j)
	return j
}

// work has each sensor do what its own machine says it has to do, until the partition is over.
func (s *story) work(ctx context.Context, until time.Time, every func()) {
	for time.Now().Before(until) {
		for _, b := range s.sensors {
			var mine struct {
				Jobs []struct {
					Parts []struct {
						Part    int
						Payload struct{ Zone int }
					}
				}
			}
			b.view(ctx, s.space, "group", "work", object{"group": s.group}, &mine)
			for _, j := range mine.Jobs {
				for _, p := range j.Parts {
					b.do(ctx, s.space, "group", "result", object{"job": s.job, "part": p.Part, "result": object{"max": measured(p.Payload.Zone)}})
				}
			}
		}
		every()
		time.Sleep(turn)
	}
}

// part cuts the hill off before anybody has answered; both sides go on for ten minutes.
func (s *story) part(ctx context.Context) {
	act("3. The hill is out of reach for ten minutes, with eight sensors behind it")
	for _, b := range s.far() {
		s.world.CutPlace(1, b.ip)
	}
	open, merged := -1, false
	s.work(ctx, time.Now().Add(partition), func() {
		j := s.look(ctx, s.station)
		if !merged && j.Open != open {
			open = j.Open
			s.tell("the station lacks %d parts", open)
		}
		if j.Open == 0 && !merged {
			merged = true
			s.merge(ctx, j)
		}
	})
	s.check(merged, "the task was done while the hill was out of reach: who had been silent for %d s was replaced", patience)
	behind := s.look(ctx, s.far()[0])
	s.check(behind.Status == "running" && behind.Open == sensors-cutOff, "behind the hill they went on too: %d parts done there, %d open", sensors-behind.Open, behind.Open)
}

// merge is the reduce: the station takes the greatest, and completes the task with it.
func (s *story) merge(ctx context.Context, j job) {
	hottest, max := 0, 0
	for _, m := range s.station.below(ctx, s.space, s.job) {
		var r struct {
			Part   int
			Result struct{ Max int }
		}
		if m.ContentType == "group:result" && json.Unmarshal(m.Content, &r) == nil && r.Result.Max > max {
			hottest, max = r.Part, r.Result.Max
		}
	}
	s.station.do(ctx, s.space, "group", "merge", object{"job": s.job, "result": object{"hottest": zone(hottest), "max": max}})
	s.station.do(ctx, s.space, "task", "complete", object{"task": s.task, "result": object{"hottest": zone(hottest), "max": max}})
	s.tell("the station merges %d results and completes the task: %s, %d.%d °C", len(j.Parts), zone(hottest), max/10, max%10)
	s.operator.do(ctx, s.space, "task", "ack", object{"task": s.task})
}

// heal joins both sides, and looks from behind the hill.
func (s *story) heal(ctx context.Context) {
	act("4. The hill is back")
	for _, b := range s.far() {
		s.world.CutPlace(0, b.ip)
	}
	back := time.Now()
	s.same(ctx, s.space, s.everyone())
	s.tell("that took %d s", int(time.Since(back).Seconds()))
	for _, b := range []*box{s.station, s.far()[cutOff-1]} {
		var t struct {
			Status string
			Result struct {
				Hottest string
				Max     int
			}
		}
		b.view(ctx, s.space, "task", "task", object{"task": s.task}, &t)
		want := 0
		for i := range sensors {
			want = max(want, measured(i))
		}
		s.check(t.Status == "completed" && t.Result.Max == want, "%s: the task is %s, the hottest is %s", b.name, t.Status, t.Result.Hottest)
	}
	j, late := s.look(ctx, s.far()[0]), 0
	for _, p := range j.Parts {
		for _, b := range s.far() {
			if p.By == b.id {
				late++
			}
		}
	}
	s.check(j.Status == "merged" && late == 0, "the results from behind the hill came too late to change it, and are kept")
}
