package p2p

// This file holds how a host comes in: the invite that an admin appends, the protocol by which a ticket's holder proves it,
// and the grant. protocol.md §5.6.

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"golang.org/x/time/rate"

	"plexus/graph"
	"plexus/graph/access"
)

type (
	// ask names the Network and the ticket's public key.
	ask struct {
		Network []byte `cbor:"1,keyasint"`
		Ticket  []byte `cbor:"2,keyasint"`
	}
	nonce struct {
		Nonce []byte `cbor:"1,keyasint"`
	}
	// proof is the ticket's signature over proofText.
	proof struct {
		Signature []byte `cbor:"1,keyasint"`
	}
	// welcome says that the grant is made. The access log follows as blocks and an end.
	welcome struct {
		Genesis []byte   `cbor:"1,keyasint"`
		Role    string   `cbor:"2,keyasint"`
		Records [][]byte `cbor:"3,keyasint,omitempty"`
	}
)

// proofText is what a ticket's key signs: bound to the Network, to both hosts and to the inviter's nonce, so that it is of
// use to nobody else and at no other time.
func proofText(network graph.ID, joiner, inviter graph.NodeID, nonce []byte) []byte {
	b := []byte("plexus:join:1\x00")
	b = append(b, network[:]...)
	b = append(b, joiner[:]...)
	b = append(b, inviter[:]...)
	return append(b, nonce...)
}

// Invite appends an invite to the Network's access log, by the host's key, and returns its ticket, which is
// shown once and kept nowhere, and its ID (hex of the hash the log has). ErrForbidden where this host is no admin.
// A zero expires never does.
func (h *Host) Invite(ctx context.Context, role string, uses int, expires time.Time) (ticket, id string, err error) {
	r, err := access.ParseRole(role)
	if err != nil {
		return "", "", fmt.Errorf("invite: %w", err)
	}
	if uses < 1 || uses > maxInviteUses {
		return "", "", fmt.Errorf("invite: %d uses; give 1 to %d: %w", uses, maxInviteUses, graph.ErrInvalid)
	}
	var until graph.Time
	if !expires.IsZero() {
		if !expires.After(h.cfg.Now()) {
			return "", "", fmt.Errorf("invite: it would have expired already; give a later time: %w", graph.ErrInvalid)
		}
		until = graph.TimeOf(expires)
	}
	g := h.network()
	if g == nil {
		return "", "", fmt.Errorf("invite: this host is in no network: %w", graph.ErrForbidden)
	}
	t := Ticket{Network: g.ID, Inviter: h.id, Addrs: ticketAddrs(h.host.Addrs())}
	if _, err := rand.Read(t.Secret[:]); err != nil {
		return "", "", fmt.Errorf("invite: %w", err)
	}
	if err := h.say(ctx, *g, access.NewInvite(t.hash(), r, uses, until)); err != nil {
		return "", "", fmt.Errorf("invite: %w", err)
	}
	return t.String(), access.Hash(t.hash()).String(), nil
}

// say appends an access entry by the host's key, if it would have an effect, and waits for the Log's rights to have it.
func (h *Host) say(ctx context.Context, g graph.Genesis, d graph.Draft) error {
	r := h.roster()
	if r == nil {
		return fmt.Errorf("this host has no rights here: %w", graph.ErrForbidden)
	}
	if err := r.Allows(h.id, d); err != nil {
		return err
	}
	sp, err := h.cfg.Log.Space(g.ID)
	if err != nil {
		return fmt.Errorf("network's log: %w", err)
	}
	st, err := sp.Send(ctx, h.cfg.Key, d, nil)
	if err != nil {
		return err
	}
	h.rights.wait(ctx, st.Pos, rightsTimeout)
	return nil
}

// door bounds joins and knows who is in the middle of one.
type door struct {
	limit *rate.Limiter
	grant sync.Mutex // one grant at a time, so that a ticket's uses are counted

	mu     sync.Mutex // owns what follows
	inside map[peer.ID]int
	total  int
}

