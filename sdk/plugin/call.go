//go:build wasip1

package plugin

// This file holds the four entry points, alike in a guest and in a Trial.

import "plexus/sdk/abi"

// input is a decoded call.
type input struct {
	plugin, name, caller, timer string
	role, kind                  string
	message, params             Value
	again                       bool
}

func readInput(v Value) (in input) {
	w := v.Walk()
	for n, x, more := w.Next(); more; n, x, more = w.Next() {
		switch n {
		case abi.InPlugin:
			in.plugin = alias(x.TextBytes())
		case abi.InMessage:
			in.message = x
		case abi.InName:
			in.name = alias(x.TextBytes())
		case abi.InParams:
			in.params = x
		case abi.InCaller:
			in.caller = alias(x.TextBytes())
		case abi.InTimer:
			in.timer = alias(x.TextBytes())
		case abi.InAgain:
			in.again = x.Bool()
		case abi.InRole:
			in.role = alias(x.TextBytes())
		case abi.InKind:
			in.kind = alias(x.TextBytes())
		}
	}
	return in
}

func (in input) query() Query {
	return Query{Name: in.name, Params: in.params, Caller: in.caller, Role: in.role, Kind: in.kind}
}

func find(name string) (Plugin, error) {
	for _, p := range registered {
		if p.Name == name {
			return p, nil
		}
	}
	return Plugin{}, Refusal("this file has no plugin " + name)
}

// fold, view, command and react return the outputs of a call, or the refusal.

func fold(b backend, v Value) error {
	in := readInput(v)
	p, err := find(in.plugin)
	if err != nil {
		return err
	}
	if p.Fold == nil {
		return Refusal(in.plugin + " doesn't fold")
	}
	return p.Fold(State{b}, readMessage(in.message))
}

func view(b backend, v Value) (Value, error) {
	in := readInput(v)
	p, err := find(in.plugin)
	if err != nil {
		return nil, err
	}
	f := p.Views[in.name]
	if f == nil {
		return nil, Refusal(in.plugin + " has no view " + in.name)
	}
	out, err := f(State{b}, in.query())
	if err != nil {
		return nil, err
	}
	return abi.Encode(out), nil
}

func command(b backend, v Value) ([]Draft, error) {
	in := readInput(v)
	p, err := find(in.plugin)
	if err != nil {
		return nil, err
	}
	f := p.Commands[in.name]
	if f == nil {
		return nil, Refusal(in.plugin + " has no command " + in.name)
	}
	return f(State{b}, in.query())
}

func react(b backend, v Value) ([]Draft, error) {
	in := readInput(v)
	p, err := find(in.plugin)
	if err != nil || p.React == nil {
		return nil, err
	}
	e := Event{Timer: in.timer, Node: in.caller, Role: in.role, Kind: in.kind, Again: in.again}
	if in.message != nil {
		e.Message = readMessage(in.message)
	}
	return p.React(State{b}, e)
}

// encode writes a draft as an output.
func (d Draft) encode() []byte {
	n := 1
	for _, has := range []bool{d.Type != "", d.Meta != nil, len(d.Parents) > 0, len(d.Nodes) > 0, d.Key != "", d.Once} {
		if has {
			n++
		}
	}
	b := abi.AppendMap(nil, n)
	if d.Type != "" {
		b = abi.AppendText(abi.AppendInt(b, abi.DraftType), d.Type)
	}
	content := d.Content
	if content == nil {
		content = Map{}
	}
	b = abi.Append(abi.AppendInt(b, abi.DraftContent), content)
	if d.Meta != nil {
		b = abi.Append(abi.AppendInt(b, abi.DraftMeta), d.Meta)
	}
	if len(d.Parents) > 0 {
		b = abi.Append(abi.AppendInt(b, abi.DraftParents), d.Parents)
	}
	if len(d.Nodes) > 0 {
		b = abi.Append(abi.AppendInt(b, abi.DraftNodes), d.Nodes)
	}
	if d.Key != "" {
		b = abi.AppendText(abi.AppendInt(b, abi.DraftKey), d.Key)
	}
	if d.Once {
		b = abi.AppendBool(abi.AppendInt(b, abi.DraftOnce), true)
	}
	return b
}
