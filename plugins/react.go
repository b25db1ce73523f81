package plugins

// This file holds reactions: a plugin that speaks by itself, as a Node of this host, where that Node's user turned it on. Keys, beside
// those of projections, each behind the reaction's identity (a hash of Space, plugin and Node):
//
//	q <reaction>            cursor in the arrival log
//	w <reaction> <message>  time ‖ ID of a message that the fold had refused when it came
//	t <reaction> <timer>    when it is due, microseconds, 8 bytes
//	k <reaction> <hash>     sent already: of trigger and key; of what one Node of the host is to say, the Node is none
//
// A draft, the note that it was sent, the timers set and, with the last draft, the cursor go in one transaction: a crash repeats nothing.

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"plexus/graph"
	"plexus/sdk/abi"
)

// Reaction says which plugin reacts where, and as whom.
type Reaction struct {
	Space  graph.ID
	Plugin string
	Key    ed25519.PrivateKey // of the Node
}

const (
	kindCursor  = 'q'
	kindRefused = 'w'
	kindTimer   = 't'
	kindSent    = 'k'
)

// React calls a plugin's react for each message that its fold took and that isn't the Node's own (or is, where the manifest says own), in arrival
// order, from the first call of React for this Reaction on, and for timers; it sends the drafts. It blocks until ctx ends (then it returns nil), the Space or
// plugin isn't there (ErrNotFound), or the store fails. One goroutine runs one Reaction, beside Run.
func (h *Host) React(ctx context.Context, r Reaction) error {
	space, err := h.log.Space(r.Space)
	if err != nil {
		return err
	}
	a := &reactor{host: h, space: space, plugin: r.Plugin, key: r.Key, node: graph.NodeIDOf(r.Key)}
	a.name = reactionName(r.Space, r.Plugin, a.node)
	if err := a.start(); err != nil {
		return fmt.Errorf("reactions of %s: %w", r.Plugin, err)
	}
	for err == nil {
		err = a.turn(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("reactions of %s in %s: %w", r.Plugin, r.Space, err)
}

func reactionName(space graph.ID, plugin string, node graph.NodeID) [32]byte {
	return sha256.Sum256(slices.Concat(space[:], node[:], []byte(plugin)))
}

// reactor is one running Reaction.
type reactor struct {
	host   *Host
	space  *graph.Space
	plugin string
	key    ed25519.PrivateKey
	node   graph.NodeID
	name   [32]byte
	cursor graph.Pos

	refused int     // messages the fold had refused when they came, of which it may take some yet
	looked  outlook // what the state was when these were looked at last
}

// record is one of the reactor's keys.
func (a *reactor) record(kind byte, rest string) []byte {
	return append(append([]byte{kind}, a.name[:]...), rest...)
}

func (a *reactor) start() (err error) {
	if a.refused, err = a.countRefused(); err != nil {
		return err
	}
	b, err := a.host.records.Get(a.record(kindCursor, ""))
	switch {
	case err == nil && len(b) == 8:
		a.cursor = graph.Pos(binary.BigEndian.Uint64(b))
		return nil
	case err == nil:
		return errUndo
	case !errors.Is(err, graph.ErrNotFound):
		return err
	}
	a.cursor = a.host.log.Last()
	return a.host.records.Apply(a.moved(a.cursor))
}

func (a *reactor) moved(to graph.Pos) graph.Op {
	return graph.Op{Kind: graph.Set, Key: a.record(kindCursor, ""), Value: binary.BigEndian.AppendUint64(nil, uint64(to))}
}

// turn handles what has come and what is due, then waits for more.
func (a *reactor) turn(ctx context.Context) error {
	if a.host.Permit(a.space.ID(), a.plugin) != nil {
		return a.host.pause(ctx) // for the user to grant what it asks for
	}
	last := a.host.log.Last()
	if last > a.cursor {
		for st, err := range a.host.log.Tail(ctx, a.cursor) {
			if err != nil {
				return err
			}
			err := a.arrived(ctx, st)
			if errors.Is(err, graph.ErrUnavailable) {
				break // still being compiled or folded: the record comes again with the next turn
			}
			if err != nil {
				return err
			}
			if st.Pos >= last {
				break
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := a.again(ctx); err != nil {
		return err
	}
	next, err := a.due(ctx)
	if err != nil {
		return err
	}
	wctx, cancel := context.WithDeadline(ctx, next)
	defer cancel()
	_ = a.host.log.Wait(wctx, a.cursor) // whatever ends it, the next turn looks
	return ctx.Err()
}

// arrived reacts to one record of the log.
func (a *reactor) arrived(ctx context.Context, st graph.Stored) error {
	b := st.Entry.Body()
	if st.Event != graph.Shown || b.Kind != graph.KindMessage || b.Space != a.space.ID() {
		a.cursor = st.Pos // not worth a write: it is looked at again after a restart
		return nil
	}
	h := a.host
	k := slotKey{a.space.ID(), a.plugin}
	h.waitUntil(ctx, k, st.Pos)
	sp, s, err := h.current(ctx, a.space.ID(), a.plugin)
	if err != nil {
		return err
	}
	if !h.covers(s, keyOf(st.Entry), st.Pos) {
		return fmt.Errorf("the state is made anew: %w", graph.ErrUnavailable)
	}
	if b.Author == a.node && !sp.plugin.Own {
		a.cursor = st.Pos
		return nil
	}
	folded, marked, err := h.outcome(s, keyOf(st.Entry))
	if err == nil && marked {
		err = a.refuse(keyOf(st.Entry), st.Pos)
	}
	m, ok := st.Entry.Message()
	if err != nil || !folded || marked || !ok {
		a.cursor = st.Pos
		return err
	}
	in, err := a.input(&m, "", false)
	if err != nil {
		return err
	}
	if err := a.call(ctx, sp, s, in, "m"+m.ID.String(), a.moved(st.Pos)); err != nil {
		return err
	}
	a.cursor = st.Pos
	return nil
}

// input is what react gets: a message or a timer, the Node, and what the access log says of it.
func (a *reactor) input(m *graph.Message, timer string, again bool) (in []byte, err error) {
	as := a.host.asker(a.space.ID(), a.node)
	n := 3 + as.fields()
	if again {
		n++
	}
	in = abi.AppendText(abi.AppendInt(abi.AppendMap(nil, n), abi.InPlugin), a.plugin)
	if m != nil {
		by := attest(attestorOf(a.host.log.Rights()), a.space.ID(), m.Sender)
		if in, err = (names{}).appendMessage(abi.AppendInt(in, abi.InMessage), *m, by); err != nil {
			return nil, err
		}
	}
	in = abi.AppendText(abi.AppendInt(in, abi.InCaller), a.node.String())
	if m == nil {
		in = abi.AppendText(abi.AppendInt(in, abi.InTimer), timer)
	}
	if again {
		in = abi.AppendBool(abi.AppendInt(in, abi.InAgain), true)
	}
	return as.append(in), nil
}

// outcome says whether the state that readers see has folded a message, and whether it marked it.
func (h *Host) outcome(s *slot, k graph.Key) (folded, marked bool, err error) {
	h.state.RLock()
	defer h.state.RUnlock()
	return h.stored(s).outcome(k)
}

// call runs react and sends what it answers. done is written with the last draft, or by itself where there is none. A trap or refusal is
// logged and counts as no answer.
func (a *reactor) call(ctx context.Context, sp *spec, s *slot, input []byte, trigger string, done graph.Op) error {
	if err := a.host.permit(a.space.ID(), sp); err != nil {
		return fmt.Errorf("%w: %w", err, graph.ErrUnavailable) // it was upgraded just now
	}
	e := newEffects()
	e.timers, e.waiting = map[string]int64{}, a.timerNames
	c := &call{kind: callReact, input: input, gasLeft: sp.gas, effects: e}
	out, err := a.host.read(ctx, sp, s, c)
	if err != nil {
		return err
	}
	if out.reason != "" {
		a.host.logger.Warn("a plugin didn't react", "plugin", a.plugin, "reason", out.reason)
		c.outputs, e.timers = nil, nil
	}
	after := append([]graph.Op{done}, a.timerOps(e.timers)...)
	drafts, err := a.unsent(c.outputs, trigger)
	if err != nil {
		return err
	}
	for i, d := range drafts {
		var ops []graph.Op
		if i == len(drafts)-1 {
			ops, after = after, nil
		}
		if err := a.say(ctx, d, ops); err != nil {
			return err
		}
	}
	if after == nil {
		return nil
	}
	return a.host.records.ApplyNoSync(after...)
}

// say lets the Node speak, unless another Node of this host has said what one is to say. What the Space refuses is logged, and its ops are written all the
// same: it would be refused again.
func (a *reactor) say(ctx context.Context, d reacted, ops []graph.Op) error {
	records := a.host.records
	if d.once {
		a.host.saying.Lock() // between the look and the send nobody else may say it
		defer a.host.saying.Unlock()
		if _, err := records.Get(d.sent); !errors.Is(err, graph.ErrNotFound) {
			if err == nil && len(ops) > 0 {
				err = records.ApplyNoSync(ops...)
			}
			return err
		}
	}
	said := append([]graph.Op{{Kind: graph.Set, Key: d.sent, Value: []byte{1}}}, ops...)
	_, err := a.space.Send(ctx, a.key, d.draft, func(*graph.Entry) []graph.Op { return records.Ops(said...) })
	if errors.Is(err, graph.ErrInvalid) || errors.Is(err, graph.ErrForbidden) || errors.Is(err, graph.ErrTooLarge) {
		a.host.logger.Warn("a plugin's reaction can't be sent", "plugin", a.plugin, "error", err)
		if d.once {
			said = ops // another Node may be let
		}
		if err = nil; len(said) > 0 {
			err = records.ApplyNoSync(said...)
		}
	}
	return err
}

type reacted struct {
	draft graph.Draft
	sent  []byte // the key that says so
	once  bool   // whichever Node of this host says it
}

// unsent reads the outputs and leaves out what was sent before.
func (a *reactor) unsent(outputs [][]byte, trigger string) ([]reacted, error) {
	var out []reacted
	for i, b := range outputs {
		d, key, err := readDraft(b)
		if err != nil {
			a.host.logger.Warn("a plugin's reaction has a wrong shape", "plugin", a.plugin, "error", err)
			continue
		}
		if key == "" {
			key = "\x00" + strconv.Itoa(i)
		}
		sum := sha256.Sum256([]byte(trigger + "\x00" + key))
		once := abi.Value(b).At(abi.DraftOnce).Bool()
		sent := a.record(kindSent, string(sum[:]))
		if once {
			ours := reactionName(a.space.ID(), a.plugin, graph.NodeID{})
			sent = slices.Concat([]byte{kindSent}, ours[:], sum[:])
		}
		switch _, err := a.host.records.Get(sent); {
		case err == nil:
			continue
		case !errors.Is(err, graph.ErrNotFound):
			return nil, err
		}
		out = append(out, reacted{d, sent, once})
	}
	return out, nil
}
