package node

// This file holds callers: who may ask for which tasks where, by which token, and how that ends.

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

// Caller returns whom a token belongs to. Nothing is remembered between calls, so that a revocation holds at once.
func (g *gateway) Caller(_ context.Context, token string) (client.Caller, error) {
	c, err := g.rec.byToken(token)
	switch {
	case errors.Is(err, graph.ErrNotFound):
		return client.Caller{}, noCaller("invalid token")
	case err != nil:
		return client.Caller{}, err
	case c.Revoked:
		return client.Caller{}, noCaller("this caller was revoked")
	case c.Expires != 0 && c.Expires <= g.now():
		return client.Caller{}, noCaller("this token expired at " + c.Expires.String())
	}
	return c.public(), nil
}

func noCaller(detail string) error {
	return &api.Fault{Kind: graph.ErrUnauthorized, Detail: detail, Hint: "the host's owner makes a caller's token with: plexus caller add NAME --space SPACE"}
}

func (g *gateway) now() graph.Time { return graph.TimeOf(g.node.cfg.Now()) }

// AddCaller makes a caller and a Node that speaks for it, joined to its Spaces.
func (g *gateway) AddCaller(ctx context.Context, in client.CallerCreate) (client.CallerSecrets, error) {
	var none client.CallerSecrets
	c, spaces, err := g.checkCaller(in)
	if err != nil {
		return none, err
	}
	g.adding.Lock()
	defer g.adding.Unlock()
	if err := g.free(c.Name); err != nil {
		return none, err
	}
	made, err := g.node.Create(ctx, client.NodeCreate{Name: c.Name, Description: "asks for tasks from outside (P2A)", Meta: json.RawMessage(`{"p2a":true}`)})
	if err != nil {
		return none, err
	}
	if c.ID, err = graph.ParseNodeID(made.ID); err != nil {
		return none, err
	}
	for _, sp := range spaces {
		if err := g.enterSpace(ctx, c.ID, sp); err != nil {
			return none, err
		}
	}
	token, secret := newCallerToken(), newWebhookKey()
	c.setToken(token)
	c.Secrets = []webhookSecret{{Key: secret}}
	if err := g.keepCaller(c, nil); err != nil {
		return none, err
	}
	return client.CallerSecrets{Caller: c.public(), Token: token, WebhookSecret: secretText(secret)}, nil
}

func newCallerToken() string { return api.CallerPrefix + newSecret() }

// newWebhookKey is 32 random bytes: Standard Webhooks wants 24 to 64.
func newWebhookKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails: crypto/rand ends the program instead
	return key
}

func secretText(key []byte) string { return "whsec_" + base64.StdEncoding.EncodeToString(key) }

func (c *callerRecord) setToken(token string) {
	sum := sha256.Sum256([]byte(token))
	c.Token = sum[:]
}

// checkCaller reads what is asked of a new caller.
func (g *gateway) checkCaller(in client.CallerCreate) (c callerRecord, spaces []*graph.Space, err error) {
	c = callerRecord{Name: strings.TrimSpace(in.Name), Types: in.Types, Rate: in.RatePerMin, Created: g.now()}
	if c.Rate == 0 {
		c.Rate = callerRate
	}
	switch {
	case c.Name == "":
		return c, nil, invalid("name is required")
	case len(c.Name) > MaxName:
		return c, nil, invalid("name is over %d bytes", MaxName)
	case len(in.Spaces) == 0 || len(in.Spaces) > MaxCallerSpaces:
		return c, nil, invalid("spaces must be 1 to %d IDs of Spaces", MaxCallerSpaces)
	case len(in.Types) > MaxCallerTypes:
		return c, nil, invalid("types are at most %d", MaxCallerTypes)
	case c.Rate < 1 || c.Rate > MaxCallerRate:
		return c, nil, invalid("rate_per_min must be from 1 to %d", MaxCallerRate)
	}
	for _, kind := range in.Types {
		if kind == "" || len(kind) > MaxTaskType {
			return c, nil, invalid("each of types must be a text of 1 to %d bytes", MaxTaskType)
		}
	}
	if in.ExpiresIn != "" {
		d, err := time.ParseDuration(in.ExpiresIn)
		if err != nil || d <= 0 {
			return c, nil, invalid("expires_in must be a duration such as 720h")
		}
		c.Expires = c.Created + graph.Time(d.Microseconds())
	}
	for _, id := range in.Spaces {
		sp, err := g.node.space(id)
		if err != nil {
			return c, nil, err
		}
		if !slices.Contains(c.Spaces, sp.ID()) {
			c.Spaces, spaces = append(c.Spaces, sp.ID()), append(spaces, sp)
		}
	}
	return c, spaces, nil
}

