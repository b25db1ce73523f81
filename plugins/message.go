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

// appendMessage writes the map of docs/plugins.md §4; as is "role/kind".
func (n names) appendMessage(b []byte, m graph.Message, as string) ([]byte, error) {
	role, kind, _ := strings.Cut(as, "/")
	typ := m.Type()
	hasMeta := len(m.Meta) > 0 && string(m.Meta) != "null"
	count := 4
	for _, has := range []bool{typ != "", len(m.Refs.Messages) > 0, len(m.Refs.Nodes) > 0, role != "", kind != "", hasMeta} {
		if has {
			count++
		}
	}
	b = abi.AppendMap(b, count)
	b = abi.AppendText(abi.AppendInt(b, abi.MsgID), m.ID.String())
	b = abi.AppendText(abi.AppendInt(b, abi.MsgSender), n.text(m.Sender))
	b = abi.AppendInt(abi.AppendInt(b, abi.MsgTime), int64(m.CreatedAt))
	if typ != "" {
		b = abi.AppendText(abi.AppendInt(b, abi.MsgType), typ)
	}
	b, err := appendJSON(abi.AppendInt(b, abi.MsgContent), m.Content)
	if err != nil {
		return nil, fmt.Errorf("content of %s: %w", m.ID, err)
	}
	if len(m.Refs.Messages) > 0 {
		b = abi.AppendList(abi.AppendInt(b, abi.MsgParents), len(m.Refs.Messages))
		for _, id := range m.Refs.Messages {
			b = abi.AppendText(b, id.String())
		}
	}
	if len(m.Refs.Nodes) > 0 {
		b = abi.AppendList(abi.AppendInt(b, abi.MsgNodes), len(m.Refs.Nodes))
		for _, id := range m.Refs.Nodes {
			b = abi.AppendText(b, n.text(id))
		}
	}
	if role != "" {
		b = abi.AppendText(abi.AppendInt(b, abi.MsgRole), role)
	}
	if kind != "" {
		b = abi.AppendText(abi.AppendInt(b, abi.MsgKind), kind)
	}
	if hasMeta {
		if b, err = appendJSON(abi.AppendInt(b, abi.MsgMeta), m.Meta); err != nil {
			return nil, fmt.Errorf("meta of %s: %w", m.ID, err)
		}
	}
	return b, nil
}
