package api

// This file holds the HTTP handler of a node: its configuration, its life, and the way of a request through it.

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Config says what a Handler serves. The five interfaces are needed; *node.Node has them all. The rest may stay zero.
type Config struct {
	Accounts  Accounts
	Directory Directory
	Inbox     Inbox
	Views     Views
	Admin     Admin
	Plugins   Plugins  // nil: no plugins, no commands
	Commands  Commands // nil: none are listed
	Skills    Skills   // nil: none
	Trust     Trust    // nil: none
	P2A       P2A      // nil, as Callers: no callers
	Callers   Callers

	MCP     http.Handler // served at /mcp; it looks after its own authentication. nil: 404
	Page    http.Handler // what is no route of the table (the web page). nil: 404
	Metrics http.Handler // served at /metrics with the access key. nil: 404

	NoAuth  bool     // development: X-Node-ID is believed, nobody needs a token. For loopback only
	Hosts   []string // names beside loopback under which browsers may call
	Version string   // in the OpenAPI document
	Logger  *slog.Logger

	BodyWait  time.Duration // how long a JSON body may take to arrive, and an import be silent; 0: 30 s
	WriteWait time.Duration // how long a stream's reader may take nothing; 0: 30 s
	KeepAlive time.Duration // between comments on a quiet stream; 0: 15 s
}

func (c *Config) fill() {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.BodyWait == 0 {
		c.BodyWait = bodyWait
	}
	if c.WriteWait == 0 {
		c.WriteWait = writeWait
	}
	if c.KeepAlive == 0 {
		c.KeepAlive = keepAlive
	}
}

// Handler serves a node over HTTP. It owns no goroutine. Streams end when the http.Server that serves it shuts down,
// or at Close.
type Handler struct {
	cfg   Config
	hosts map[string]bool
	mux   *http.ServeMux
	doc   []byte // the OpenAPI document

	once sync.Once // ties Close to the server's Shutdown
	live lives

	rates rates // of P2A callers
	waits waits
}

// New makes the handler; the Config isn't changed afterwards.
func New(cfg Config) *Handler {
	cfg.fill()
	h := &Handler{cfg: cfg, hosts: map[string]bool{}, mux: http.NewServeMux()}
	for _, name := range cfg.Hosts {
		h.hosts[hostname(name)] = true
	}
	table := h.routes()
	h.doc = document(table, cfg.Version)
	h.mount(table)
	return h
}

// Close ends the streams and refuses new ones. Safe twice.
func (h *Handler) Close() error {
	h.live.close()
	return nil
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.once.Do(func() {
		if srv, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
			srv.RegisterOnShutdown(h.live.close)
		}
	})
	if err := h.guard(r); err != nil {
		h.fail(w, r, err)
		return
	}
	h.mux.ServeHTTP(w, r)
}

// lives holds the streams being served, so that they can be ended.
type lives struct {
	mu     sync.Mutex // owns what is below
	closed bool
	next   int
	cancel map[int]context.CancelFunc
}

// enter returns a context that ends with ctx or at close; leave ends it, and may be called twice. ok is false after close.
func (l *lives) enter(ctx context.Context) (_ context.Context, leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ctx, func() {}, false
	}
	ctx, cancel := context.WithCancel(ctx)
	if l.cancel == nil {
		l.cancel = map[int]context.CancelFunc{}
	}
	n := l.next
	l.next++
	l.cancel[n] = cancel
	return ctx, func() { l.leave(n) }, true
}

func (l *lives) leave(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cancel, ok := l.cancel[n]; ok {
		cancel()
		delete(l.cancel, n)
	}
}

func (l *lives) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, cancel := range l.cancel {
		cancel()
	}
}
