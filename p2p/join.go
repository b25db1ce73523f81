package p2p

// This file holds the inviter's side of a join: the protocol by which a ticket's holder proves it, and the grant. protocol.md §5.6.

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"

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
	defer func() {
		h.joins.leave(p)
		h.reconsider(p)
	}()
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
