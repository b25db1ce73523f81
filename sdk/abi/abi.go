// Package abi is the contract between a Plexus node and a Wasm guest, version 1: names, numbers, the manifest and the
// codec. Host and Go guests share it; docs/plugins.md says the same in words, for guests in other languages.
//
// Standard library alone, and of that neither reflection nor fmt nor encoding/json: it is linked into guests.
package abi

// Version is the ABI's major version. A guest shows it by exporting Marker; its imports are of Module. Within a version
// functions and map keys are only added.
const (
	Version = 1
	Marker  = "plexus_abi_1"
	Module  = "plexus_1"
)

// The guest's exports, each (i32 length of the input) → i32 code, and the two that are optional.
const (
	ExportFold    = "plexus_fold"
	ExportView    = "plexus_view"
	ExportCommand = "plexus_command"
	ExportReact   = "plexus_react"

	ExportInit   = "_initialize"
	ExportMemory = "memory"
)

// The codes an export returns. Above CodeRefused up to 15 is reserved; from CodeOwn on a plugin may have its own, which the
// node treats as a refusal that carries the number.
const (
	CodeOK      = 0
	CodeRefused = 1 // the output is the reason, as UTF-8 text
	CodeOwn     = 16
)

// How far a user trusts a Node: what trust_level and trust_needed answer. TrustNobody is above any Node: ask, whoever it is.
const (
	TrustUnknown = 0
	TrustKnown   = 1
	TrustTrusted = 2
	TrustOwner   = 3
	TrustNobody  = 4
)

// Absent is what state_get, state_next and message_get return where there is nothing, schema_check where nothing is wrong, and trust_level and
// trust_needed where the user has said nothing.
const Absent = -1

// Keys of the input, a map.
const (
	InPlugin  = 0 // text: which plugin of the file
	InMessage = 1 // map of message keys: fold, react
	InName    = 2 // text: the view or command
	InParams  = 3 // any: the view's or command's parameters, a map
	InCaller  = 4 // text: the Node on whose behalf; absent: nobody
	InTimer   = 5 // text: react, the timer that came due
	InAgain   = 6 // true: react, for a message that the fold had refused when it came, and takes now
	InRole    = 7 // text: the caller's role in the Space, "admin", "writer", "reader"; absent: none
	InKind    = 8 // text: "human" or "agent", as the caller's host attested; absent: not known
)

// Keys of a message, a map. What is empty is absent.
const (
	MsgID      = 1  // text: CID
	MsgSender  = 2  // text: peer ID
	MsgTime    = 3  // int: microseconds since the epoch
	MsgType    = 4  // text: content_type, else content.type where that is text
	MsgContent = 5  // map
	MsgParents = 6  // list of text: refs.messages
	MsgNodes   = 7  // list of text: refs.nodes
	MsgRole    = 8  // text: the sender's role: "admin", "writer", "reader"
	MsgKind    = 9  // text: "human" or "agent", as its host attested
	MsgMeta    = 10 // map
)

// Keys of a draft, a map: an output of command or react.
const (
	DraftType    = 1 // text
	DraftContent = 2 // map
	DraftMeta    = 3 // map
	DraftParents = 4 // list of text
	DraftNodes   = 5 // list of text
	DraftKey     = 6 // text: react: with plugin, Node and trigger it makes the draft be sent once; "" is the position among the outputs
	DraftOnce    = 7 // true: react: one Node of a host is enough
)

// The limits every node keeps, so that a fold ends alike everywhere. Those with a Cap may be raised by the manifest up to it.
const (
	MaxModule      = 4 << 20  // bytes of a file …
	MaxModuleCap   = 16 << 20 // … which the one who pins may raise
	MemoryPages    = 256      // 64 KiB each: 16 MiB
	MemoryPagesCap = 1024
	Gas            = 5_000_000 // a call; 1 gas is about a nanosecond
	GasCap         = 100_000_000
	Depth          = 1024      // calls in one another
	TableSize      = 16 << 10  // elements
	MaxKey         = 256       // bytes of a state key; at least 1
	MaxValue       = 64 << 10  // bytes of a state value
	MaxState       = 64 << 20  // bytes of keys and values of a plugin in a Space
	MaxSigned      = 1 << 20   // bytes of a text whose signature is verified: a millisecond, in which nobody else can run
	MaxOutputs     = 64        // a call
	MaxOutput      = 256 << 10 // bytes of all outputs of a call
	MaxLog         = 8 << 10   // bytes of log a call; more is cut
	MaxReason      = 1 << 10   // bytes of a reason; more is cut
	MaxNesting     = 66        // of CBOR: a payload's 64 and the maps around it
)

// The custom sections of a file. Skill, schema and trace have one each per plugin: the name follows.
const (
	SectionManifest = "plexus.manifest" // JSON, a Manifest
	SectionSkill    = "plexus.skill."   // Markdown
	SectionSchema   = "plexus.schema."  // JSON Schema of the messages
	SectionTrace    = "plexus.trace."   // JSON, a golden trace
)
