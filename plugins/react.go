package plugins

// This file holds reactions: a plugin that speaks by itself, as a Node of this host, where that Node's user turned it on. Keys, beside
// those of projections, each behind the reaction's identity (a hash of Space, plugin and Node):
//
//	q <reaction>            cursor in the arrival log
//	t <reaction> <timer>    when it is due, microseconds, 8 bytes
//	k <reaction> <hash>     sent already: of trigger and key
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
	"time"

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
	kindCursor = 'q'
	kindTimer  = 't'
	kindSent   = 'k'

	maxTimers = 1024 // of a reaction
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
}

// record is one of the reactor's keys.
func (a *reactor) record(kind byte, rest string) []byte {
	return append(append([]byte{kind}, a.name[:]...), rest...)
}

func (a *reactor) start() error {
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
	if b.Author == a.node && !sp.plugin.Own {
		a.cursor = st.Pos
		return nil
	}
	taken, err := h.taken(s, keyOf(st.Entry))
	m, ok := st.Entry.Message()
	if err != nil || !taken || !ok {
		a.cursor = st.Pos
		return err
	}
	in := abi.AppendMap(nil, 3)
	in = abi.AppendText(abi.AppendInt(in, abi.InPlugin), a.plugin)
	in, err = names{}.appendMessage(abi.AppendInt(in, abi.InMessage), m, attest(attestorOf(h.log.Rights()), a.space.ID(), m.Sender))
	if err != nil {
		return err
	}
	in = abi.AppendText(abi.AppendInt(in, abi.InCaller), a.node.String())
	if err := a.call(ctx, sp, s, in, "m"+m.ID.String(), a.moved(st.Pos)); err != nil {
		return err
	}
	a.cursor = st.Pos
	return nil
}

// taken says whether the state that readers see has folded a message without marking it.
func (h *Host) taken(s *slot, k graph.Key) (bool, error) {
	h.state.RLock()
	num := s.pub.num
	h.state.RUnlock()
	for _, key := range []string{string(kindFolded) + string(k.ID[:]), orderKey(kindMark, k)} {
		_, err := h.records.Get(append(numPrefix(num), key...))
		if err != nil && !errors.Is(err, graph.ErrNotFound) {
			return false, err
		}
		if marked := key[0] == kindMark; (err == nil) == marked {
			return false, nil
		}
	}
	return true, nil
}

// due reacts to timers that have come due, and says when to look again.
func (a *reactor) due(ctx context.Context) (next time.Time, err error) {
	now := time.Now()
	next = now.Add(idleWait)
	timers, err := a.timers()
	if err != nil {
		return next, err
	}
	for _, t := range timers {
		at := time.UnixMicro(t.at)
		if at.After(now) {
			if at.Before(next) {
				next = at
			}
			continue
		}
		sp, s, err := a.host.current(ctx, a.space.ID(), a.plugin)
		if errors.Is(err, graph.ErrUnavailable) {
			return next, nil
		}
		if err != nil {
			return next, err
		}
		in := abi.AppendMap(nil, 3)
		in = abi.AppendText(abi.AppendInt(in, abi.InPlugin), a.plugin)
		in = abi.AppendText(abi.AppendInt(in, abi.InCaller), a.node.String())
		in = abi.AppendText(abi.AppendInt(in, abi.InTimer), t.name)
		gone := graph.Op{Kind: graph.Del, Key: a.record(kindTimer, t.name)}
		if err := a.call(ctx, sp, s, in, "t"+t.name+"\x00"+strconv.FormatInt(t.at, 10), gone); err != nil {
			return next, err
		}
	}
	return next, nil
}

type timer struct {
	name string
	at   int64
}

func (a *reactor) timers() (out []timer, err error) {
	lo := a.record(kindTimer, "")
	hi := append(a.record(kindTimer, ""), 0xff) // names are UTF-8
	for kv, err := range a.host.records.Scan(lo, hi, false) {
		if err != nil {
			return nil, err
		}
		if len(kv.Value) == 8 {
			out = append(out, timer{string(kv.Key[len(lo):]), int64(binary.BigEndian.Uint64(kv.Value))})
		}
	}
	return out, nil
}

// call runs react and sends what it answers. done is written with the last draft, or by itself where there is none. A trap or refusal is
// logged and counts as no answer.
func (a *reactor) call(ctx context.Context, sp *spec, s *slot, input []byte, trigger string, done graph.Op) error {
	e := newEffects()
	e.timers = map[string]int64{}
	c := &call{kind: callReact, input: input, gasLeft: sp.gas, effects: e}
	out, err := a.host.read(ctx, sp, s, c)
	if err != nil {
		return err
	}
	if out.reason != "" {
		a.host.logger.Warn("a plugin didn't react", "plugin", a.plugin, "reason", out.reason)
		c.outputs, e.timers = nil, nil
	}
	after, err := a.timerOps(e.timers)
	if err != nil {
		return err
	}
	after = append([]graph.Op{done}, after...)
	drafts, err := a.unsent(c.outputs, trigger)
	if err != nil {
		return err
	}
	for i, d := range drafts {
		ops := []graph.Op{{Kind: graph.Set, Key: d.sent, Value: []byte{1}}}
		if i == len(drafts)-1 {
			ops, after = append(ops, after...), nil
		}
		if err := a.send(ctx, d.draft, ops); err != nil {
			return err
		}
	}
	if after == nil {
		return nil
	}
	return a.host.records.ApplyNoSync(after...)
}

// send lets the Node speak. What the Space refuses is logged, and its ops are written all the same: it would be refused again.
func (a *reactor) send(ctx context.Context, d graph.Draft, ops []graph.Op) error {
	_, err := a.space.Send(ctx, a.key, d, func(*graph.Entry) []graph.Op { return a.host.records.Ops(ops...) })
	if errors.Is(err, graph.ErrInvalid) || errors.Is(err, graph.ErrForbidden) || errors.Is(err, graph.ErrTooLarge) {
		a.host.logger.Warn("a plugin's reaction can't be sent", "plugin", a.plugin, "error", err)
		return a.host.records.ApplyNoSync(ops...)
	}
	return err
}

type reacted struct {
	draft graph.Draft
	sent  []byte // the key that says so
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
		sent := a.record(kindSent, string(sum[:]))
		switch _, err := a.host.records.Get(sent); {
		case err == nil:
			continue
		case !errors.Is(err, graph.ErrNotFound):
			return nil, err
		}
		out = append(out, reacted{d, sent})
	}
	return out, nil
}

// timerOps writes what a call set; over the limit nothing more is.
func (a *reactor) timerOps(set map[string]int64) ([]graph.Op, error) {
	if len(set) == 0 {
		return nil, nil
	}
	have, err := a.timers()
	if err != nil {
		return nil, err
	}
	var ops []graph.Op
	n := len(have)
	for name, at := range set {
		key := a.record(kindTimer, name)
		if at < 0 {
			ops = append(ops, graph.Op{Kind: graph.Del, Key: key})
			continue
		}
		if n++; n > maxTimers {
			a.host.logger.Warn("a plugin has too many timers", "plugin", a.plugin, "most", maxTimers)
			continue
		}
		ops = append(ops, graph.Op{Kind: graph.Set, Key: key, Value: binary.BigEndian.AppendUint64(nil, uint64(at))})
	}
	return ops, nil
}
