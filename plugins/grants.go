package plugins

// This file holds what this host's user lets a pinned plugin do beside folding and answering: a command or reaction that may see the clock
// or say things at random speaks as one of the user's Nodes. Folds have no such effects, so that no grant changes a state.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"plexus/graph"
)

// Effects are the grants that are the user's to give, of those a manifest may ask for.
func Effects(grants []string) (out []string) {
	for _, g := range grants {
		if g != "schema" { // pure
			out = append(out, g)
		}
	}
	return out
}

// granted says whether the user lets a plugin have an effect it asks for. The node's own plugins came with the program.
func (h *Host) granted(space graph.ID, sp *spec, grant string) bool {
	return sp.file.own || h.config.Granted == nil || h.config.Granted(space, sp.plugin.Name, grant)
}

// permit is the error of a command or reaction of which the user hasn't granted everything its plugin asks for.
func (h *Host) permit(space graph.ID, sp *spec) error {
	missing := slices.DeleteFunc(Effects(sp.plugin.Grants), func(g string) bool { return h.granted(space, sp, g) })
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("plugin %s asks for %s, which this machine's user hasn't granted: `plexus plugin grant %s --space %s` does: %w",
		sp.plugin.Name, strings.Join(missing, ", "), sp.plugin.Name, space, graph.ErrForbidden)
}

// Permit says why the commands and reactions of a Space's plugin may not run here: ErrForbidden with what its user hasn't granted; nil where they
// may, and where there is no such plugin.
func (h *Host) Permit(space graph.ID, plugin string) error {
	h.state.RLock()
	defer h.state.RUnlock()
	s := h.slots[slotKey{space, plugin}]
	if s == nil {
		return nil
	}
	return h.permit(space, s.pub.spec)
}

// pause waits for the next commit, or a second: a grant leaves no record in the log.
func (h *Host) pause(ctx context.Context) error {
	t := time.NewTimer(idleWait)
	defer t.Stop()
	select {
	case <-h.change():
	case <-t.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}
