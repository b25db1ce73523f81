package node

// This file holds Send: IOA's checks in their words, the idempotency key, and the message's public form.

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"plexus/graph"
	"plexus/node/api"
	"plexus/sdk/client"
)

// Send checks a message, seals it and returns it once it is on disk. With an idempotency key that this Node used
// before, the same body gives the same Message, another body ErrConflict.
func (p *participant) Send(ctx context.Context, spaceID string, in client.SendMessage) (client.Message, error) {
	if p.anonymous() {
		return client.Message{}, invalid("caller node identity is required")
	}
	sp, err := p.node.space(spaceID)
	if err != nil {
		return client.Message{}, err
	}
	if in.IdempotencyKey == "" {
		st, err := p.send(ctx, sp, in, nil)
		if err != nil {
			return client.Message{}, err
		}
		return public(st.Entry, false)
	}
	if len(in.IdempotencyKey) > MaxKey {
		return client.Message{}, invalid("Idempotency-Key is over %d bytes", MaxKey)
	}
	return p.sendOnce(ctx, sp, in)
}

func (p *participant) send(ctx context.Context, sp *graph.Space, in client.SendMessage, also func(*graph.Entry) []graph.Op) (graph.Stored, error) {
	d, err := p.draft(sp, in)
	if err != nil {
		return graph.Stored{}, err
	}
	if err := p.mayWrite(); err != nil {
		return graph.Stored{}, err
	}
	if err := p.node.waitSettled(ctx); err != nil {
		return graph.Stored{}, err
	}
	return sp.Send(ctx, p.key, d, also)
}

// draft checks what a caller wants to say.
func (p *participant) draft(sp *graph.Space, in client.SendMessage) (graph.Draft, error) {
	d := graph.Draft{ContentType: in.ContentType, Content: in.Content, Meta: in.Meta}
	if len(in.Content) == 0 || string(in.Content) == "null" {
		return d, &api.Fault{Kind: graph.ErrInvalid, Detail: "content is required", Hint: `content is a JSON object, e.g. {"text":"hello"}`}
	}
	if len(in.ContentSchema) > 0 && string(in.ContentSchema) != "null" {
		if err := checkSchema(in.ContentSchema); err != nil {
			return d, err
		}
		d.Schema = in.ContentSchema
	}
	if in.Refs != nil {
		var err error
		if d.Refs, err = p.refs(sp, *in.Refs); err != nil {
			return d, err
		}
	}
	return d, nil
}

// refs checks that every message is one of this Space and every Node is known. A pointer given twice counts once.
func (p *participant) refs(sp *graph.Space, in client.Ref) (graph.Refs, error) {
	var out graph.Refs
	for _, s := range in.Messages {
		id, err := graph.ParseID(s)
		if err == nil {
			_, err = sp.Message(id)
		}
		if errors.Is(err, graph.ErrNotFound) || errors.Is(err, graph.ErrInvalid) {
			return out, invalid("refs.messages: '%s' not found in space '%s'", clip(s), sp.ID())
		}
		if err != nil {
			return out, err
		}
		if !slices.Contains(out.Messages, id) {
			out.Messages = append(out.Messages, id)
		}
	}
	state := p.node.state()
	for _, s := range in.Nodes {
		id, err := graph.ParseNodeID(s)
		if err != nil {
			return out, invalid("refs.nodes: '%s' not found", clip(s))
		}
		if _, known := state.Node(id); !known {
			return out, invalid("refs.nodes: '%s' not found", clip(s))
		}
		if !slices.Contains(out.Nodes, id) {
			out.Nodes = append(out.Nodes, id)
		}
	}
	return out, nil
}

// idemRecord is what is kept of a keyed send: body hash, message ID, expiry.
type idemRecord struct {
	body    [sha256.Size]byte
	message graph.ID
	expires graph.Time
}

func (r idemRecord) bytes() []byte {
	b := append(r.body[:], r.message[:]...)
	return binary.BigEndian.AppendUint64(b, uint64(r.expires))
}

func readIdem(b []byte) (r idemRecord, err error) {
	if len(b) != 72 {
		return r, fmt.Errorf("idempotency record of %d bytes, want 72: %w", len(b), graph.ErrUnavailable)
	}
	copy(r.body[:], b)
	copy(r.message[:], b[32:])
	r.expires = graph.Time(binary.BigEndian.Uint64(b[64:]))
	return r, nil
}

