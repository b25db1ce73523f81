package p2p

// This file holds the comparison of plugin states between members: what each has made of equal logs, and, where that differs,
// hashes at prefixes by which the first message is found (protocol.md §5.9).

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"golang.org/x/time/rate"

	"plexus/graph"
)

const protoState protocol.ID = "/plexus/state/1.0.0"

// Witness says what this host's plugins make of Spaces, and hears what those of members do. It is called from several goroutines.
type Witness interface {
	// States hears a member's and returns this host's of the same Spaces, of those that are here.
	States(ctx context.Context, from graph.NodeID, theirs States) (States, error)
	// Prefixes returns what a plugin's state is after each of some prefixes: ErrNotFound where the Space isn't here or the plugin's file isn't
	// what folds it here, ErrUnavailable where too much is asked for just now. Where ctx ends first, asking again goes on.
	Prefixes(ctx context.Context, from graph.NodeID, ask PrefixAsk) (Prefixes, error)
}

// States is what the plugins of a host have made of Spaces.
type States struct {
	Engine   string // what runs them: name, version, machine, compiler or interpreter
	Schedule uint64 // of gas
	Spaces   []SpaceStates
}

// SpaceStates is what they have made of one Space.
type SpaceStates struct {
	Space   graph.ID
	Log     graph.Digest // of the Space's log, and
	Access  graph.Digest // of the Network's, when the states were so
	Plugins []PluginState
}

// PluginState is one plugin's state.
type PluginState struct {
	Plugin string
	File   string // CID
	Hash   [32]byte
}

// PrefixAsk asks for a plugin's state at keys, in canonical order, each prefix with its key's entry included.
type PrefixAsk struct {
	Space  graph.ID
	Plugin string
	File   string      // CID
	Keys   []graph.Key // ascending, 1 to MaxPrefixes
}

// Prefixes is the answer to a PrefixAsk.
type Prefixes struct {
	Engine   string
	Schedule uint64
	Points   []Point // as many as keys
	Outcome  string  // how the fold of the last key's entry ended: "folded", "refused", "trapped"; "": it isn't folded
	Reason   string  // of a refusal or trap
	Gas      uint64  // of that fold
}

// Point is a state, and the fingerprint of the entries up to there: states are compared only where fingerprints are equal.
type Point struct {
	Hash        [32]byte
	Fingerprint [16]byte // protocol.md §5.5, of all admitted entries of the Space up to the key
}

// Refusals of the state protocol, beside busy and space.
const (
	noPlugin = "plugin"
	noSpace  = "space"
	noTime   = "late"
)

type (
	statesFrame struct {
		Engine   string       `cbor:"1,keyasint"`
		Schedule uint64       `cbor:"2,keyasint"`
		Spaces   []spaceFrame `cbor:"3,keyasint,omitempty"`
	}
	spaceFrame struct {
		_           struct{} `cbor:",toarray"`
		Space       []byte
		Count       uint64
		Heads       []byte
		AccessCount uint64
		AccessHeads []byte
		Plugins     []pluginFrame
	}
	pluginFrame struct {
		_      struct{} `cbor:",toarray"`
		Plugin string
		File   string
		Hash   []byte
	}
	prefixFrame struct {
		Space  []byte `cbor:"1,keyasint"`
		Plugin string `cbor:"2,keyasint"`
		File   string `cbor:"3,keyasint"`
		Keys   []byte `cbor:"4,keyasint"`
	}
	pointsFrame struct {
		Engine   string `cbor:"1,keyasint"`
		Schedule uint64 `cbor:"2,keyasint"`
		Points   []byte `cbor:"3,keyasint"`
		Outcome  string `cbor:"4,keyasint,omitempty"`
		Reason   string `cbor:"5,keyasint,omitempty"`
		Gas      uint64 `cbor:"6,keyasint,omitempty"`
	}
)

const (
	keySize   = 8 + 32
	pointSize = 32 + 16
)

// asking bounds the state streams that are answered: one at once to a peer, and so many a minute.
type asking struct {
	mu   sync.Mutex // owns what follows
	of   map[peer.ID]*asker
	busy int
}

type asker struct {
	limit *rate.Limiter
	busy  bool
}

func newAsking() *asking { return &asking{of: map[peer.ID]*asker{}} }

// enter is false where a peer asks already or has asked too much, or too many ask.
func (a *asking) enter(p peer.ID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of[p] == nil {
		if len(a.of) >= maxAskers {
			maps.DeleteFunc(a.of, func(_ peer.ID, x *asker) bool { return !x.busy })
		}
		a.of[p] = &asker{limit: rate.NewLimiter(statesPerSec, stateBurst)}
	}
	x := a.of[p]
	if x.busy || a.busy >= maxAsking || !x.limit.Allow() {
		return false
	}
	x.busy = true
	a.busy++
	return true
}

func (a *asking) leave(p peer.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of[p].busy = false
	a.busy--
}

// answerState serves a member's stream: one request, one answer. Who is no member gets its stream reset, without a byte.
func (h *Host) answerState(ctx context.Context, w *wire, p peer.ID) error {
	if !h.member(p) {
		return fmt.Errorf("peer is no member: %w", graph.ErrForbidden)
	}
	from, err := nodeID(p)
	if err != nil {
		return err
	}
	if !h.asks.enter(p) {
		return w.send(frameRefuse, refuse{noBusy})
	}
	defer h.asks.leave(p)
	t, body, err := w.next(frameTimeout)
	switch {
	case err != nil:
		return err
	case t == frameStates:
		return h.answerStates(ctx, w, from, body)
	case t == framePrefix:
		return h.answerPrefix(ctx, w, from, body)
	}
	return breachf("frame %d where a request was due", t)
}

