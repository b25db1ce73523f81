package p2p

// This file holds the address book: where members were last met, kept in the Log's records, so that two machines find
// each other again after both were off.

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"

	"plexus/graph"
)

// Records("peers"): 'a' ‖ Network (32) ‖ host (32) → known; 'l' → the listening addresses; 's' ‖ Space (32) → who told of it (32).
const bookName = "peers"

// known is what the book has of one peer.
type known struct {
	Addrs []string `json:"addrs"`
	Seen  int64    `json:"seen"` // µs; 0: never met
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

// remember writes a member's addresses down: those it is connected by now first, then those it told.
func (h *Host) remember(p peer.ID, seen time.Time) {
	n, err := nodeID(p)
	g := h.network()
	if err != nil || g == nil {
		return
	}
	old, err := h.book.peer(g.ID, n)
	if err != nil {
		h.log.Warn("address book", "peer", n, "err", err)
	}
	k := known{Addrs: addrTexts(h.host.Peerstore().Addrs(p)), Seen: old.Seen}
	for _, a := range old.Addrs {
		if !slices.Contains(k.Addrs, a) {
			k.Addrs = append(k.Addrs, a)
		}
	}
	if !seen.IsZero() {
		k.Seen = seen.UnixMicro()
	}
	if err := h.book.put(g.ID, n, k); err != nil {
		h.log.Warn("address book", "peer", n, "err", err)
	}
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
