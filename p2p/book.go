package p2p

// This file holds the address book: where members were last met, kept in the Log's records, so that two machines find
// each other again after both were off.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/record"
	ma "github.com/multiformats/go-multiaddr"

	"plexus/graph"
	"plexus/graph/access"
)

// Records("peers"): 'a' ‖ Network (32) ‖ host (32) → known; 'l' → the listening addresses; 's' ‖ Space (32) → who told of it (32).
const bookName = "peers"

// known is what the book has of one peer.
type known struct {
	Addrs  []string `json:"addrs"`
	Seen   int64    `json:"seen"`             // µs; 0: never met
	Record []byte   `json:"record,omitempty"` // the peer's own signed record, to pass on
}

type book struct{ records graph.Records }

func addrKey(network graph.ID, n graph.NodeID) []byte {
	return append(append([]byte{'a'}, network[:]...), n[:]...)
}

func (b book) peer(network graph.ID, n graph.NodeID) (known, error) {
	var k known
	v, err := b.records.Get(addrKey(network, n))
	if errors.Is(err, graph.ErrNotFound) {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal(v, &k)
	}
	if err != nil {
		return known{}, fmt.Errorf("read address of peer %s: %w", n, err)
	}
	return k, nil
}

// put writes what is known of a peer; addresses over the bound are left out.
func (b book) put(network graph.ID, n graph.NodeID, k known) error {
	k.Addrs = k.Addrs[:min(len(k.Addrs), maxBookAddrs)]
	v, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("write address of peer %s: %w", n, err)
	}
	if err := b.records.ApplyNoSync(graph.Op{Kind: graph.Set, Key: addrKey(network, n), Value: v}); err != nil {
		return fmt.Errorf("write address of peer %s: %w", n, err)
	}
	return nil
}

// listen returns the addresses listened on last time.
func (b book) listen() []string {
	var out []string
	if v, err := b.records.Get([]byte{'l'}); err == nil && json.Unmarshal(v, &out) != nil {
		return nil
	}
	return out
}

func (b book) setListen(addrs []string) error {
	v, err := json.Marshal(addrs)
	if err != nil {
		return fmt.Errorf("write listening addresses: %w", err)
	}
	if err := b.records.Apply(graph.Op{Kind: graph.Set, Key: []byte{'l'}, Value: v}); err != nil {
		return fmt.Errorf("write listening addresses: %w", err)
	}
	return nil
}

// told returns how many Spaces each host told us of.
func (b book) told() (map[graph.NodeID]int, error) {
	out := map[graph.NodeID]int{}
	for kv, err := range b.records.Scan([]byte{'s'}, []byte{'s' + 1}, false) {
		if err != nil {
			return nil, fmt.Errorf("read who told of which Space: %w", err)
		}
		if len(kv.Value) == 32 {
			out[graph.NodeID(kv.Value)]++
		}
	}
	return out, nil
}

func (b book) setTold(space graph.ID, by graph.NodeID) error {
	op := graph.Op{Kind: graph.Set, Key: append([]byte{'s'}, space[:]...), Value: by[:]}
	if err := b.records.ApplyNoSync(op); err != nil {
		return fmt.Errorf("write who told of Space %s: %w", space, err)
	}
	return nil
}

// remember writes down where a member is: what it is connected by first, then what was known before. env, where not
// nil, is its signed record.
func (h *Host) remember(p peer.ID, seen time.Time, env *record.Envelope) {
	n, err := nodeID(p)
	g := h.network()
	if err != nil || g == nil {
		return
	}
	old, err := h.book.peer(g.ID, n)
	if err != nil {
		h.log.Warn("address book", "peer", n, "err", err)
	}
	k := known{Addrs: union(addrTexts(h.host.Peerstore().Addrs(p)), old.Addrs), Seen: old.Seen, Record: old.Record}
	if !seen.IsZero() {
		k.Seen = seen.UnixMicro()
	}
	if env != nil {
		if b, err := env.Marshal(); err == nil && len(b) <= maxRecord {
			k.Record = b
		}
	}
	if err := h.book.put(g.ID, n, k); err != nil {
		h.log.Warn("address book", "peer", n, "err", err)
	}
}