// free says whether a name can be given to a new caller.
func (g *gateway) free(name string) error {
	all, err := g.rec.callers()
	if err != nil {
		return err
	}
	if len(all) >= MaxCallers {
		return fmt.Errorf("this host has %d callers, as many as it may: %w", len(all), graph.ErrTooLarge)
	}
	for _, c := range all {
		if c.Name == name && !c.Revoked {
			return conflict("there is a caller '%s': take another name, rotate its token, or revoke it first", clip(name))
		}
	}
	return nil
}

// enterSpace joins a caller's Node to a Space, so that members see who asks.
func (g *gateway) enterSpace(ctx context.Context, id graph.NodeID, sp *graph.Space) error {
	key, err := g.node.keys.key(id)
	if err != nil {
		return err
	}
	p := &participant{node: g.node, id: id, key: key}
	if err := p.mayWrite(); err != nil {
		return err
	}
	return p.join(ctx, sp, "asks for tasks from outside (P2A)", nil)
}

// keepCaller writes a caller; old is the hash of a token that ends, or nil.
func (g *gateway) keepCaller(c callerRecord, old []byte) error {
	ops, err := setJSON(g.rec.caller, c.ID[:], c)
	if err != nil {
		return err
	}
	if old != nil {
		ops = append(ops, drop(g.rec.token, old)...)
	}
	ops = append(ops, g.rec.token.Ops(graph.Op{Kind: graph.Set, Key: c.Token, Value: c.ID[:]})...)
	return g.node.write(ops)
}

// Callers lists all, by name; of one name, by age.
func (g *gateway) Callers(context.Context) ([]client.Caller, error) {
	all, err := g.rec.callers()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b callerRecord) int {
		if n := strings.Compare(a.Name, b.Name); n != 0 {
			return n
		}
		return int(a.Created - b.Created)
	})
	out := make([]client.Caller, 0, len(all))
	for _, c := range all {
		p := c.public()
		if p.OpenTasks, p.Waiting, err = g.busy(c.ID); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// busy counts a caller's open tasks, and its callbacks that wait, as far as one cares to know.
func (g *gateway) busy(caller graph.NodeID) (open, waiting int, err error) {
	for _, err := range g.rec.due.Scan(caller[:], after(caller[:]), false) {
		if err != nil {
			return 0, 0, fmt.Errorf("count callbacks: %w", err)
		}
		if waiting++; waiting == maxCounted {
			break
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open[caller], waiting, nil
}

// named finds a caller that isn't revoked, by name or ID.
func (g *gateway) named(name string) (callerRecord, error) {
	all, err := g.rec.callers()
	if err != nil {
		return callerRecord{}, err
	}
	for _, c := range all {
		if !c.Revoked && (c.Name == name || c.ID.String() == name) {
			return c, nil
		}
	}
	return callerRecord{}, notFound("Caller", name)
}

// RevokeCaller ends a caller. Its open tasks go on: they may be somebody's work already.
func (g *gateway) RevokeCaller(_ context.Context, name string) error {
	g.adding.Lock()
	defer g.adding.Unlock()
	c, err := g.named(name)
	if err != nil {
		return err
	}
	c.Revoked, c.Secrets = true, nil
	if err := g.keepCaller(c, nil); err != nil {
		return err
	}
	g.wake() // who waits is told now, not at the end of the wait
	poke(g.post)
	return nil
}

// RotateCaller gives a caller a new token, with which the old one ends; or a new webhook secret, beside which the old one signs for a day.
func (g *gateway) RotateCaller(_ context.Context, name string, in client.CallerRotate) (client.CallerSecrets, error) {
	var none client.CallerSecrets
	g.adding.Lock()
	defer g.adding.Unlock()
	c, err := g.named(name)
	if err != nil {
		return none, err
	}
	if in.Webhook {
		secret, until := newWebhookKey(), g.now()+graph.Time(secretGrace.Microseconds())
		if n := len(c.Secrets); n > 0 {
			c.Secrets[n-1].Until = until
			c.Secrets = c.Secrets[n-1:]
		}
		c.Secrets = append(c.Secrets, webhookSecret{Key: secret})
		return client.CallerSecrets{Caller: c.public(), WebhookSecret: secretText(secret)}, g.keepCaller(c, nil)
	}
	old, token := c.Token, newCallerToken()
	c.setToken(token)
	return client.CallerSecrets{Caller: c.public(), Token: token}, g.keepCaller(c, old)
}

// callerOf returns the caller behind an ID that a token proved.
func (g *gateway) callerOf(id string) (callerRecord, error) {
	nid, err := graph.ParseNodeID(id)
	if err != nil {
		return callerRecord{}, notFound("Caller", id)
	}
	return readJSON[callerRecord](g.rec.caller, nid[:])
}
