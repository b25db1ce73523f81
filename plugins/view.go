package plugins

// This file holds what is asked of a Host: views, and what they and commands see.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plexus/graph"
	"plexus/sdk/abi"
)

// Answer is what a view said, and of which state.
type Answer struct {
	JSON    json.RawMessage
	File    string // CID of the file that answered and had folded the state
	Current bool   // the state covered what reads showed when it was asked, and no other file is pinned
}

// View asks a plugin's view in a Space, on behalf of a Node (zero: nobody). params is a JSON object or nil. It waits,
// for at most ViewWait, until the state covers what reads showed when it was called, and for a tenth of that where another state is made
// beside it; after that it answers from the last consistent state there is.
//
// Errors: ErrNotFound for an unknown Space, plugin or view (the text lists those there are); ErrInvalid for params
// that aren't an object or that the plugin refuses; ErrUnavailable while a plugin has no state yet.
func (h *Host) View(ctx context.Context, space graph.ID, plugin, view string, params json.RawMessage, caller graph.NodeID) (json.RawMessage, error) {
	a, err := h.Answer(ctx, space, plugin, view, params, caller)
	return a.JSON, err
}

// Answer is View, and says what the answer comes from.
func (h *Host) Answer(ctx context.Context, space graph.ID, plugin, view string, params json.RawMessage, caller graph.NodeID) (a Answer, err error) {
	c := &call{kind: callView, gasLeft: viewGas, asked: h.log.Written()}
	sp, s, err := h.current(ctx, space, plugin)
	if err != nil {
		return a, err
	}
	if err := h.ask(ctx, sp, s, c, question{"view", view, sp.plugin.Views, typed(sp.plugin.Views, view, params), caller}); err != nil {
		return a, err
	}
	a.File, a.Current = sp.file.cid, c.current
	a.JSON, err = viewOutput(c)
	return a, err
}

// question is what a view or command is asked.
type question struct {
	what   string // "view" or "command"
	name   string
	known  []abi.Command
	params json.RawMessage
	caller graph.NodeID
}

// asker is what the access log says of the Node on whose behalf a guest is called.
type asker struct{ role, kind string }

func (h *Host) asker(space graph.ID, node graph.NodeID) asker {
	if node == (graph.NodeID{}) {
		return asker{}
	}
	role, kind, _ := strings.Cut(attest(attestorOf(h.log.Rights()), space, node), "/")
	return asker{role, kind}
}

// fields counts the pairs that append writes, after the caller itself.
func (a asker) fields() (n int) {
	for _, has := range []bool{a.role != "", a.kind != ""} {
		if has {
			n++
		}
	}
	return n
}

// append writes role and kind: the last pairs of an input.
func (a asker) append(b []byte) []byte {
	if a.role != "" {
		b = abi.AppendText(abi.AppendInt(b, abi.InRole), a.role)
	}
	if a.kind != "" {
		b = abi.AppendText(abi.AppendInt(b, abi.InKind), a.kind)
	}
	return b
}

// ask runs a view or command and turns a refusal into an error.
func (h *Host) ask(ctx context.Context, sp *spec, s *slot, c *call, q question) error {
	plugin := sp.plugin.Name
	if !slices.ContainsFunc(q.known, func(c abi.Command) bool { return c.Name == q.name }) {
		return fmt.Errorf("plugin %s has no %s %q%s; it has %s: %w", plugin, q.what, clip(q.name), meant(q.name, namesOf(q.known)), commandNames(q.known), graph.ErrNotFound)
	}
	var err error
	if c.input, err = q.input(plugin, h.asker(s.space.ID(), q.caller)); err != nil {
		return err
	}
	out, err := h.read(ctx, sp, s, c)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s of %s: %w", q.what, q.name, plugin, err)
	case out.trapped:
		return fmt.Errorf("%s %s of %s failed: %s (a fault of the plugin, version %s): %w", q.what, q.name, plugin, out.reason, sp.plugin.Version, errPlugin)
	case out.reason != "":
		return fmt.Errorf("%s %s of %s: %s: %w", q.what, q.name, plugin, out.reason, graph.ErrInvalid)
	}
	return nil
}

// errPlugin is no sentinel of graph's: the plugin is at fault, so it is internal to whoever asks.
var errPlugin = errors.New("plugin fault")

func (q question) input(plugin string, by asker) ([]byte, error) {
	params := bytes.TrimSpace(q.params)
	n := 2 + by.fields()
	if len(params) > 0 {
		n++
	}
	if q.caller != (graph.NodeID{}) {
		n++
	}
	b := abi.AppendMap(nil, n)
	b = abi.AppendText(abi.AppendInt(b, abi.InPlugin), plugin)
	b = abi.AppendText(abi.AppendInt(b, abi.InName), q.name)
	if len(params) > 0 {
		var err error
		if err = graph.CheckPayload(params); err != nil {
			return nil, fmt.Errorf("params must be a JSON object: %w", err)
		}
		if b, err = appendJSON(abi.AppendInt(b, abi.InParams), params); err != nil {
			return nil, fmt.Errorf("params must be a JSON object: %w", graph.ErrInvalid)
		}
	}
	if q.caller != (graph.NodeID{}) {
		b = abi.AppendText(abi.AppendInt(b, abi.InCaller), q.caller.String())
	}
	return by.append(b), nil
}

func viewOutput(c *call) (json.RawMessage, error) {
	if len(c.outputs) != 1 {
		return nil, fmt.Errorf("the view gave %d outputs instead of one: %w", len(c.outputs), errPlugin)
	}
	if err := abi.Check(c.outputs[0]); err != nil {
		return nil, fmt.Errorf("the view's output: %w: %w", err, errPlugin)
	}
	out, err := toJSON(nil, c.outputs[0])
	if err != nil {
		return nil, fmt.Errorf("the view's output: %s: %w", err, errPlugin)
	}
	return out, nil
}

