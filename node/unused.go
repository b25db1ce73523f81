package node

// This file holds what ends connections nobody has used: clients open one more than they need, and a server that stops would wait
// five seconds for its first request.

import (
	"net"
	"net/http"
	"sync"
)

// unused is the connections on which no request has come yet. The zero value is ready.
type unused struct {
	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
}

// state is http.Server's ConnState.
func (u *unused) state(c net.Conn, s http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s != http.StateNew {
		delete(u.conns, c)
		return
	}
	if u.closed {
		_ = c.Close() // accepted while the listener closed
		return
	}
	if u.conns == nil {
		u.conns = map[net.Conn]bool{}
	}
	u.conns[c] = true
}

// close ends them, and those still to come.
func (u *unused) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for c := range u.conns {
		_ = c.Close()
	}
}