func newDoor() *door {
	return &door{limit: rate.NewLimiter(joinsPerSec, joinBurst), inside: map[peer.ID]int{}}
}

func (d *door) enter(p peer.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.total >= maxJoins || d.inside[p] > 0 || !d.limit.Allow() {
		return false
	}
	d.total++
	d.inside[p]++
	return true
}

func (d *door) leave(p peer.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.total--
	if d.inside[p]--; d.inside[p] == 0 {
		delete(d.inside, p)
	}
}

func (d *door) busy(p peer.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inside[p] > 0
}

// The ways an inviter says no, and what the joiner makes of them.
const (
	noTicket  = "ticket"
	noExpired = "expired"
	noUsedUp  = "used_up"
	noRevoked = "revoked"
	noShut    = "shut"
	noAdmin   = "no_admin"
	noBusy    = "busy"
)

func joinError(code string) error {
	switch code {
	case noTicket:
		return ErrTicketUnknown
	case noExpired:
		return ErrTicketExpired
	case noUsedUp:
		return ErrTicketUsedUp
	case noRevoked:
		return ErrTicketRevoked
	case noShut:
		return ErrShutOut
	case noAdmin:
		return ErrNoAdmin
	default:
		return ErrBusy
	}
}

// answerJoin serves a join: the one thing a host that is no member can ask for.
func (h *Host) answerJoin(ctx context.Context, w *wire, p peer.ID) error {
	joiner, err := nodeID(p)
	if err != nil {
		return err
	}
	if !h.joins.enter(p) {
		return w.send(frameRefuse, refuse{noBusy})
	}
	defer h.joins.leave(p)
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	var a ask
	if err := w.expect(frameAsk, &a, frameTimeout); err != nil {
		return err
	}
	g := h.network()
	if g == nil || graph.ID(padded(a.Network)) != g.ID || len(a.Ticket) != ed25519.PublicKeySize {
		return w.send(frameRefuse, refuse{noTicket})
	}
	n := nonce{make([]byte, 32)}
	if _, err := rand.Read(n.Nonce); err != nil {
		return fmt.Errorf("nonce: %w", err)
	}
	if err := w.send(frameNonce, n); err != nil {
		return err
	}
	var pr proof
	if err := w.expect(frameProof, &pr, frameTimeout); err != nil {
		return err
	}
	if !ed25519.Verify(a.Ticket, proofText(g.ID, joiner, h.id, n.Nonce), pr.Signature) {
		return w.send(frameRefuse, refuse{noTicket})
	}
	role, code, err := h.admitHost(ctx, *g, joiner, sha256.Sum256(a.Ticket))
	if err != nil {
		return err
	}
	if code != "" {
		h.log.Info("join refused", "peer", p, "reason", code)
		return w.send(frameRefuse, refuse{code})
	}
	h.log.Info("joined", "peer", p, "role", role)
	return h.handOver(ctx, w, *g, role)
}

// padded makes 32 bytes of what should be.
func padded(b []byte) (out [32]byte) {
	if len(b) == len(out) {
		copy(out[:], b)
	}
	return out
}

// admitHost grants a proven ticket's role; code, where not "", says why not.
func (h *Host) admitHost(ctx context.Context, g graph.Genesis, joiner graph.NodeID, hash access.Hash) (role access.Role, code string, err error) {
	h.joins.grant.Lock()
	defer h.joins.grant.Unlock()
	r := h.roster()
	if r == nil {
		return 0, noTicket, nil
	}
	in, err := r.Invite(hash)
	if err != nil {
		return 0, noTicket, nil
	}
	have, known := r.Host(joiner)
	switch {
	case known && have.Revoked:
		return 0, noShut, nil
	case in.Revoked:
		return 0, noRevoked, nil
	case in.Expires != 0 && graph.TimeOf(h.cfg.Now()) >= in.Expires:
		return 0, noExpired, nil
	case known && have.Role >= in.Role:
		return have.Role, "", nil // came before, or was granted otherwise: the ticket isn't used
	case in.Used >= in.Uses:
		return 0, noUsedUp, nil
	}
	err = h.say(ctx, g, access.Grant(joiner, in.Role, &hash))
	if errors.Is(err, graph.ErrForbidden) {
		return 0, noAdmin, nil
	}
	return in.Role, "", err
}