// current finds a slot and waits for it. The Space must exist; a plugin that has no state at all is unavailable.
func (h *Host) current(ctx context.Context, space graph.ID, plugin string) (*spec, *slot, error) {
	if _, err := h.log.Space(space); err != nil {
		return nil, nil, err
	}
	k := slotKey{space, plugin}
	h.waitToRead(ctx, k, h.log.Written())
	h.state.RLock()
	defer h.state.RUnlock()
	s := h.slots[k]
	switch {
	case s != nil && s.pub.meta.Whole && h.engine != nil && s.pub.spec.file.ready():
		return s.pub.spec, s, nil
	case h.fault != nil:
		return nil, nil, h.fault
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case errors.Is(h.broken[k].err, graph.ErrNotFound):
		return nil, nil, fmt.Errorf("plugin %s is pinned in space %s and its file is being fetched from other members: ask again in a moment: %w", plugin, space, graph.ErrUnavailable)
	case h.broken[k].err != nil:
		return nil, nil, fmt.Errorf("plugin %s of space %s can't run here: %w: %w", plugin, space, h.broken[k].err, graph.ErrUnavailable)
	case s == nil && h.listed[space]:
		known := h.pluginNames(space)
		return nil, nil, fmt.Errorf("no plugin %q in space %s%s; there are: %s: %w", clip(plugin), space, meant(plugin, known), strings.Join(known, ", "), graph.ErrNotFound)
	}
	return nil, nil, fmt.Errorf("plugin %s has no state of space %s yet: it is being compiled or folded, ask again in a moment: %w", plugin, space, graph.ErrUnavailable)
}

// read runs a pure export over the committed state.
func (h *Host) read(ctx context.Context, sp *spec, s *slot, c *call) (outcome, error) {
	inst, err := sp.file.borrow(ctx)
	if err != nil {
		return outcome{}, err
	}
	defer sp.file.giveBack(ctx, inst)
	h.state.RLock()
	defer h.state.RUnlock()
	if h.engine == nil {
		return outcome{}, graph.ErrClosed
	}
	if s.pub.spec != sp {
		return outcome{}, fmt.Errorf("another version of %s has just been pinned: ask again: %w", sp.plugin.Name, graph.ErrUnavailable)
	}
	c.spec, c.current = sp, s.pub.current && h.seen >= c.asked
	c.state = &storedState{layers: h.stored(s)}
	c.world = &viewWorld{space: s.space, attestor: attestorOf(h.log.Rights()), names: names{}}
	c.policy = &policy{space: s.space.ID()}
	if h.granted(s.space.ID(), sp, "trust") {
		c.policy.trust = h.config.Trust
	}
	export := map[callKind]string{callView: abi.ExportView, callCommand: abi.ExportCommand, callReact: abi.ExportReact}[c.kind]
	out, err := inst.run(ctx, export, c)
	h.logGuest(sp.plugin.Name, graph.ID{}, c, out)
	return out, err
}

func attestorOf(r graph.Rights) Attestor {
	a, _ := r.(Attestor)
	return a
}

// storedState is the committed state, read only.
type storedState struct {
	layers
	ahead prefetch
}

// stored is what readers see of a slot; under state.
func (h *Host) stored(s *slot) layers { return layers{h.records, s.pub.num, s.pub.meta.above} }

func (s *storedState) get(key string) ([]byte, bool, error) {
	return s.layers.get("s" + key)
}

func (s *storedState) set(string, []byte) error { return trapReadOnly }
func (s *storedState) del(string) error         { return trapReadOnly }

func (s *storedState) next(prefix, behind string) (string, bool, error) {
	key, ok, err := s.ahead.next(s.layers, "s"+max(prefix, behind), behind == "" || behind < prefix)
	if err != nil || !ok || !strings.HasPrefix(key[1:], prefix) {
		return "", false, err
	}
	return key[1:], true, nil
}

// viewWorld is what a view sees: every visible message of the Space.
type viewWorld struct {
	space    *graph.Space
	attestor Attestor
	names    names
}

func (w *viewWorld) message(id string) ([]byte, bool, error) {
	g, err := graph.ParseID(id)
	if err != nil {
		return nil, false, nil // no message has such an ID
	}
	m, ok, err := visible(w.space, g)
	if !ok || err != nil {
		return nil, false, err
	}
	b, err := w.names.appendMessage(nil, m, attest(w.attestor, w.space.ID(), m.Sender))
	return b, err == nil, err
}

func (w *viewWorld) text(id string) ([]byte, bool, error) {
	g, err := graph.ParseID(id)
	if err != nil {
		return nil, false, nil
	}
	if _, ok, err := visible(w.space, g); !ok || err != nil {
		return nil, false, err
	}
	return payloadText(w.space, g)
}

func (w *viewWorld) happenedBefore(a, b string) (bool, error) {
	x, errA := graph.ParseID(a)
	y, errB := graph.ParseID(b)
	if errA != nil || errB != nil {
		return false, nil
	}
	return before(w.space, x, y)
}

func commandNames(list []abi.Command) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(namesOf(list), ", ")
}

func namesOf(list []abi.Command) []string {
	var names []string
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}

// meant asks after the name that was probably meant.
func meant(wrong string, known []string) string {
	if name := abi.Closest(wrong, known); name != "" {
		return " (did you mean " + name + "?)"
	}
	return ""
}

// clip shortens what somebody made up as a name.
func clip(s string) string { return s[:min(len(s), 64)] }
