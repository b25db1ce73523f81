package kit

// This file holds the scene: a trace as signed entries of a Space, the same bytes on every machine, and the orders in which
// they may arrive.

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"plexus/graph"
)

// TraceStart is the time of a trace's beginning: 2026-01-01T00:00:00Z in microseconds.
const TraceStart graph.Time = 1_767_225_600_000_000

// sceneClock is what the log takes for now: behind every trace, so that nothing is held for being ahead.
func sceneClock() time.Time { return time.UnixMicro(int64(TraceStart)).AddDate(10, 0, 0) }

// NodeKey is the key of a trace's Node.
func NodeKey(label string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("plexus trace node:" + label))
	return ed25519.NewKeyFromSeed(seed[:])
}

// stage is who may what in a scene; a pointer, so that a change is seen.
type stage struct {
	void   map[graph.NodeID]bool
	attest map[graph.NodeID]string // "role/kind"
}

// Standing lets everybody write but those who are void for the moment.
func (s *stage) Standing(_ graph.Genesis, n graph.NodeID) graph.Standing {
	return graph.Standing{Known: true, May: !s.void[n]}
}

// Attest answers with the trace's nodes.
func (s *stage) Attest(_ graph.ID, n graph.NodeID) (role, kind string) {
	role, kind, _ = strings.Cut(s.attest[n], "/")
	return role, kind
}

// without is the stage with some authors' messages withdrawn.
func (s *stage) without(nodes ...graph.NodeID) *stage {
	next := &stage{void: map[graph.NodeID]bool{}, attest: s.attest}
	for _, n := range nodes {
		next.void[n] = true
	}
	return next
}

// scene is a trace made real.
type scene struct {
	genesis graph.Genesis
	stage   *stage
	entries []*graph.Entry // as in the trace
	labels  map[string]*graph.Entry
	names   map[graph.ID]string
	tips    map[string]tip // by author
	last    graph.Time
}

// tip is the end of an author's chain.
type tip struct {
	id  graph.ID
	seq uint64
}

func newScene(nodes map[string]string) (*scene, error) {
	g, err := graph.NamedSpace(graph.BlockID([]byte("plexus trace")), "trace")
	if err != nil {
		return nil, err
	}
	s := &scene{genesis: g, stage: &stage{attest: map[graph.NodeID]string{}}, labels: map[string]*graph.Entry{}, names: map[graph.ID]string{}, tips: map[string]tip{}, last: TraceStart}
	for label, as := range nodes {
		s.stage.attest[nodeID(label)] = as
	}
	return s, nil
}

func nodeID(label string) graph.NodeID { return graph.NodeIDOf(NodeKey(label)) }

// scene seals the trace's messages.
func (t *Trace) scene() (*scene, error) {
	s, err := newScene(t.Nodes)
	if err != nil {
		return nil, err
	}
	for _, m := range t.Messages {
		if err := s.say(m); err != nil {
			return nil, fmt.Errorf("trace: message %s: %w", m.ID, err)
		}
	}
	return s, nil
}

// say seals one message behind those its author knew.
func (s *scene) say(m TraceMessage) error {
	content, err := s.resolve(m.Content)
	if err != nil {
		return err
	}
	meta, err := s.resolve(m.Meta)
	if err != nil {
		return err
	}
	d := graph.Draft{ContentType: m.Type, Content: content, Meta: meta}
	payload, err := d.EncodePayload()
	if err != nil {
		return err
	}
	mine := s.tips[m.By]
	b := graph.Body{Kind: graph.KindMessage, Space: s.genesis.ID, Author: nodeID(m.By), Seq: mine.seq + 1, Payload: payload}
	for _, r := range m.Refs {
		b.Refs.Messages = append(b.Refs.Messages, s.labels[r].ID())
	}
	for _, n := range m.To {
		b.Refs.Nodes = append(b.Refs.Nodes, nodeID(n))
	}
	b.Prev = s.heads(m, mine)
	if b.Time = TraceStart + graph.Time(m.At); m.At == 0 {
		b.Time = s.last + 1_000_000
	}
	for _, p := range slices.Concat(b.Prev, b.Refs.Messages) {
		if pt := s.labels[s.names[p]].Body().Time; pt >= b.Time {
			return fmt.Errorf("at %d is not after %s, which its author knew: %w", m.At, s.names[p], graph.ErrInvalid)
		}
	}
	e, err := graph.Seal(b, NodeKey(m.By))
	if err != nil {
		return err
	}
	s.last = b.Time
	s.entries = append(s.entries, e)
	s.labels[m.ID], s.names[e.ID()] = e, m.ID
	s.tips[m.By] = tip{e.ID(), b.Seq}
	return nil
}

