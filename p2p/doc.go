// Package p2p is how bytes reach peers: it carries blocks between hosts and knows nothing of what they say.
//
// It is a libp2p host with four ways to meet others (ticket, remembered address, LAN, DHT) and three protocols: join
// (the only one that answers a host that is no member), gossip (a hint, fast) and sync (the truth, thorough).
// Three rules hold:
//
//   - What comes from a peer goes through graph.Decode and Space.Add, as everything does; what peers may see is
//     decided by the access rights in the Log, at every stream and at every gossip message.
//   - Nothing is delivered from a network queue: readers follow the Log.
//   - A peer's word about what it holds is an optimisation, never the truth: digests, frontiers and sums may lie, and
//     an audit by ranges finds out.
package p2p
