// vote in AssemblyScript: somebody opens a poll, everybody may cast one vote and change it, the opener closes it. On the
// same messages it ends with the same state as vote in Go (plugins/vote).
//
// State (<poll> is the ID of the message that opened it; <order> its time in hex, a slash, and its ID):
//
//   p/<poll>             {id, order, sender, options, question}
//   c/<poll>/<node>      the option this Node chose last
//   o/<order>            <poll>, while it is open
//   x/<poll>             the message that closed it
import { Draft, EMPTY, List, Map, Message, NONE, Plugin, Query, Text, Value, cat, int, refuse, refuseText, register, state, text } from "../plexus";
export { plexus_abi_1, plexus_command, plexus_fold, plexus_react, plexus_view } from "../plexus";

const MAX_ID = 128; // bytes of content.id
const MAX_QUESTION = 512; // bytes of content.question
const MAX_OPTIONS = 32;
const MAX_OPTION = 128; // bytes of an option
const MAX_POLLS = 100; // a view's answer

const OPEN = Text.of("vote:open"), CAST = Text.of("vote:cast"), CLOSE = Text.of("vote:close");
const open = Text.of("open"), cast = Text.of("cast"), close = Text.of("close"), tally = Text.of("tally");
const P = Text.of("p/"), C = Text.of("c/"), O = Text.of("o/"), X = Text.of("x/"), SLASH = Text.of("/");
const id_ = Text.of("id"), question_ = Text.of("question"), options_ = Text.of("options"), option_ = Text.of("option");
const order_ = Text.of("order"), sender_ = Text.of("sender"), poll_ = Text.of("poll"), polls_ = Text.of("polls");
const closed_ = Text.of("closed"), votes_ = Text.of("votes"), voters_ = Text.of("voters");

function fold(m: Message): void {
  if (m.type == OPEN) foldOpen(m);
  else if (m.type == CAST) foldCast(m);
  else if (m.type == CLOSE) foldClose(m);
  else refuse("no such message");
}

function foldOpen(m: Message): void {
  const at = order(m);
  const p = readPoll(m.content).put(order_, text(at)).put(sender_, text(m.sender));
  state.setValue(cat(P, m.id), p.value());
  state.set(cat(O, at), m.id);
}

/** Checks what a poll says of itself. */
function readPoll(v: Value): Map {
  const id = v.get(id_).text(), question = v.get(question_).text(), options = v.get(options_);
  if (id.len == 0 || id.len > MAX_ID) refuse("id must be a text of 1 to 128 bytes");
  if (question.len == 0 || question.len > MAX_QUESTION) refuse("question must be a text of 1 to 512 bytes");
  const seen: Text[] = [];
  for (let i = options.items(); i.next(); ) {
    const o = i.value.text();
    let twice = false;
    for (let k = 0; k < seen.length; k++) twice = twice || seen[k] == o;
    if (o.len == 0 || o.len > MAX_OPTION || twice) refuse("each option must be a text of 1 to 128 bytes, and none may come twice");
    seen.push(o);
  }
  if (seen.length < 2 || seen.length > MAX_OPTIONS) refuse("options must be 2 to 32 texts");
  return new Map().put(id_, text(id)).put(question_, text(question)).put(options_, options);
}

function foldCast(m: Message): void {
  const p = running(m);
  const option = m.content.get(option_).text();
  if (!offers(p, option)) refuse("option must be one of the poll's options");
  state.set(cat(cat(C, current), cat(SLASH, m.sender)), option);
}

function foldClose(m: Message): void {
  const p = running(m);
  if (p.get(sender_).text() != m.sender) refuse("only the one who opened a poll may close it");
  state.set(cat(X, current), m.id);
  state.del(cat(O, p.get(order_).text()));
}

let current = EMPTY; // the poll that running or asked found; for this call alone

