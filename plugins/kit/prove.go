package kit

// This file holds the proof a node asks for when it installs a file: do its golden traces come out as the author's engine had them?

import (
	"context"
	"fmt"
	"strings"

	"plexus/plugins"
	"plexus/sdk/abi"
)

// Prove replays the golden traces a file carries and returns, by plugin, in what one comes out otherwise than was recorded: the state's hash and the gas
// of folds, or, where a trace has no hash, its marks and views. A trace that can't be read proves nothing: it may be of a later format. The error is for what can't be run at all.
func Prove(ctx context.Context, w *plugins.Workbench) (wrong map[string]string, err error) {
	sections, err := plugins.Sections(w.Wasm())
	if err != nil {
		return nil, err
	}
	f := &File{Wasm: w.Wasm(), bench: w}
	wrong = map[string]string{}
	for _, name := range f.Plugins() {
		t, err := ParseTrace(sections[abi.SectionTrace+name])
		if err != nil {
			continue
		}
		o, err := f.Replay(ctx, name, t)
		if err != nil {
			return nil, fmt.Errorf("replay the golden trace of %s: %w", name, err)
		}
		if why := t.parts(o); why != "" {
			wrong[name] = why
		}
	}
	return wrong, nil
}

// parts says in what an outcome isn't the one recorded, "" for nothing.
func (t *Trace) parts(o *Outcome) string {
	switch {
	case t.Hash == "":
		return strings.Join(o.Differ[:min(len(o.Differ), 3)], "; ")
	case t.Hash != o.Hash:
		return fmt.Sprintf("the state's hash is %s, in the trace %s", o.Hash, t.Hash)
	case t.Schedule != 0 && t.Schedule != plugins.Schedule:
		return "" // gas of another schedule is another
	}
	for _, m := range t.Messages {
		if want, ok := t.Gas[m.ID]; ok && want != o.Gas[m.ID] {
			return fmt.Sprintf("message %s took %d gas, in the trace %d", m.ID, o.Gas[m.ID], want)
		}
	}
	return ""
}