// heads are an entry's prev: the own chain, then the newest named in After of each other author.
func (s *scene) heads(m TraceMessage, mine tip) []graph.ID {
	newest := map[graph.NodeID]*graph.Entry{}
	for _, l := range m.After {
		b := s.labels[l].Body()
		if b.Author != nodeID(m.By) && (newest[b.Author] == nil || newest[b.Author].Body().Seq < b.Seq) {
			newest[b.Author] = s.labels[l]
		}
	}
	var heads []graph.ID
	for _, e := range newest {
		heads = append(heads, e.ID())
	}
	slices.SortFunc(heads, graph.ID.Compare)
	if mine.seq > 0 {
		heads = append([]graph.ID{mine.id}, heads...)
	}
	return heads
}

// resolve puts IDs where JSON has a text or key "$label" or "@label". White space and the order of keys are made the same, so that a trace
// can be printed anew without becoming other messages.
func (s *scene) resolve(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	v, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, graph.ErrInvalid)
	}
	return encode(s.replace(v))
}

func decode(raw []byte) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func (s *scene) replace(v any) any {
	switch v := v.(type) {
	case string:
		return s.stand(v)
	case []any:
		for i := range v {
			v[i] = s.replace(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[s.stand(k)] = s.replace(item)
		}
		return out
	}
	return v
}

// stand returns the ID that a text stands for, or the text.
func (s *scene) stand(text string) string {
	if l, ok := strings.CutPrefix(text, "$"); ok && s.labels[l] != nil {
		return s.labels[l].ID().String()
	}
	if l, ok := strings.CutPrefix(text, "@"); ok && label.MatchString(l) {
		return nodeID(l).String()
	}
	return text
}

// parents are what must be there before an entry.
func parents(e *graph.Entry) []graph.ID {
	b := e.Body()
	return slices.Concat(b.Prev, b.Refs.Messages)
}

// order draws an order in which each entry comes after its parents.
func (s *scene) order(rnd *rand.Rand) []*graph.Entry {
	waits := make(map[graph.ID]int, len(s.entries))
	children := map[graph.ID][]*graph.Entry{}
	var ready []*graph.Entry
	for _, e := range s.entries {
		list := parents(e)
		slices.SortFunc(list, graph.ID.Compare)
		list = slices.Compact(list)
		waits[e.ID()] = len(list)
		for _, p := range list {
			children[p] = append(children[p], e)
		}
		if len(list) == 0 {
			ready = append(ready, e)
		}
	}
	out := make([]*graph.Entry, 0, len(s.entries))
	for len(ready) > 0 {
		i := rnd.IntN(len(ready))
		e := ready[i]
		ready[i] = ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		out = append(out, e)
		for _, c := range children[e.ID()] {
			if waits[c.ID()]--; waits[c.ID()] == 0 {
				ready = append(ready, c)
			}
		}
	}
	return out
}

// authors are the Nodes that speak.
func (s *scene) authors() []graph.NodeID {
	var out []graph.NodeID
	for _, e := range s.entries {
		if a := e.Body().Author; !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}
