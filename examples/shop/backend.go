package main

// This file holds the shop's web backend: it is no Node. It asks for tasks over HTTP with a caller's token, and is called back when they end.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"plexus/sdk/client"
)

const (
	maxHook = 1 << 20 // bytes of a webhook: a task with its result
	backlog = 100     // events that wait for the story; more than it has
)

// backend is the shop's web server, with what it needs to ask for tasks and to believe what it is told.
type backend struct {
	Tasks  *client.Client // POST /p2a/tasks and the rest
	Events chan client.TaskEvent

	secret string // of the webhooks
	url    string // where they come
	server *http.Server
	ended  chan error

	mu   sync.Mutex // owns what follows
	seen map[string]int
	down int // how many deliveries more it is too busy for
}

// open starts the backend's server on loopback; close ends it.
func open(nodeURL string, made client.CallerSecrets) (*backend, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open the shop: %w", err)
	}
	b := &backend{
		Tasks: &client.Client{URL: nodeURL, Token: made.Token}, Events: make(chan client.TaskEvent, backlog),
		secret: made.WebhookSecret, url: "http://" + l.Addr().String() + "/hooks", ended: make(chan error, 1), seen: map[string]int{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hooks", b.hook)
	b.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { b.ended <- b.server.Serve(l) }()
	return b, nil
}

func (b *backend) close() error {
	err := b.server.Close()
	if served := <-b.ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// hook takes a webhook: it believes what is signed with the secret and new, does each event once, and says 503 while it is too busy.
func (b *backend) hook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxHook))
	if err != nil {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	event, err := client.VerifyWebhook(r.Header, body, time.Now(), b.secret)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down > 0 {
		b.down--
		http.Error(w, "come again", http.StatusServiceUnavailable)
		return
	}
	if b.seen[event.ID]++; b.seen[event.ID] == 1 {
		b.Events <- event
	}
	w.WriteHeader(http.StatusNoContent)
}

// busy has the backend refuse the next n deliveries.
func (b *backend) busy(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = n
}

// order asks for an order to be packed. It has the order's number as idempotency key, so that asking twice is asking once.
func (b *backend) order(ctx context.Context, payload, mode, key string) (client.Task, error) {
	in := client.TaskRequest{TaskType: "pack", Payload: json.RawMessage(payload), Mode: mode, IdempotencyKey: key}
	if mode == client.ModeCallback || mode == client.ModeHybrid {
		in.CallbackURL = b.url
	}
	if mode == client.ModeHybrid {
		in.WaitS = 1
	}
	return b.Tasks.Submit(ctx, in)
}

// told waits for the next event.
func (b *backend) told(ctx context.Context) (client.TaskEvent, error) {
	select {
	case e := <-b.Events:
		return e, nil
	case <-ctx.Done():
		return client.TaskEvent{}, fmt.Errorf("wait for a webhook: %w", ctx.Err())
	}
}

// forge posts an event that nobody signed, and returns how it is answered.
func (b *backend) forge(ctx context.Context) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url, http.NoBody)
	if err != nil {
		return 0, err
	}
	req.Header.Set("webhook-id", "msg_1")
	req.Header.Set("webhook-timestamp", fmt.Sprint(time.Now().Unix()))
	req.Header.Set("webhook-signature", "v1,AAAA")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}