// union appends to a what of b it lacks.
func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// peerRecords gives members' signed records, so that others find them: of the connected ones first.
func (h *Host) peerRecords() [][]byte {
	g := h.network()
	if g == nil {
		return nil
	}
	all := h.members()
	slices.SortStableFunc(all, func(a, b access.Host) int { return h.distance(a.ID) - h.distance(b.ID) })
	var out [][]byte
	for _, m := range all {
		if k, err := h.book.peer(g.ID, m.ID); err == nil && len(k.Record) > 0 && len(out) < maxRecords {
			out = append(out, k.Record)
		}
	}
	return out
}

func (h *Host) distance(n graph.NodeID) int {
	if p, err := peerID(n); err == nil && h.connected(p) {
		return 0
	}
	return 1
}

// learnRecords takes in addresses that hosts signed themselves, where they are newer than those known, and has them
// dialled. Only members' are taken, unless members is false: before a join is evaluated nobody is one.
func (h *Host) learnRecords(network graph.ID, records [][]byte, members bool) {
	for _, b := range records {
		id, err := signerOf(b)
		if err != nil || id == h.host.ID() || members && (!h.member(id) || h.connected(id)) {
			continue
		}
		n, err := nodeID(id)
		if err != nil {
			continue
		}
		old, err := h.book.peer(network, n)
		if err != nil || bytes.Equal(old.Record, b) {
			continue
		}
		pr, err := openRecord(b)
		if err != nil {
			continue
		}
		if last, err := openRecord(old.Record); err == nil && last.Seq >= pr.Seq {
			continue
		}
		k := known{Addrs: union(addrTexts(pr.Addrs), old.Addrs), Seen: old.Seen, Record: b}
		if err := h.book.put(network, n, k); err != nil {
			h.log.Warn("address book", "peer", n, "err", err)
		}
		h.redial.soon(n)
	}
}

// signerOf says whose a peer record claims to be, which openRecord proves. Each handshake brings the records of all that the peer knows, so that
// proving them before looking whether they are of use would be most of its cost.
func signerOf(b []byte) (peer.ID, error) {
	if len(b) == 0 || len(b) > maxRecord {
		return "", breachf("a peer record of %d bytes", len(b))
	}
	env, err := record.UnmarshalEnvelope(b)
	if err != nil {
		return "", fmt.Errorf("peer record: %w", err)
	}
	return peer.IDFromPublicKey(env.PublicKey)
}

// openRecord reads a signed peer record.
func openRecord(b []byte) (*peer.PeerRecord, error) {
	if len(b) == 0 || len(b) > maxRecord {
		return nil, breachf("a peer record of %d bytes", len(b))
	}
	env, rec, err := record.ConsumeEnvelope(b, peer.PeerRecordEnvelopeDomain)
	if err != nil {
		return nil, fmt.Errorf("peer record: %w", err)
	}
	pr, ok := rec.(*peer.PeerRecord)
	if !ok || !pr.PeerID.MatchesPublicKey(env.PublicKey) {
		return nil, breachf("a peer record of another kind or key")
	}
	return pr, nil
}

func addrTexts(addrs []ma.Multiaddr) []string {
	out := make([]string, 0, len(addrs))
	for _, a := range addrs {
		if len(a.Bytes()) <= maxAddr {
			out = append(out, a.String())
		}
	}
	return out
}

func parseAddrs(texts []string) []ma.Multiaddr {
	out := make([]ma.Multiaddr, 0, len(texts))
	for _, s := range texts {
		if a, err := ma.NewMultiaddr(s); err == nil {
			out = append(out, a)
		}
	}
	return out
}
