// Package reconcile is how two replicas find their difference: range-based set reconciliation over (time, ID), wire-compatible
// with the Negentropy protocol, version 1.
//
// It does no I/O: the caller carries messages. One side opens with [Session.Initiate]; each message goes through the
// other side's [Session.Step]; the opener learns which IDs it has alone and which it lacks, and is done when Step
// returns no message. Nothing here is believed: an ID is only a name until its block is verified.
//
// A range is told by its upper bound and starts where the one before ended. Its content is told by a fingerprint (the
// sum of the IDs and their count), which costs O(log n) from a Space's running sums; where fingerprints differ the
// range is cut in 16, until the IDs themselves are few enough to send.
package reconcile
