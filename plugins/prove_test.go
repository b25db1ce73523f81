package plugins

// This file tests golden traces at install: what is run after them, what isn't, and that they are replayed once.

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"plexus/graph"
)

// prover counts how often it is asked, and finds count wrong where it shall.
type prover struct {
	asked atomic.Int32
	wrong atomic.Bool
	fail  atomic.Bool
}

func (p *prover) prove(_ context.Context, w *Workbench) (map[string]string, error) {
	p.asked.Add(1)
	if p.fail.Load() {
		return nil, errors.New("no trace at all")
	}
	if p.wrong.Load() {
		return map[string]string{w.Manifest().Plugins[0].Name: "the hash is another"}, nil
	}
	return nil, nil
}

func (r *replica) fault(name string) string {
	r.t.Helper()
	list, err := r.host.Plugins(r.ctx(), r.space.ID())
	r.must(err)
	for _, p := range list {
		if p.Name == name {
			return p.Fault
		}
	}
	return ""
}

func TestOwnPluginsAreProvenBesideTheirFolds(t *testing.T) {
	p := &prover{}
	p.fail.Store(true)
	r := bareReplica(t, counter("count", "1", 'a'))
	r.prove = p.prove
	r.say("ann", "x", obj{})
	r.run()
	defer r.close()
	r.hash("count")
	r.until("asked", func() bool { return p.asked.Load() == 1 })
	r.restart() // what couldn't be found out is asked again
	r.until("asked again", func() bool { return p.asked.Load() == 2 })
	p.fail.Store(false)
	p.wrong.Store(true)
	r.restart()
	r.until("stopped", func() bool { return strings.Contains(r.fault("count"), "the hash is another") })
	if _, _, err := r.host.StateHash(r.ctx(), r.space.ID(), "count"); !errors.Is(err, graph.ErrUnavailable) || !strings.Contains(err.Error(), "golden trace") {
		t.Errorf("asked for its state: %v", err)
	}
	if l := r.host.Refusals(); len(l) != 1 || l[0].Plugin != "count" || l[0].Spaces != 1 || !strings.Contains(l[0].Why, "the hash is another") {
		t.Errorf("refusals: %+v", l)
	}
	if n := p.asked.Load(); n != 3 {
		t.Errorf("asked %d times", n)
	}
	p.wrong.Store(false)
	r.restart() // the verdict is kept
	if f := r.fault("count"); !strings.Contains(f, "the hash is another") || p.asked.Load() != 3 {
		t.Errorf("after a restart: %q, asked %d times", f, p.asked.Load())
	}
}

func TestPinnedPluginsAreProvenFirst(t *testing.T) {
	p := &prover{}
	r := bareReplica(t, counter("own", "1", 'a'))
	r.prove, r.dir = p.prove, t.TempDir()
	r.run()
	defer r.close()
	r.must(r.log.Apply(r.ctx(), admins("root")))
	pin := func(wasm []byte) {
		t.Helper()
		cid, _, err := r.host.AddFile(r.ctx(), wasm)
		r.must(err)
		d, err := PinDraft("count", cid)
		r.pin("root", d, err)
	}
	r.say("ann", "x", obj{})
	pin(counter("count", "1", 'a'))
	r.until("pinned", func() bool { return r.version("count") == "1" })
	r.until("both are proven", func() bool { return p.asked.Load() == 2 })

	p.wrong.Store(true)
	pin(counter("count", "2", 'b'))
	r.until("refused", func() bool { return strings.Contains(r.fault("count"), "the hash is another") })
	if v := r.version("count"); v != "1" {
		t.Errorf("version %q runs, want the one before", v)
	}
	r.restart()
	r.until("refused after a restart", func() bool { return strings.Contains(r.fault("count"), "the hash is another") })
	if v := r.version("count"); v != "1" || p.asked.Load() != 3 {
		t.Errorf("version %q runs after a restart, asked %d times", v, p.asked.Load())
	}
}
