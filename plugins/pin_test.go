package plugins

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"plexus/graph"
	"plexus/sdk/abi"
)

// counter writes one key per message, with a byte of its own as the value.
func counter(name, version string, value byte) []byte {
	return counterOf(abi.Plugin{Name: name, Version: version, Accepts: []string{"x"}}, value)
}

func counterOf(p abi.Plugin, value byte) []byte {
	w := wasm{imports: []wasmImport{importRead, importSet}}
	w.funcs = append(w.funcs, wasmFunc{export: abi.ExportFold, params: 1, results: 1, code: ops(
		num(64), callFn(0), num(0), num(int64(value)), opStore, num(100), num(40), num(0), num(1), callFn(1), num(0))})
	return w.build(p)
}

func (r *replica) pin(node string, d graph.Draft, err error) *graph.Entry {
	r.t.Helper()
	r.must(err)
	r.now.step(time.Millisecond)
	st, err := r.space.Send(r.ctx(), key(node), d, nil)
	r.must(err)
	return st.Entry
}

func (r *replica) version(name string) string {
	r.t.Helper()
	_, _, err := r.host.StateHash(r.ctx(), r.space.ID(), name)
	if errors.Is(err, graph.ErrNotFound) || errors.Is(err, graph.ErrUnavailable) {
		return ""
	}
	r.must(err)
	list, err := r.host.Plugins(r.ctx(), r.space.ID())
	r.must(err)
	for _, p := range list {
		if p.Name == name {
			return p.Version
		}
	}
	return ""
}