/** Finds the poll that a message refers to and says no where it is closed. */
function running(m: Message): Value {
  for (let i = m.parents.items(); i.next(); ) {
    current = i.value.text();
    const p = state.value(cat(P, current));
    if (p.absent) continue;
    if (state.has(cat(X, current))) refuse("the poll is closed");
    return p;
  }
  refuse("refs.messages must name the message that opened the poll");
  return NONE;
}

function offers(p: Value, option: Text): bool {
  for (let i = p.get(options_).items(); i.next(); ) {
    if (i.value.text() == option) return option.len > 0;
  }
  return false;
}

/** A message's place in canonical order as a key. */
function order(m: Message): Text {
  const p = heap.alloc(16);
  for (let i = 0; i < 16; i++) {
    const digit = <i32>((m.time >> (60 - 4 * i)) & 15);
    store<u8>(p + <usize>i, digit < 10 ? 48 + digit : 87 + digit);
  }
  return cat(new Text(p, 16), SLASH, m.id);
}

function view(q: Query): Value {
  if (q.name == open) return viewOpen();
  if (q.name == tally) return viewTally(q);
  refuse("no such view");
  return NONE;
}

/** Lists the polls that run, oldest first. */
function viewOpen(): Value {
  const polls = new List();
  for (let k = state.next(O, EMPTY); k.len > 0 && polls.count < MAX_POLLS; k = state.next(O, k)) {
    const id = state.get(k);
    polls.push(describe(id, state.value(cat(P, id))).value());
  }
  return new Map().put(polls_, polls.value()).value();
}

/** Counts one poll. */
function viewTally(q: Query): Value {
  const p = asked(q);
  const counts = new StaticArray<i64>(MAX_OPTIONS);
  let voters: i64 = 0;
  const prefix = cat(C, current, SLASH);
  for (let k = state.next(prefix, EMPTY); k.len > 0; k = state.next(prefix, k)) {
    const chosen = state.get(k);
    let n = 0;
    for (let i = p.get(options_).items(); i.next(); n++) {
      if (i.value.text() == chosen) counts[n]++;
    }
    voters++;
  }
  const list = new List();
  for (let i = p.get(options_).items(); i.next(); ) {
    list.push(new Map().put(option_, i.value).put(votes_, int(counts[list.count])).value());
  }
  return describe(current, p).put(tally, list.value()).put(voters_, int(voters)).value();
}

function describe(id: Text, p: Value): Map {
  const out = new Map().put(poll_, text(id)).put(id_, p.get(id_)).put(sender_, p.get(sender_));
  out.put(options_, p.get(options_)).put(question_, p.get(question_));
  const by = state.get(cat(X, id));
  if (by.len > 0) out.put(closed_, text(by));
  return out;
}

/** Finds the poll that a view or command is about. */
function asked(q: Query): Value {
  current = q.params.get(poll_).text();
  if (current.len == 0 || current.len > MAX_ID) refuse("poll is required: the `poll` of an item of the view open");
  const p = state.value(cat(P, current));
  if (p.absent) refuseText(cat(Text.of("poll "), current, Text.of(" isn't known here: take the `poll` of an item of the view open")));
  return p;
}

function command(q: Query): void {
  if (q.name == open) {
    const d = new Draft(OPEN);
    d.content = readPoll(q.params).value();
    d.say();
    return;
  }
  const p = asked(q);
  if (state.has(cat(X, current))) refuse("the poll is closed");
  const d = new Draft(q.name == cast ? CAST : CLOSE);
  if (q.name == cast) {
    const option = q.params.get(option_).text();
    if (!offers(p, option)) refuse("option must be one of the poll's options");
    d.content = new Map().put(option_, text(option)).value();
  } else if (q.name == close) {
    if (p.get(sender_).text() != q.caller) refuse("only the one who opened a poll may close it");
  } else {
    refuse("no such command");
  }
  d.parents = new List().push(text(current)).value();
  d.say();
}

// Last, since it needs everything above.
register(new Plugin(Text.of("vote"), fold, view, command));
