package plugins

// This file holds what the state of a plugin is compared by between hosts.

import (
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"plexus/graph"
	"plexus/plugins/internal/meter"
)

// Schedule is the number of the gas schedule (docs/plugins.md §7): states of two schedules aren't compared.
const Schedule = meter.Schedule

// Witness is one plugin's state in a Space, by its hash.
type Witness struct {
	Plugin string
	File   string // CID
	Hash   string // hex
}

// Witnesses returns the states of a Space's plugins that cover all there is, of plugins that have folded something. It doesn't wait: where
// something is still being folded, or was hashed a moment ago and is large, there are fewer.
func (h *Host) Witnesses(space graph.ID) ([]Witness, error) {
	h.state.RLock()
	defer h.state.RUnlock()
	if h.seen < h.log.Written() || h.fault != nil {
		return nil, nil
	}
	var out []Witness
	for _, name := range h.pluginNames(space) {
		s := h.slots[slotKey{space, name}]
		if !s.pub.current || s.pub.meta.Folded == 0 || s.dear() {
			continue
		}
		hash, err := h.hashOf(s)
		if err != nil {
			return nil, err
		}
		out = append(out, Witness{name, s.pub.spec.file.cid, hash})
	}
	return out, nil
}

// Running is the CID of the file whose state readers see under a plugin's name; "" for none.
func (h *Host) Running(space graph.ID, plugin string) string {
	h.state.RLock()
	defer h.state.RUnlock()
	if s := h.slots[slotKey{space, plugin}]; s != nil {
		return s.pub.spec.file.cid
	}
	return ""
}

// hashed is the hash of one edition of a slot's state, and what it cost: nothing is folded meanwhile.
type hashed struct {
	edition uint64
	hash    string
	at      time.Time
	took    time.Duration
}

// dear says that another hash so soon would cost too much, in a large state that changes all the time; under state.
func (s *slot) dear() bool {
	have := s.hashed.Load()
	return have != nil && have.edition != s.pub.edition && time.Since(have.at) < hashShare*have.took
}

// hashOf is the state's hash, made once for each edition; under state.
func (h *Host) hashOf(s *slot) (string, error) {
	if have := s.hashed.Load(); have != nil && have.edition == s.pub.edition {
		return have.hash, nil
	}
	begun := time.Now()
	hash, err := hashState(h.stored(s))
	if err == nil {
		s.hashed.Store(&hashed{s.pub.edition, hash, begun, time.Since(begun)})
	}
	return hash, err
}

// Engine names what runs guests here: name, version, machine, and whether it compiles.
func (h *Host) Engine() string {
	mode := "interpreter"
	if slices.Contains([]string{"amd64", "arm64"}, runtime.GOARCH) {
		mode = "compiler"
	}
	return "wazero " + wazeroVersion() + " " + runtime.GOARCH + " " + mode
}

// wazeroVersion is that of the module in this binary.
func wazeroVersion() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/tetratelabs/wazero" {
				return d.Version
			}
		}
	}
	return "unknown"
}