// until asks again until it is so: a pin takes effect a moment after its entry.
func (r *replica) until(what string, ok func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			r.t.Fatalf("not %s", what)
		}
		change := r.host.change()
		r.host.kick()
		select {
		case <-change:
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func admins(names ...string) *rights {
	a := &rights{attest: map[graph.NodeID]string{}}
	for _, n := range names {
		a.attest[id(n)] = adminRole + "/"
	}
	return a
}

func TestPins(t *testing.T) {
	r := bareReplica(t)
	r.dir = t.TempDir()
	r.run()
	defer r.close()
	r.must(r.log.Apply(r.ctx(), admins("root")))
	one, two := counter("count", "1", 'a'), counter("count", "2", 'b')
	cid1, m, err := r.host.AddFile(r.ctx(), one)
	r.must(err)
	if m.Plugins[0].Name != "count" || cid1 != fileCID(one) {
		t.Errorf("added %s %+v", cid1, m)
	}
	for range 3 {
		r.say("ann", "x", obj{})
	}
	if v := r.version("count"); v != "" {
		t.Fatalf("version %s before any pin", v)
	}
	pinDraft, err := PinDraft("count", cid1)
	r.pin("ann", pinDraft, err) // no admin
	if v := r.version("count"); v != "" {
		t.Fatal("anybody can pin")
	}
	pinDraft, err = PinDraft("count", cid1)
	r.pin("root", pinDraft, err)
	r.until("pinned", func() bool { return r.version("count") == "1" })
	first := r.hash("count")

	// Another version whose file isn't here yet: the one before goes on, and isn't called current.
	cid2 := fileCID(two)
	pinDraft, err = PinDraft("count", cid2)
	r.pin("root", pinDraft, err)
	r.until("waiting for the file", func() bool { return len(r.host.Missing()) == 1 })
	r.say("ann", "x", obj{})
	r.restart()
	r.until("waiting for the file after a restart", func() bool { return len(r.host.Missing()) == 1 })
	fourth, current, err := r.host.StateHash(r.ctx(), r.space.ID(), "count")
	if err != nil || current || fourth == first || r.version("count") != "1" {
		t.Errorf("hash %s, current %v, %v", fourth, current, err)
	}
	if m := r.host.WaitMissing(r.ctx()); len(m) != 1 || m[0] != cid2 {
		t.Errorf("missing: %v", m)
	}
	if pins, err := r.host.Pins(r.ctx(), r.space); err != nil || len(pins) != 1 || pins["count"] != cid2 {
		t.Errorf("pins %v: %v", pins, err)
	}
	list, err := r.host.Plugins(r.ctx(), r.space.ID())
	r.must(err)
	i := slices.IndexFunc(list, func(i Info) bool { return i.Name == "count" })
	if i < 0 || list[i].File != cid1 || !strings.Contains(list[i].Fault, cid2) {
		t.Errorf("count is plugin %d of %d", i, len(list))
	}
	_, _, err = r.host.AddFile(r.ctx(), two)
	r.must(err)
	r.until("upgraded", func() bool { return r.version("count") == "2" })
	if second := r.hash("count"); second == fourth {
		t.Error("the second version has the first one's state")
	}

	// Back to the first: built beside the one that runs. A fresh replica agrees.
	pinDraft, err = PinDraft("count", cid1)
	r.pin("root", pinDraft, err)
	r.until("back", func() bool { return r.version("count") == "1" })
	if again := r.hash("count"); again != fourth {
		t.Errorf("hash %s, the first time %s", again, fourth)
	}

	// An admin who is none any more has pinned nothing.
	r.must(r.log.Apply(r.ctx(), admins()))
	r.until("void", func() bool { return r.version("count") == "" })
	r.must(r.log.Apply(r.ctx(), admins("root")))
	r.until("valid again", func() bool { return r.version("count") == "1" })

	unpin, err := UnpinDraft("count")
	r.pin("root", unpin, err)
	r.until("unpinned", func() bool { return r.version("count") == "" })
	kept := map[string]bool{}
	for _, s := range r.host.slots {
		kept[string(numPrefix(s.pub.num))] = true
	}
	for kv, err := range r.host.records.Scan([]byte{'p'}, []byte{'p' + 1}, false) {
		r.must(err)
		if !kept[string(kv.Key[:5])] {
			t.Fatalf("the unpinned state is left: % x", kv.Key)
		}
	}
}

func TestPinReplacesThePatternOfTheNode(t *testing.T) {
	r := bareReplica(t)
	r.must(r.log.Apply(r.ctx(), admins("root")))
	r.dir = t.TempDir()
	r.run()
	defer r.close()
	own := r.version("checkpoint")
	cid, _, err := r.host.AddFile(r.ctx(), counter("checkpoint", "mine", 'c'))
	r.must(err)
	d, err := PinDraft("checkpoint", cid)
	r.pin("root", d, err)
	r.until("replaced", func() bool { return r.version("checkpoint") == "mine" })
	r.restart()
	r.until("kept over a restart", func() bool { return r.version("checkpoint") == "mine" })
	d, err = UnpinDraft("checkpoint")
	r.pin("root", d, err)
	r.until("back", func() bool { return r.version("checkpoint") == own })
}

func TestFilesAreKept(t *testing.T) {
	r := bareReplica(t)
	defer r.close()
	wasm := counter("count", "1", 'a')
	for _, dir := range []string{"", t.TempDir() + "/plugins"} {
		h, err := Open(Config{Log: r.log, FileDir: dir, loaded: load(t)})
		r.must(err)
		if _, err := h.File(fileCID(wasm)); !errors.Is(err, graph.ErrNotFound) {
			t.Errorf("before: %v", err)
		}
		for range 2 {
			cid, _, err := h.AddFile(r.ctx(), wasm)
			r.must(err)
			if got, err := h.File(cid); err != nil || string(got) != string(wasm) {
				t.Errorf("after: %d bytes, %v", len(got), err)
			}
		}
		if _, _, err := h.AddFile(r.ctx(), []byte("x")); !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("no wasm: %v", err)
		}
		if _, err := h.File("../../etc/passwd"); !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("a path: %v", err)
		}
	}
}

func TestPinPayloads(t *testing.T) {
	file := fileCID(nil)
	for payload, want := range map[string]bool{
		`{"op":"pin","name":"p","file":"` + file + `"}`:         true,
		`{"op":"pin","name":"p","file":"` + file + `","new":1}`: true,
		`{"op":"unpin","name":"p"}`:                             true,
		`{"op":"pin","name":"p"}`:                               false,
		`{"op":"pin","name":"P","file":"` + file + `"}`:         false,
		`{"op":"pin","name":"p","file":"` + file[1:] + `"}`:     false,
		`{"op":"drop","name":"p"}`:                              false,
		`[]`:                                                    false,
	} {
		if _, ok := readPin([]byte(payload)); ok != want {
			t.Errorf("%s: %v", payload, ok)
		}
	}
	if _, err := PinDraft("P", file); !errors.Is(err, graph.ErrInvalid) {
		t.Error(err)
	}
	if _, err := UnpinDraft(""); !errors.Is(err, graph.ErrInvalid) {
		t.Error(err)
	}
}