// sendOnce sends under an idempotency key. Sends with one key go one after the other.
func (p *participant) sendOnce(ctx context.Context, sp *graph.Space, in client.SendMessage) (client.Message, error) {
	sum := sha256.Sum256([]byte(in.IdempotencyKey))
	key := append(p.id[:], sum[:]...)
	lock := &p.node.sends[binary.BigEndian.Uint16(sum[:])%sendLocks]
	lock.Lock()
	defer lock.Unlock()
	now := graph.TimeOf(p.node.cfg.Now())
	body, err := bodyHash(sp.ID(), in)
	if err != nil {
		return client.Message{}, err
	}
	b, err := p.node.rec.idem.Get(key)
	if err != nil && !errors.Is(err, graph.ErrNotFound) {
		return client.Message{}, fmt.Errorf("look an idempotency key up: %w", err)
	}
	if err == nil {
		old, err := readIdem(b)
		if err != nil {
			return client.Message{}, err
		}
		if old.expires > now {
			return p.again(old, body, in.IdempotencyKey)
		}
	}
	prune, err := p.node.pruneIdem(now)
	if err != nil {
		return client.Message{}, err
	}
	st, err := p.send(ctx, sp, in, func(e *graph.Entry) []graph.Op {
		return append(prune, p.node.idemOps(key, idemRecord{body, e.ID(), now + graph.Time(keepIdempotent.Microseconds())})...)
	})
	if err != nil {
		return client.Message{}, err
	}
	return public(st.Entry, false)
}

// again answers a repeated send.
func (p *participant) again(old idemRecord, body [sha256.Size]byte, key string) (client.Message, error) {
	if old.body != body {
		return client.Message{}, &api.Fault{
			Kind: graph.ErrConflict, Detail: fmt.Sprintf("Idempotency-Key '%s' was used for another message", clip(key)),
			Hint: "use a fresh key for each message, and the same key only to retry the same one",
		}
	}
	st, err := p.node.log.Find(old.message)
	if err != nil {
		return client.Message{}, fmt.Errorf("read the message sent before: %w", err)
	}
	return public(st.Entry, false)
}

// bodyHash tells bodies apart; the bytes of each part count as they came.
func bodyHash(space graph.ID, in client.SendMessage) ([sha256.Size]byte, error) {
	in.IdempotencyKey = ""
	b, err := json.Marshal(struct {
		Space string
		Body  [5][]byte
		Refs  *client.Ref
	}{space.String(), [5][]byte{in.Content, []byte(in.ContentType), in.Meta, in.ContentSchema}, in.Refs})
	if err != nil {
		return [sha256.Size]byte{}, invalid("message can't be read: %v", err)
	}
	return sha256.Sum256(b), nil
}

// idemOps keeps a record, and its age for pruning.
func (n *Node) idemOps(key []byte, r idemRecord) []graph.Op {
	age := append(binary.BigEndian.AppendUint64(nil, uint64(r.expires)), key...)
	return append(n.rec.idem.Ops(graph.Op{Kind: graph.Set, Key: key, Value: r.bytes()}),
		n.rec.idemAge.Ops(graph.Op{Kind: graph.Set, Key: age, Value: []byte{}})...)
}

// pruneIdem returns the ops that remove some expired records. One that was renewed meanwhile stays. Where a look found none that has
// expired, the next look waits until the oldest does: most sends need none.
func (n *Node) pruneIdem(now graph.Time) ([]graph.Op, error) {
	if now < graph.Time(n.idemDue.Load()) {
		return nil, nil
	}
	var ops []graph.Op
	count, due := 0, now+graph.Time(keepIdempotent.Microseconds())
	for kv, err := range n.rec.idemAge.Scan(nil, nil, false) {
		if err != nil {
			return nil, fmt.Errorf("prune idempotency keys: %w", err)
		}
		if len(kv.Key) != 72 {
			return ops, nil
		}
		if expires := graph.Time(binary.BigEndian.Uint64(kv.Key)); expires >= now {
			due = expires
			break
		}
		if count++; count > pruneIdempotent {
			break
		}
		age := slices.Clone(kv.Key)
		ops = append(ops, n.rec.idemAge.Ops(graph.Op{Kind: graph.Del, Key: age})...)
		b, err := n.rec.idem.Get(age[8:])
		if errors.Is(err, graph.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("prune idempotency keys: %w", err)
		}
		if r, err := readIdem(b); err != nil || r.expires <= now {
			ops = append(ops, n.rec.idem.Ops(graph.Op{Kind: graph.Del, Key: age[8:]})...)
		}
	}
	if count == 0 {
		n.idemDue.Store(int64(due))
	}
	return ops, nil
}

// public makes the wire form of a message; where answers span Spaces it says which.
func public(e *graph.Entry, spans bool) (client.Message, error) {
	m, ok := e.Message()
	if !ok {
		return client.Message{}, fmt.Errorf("entry %s is no message: %w", e.ID(), graph.ErrNotFound)
	}
	out := client.Message{
		ID: m.ID.String(), Sender: m.Sender.String(), CreatedAt: m.CreatedAt.String(), ContentType: m.ContentType,
		Content: m.Content, Meta: m.Meta, ContentSchema: m.ContentSchema,
		Refs: client.Ref{Messages: make([]string, len(m.Refs.Messages)), Nodes: make([]string, len(m.Refs.Nodes))},
	}
	for i, id := range m.Refs.Messages {
		out.Refs.Messages[i] = id.String()
	}
	for i, id := range m.Refs.Nodes {
		out.Refs.Nodes[i] = id.String()
	}
	if spans {
		out.SpaceID = m.Space.String()
	}
	return out, nil
}
