package node

// This file tests P2A's bounds at their edges, where that takes many of something.

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"testing"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

// Of a task with more messages than are kept, any message about tasks in its Space has it looked at.
func TestCrowdedTask(t *testing.T) {
	g := &gateway{tasks: map[graph.ID]*followed{}, of: map[graph.ID]graph.ID{}, dirty: map[graph.ID]bool{}, waiting: map[graph.ID]*waiter{}}
	task, space := graph.ID{1}, graph.ID{2}
	f := &followed{space: space}
	g.tasks[task] = f
	for i := range maxFollowed {
		var m graph.ID
		binary.BigEndian.PutUint64(m[:], uint64(i)+1<<32)
		g.add(f, task, m)
		g.add(f, task, m) // once
	}
	if f.crowded || len(f.messages) != maxFollowed || len(g.of) != maxFollowed {
		t.Errorf("at the edge: %t, %d", f.crowded, len(f.messages))
	}
	if g.touchSpace(space, true) {
		t.Error("looked at, though its messages are known")
	}
	g.add(f, task, graph.ID{9})
	if !f.crowded || len(f.messages) != maxFollowed {
		t.Errorf("behind it: %t, %d", f.crowded, len(f.messages))
	}
	if !g.touchSpace(space, true) || g.touchSpace(graph.ID{3}, true) || !g.dirty[task] {
		t.Error("not looked at, or another Space's")
	}
}

// A page of tasks looks at so many records and no more; what it doesn't find there, the next may.
func TestListScan(t *testing.T) {
	s := newShop(t)
	caller, err := graph.ParseNodeID(s.made.ID)
	if err != nil {
		t.Fatal(err)
	}
	last := s.submit(client.TaskRequest{TaskType: "rare"})
	var ops []graph.Op
	for i := range listScan {
		id := graph.ID{7}
		binary.BigEndian.PutUint32(id[1:], uint32(i))
		rec := taskRecord{Caller: caller, Space: graph.ID{}, Type: "common", Created: graph.TimeOf(s.node.cfg.Now()) + graph.Time(i)}
		set, err := setJSON(s.node.gateway.rec.task, id[:], rec)
		if err != nil {
			t.Fatal(err)
		}
		ops = append(append(ops, set...), mark(s.node.gateway.rec.list, listKey(caller, rec.Created, id))...)
	}
	if err := s.node.write(ops); err != nil {
		t.Fatal(err)
	}
	page, err := s.call.Tasks(t.Context(), client.TaskQuery{TaskType: "rare"})
	if err != nil || len(page.Tasks) != 0 || page.Next == "" {
		t.Fatalf("the first page: %+v, %v", page, err)
	}
	page, err = s.call.Tasks(t.Context(), client.TaskQuery{TaskType: "rare", After: page.Next})
	if err != nil || len(page.Tasks) != 1 || page.Tasks[0].ID != last.ID || page.Next != "" {
		t.Errorf("the second: %+v, %v", page, err)
	}
}

// A request names as many as a task may; a list of offers ends somewhere.
func TestDeclaredBounds(t *testing.T) {
	s := newShop(t)
	declare := func(as api.Service, kind string) {
		t.Helper()
		content := json.RawMessage(fmt.Sprintf(`{"type":%q}`, kind))
		if _, err := as.Send(t.Context(), s.space, client.SendMessage{ContentType: "capability:declare", Content: content}); err != nil {
			t.Error(err)
		}
	}
	for i := range maxAsked + 1 {
		as, _ := register(t, s.node, fmt.Sprint("n", i))
		declare(as, "pack")
	}
	task := s.submit(client.TaskRequest{})
	if got := s.poll(task.ID); len(got.Nodes) != maxAsked {
		t.Errorf("asked of %d", len(got.Nodes))
	}
	done := make(chan struct{}, 16)
	const more = maxDeclared - maxAsked // one more than fits
	for w := range cap(done) {
		go func() {
			for i := w; i < more; i += cap(done) {
				declare(s.agent, fmt.Sprint("t", i))
			}
			done <- struct{}{}
		}()
	}
	for range cap(done) {
		<-done
	}
	if offers, err := s.call.Offers(t.Context()); err != nil || len(offers) != maxDeclared {
		t.Errorf("%d offers, %v", len(offers), err)
	}
}

// Callbacks that wait are counted up to a bound.
func TestCountedCallbacks(t *testing.T) {
	n := open(t, t.TempDir())
	caller := graph.NodeID{1}
	for i, want := range []int{maxCounted - 1, maxCounted, maxCounted} {
		var ops []graph.Op
		for k := range maxCounted - 1 + i {
			ops = append(ops, mark(n.gateway.rec.due, dueKey(caller, graph.Time(k), eventKey{}))...)
		}
		if err := n.write(ops); err != nil {
			t.Fatal(err)
		}
		if _, got, err := n.gateway.busy(caller); err != nil || got != want {
			t.Errorf("%d wait, %d counted, %v", maxCounted-1+i, got, err)
		}
	}
}