func (h *Host) answerStates(ctx context.Context, w *wire, from graph.NodeID, body []byte) error {
	var f statesFrame
	if err := parse(body, &f); err != nil {
		return err
	}
	theirs, err := unpackStates(f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	ours, err := h.cfg.Witness.States(ctx, from, theirs)
	if err != nil {
		return h.refuseState(ctx, w, err)
	}
	return w.send(frameStates, packStates(ours))
}

func (h *Host) answerPrefix(ctx context.Context, w *wire, from graph.NodeID, body []byte) error {
	var f prefixFrame
	if err := parse(body, &f); err != nil {
		return err
	}
	ask, err := unpackPrefix(f)
	if err != nil {
		return err
	}
	if _, err := h.space(f.Space); err != nil {
		return h.refuseState(ctx, w, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	got, err := h.cfg.Witness.Prefixes(ctx, from, ask)
	if err != nil {
		return h.refuseState(ctx, w, err)
	}
	return w.send(framePoints, packPoints(got))
}

// refuseState says why not, or ends the stream where the fault is ours.
func (h *Host) refuseState(ctx context.Context, w *wire, err error) error {
	switch {
	case errors.Is(err, graph.ErrNotFound):
		return w.send(frameRefuse, refuse{noPlugin})
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return w.send(frameRefuse, refuse{noTime})
	case errors.Is(err, graph.ErrUnavailable):
		return w.send(frameRefuse, refuse{noBusy})
	}
	return err
}

// CompareStates tells a connected member what this host's plugins have made of Spaces and returns what the member's have. It says
// nothing of who is right. ErrUnavailable: the member isn't connected, is asked too much, or is too old to compare.
func (h *Host) CompareStates(ctx context.Context, to graph.NodeID, ours States) (States, error) {
	var f statesFrame
	err := h.askState(ctx, to, frameStates, packStates(ours), frameStates, &f)
	if err != nil {
		return States{}, err
	}
	theirs, err := unpackStates(f)
	if err != nil {
		h.faultOf(to, err)
	}
	return theirs, err
}

// AskPrefixes asks a connected member what a plugin's state is at prefixes. Errors: ErrNotFound where the member doesn't fold with that
// file; context.DeadlineExceeded where it isn't that far yet: asking again goes on; ErrUnavailable as CompareStates.
func (h *Host) AskPrefixes(ctx context.Context, to graph.NodeID, ask PrefixAsk) (Prefixes, error) {
	keys := make([]byte, 0, keySize*len(ask.Keys))
	for _, k := range ask.Keys {
		keys = append(binary.BigEndian.AppendUint64(keys, uint64(k.Time)), k.ID[:]...)
	}
	var f pointsFrame
	err := h.askState(ctx, to, framePrefix, prefixFrame{ask.Space[:], ask.Plugin, ask.File, keys}, framePoints, &f)
	if err != nil {
		return Prefixes{}, err
	}
	got, err := unpackPoints(f, len(ask.Keys))
	if err != nil {
		h.faultOf(to, err)
	}
	return got, err
}

func (h *Host) faultOf(n graph.NodeID, err error) {
	if p, perr := peerID(n); perr == nil {
		h.fault(p, err)
	}
}

// askState sends one request on a stream of its own and reads the answer.
func (h *Host) askState(ctx context.Context, to graph.NodeID, t frameType, body any, answer frameType, out any) error {
	run, ok := h.enter()
	if !ok {
		return fmt.Errorf("ask %s: %w", to, graph.ErrClosed)
	}
	defer h.tasks.Done()
	ctx, cancel := context.WithTimeout(ctx, openTimeout+answerTimeout)
	defer cancel()
	defer context.AfterFunc(run, cancel)()
	p, err := peerID(to)
	if err != nil {
		return err
	}
	if h.linkOf(p) == nil {
		return fmt.Errorf("%s isn't connected: %w", to, graph.ErrUnavailable)
	}
	octx, opened := context.WithTimeout(network.WithAllowLimitedConn(ctx, "state"), openTimeout)
	defer opened()
	s, err := h.host.NewStream(octx, p, protoState)
	if err != nil {
		return fmt.Errorf("%s doesn't compare plugin states (its version is too old, or it is going): %w: %w", to, err, graph.ErrUnavailable)
	}
	defer reset(s)
	defer context.AfterFunc(ctx, func() { reset(s) })()
	w := newWire(s)
	if err := w.send(t, body); err != nil {
		return fmt.Errorf("ask %s: %w: %w", to, err, graph.ErrUnavailable)
	}
	return h.notAnswered(p, w.expect(answer, out, answerTimeout))
}

// notAnswered turns a member's refusal or fault into what a caller may act on.
func (h *Host) notAnswered(p peer.ID, err error) error {
	var no *refused
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &no):
		h.fault(p, err)
		if errors.Is(err, graph.ErrInvalid) {
			return fmt.Errorf("ask %s: %w", p, err)
		}
		return fmt.Errorf("ask %s: %w: %w", p, err, graph.ErrUnavailable)
	case no.code == noPlugin || no.code == noSpace:
		return fmt.Errorf("%s doesn't fold this Space with that file: %w", p, graph.ErrNotFound)
	case no.code == noTime:
		return fmt.Errorf("%s is still folding: %w", p, context.DeadlineExceeded)
	}
	return fmt.Errorf("%s is asked too much just now; try again in a minute: %w", p, graph.ErrUnavailable)
}
