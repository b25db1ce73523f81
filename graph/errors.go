package graph

// This file holds the sentinels every layer maps from (design §10; the table stands in docs/protocol.md), and
// InvalidError, which names the rule that was broken.

import "errors"

// The sentinels. Callers branch with errors.Is; what a person reads is added by wrapping.
var (
	ErrInvalid      = errors.New("invalid_input") // breaks the spec, always will
	ErrUnauthorized = errors.New("unauthorized")  // no proof of who
	ErrForbidden    = errors.New("forbidden")     // known, but not permitted
	ErrTooLarge     = errors.New("too_large")     // over a stated limit
	ErrNotFound     = errors.New("not_found")     // not here (yet)
	ErrConflict     = errors.New("conflict")      // true elsewhere already
	ErrUnavailable  = errors.New("unavailable")   // leaving, gone, or asked to wait
	ErrClosed       = errors.New("closed")        // used after Close
)

// Rule is the name of a rule of the entry format: stable, used in golden vectors and metrics.
type Rule string

// The rules a block can break for good (protocol.md §3). Decode finds those of form; Space.Add the rest.
const (
	RuleID          Rule = "id"           // text is no CID of ours
	RuleNodeID      Rule = "node_id"      // no Ed25519 peer ID
	RuleSize        Rule = "size"         // block over MaxBlock
	RuleCBOR        Rule = "cbor"         // not DAG-CBOR
	RuleCanonical   Rule = "canonical"    // DAG-CBOR, but not in its one canonical form
	RuleForm        Rule = "form"         // not [body, signature], a missing or mistyped field
	RuleKind        Rule = "kind"         // kind empty or over 32 bytes
	RuleAuthor      Rule = "author"       // author is no Ed25519 peer ID
	RuleSmallOrder  Rule = "small_order"  // author's key has small order
	RuleSignature   Rule = "signature"    // signature doesn't verify (ZIP-215)
	RuleSeq         Rule = "seq"          // seq < 1, or over 2^53-1, or not prev[0]'s seq + 1
	RuleTime        Rule = "time"         // outside 0 … MaxTime
	RulePrev        Rule = "prev"         // count, order, duplicates; prev[0] present iff seq > 1
	RulePrevAuthor  Rule = "prev_author"  // prev[0] of another author, a later prev of the own, or two of one author
	RuleRefs        Rule = "refs"         // too many, or duplicates
	RuleParentSpace Rule = "parent_space" // a parent lies in another Space
	RuleParentKind  Rule = "parent_kind"  // refs.messages names an entry that is no message
	RuleTimeOrder   Rule = "time_order"   // time not after every parent's
	RuleSpace       Rule = "space"        // the entry belongs to another Space than the one it was added to
	RulePayload     Rule = "payload"      // local sends only: payload isn't what protocol.md §3.6 says
	RulePayloadSize Rule = "payload_size" // local sends only: over MaxPayload
	RuleGenesis     Rule = "genesis"      // a genesis block of no known shape
)

// InvalidError says which rule a block, a payload or an argument broke. It is ErrInvalid, or ErrTooLarge for the
// rules of size.
type InvalidError struct {
	ID     ID     // of the block, zero where there is none
	Field  string // the field at fault, "" for the whole
	Rule   Rule
	Detail string // what was found, for a person
}

// Error says field, rule and detail.
func (e *InvalidError) Error() string {
	s := string(e.Rule)
	if e.Field != "" {
		s = e.Field + ": " + s
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.ID != (ID{}) {
		s = "entry " + e.ID.String() + ": " + s
	}
	return s
}

// Is makes errors.Is(err, ErrInvalid) or ErrTooLarge true.
func (e *InvalidError) Is(target error) bool {
	if e.Rule == RuleSize || e.Rule == RulePayloadSize {
		return target == ErrTooLarge
	}
	return target == ErrInvalid
}
