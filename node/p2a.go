package node

// This file holds the gateway for callers that are no agents (P2A): what it owns, and its life. Callers are in p2a_callers.go, asking in
// p2a_submit.go, how a task stands in p2a_task.go, following tasks in p2a_follow.go, webhooks in p2a_deliver.go and p2a_address.go.

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"plexus/graph"
	"plexus/node/api"
)

// gateway is api.P2A and api.Callers. A caller's task is a task like any other: the request is sent by a Node of the caller's own, whose key is here,
// and its state is the task plugin's. The gateway adds who may ask, waiting, and callbacks.
type gateway struct {
	node *Node
	rec  p2aRecords
	http *http.Client
	nets []netip.Prefix // beside public addresses, where callbacks may go
	cas  *x509.CertPool // who vouches for receivers; nil: the system's
	pace pace

	adding sync.Mutex            // one change of callers at a time
	keyed  [sendLocks]sync.Mutex // requests of equal idempotency keys; the Nodes' own sends needn't wait for plugins

	look chan struct{} // told when a task is to be looked at
	post chan struct{} // told when a callback is due earlier than was known

	mu      sync.Mutex // owns what is below
	tasks   map[graph.ID]*followed
	of      map[graph.ID]graph.ID // a message → the task it is about, of open tasks
	dirty   map[graph.ID]bool
	waiting map[graph.ID]*waiter
	told    map[graph.ID]bool    // hybrid tasks whose end stood in the answer
	open    map[graph.NodeID]int // a caller's tasks without an end
}

// pace is how fast callbacks are tried, and how long after a hybrid request's wait its answer counts; the tests move it.
type pace struct {
	first, last, timeout, age time.Duration
	grace                     time.Duration
	tries                     int
	jitter                    func() float64 // from 0 to 1
}

func newGateway(n *Node) (*gateway, error) {
	g := &gateway{
		node: n, rec: openP2ARecords(n.log), nets: n.cfg.Callbacks, look: make(chan struct{}, 1), post: make(chan struct{}, 1),
		pace:  pace{first: firstTry, last: lastTry, timeout: callbackWait, age: callbackAge, grace: holdGrace, tries: callbackTries, jitter: jitter},
		tasks: map[graph.ID]*followed{}, of: map[graph.ID]graph.ID{}, dirty: map[graph.ID]bool{}, waiting: map[graph.ID]*waiter{}, open: map[graph.NodeID]int{},
		told: map[graph.ID]bool{},
	}
	g.http = g.newClient()
	return g, g.count()
}

// P2A returns what serves callers that are no agents.
func (n *Node) P2A() interface {
	api.P2A
	api.Callers
} {
	return n.gateway
}

// run follows tasks and delivers callbacks until ctx ends.
func (g *gateway) run(ctx context.Context) error {
	defer g.http.CloseIdleConnections()
	group, ctx := errgroup.WithContext(ctx)
	from := g.node.log.Last()
	if err := g.reopen(ctx); err != nil {
		return ignoreEnd(ctx, err)
	}
	group.Go(func() error { return g.follow(ctx, from) })
	group.Go(func() error { return g.settle(ctx) })
	group.Go(func() error { return g.deliver(ctx) })
	return ignoreEnd(ctx, group.Wait())
}

// poke tells whoever listens on a channel of one place.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default: // it is told already
	}
}
