// Package store is how entries lie on disk: [Open] is a graph.Store on Pebble, [Memory] one that forgets.
//
// It knows nothing of what keys and values mean, but for one thing: a Sum adds 256-bit sums and counts. Two rules hold:
//
//   - What a wait acknowledged survives any crash; what it didn't is there whole or not at all.
//   - A failing disk is an error, never a panic and never the end of the process. After a failed write of the log or
//     the manifest nothing is written again until the store is opened anew: the state on disk is the last word.
package store
