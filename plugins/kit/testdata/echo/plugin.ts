import { Draft, EMPTY, Kind, List, Map, Message, Plugin, Query, Text, Value, bool_, cat, float, happenedBefore, int, message, nil, register, schemaCheck, state, text } from "./plexus";
export { plexus_abi_1, plexus_command, plexus_fold, plexus_react, plexus_view } from "./plexus";

const E = Text.of("e/"), P = Text.of("p/"), content_ = Text.of("content"), x_ = Text.of("x"), parents_ = Text.of("parents");

function echo(v: Value): Value {
  const kind = v.kind();
  if (kind == Kind.Bool) return bool_(v.isTrue());
  if (kind == Kind.Int) return int(v.int());
  if (kind == Kind.Float) return float(v.float());
  if (kind == Kind.Text) return text(v.text());
  if (kind == Kind.List) {
    const out = new List();
    for (let i = v.items(); i.next(); ) out.push(echo(i.value));
    return out.value();
  }
  if (kind == Kind.Map) {
    const out = new Map();
    for (let i = v.pairs(); i.next(); ) out.put(i.key.text(), echo(i.value));
    return out.value();
  }
  return nil();
}

function fold(m: Message): void {
  const out = new Map().put(content_, echo(m.content)).put(Text.of("role"), text(m.role)).put(Text.of("kind"), text(m.kind));
  const nodes = new List();
  for (let i = m.nodes.items(); i.next(); ) nodes.push(i.value);
  out.put(Text.of("time"), int(m.time)).put(Text.of("meta"), echo(m.meta)).put(Text.of("nodes"), nodes.value());
  state.setValue(cat(E, m.id), out.value());
  for (let i = m.parents.items(); i.next(); ) {
    const p = i.value.text();
    const q = message(p);
    if (q.id.len > 0 && happenedBefore(p, m.id)) state.set(cat(P, p), q.sender);
  }
}

function view(q: Query): Value {
  const out = new Map();
  for (let k = state.next(E, EMPTY); k.len > 0; k = state.next(E, k)) {
    out.put(new Text(k.ptr + 2, k.len - 2), state.value(k).get(content_));
  }
  return out.value();
}

function command(q: Query): void {
  const d = new Draft(Text.of("echo"));
  d.content = new Map().put(x_, q.params.get(x_)).value();
  const problem = schemaCheck(text(Text.of("views/all")), q.params);
  d.meta = new Map().put(Text.of("m"), int(-70000)).put(Text.of("role"), text(q.role)).put(Text.of("kind"), text(q.kind)).put(Text.of("problem"), text(problem)).value();
  d.parents = q.params.get(parents_);
  d.nodes = new List().push(text(q.caller)).value();
  d.say();
}

register(new Plugin(Text.of("echo"), fold, view, command));
