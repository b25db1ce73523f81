// Package plugins is how guests are run and fenced: the host of the Wasm patterns that fold a Space's messages into
// a state which is the same on every machine (docs/plugins.md).
//
// It isn't a job system: a guest sees messages and its own keys, nothing else. Three rules hold:
//
//   - Guest code runs only after the rewriter (plugins/internal/meter) made it metered and deterministic.
//   - Guest memory is scratch, reset before every call; all state is the host's, one atomic batch per step.
//   - State is a pure function of the visible messages in canonical order and of what the access log says of their
//     senders: what comes late, goes or comes back is put in its place by undo and refold.
package plugins
