package p2p

// This file holds the frames of the state protocol, taken apart and checked.

import (
	"encoding/binary"
	"slices"

	"plexus/graph"
)

func packStates(s States) statesFrame {
	f := statesFrame{Engine: clipText(s.Engine, maxEngine), Schedule: s.Schedule}
	left := maxStates
	for _, sp := range s.Spaces {
		if len(f.Spaces) == MaxStateSpaces || len(sp.Plugins) > min(left, maxStatesPer) {
			continue // what doesn't fit isn't compared
		}
		left -= len(sp.Plugins)
		out := spaceFrame{
			Space: sp.Space[:], Count: sp.Log.Count, Heads: sp.Log.Heads[:], AccessCount: sp.Access.Count, AccessHeads: sp.Access.Heads[:], Plugins: []pluginFrame{},
		}
		for _, p := range sp.Plugins {
			out.Plugins = append(out.Plugins, pluginFrame{Plugin: p.Plugin, File: p.File, Hash: p.Hash[:]})
		}
		f.Spaces = append(f.Spaces, out)
	}
	return f
}

func unpackStates(f statesFrame) (States, error) {
	s := States{Engine: f.Engine, Schedule: f.Schedule}
	if len(f.Engine) > maxEngine || len(f.Spaces) > MaxStateSpaces {
		return s, breachf("states of %d Spaces by an engine of %d bytes", len(f.Spaces), len(f.Engine))
	}
	n := 0
	for _, sp := range f.Spaces {
		out := SpaceStates{Log: graph.Digest{Count: sp.Count}, Access: graph.Digest{Count: sp.AccessCount}}
		var err error
		if out.Space, err = id32(sp.Space); err != nil {
			return s, err
		}
		if out.Log.Heads, err = id32(sp.Heads); err != nil {
			return s, err
		}
		if out.Access.Heads, err = id32(sp.AccessHeads); err != nil {
			return s, err
		}
		if n += len(sp.Plugins); n > maxStates || len(sp.Plugins) > maxStatesPer {
			return s, breachf("%d plugin states", n)
		}
		for _, p := range sp.Plugins {
			hash, err := id32(p.Hash)
			if err != nil {
				return s, err
			}
			if len(p.Plugin) > maxPluginName || len(p.File) > maxFileName {
				return s, breachf("a plugin's name of %d bytes, its file's of %d", len(p.Plugin), len(p.File))
			}
			out.Plugins = append(out.Plugins, PluginState{p.Plugin, p.File, hash})
		}
		s.Spaces = append(s.Spaces, out)
	}
	return s, nil
}

func unpackPrefix(f prefixFrame) (PrefixAsk, error) {
	a := PrefixAsk{Plugin: f.Plugin, File: f.File}
	var err error
	if a.Space, err = id32(f.Space); err != nil {
		return a, err
	}
	n := len(f.Keys) / keySize
	if len(f.Keys)%keySize != 0 || n < 1 || n > MaxPrefixes || len(f.Plugin) > maxPluginName || len(f.File) > maxFileName {
		return a, breachf("%d bytes of keys", len(f.Keys))
	}
	for b := range slices.Chunk(f.Keys, keySize) {
		k := graph.Key{Time: graph.Time(binary.BigEndian.Uint64(b)), ID: graph.ID(b[8:])}
		if k.Time < 0 || k.Time > graph.MaxTime || len(a.Keys) > 0 && a.Keys[len(a.Keys)-1].Compare(k) >= 0 {
			return a, breachf("keys that don't ascend")
		}
		a.Keys = append(a.Keys, k)
	}
	return a, nil
}

func packPoints(p Prefixes) pointsFrame {
	f := pointsFrame{Engine: clipText(p.Engine, maxEngine), Schedule: p.Schedule, Outcome: p.Outcome, Reason: clipText(p.Reason, maxOutcome), Gas: p.Gas}
	for _, at := range p.Points {
		f.Points = append(append(f.Points, at.Hash[:]...), at.Fingerprint[:]...)
	}
	return f
}

func unpackPoints(f pointsFrame, want int) (Prefixes, error) {
	p := Prefixes{Engine: f.Engine, Schedule: f.Schedule, Outcome: f.Outcome, Reason: f.Reason, Gas: f.Gas}
	if len(f.Points) != want*pointSize || len(f.Engine) > maxEngine || len(f.Outcome) > maxOutcome || len(f.Reason) > maxOutcome {
		return p, breachf("%d bytes of points for %d keys", len(f.Points), want)
	}
	for b := range slices.Chunk(f.Points, pointSize) {
		p.Points = append(p.Points, Point{[32]byte(b[:32]), [16]byte(b[32:])})
	}
	return p, nil
}

// clipText cuts a text at a bound without breaking a character.
func clipText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xc0 == 0x80 {
		most--
	}
	return s[:most]
}
