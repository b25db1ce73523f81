// Package vote is the example pattern: somebody opens a poll, everybody may cast one vote and change it, the opener
// closes it. `plexus plugin new` starts a project from it, and the SDKs of other languages have it too: on the same messages all
// four end with the same state.
//
// It is guest code: it imports sdk/plugin alone.
package vote

// This file holds the plugin and its fold.
//
// State (<poll> is the ID of the message that opened it; <order> its time in hex, a slash, and its ID):
//
//	p/<poll>             {id, order, sender, options, question}
//	c/<poll>/<node>      the option this Node chose last
//	o/<order>            <poll>, while it is open
//	x/<poll>             the message that closed it

import "plexus/sdk/plugin"

const (
	maxID       = 128 // bytes of content.id
	maxQuestion = 512 // bytes of content.question
	maxOptions  = 32
	maxOption   = 128 // bytes of an option
)

// Plugin is the pattern.
func Plugin() plugin.Plugin {
	return plugin.Plugin{
		Name:     "vote",
		Fold:     fold,
		Views:    map[string]plugin.View{"open": viewOpen, "tally": viewTally},
		Commands: map[string]plugin.Action{"open": commandOpen, "cast": commandCast, "close": commandClose},
	}
}

func fold(s plugin.State, m plugin.Message) error {
	switch m.Type {
	case "vote:open":
		return foldOpen(s, m)
	case "vote:cast":
		return foldCast(s, m)
	case "vote:close":
		return foldClose(s, m)
	}
	return plugin.Refusal("no such message: " + m.Type)
}

func foldOpen(s plugin.State, m plugin.Message) error {
	p, err := readPoll(m.Content)
	if err != nil {
		return err
	}
	p["order"], p["sender"] = order(m), m.Sender
	s.SetValue("p/"+m.ID, p)
	s.SetText("o/"+order(m), m.ID)
	return nil
}

// readPoll checks what a poll says of itself.
func readPoll(v plugin.Value) (plugin.Map, error) {
	id, question := v.Get("id").Text(), v.Get("question").Text()
	if id == "" || len(id) > maxID {
		return nil, plugin.Refusal("id must be a text of 1 to 128 bytes")
	}
	if question == "" || len(question) > maxQuestion {
		return nil, plugin.Refusal("question must be a text of 1 to 512 bytes")
	}
	options := v.Get("options")
	seen := map[string]bool{}
	for o := range options.Items() {
		text := o.Text()
		if text == "" || len(text) > maxOption || seen[text] {
			return nil, plugin.Refusal("each option must be a text of 1 to 128 bytes, and none may come twice")
		}
		seen[text] = true
	}
	if len(seen) < 2 || len(seen) > maxOptions {
		return nil, plugin.Refusal("options must be 2 to 32 texts")
	}
	return plugin.Map{"id": id, "question": question, "options": options}, nil
}

func foldCast(s plugin.State, m plugin.Message) error {
	id, p, err := running(s, m)
	if err != nil {
		return err
	}
	option := m.Content.Get("option").Text()
	if !offers(p, option) {
		return plugin.Refusal("option must be one of the poll's options")
	}
	s.SetText("c/"+id+"/"+m.Sender, option)
	return nil
}

func foldClose(s plugin.State, m plugin.Message) error {
	id, p, err := running(s, m)
	if err != nil {
		return err
	}
	if p.Get("sender").Text() != m.Sender {
		return plugin.Refusal("only the one who opened a poll may close it")
	}
	s.SetText("x/"+id, m.ID)
	s.Delete("o/" + p.Get("order").Text())
	return nil
}

// running finds the poll that a message refers to and says no where it is closed.
func running(s plugin.State, m plugin.Message) (id string, p plugin.Value, err error) {
	for _, id := range m.Parents {
		if p := s.Value("p/" + id); p != nil {
			if s.Has("x/" + id) {
				return "", nil, plugin.Refusal("the poll is closed")
			}
			return id, p, nil
		}
	}
	return "", nil, plugin.Refusal("refs.messages must name the message that opened the poll")
}

func offers(p plugin.Value, option string) bool {
	for o := range p.Get("options").Items() {
		if o.Text() == option {
			return option != ""
		}
	}
	return false
}

// order is a message's place in canonical order as a key.
func order(m plugin.Message) string {
	const digits = "0123456789abcdef"
	var b [16]byte
	for i, t := 15, uint64(m.Time); i >= 0; i, t = i-1, t>>4 {
		b[i] = digits[t&15]
	}
	return string(b[:]) + "/" + m.ID
}
