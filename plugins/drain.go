package plugins

// This file holds how a Host takes in what has come: the arrival log behind its cursor, and changed rights.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"plexus/graph"
)

const cursorKey = "c"

func (h *Host) readCursor() error {
	b, err := h.records.Get([]byte(cursorKey))
	switch {
	case errors.Is(err, graph.ErrNotFound):
		return nil
	case err != nil:
		return err
	case len(b) != 8:
		return fmt.Errorf("the cursor is damaged")
	}
	h.cursor, h.started = graph.Pos(binary.BigEndian.Uint64(b)), true
	return nil
}

// drain notes the records after the cursor; more: there were too many for one round.
func (h *Host) drain(ctx context.Context) (cursor graph.Pos, more bool, err error) {
	cursor = h.cursor
	last := h.log.Last()
	if !h.started { // first start: everything will be met by the folds
		h.started = true
		return last, false, nil
	}
	if last <= cursor {
		return cursor, false, nil
	}
	n := 0
	for r, err := range h.log.Tail(ctx, cursor) {
		if err != nil {
			return h.cursor, false, err
		}
		cursor = r.Pos
		if err := h.note(r); err != nil {
			return h.cursor, false, err
		}
		if n++; r.Pos >= last || n >= h.config.bounds.drain {
			return cursor, r.Pos < last, nil
		}
	}
	return cursor, false, ctx.Err()
}

func (h *Host) note(r graph.Stored) error {
	b := r.Entry.Body()
	if b.Kind == graph.KindPlugin {
		h.repin[b.Space] = true
	}
	if r.Event == graph.Added || b.Kind != graph.KindMessage {
		return nil
	}
	for k, s := range h.slots { // a Space without slots yet gets them from discover, and all its messages
		if k.space != b.Space {
			continue
		}
		if err := s.note(r); err != nil {
			return err
		}
		h.work[s] = true
	}
	return nil
}

// checkRights has every slot compare its senders where the rights are others than at the last look.
func (h *Host) checkRights() error {
	rights := h.log.Rights()
	if sameRights(rights, h.rights) {
		return nil
	}
	h.rights, h.attestor = rights, attestorOf(rights)
	for id := range h.known {
		h.repin[id] = true
	}
	for _, s := range h.slots {
		if err := s.attested(h.attestor); err != nil {
			return err
		}
		if s.active().meta.Dirty != nil {
			s.ended = false
			h.work[s] = true
		}
	}
	return nil
}
