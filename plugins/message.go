package plugins

// This file holds the message as a guest sees it.

import (
	"fmt"
	"strings"

	"plexus/graph"
	"plexus/sdk/abi"
)

// names remembers the text of Node IDs, which is slow to make. Owned by one goroutine.
type names map[graph.NodeID]string

const maxNames = 4096

func (n names) text(id graph.NodeID) string {
	s, ok := n[id]
	if !ok {
		if len(n) >= maxNames {
			clear(n)
		}
		s = id.String()
		n[id] = s
	}
	return s
}

// portable is a message as guests see it, in a buffer, but for what the access log says of its sender.
type portable struct {
	buf             []byte
	pairs           int
	from, meta, end int // all before role and kind, and what is behind: meta
}

// portable appends what the map of docs/plugins.md §4 has but for its head, role and kind. The buffer may grow further: it isn't written again.
func (n names) portable(b []byte, m graph.Message, typ string) ([]byte, portable, error) {
	p := portable{pairs: 4, from: len(b)}
	b = abi.AppendText(abi.AppendInt(b, abi.MsgID), m.ID.String())
	b = abi.AppendText(abi.AppendInt(b, abi.MsgSender), n.text(m.Sender))
	b = abi.AppendInt(abi.AppendInt(b, abi.MsgTime), int64(m.CreatedAt))
	if typ != "" {
		p.pairs++
		b = abi.AppendText(abi.AppendInt(b, abi.MsgType), typ)
	}
	b, err := appendJSON(abi.AppendInt(b, abi.MsgContent), m.Content)
	if err != nil {
		return nil, p, fmt.Errorf("content of %s: %w", m.ID, err)
	}
	if len(m.Refs.Messages) > 0 {
		p.pairs++
		b = abi.AppendList(abi.AppendInt(b, abi.MsgParents), len(m.Refs.Messages))
		for _, id := range m.Refs.Messages {
			b = abi.AppendText(b, id.String())
		}
	}
	if len(m.Refs.Nodes) > 0 {
		p.pairs++
		b = abi.AppendList(abi.AppendInt(b, abi.MsgNodes), len(m.Refs.Nodes))
		for _, id := range m.Refs.Nodes {
			b = abi.AppendText(b, n.text(id))
		}
	}
	p.meta = len(b)
	if len(m.Meta) > 0 && string(m.Meta) != "null" {
		p.pairs++
		if b, err = appendJSON(abi.AppendInt(b, abi.MsgMeta), m.Meta); err != nil {
			return nil, p, fmt.Errorf("meta of %s: %w", m.ID, err)
		}
	}
	p.buf, p.end = b, len(b)
	return b, p, nil
}

// append writes the whole map; as is "role/kind".
func (p portable) append(b []byte, as string) []byte {
	role, kind, _ := strings.Cut(as, "/")
	pairs := p.pairs
	for _, has := range []bool{role != "", kind != ""} {
		if has {
			pairs++
		}
	}
	b = append(abi.AppendMap(b, pairs), p.buf[p.from:p.meta]...)
	if role != "" {
		b = abi.AppendText(abi.AppendInt(b, abi.MsgRole), role)
	}
	if kind != "" {
		b = abi.AppendText(abi.AppendInt(b, abi.MsgKind), kind)
	}
	return append(b, p.buf[p.meta:p.end]...)
}

// appendMessage writes the map of docs/plugins.md §4; as is "role/kind".
func (n names) appendMessage(b []byte, m graph.Message, as string) ([]byte, error) {
	_, p, err := n.portable(nil, m, m.Type())
	if err != nil {
		return nil, err
	}
	return p.append(b, as), nil
}
