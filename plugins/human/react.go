package human

// This file holds the reaction: where a Node's user turned it on, it watches over the times of the decisions that concern that Node,
// and says when one has passed.

import (
	"slices"

	"plexus/sdk/plugin"
)

func react(s plugin.State, e plugin.Event) ([]plugin.Draft, error) {
	id := e.Timer
	if id == "" {
		id, _ = subject(s, []string{e.Message.ID})
	}
	d := s.Value("d/" + id)
	if d == nil || e.Node != d.Get("sender").Text() && !slices.Contains(d.Get("nodes").Texts(), e.Node) {
		return nil, nil
	}
	due, ok := d.Get("due").Int()
	if d.Get("status").Text() != pending || !ok {
		plugin.DeleteTimer(id)
		return nil, nil
	}
	now := plugin.Now()
	if e.Timer == "" || now <= due {
		plugin.SetTimer(id, due+1)
		return nil, nil
	}
	level, _ := d.Get("level").Int()
	if seconds := timeoutOf(d, level+1); seconds > 0 { // the next level's time begins with this message
		plugin.SetTimer(id, now+seconds*1_000_000+1)
	}
	return []plugin.Draft{{Type: Timeout, Content: plugin.Map{}, Parents: []string{id}, Nodes: []string{d.Get("sender").Text()}, Key: "level " + digits(level), Once: true}}, nil
}

// timeoutOf is how long a level has, 0 where there is no such level.
func timeoutOf(d plugin.Value, level int64) (seconds int64) {
	for l := range d.Get("levels").Items() {
		if level == 0 {
			seconds, _ = l.Get("timeout_s").Int()
			return seconds
		}
		level--
	}
	return 0
}