// handOver gives a new member the Network: its genesis, its access log, and where the others are.
func (h *Host) handOver(ctx context.Context, w *wire, g graph.Genesis, role access.Role) error {
	sp, err := h.cfg.Log.Space(g.ID)
	if err != nil {
		return fmt.Errorf("network's log: %w", err)
	}
	if err := w.put(frameWelcome, welcome{Genesis: g.Block, Role: role.String(), Records: h.peerRecords()}); err != nil {
		return err
	}
	count := 0
	log := func(yield func(*graph.Entry, error) bool) {
		for e, err := range sp.Since(ctx, nil) {
			if count++; count > maxAccessLog || !yield(e, err) {
				return
			}
		}
	}
	if _, err := sendEntries(w, log); err != nil {
		return err
	}
	return awaitEnd(w)
}

// awaitEnd waits until the other side has closed: it has taken everything in.
func awaitEnd(w *wire) error {
	if err := w.s.CloseWrite(); err != nil {
		return fmt.Errorf("close stream: %w", err)
	}
	_, _, err := w.next(answerTimeout)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Join takes a ticket to its inviter and returns the Network with its access log in this Log (the entries may be
// held until the Log has the Network's rights: the caller evaluates them, calls Log.Apply and SetNetwork). It works
// while Run does.
//
// Errors name what is wrong: ErrTicket, ErrTicketUnknown, ErrTicketExpired, ErrTicketUsedUp, ErrTicketRevoked, ErrShutOut,
// ErrNoAdmin, ErrBusy; ErrUnreachable where no address answered.
func (h *Host) Join(ctx context.Context, ticket string) (JoinResult, error) {
	t, err := ParseTicket(ticket)
	if err != nil {
		return JoinResult{}, fmt.Errorf("join: %w", err)
	}
	if t.Inviter == h.id {
		return JoinResult{}, fmt.Errorf("join: the ticket is this host's own; use it on another machine: %w", graph.ErrInvalid)
	}
	res, err := h.joinWith(ctx, t)
	if err != nil {
		return res, fmt.Errorf("join: %w", err)
	}
	return res, nil
}

func (h *Host) joinWith(ctx context.Context, t Ticket) (JoinResult, error) {
	p, err := peerID(t.Inviter)
	if err != nil {
		return JoinResult{}, err
	}
	w, err := h.call(ctx, peer.AddrInfo{ID: p, Addrs: t.Addrs})
	if err != nil {
		return JoinResult{}, err
	}
	stop := context.AfterFunc(ctx, func() { reset(w.s) })
	defer stop()
	res, err := h.askIn(ctx, w, t)
	if err != nil {
		reset(w.s)
		return res, joinFault(ctx, err)
	}
	k := known{Addrs: addrTexts(append(t.Addrs, h.host.Peerstore().Addrs(p)...)), Seen: h.cfg.Now().UnixMicro()}
	if err := h.book.put(t.Network, t.Inviter, k); err != nil {
		return res, err
	}
	if err := w.s.Close(); err != nil {
		return res, fmt.Errorf("close stream: %w", err)
	}
	return res, nil
}

// joinFault says what a joiner should make of an error in the conversation.
func joinFault(ctx context.Context, err error) error {
	var no *refused
	var c *cut
	switch {
	case errors.As(err, &no):
		return joinError(no.code)
	case ctx.Err() != nil:
		return unreachable("%v", ctx.Err())
	case errors.As(err, &c) && strings.Contains(err.Error(), "gated"):
		return unreachable("it takes no connection from this host: offline, or this host's key was revoked there")
	case errors.As(err, &c):
		return unreachable("it broke off: %v", err)
	default:
		return err
	}
}

// call connects to an inviter and opens the join stream.
func (h *Host) call(ctx context.Context, ai peer.AddrInfo) (*wire, error) {
	select {
	case <-h.ready: // Run has got that far
	case <-ctx.Done():
		return nil, fmt.Errorf("this host's network part doesn't run: %w: %w", ctx.Err(), graph.ErrUnavailable)
	}
	if h.Offline() {
		return nil, fmt.Errorf("this host is offline; plexus online, then try again: %w", graph.ErrUnavailable)
	}
	octx, cancel := context.WithTimeout(network.WithAllowLimitedConn(ctx, "join"), openTimeout)
	defer cancel()
	if err := h.host.Connect(octx, ai); err != nil {
		return nil, unreachable("%d addresses tried: %s", len(ai.Addrs), lastLine(err))
	}
	s, err := h.host.NewStream(octx, ai.ID, protoJoin)
	if err != nil {
		return nil, unreachable("it doesn't answer: %s", lastLine(err))
	}
	return newWire(s), nil
}

// lastLine shortens libp2p's dial errors, which list every address on a line of its own.
func lastLine(err error) string {
	s := err.Error()
	for i := len(s) - 1; i > 0; i-- {
		if s[i] == '\n' {
			return s[i+1:]
		}
	}
	return s
}

// askIn runs the joiner's side.
func (h *Host) askIn(ctx context.Context, w *wire, t Ticket) (JoinResult, error) {
	key := t.key()
	if err := w.send(frameAsk, ask{Network: t.Network[:], Ticket: key.Public().(ed25519.PublicKey)}); err != nil {
		return JoinResult{}, err
	}
	var n nonce
	if err := w.expect(frameNonce, &n, frameTimeout); err != nil {
		return JoinResult{}, err
	}
	if len(n.Nonce) != 32 {
		return JoinResult{}, breachf("a nonce of %d bytes", len(n.Nonce))
	}
	sig := ed25519.Sign(key, proofText(t.Network, h.id, t.Inviter, n.Nonce))
	if err := w.send(frameProof, proof{sig}); err != nil {
		return JoinResult{}, err
	}
	var in welcome
	if err := w.expect(frameWelcome, &in, joinTimeout); err != nil {
		return JoinResult{}, err
	}
	g, err := graph.DecodeGenesis(in.Genesis)
	if err != nil || g.ID != t.Network || g.Kind != graph.GenesisNetwork {
		return JoinResult{}, breachf("the genesis isn't the ticket's network: %v", err)
	}
	sp, err := h.cfg.Log.Create(ctx, g)
	if err != nil {
		return JoinResult{}, fmt.Errorf("create network %s: %w", g.ID, err)
	}
	if err := h.takeOver(ctx, w, t.Inviter, sp); err != nil {
		return JoinResult{}, err
	}
	h.learnRecords(g.ID, in.Records[:min(len(in.Records), maxRecords)], false)
	return JoinResult{Network: g, Role: in.Role, Inviter: t.Inviter}, nil
}

// takeOver takes in the access log. Most of it is held until the caller has evaluated it.
func (h *Host) takeOver(ctx context.Context, w *wire, from graph.NodeID, sp *graph.Space) error {
	for n := 0; ; {
		entries, done, err := readBatch(w)
		if err != nil || done {
			return err
		}
		if n += len(entries); n > maxAccessLog {
			return breachf("an access log of more than %d entries", maxAccessLog)
		}
		h.gossip.arrived.mark(entries)
		res, err := sp.Add(ctx, entries, graph.AddOptions{From: from})
		if err != nil {
			return fmt.Errorf("add the access log of %s: %w", sp.ID(), err)
		}
		if len(res.Refused) > 0 {
			return breachf("access log: %v", res.Refused[0])
		}
	}
}
