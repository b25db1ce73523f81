// Package graph is what an entry, a message and a Space are: the signed block, the rules that admit it,
// the log and the indexes of a Space, and every read of them.
//
// It knows nothing of networks, guests or HTTP. Three rules hold:
//
//   - An [Entry] is made by [Seal] or [Decode] and by nothing else; it is verified and immutable.
//   - [Space.Add] (and [Space.Send], which seals and then adds) is the only way in; [Space.Tail] and
//     [Log.Tail] are the only way out.
//   - Admission is structural and monotone; rights and payload decide only visibility (protocol.md §4).
package graph
