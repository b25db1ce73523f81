package plugins

// This file holds the call: what a guest is given, may do and has put out while one of its exports runs.

import (
	"fmt"

	"plexus/graph"
	"plexus/sdk/abi"
)

type callKind uint8

const (
	callInit callKind = iota
	callFold
	callView
	callCommand
	callReact
)

// call is one run of an export. Owned by the goroutine that runs it.
type call struct {
	kind    callKind
	spec    *spec // whose call it is; nil in _initialize
	input   []byte
	time    int64 // what the WASI clock says: the message's time, else 0
	seed    uint64
	gasLeft int64 // beyond what the guest's gas global holds
	gasUsed int64
	outputs [][]byte
	outSize int
	logs    []string
	logSize int
	policy  *policy     // view, command and react only
	state   stateAccess // nil in _initialize
	world   world       // nil in _initialize
	effects *effects    // command and react only
	asked   graph.Pos   // of a view: what its state shall cover …
	current bool        // … and whether it did
}

// stateAccess is the keys and values behind state_get and its like. A key ends with the call, so it isn't kept; a value that is set is kept. Errors
// are the store's, or a trapError.
type stateAccess interface {
	get(key string) (value []byte, ok bool, err error)
	set(key string, value []byte) error // errReadOnly in views
	del(key string) error
	next(prefix, after string) (key string, ok bool, err error)
}

// world is what a call may see beside its state.
type world interface {
	message(id string) (cbor []byte, ok bool, err error)
	text(id string) (payload []byte, ok bool, err error)
	happenedBefore(a, b string) (bool, error)
}

// effects are what command and react may use where it was granted.
type effects struct {
	now    func() int64
	random func(b []byte)
	timers map[string]int64 // set by this call; -1 deletes

	waiting func() (map[string]bool, error) // the names of the timers there are; asked for with the first that is set
	names   map[string]bool                 // these, with what this call did
}

const trapReadOnly trapError = "only a fold may write state"

func (c *call) output(b []byte) {
	if len(c.outputs) >= abi.MaxOutputs {
		panic(trapError(fmt.Sprintf("more than %d outputs", abi.MaxOutputs)))
	}
	if c.outSize += len(b); c.outSize > abi.MaxOutput {
		panic(trapError(fmt.Sprintf("more than %d bytes of output", abi.MaxOutput)))
	}
	c.outputs = append(c.outputs, append([]byte(nil), b...))
}

func (c *call) log(b []byte) {
	if room := abi.MaxLog - c.logSize; len(b) > room {
		b = b[:max(room, 0)]
	}
	if len(b) == 0 {
		return
	}
	c.logSize += len(b)
	c.logs = append(c.logs, string(b))
}
