// Package access is who may: a pure function of the access entries of a Network's log. It does no I/O, keeps no
// clock and never changes its mind about equal input, whatever the order.
//
// Three rules hold (protocol.md §6):
//
//   - Hosts form a tree with the genesis' founders, ranked, at its root. A statement about a host works if its author
//     stands above that host, or is it.
//   - A host that is revoked stays revoked, whoever grants it again.
//   - What a revoked or reduced author said before stays where a cut says so; in the access log itself, nothing of it
//     stays without a cut.
package access
