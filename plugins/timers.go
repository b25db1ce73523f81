package plugins

// This file holds the timers of reactions: set by react, kept in the store, and rung.

import (
	"context"
	"encoding/binary"
	"errors"
	"strconv"
	"time"

	"plexus/graph"
)

// due reacts to timers that have come due, and says when to look again.
func (a *reactor) due(ctx context.Context) (next time.Time, err error) {
	now := time.Now()
	next = now.Add(idleWait)
	timers, err := a.timers()
	if err != nil {
		return next, err
	}
	for _, t := range timers {
		at := time.UnixMicro(t.at)
		if at.After(now) {
			if at.Before(next) {
				next = at
			}
			continue
		}
		sp, s, err := a.host.current(ctx, a.space.ID(), a.plugin)
		if errors.Is(err, graph.ErrUnavailable) {
			return next, nil
		}
		if err != nil {
			return next, err
		}
		in, err := a.input(nil, t.name, false)
		if err != nil {
			return next, err
		}
		gone := graph.Op{Kind: graph.Del, Key: a.record(kindTimer, t.name)}
		if err := a.call(ctx, sp, s, in, "t"+t.name+"\x00"+strconv.FormatInt(t.at, 10), gone); err != nil {
			return next, err
		}
	}
	return next, nil
}

type timer struct {
	name string
	at   int64
}

func (a *reactor) timers() (out []timer, err error) {
	lo := a.record(kindTimer, "")
	hi := append(a.record(kindTimer, ""), 0xff) // names are UTF-8
	for kv, err := range a.host.records.Scan(lo, hi, false) {
		if err != nil {
			return nil, err
		}
		if len(kv.Value) == 8 {
			out = append(out, timer{string(kv.Key[len(lo):]), int64(binary.BigEndian.Uint64(kv.Value))})
		}
	}
	return out, nil
}

// timerNames are those that wait.
func (a *reactor) timerNames() (map[string]bool, error) {
	list, err := a.timers()
	names := make(map[string]bool, len(list))
	for _, t := range list {
		names[t.name] = true
	}
	return names, err
}

// timerOps writes what a call set and took back.
func (a *reactor) timerOps(set map[string]int64) []graph.Op {
	var ops []graph.Op
	for name, at := range set {
		op := graph.Op{Kind: graph.Del, Key: a.record(kindTimer, name)}
		if at >= 0 {
			op.Kind, op.Value = graph.Set, binary.BigEndian.AppendUint64(nil, uint64(at))
		}
		ops = append(ops, op)
	}
	return ops
}

// setTimer notes what a call sets (at below zero: takes back), within the bound on those that wait.
func (e *effects) setTimer(name string, at int64) error {
	if e.names == nil {
		var err error
		if e.names, err = e.waiting(); err != nil {
			return err
		}
	}
	switch {
	case at < 0:
		delete(e.names, name)
	case !e.names[name] && len(e.names) >= maxTimers:
		return trapError("more than " + strconv.Itoa(maxTimers) + " timers would wait: delete some, or use one for several things")
	default:
		e.names[name] = true
	}
	e.timers[name] = at
	return nil
}
