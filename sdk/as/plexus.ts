// How a Plexus plugin is written in AssemblyScript: one file, no dependencies.
//
// A plugin folds a Space's messages one by one into keys and values; views answer from these. The node sees to order, late
// messages, storage and replication. Write plain sequential code; every replica ends with the same state.
//
//   import { Message, Plugin, Text, cat, register, state } from "./plexus";
//   export { plexus_abi_1, plexus_fold, plexus_view, plexus_command, plexus_react } from "./plexus";
//
//   const VOTE = Text.of("vote/"), OPTION = Text.of("option");
//   function fold(m: Message): void {
//     state.set(cat(VOTE, m.sender), m.content.get(OPTION).text());
//   }
//   register(new Plugin(Text.of("vote"), fold));
//
// Rules. Memory doesn't live from one call to the next: before each, it is what it was after the top-level statements ran. So make
// constants there, and free nothing. There is no clock, no randomness, no file. refuse() ends the call: what the fold set is undone,
// and the message is marked with the reason. Text is bytes, UTF-8, as they lie; strings are for literals.
//
// Build with `plexus plugin build`, which calls asc (npm assemblyscript 0.28). The ABI is docs/plugins.md of Plexus; this is
// version 1.
//
// SPDX-License-Identifier: Apache-2.0

// ---- the node's functions (docs/plugins.md §6.1); what isn't called isn't imported

export namespace host {
  // @ts-ignore: decorator
  @external("plexus_1", "input_read") export declare function input_read(dst: usize): void;
  // @ts-ignore: decorator
  @external("plexus_1", "output_write") export declare function output_write(p: usize, n: i32): void;
  // @ts-ignore: decorator
  @external("plexus_1", "state_get") export declare function state_get(k: usize, kn: i32, dst: usize, size: i32): i32;
  // @ts-ignore: decorator
  @external("plexus_1", "state_set") export declare function state_set(k: usize, kn: i32, v: usize, vn: i32): void;
  // @ts-ignore: decorator
  @external("plexus_1", "state_del") export declare function state_del(k: usize, kn: i32): void;
  // @ts-ignore: decorator
  @external("plexus_1", "state_next") export declare function state_next(p: usize, pn: i32, after: usize, an: i32, dst: usize, size: i32): i32;
  // @ts-ignore: decorator
  @external("plexus_1", "message_get") export declare function message_get(id: usize, n: i32, dst: usize, size: i32): i32;
  // @ts-ignore: decorator
  @external("plexus_1", "message_text") export declare function message_text(id: usize, n: i32, dst: usize, size: i32): i32;
  // @ts-ignore: decorator
  @external("plexus_1", "happened_before") export declare function happened_before(a: usize, an: i32, b: usize, bn: i32): i32;
  // @ts-ignore: decorator
  @external("plexus_1", "sha256") export declare function sha256(p: usize, n: i32, dst: usize): void;
  // @ts-ignore: decorator
  @external("plexus_1", "ed25519_verify") export declare function ed25519_verify(key: usize, sig: usize, p: usize, n: i32): i32;
  // @ts-ignore: decorator
  @external("plexus_1", "log") export declare function log(level: i32, p: usize, n: i32): void;
  // @ts-ignore: decorator
  @external("plexus_1", "fail") export declare function fail(code: i32, p: usize, n: i32): void;
  // now, random and timers: command and react, each with its grant
  // @ts-ignore: decorator
  @external("plexus_1", "now") export declare function now(): i64;
  // @ts-ignore: decorator
  @external("plexus_1", "random") export declare function random(dst: usize, n: i32): void;
  // @ts-ignore: decorator
  @external("plexus_1", "timer_set") export declare function timer_set(k: usize, kn: i32, at: i64): void;
  // @ts-ignore: decorator
  @external("plexus_1", "timer_del") export declare function timer_del(k: usize, kn: i32): void;
  // view, command and react, with the grant "trust": 0 unknown, 1 known, 2 trusted, 3 owner; 4 nobody (of an action); -1: nothing was said
  // @ts-ignore: decorator
  @external("plexus_1", "trust_level") export declare function trust_level(node: usize, n: i32): i32;
  // @ts-ignore: decorator
  @external("plexus_1", "trust_needed") export declare function trust_needed(action: usize, n: i32): i32;
  // with the grant "schema"
  // @ts-ignore: decorator
  @external("plexus_1", "schema_check") export declare function schema_check(s: usize, sn: i32, v: usize, vn: i32, dst: usize, size: i32): i32;
}

// ---- texts

/** Bytes somewhere in memory, mostly UTF-8. */
@final
export class Text {
  constructor(public ptr: usize, public len: i32) {}

  static of(s: string): Text {
    const b = String.UTF8.encode(s);
    return new Text(changetype<usize>(b), b.byteLength);
  }

  @operator("==")
  same(o: Text): bool {
    return this.len == o.len && memory.compare(this.ptr, o.ptr, <usize>this.len) == 0;
  }

  @operator("!=")
  differs(o: Text): bool {
    return !this.same(o);
  }

  toString(): string {
    return String.UTF8.decodeUnsafe(this.ptr, <usize>this.len);
  }
}

export const EMPTY = new Text(0, 0);

/** Joins texts: cat(Text.of("p/"), m.id). */
export function cat(a: Text, b: Text, c: Text = EMPTY, d: Text = EMPTY): Text {
  const p = heap.alloc(<usize>(a.len + b.len + c.len + d.len));
  let at = p;
  memory.copy(at, a.ptr, <usize>a.len);
  at += <usize>a.len;
  memory.copy(at, b.ptr, <usize>b.len);
  at += <usize>b.len;
  memory.copy(at, c.ptr, <usize>c.len);
  at += <usize>c.len;
  memory.copy(at, d.ptr, <usize>d.len);
  return new Text(p, a.len + b.len + c.len + d.len);
}

/** Ends the call with a reason that people read. */
export function refuse(why: string): void {
  refuseText(Text.of(why));
}

export function refuseText(why: Text): void {
  host.fail(1, why.ptr, why.len);
  unreachable();
}

/** Writes a line for the plugin's author; it changes nothing. */
export function log(line: Text): void {
  host.log(0, line.ptr, line.len);
}

// ---- reading

export enum Kind { None, Null, Bool, Int, Float, Text, Bytes, List, Map }

const DEEPEST = 66;

// head's results: the last item looked at.
let major: i32 = 0;
let arg: u64 = 0;

/** Reads an item's first byte and argument into major and arg; returns their length, 0: not well-formed. */
function head(p: usize, len: i32): i32 {
  if (len == 0) return 0;
  const first = <i32>load<u8>(p);
  const info = first & 31;
  major = first >> 5;
  if (info < 24) {
    arg = <u64>info;
    return 1;
  }
  if (info > 27) return 0;
  const size = 1 + (1 << (info - 24));
  if (len < size) return 0;
  let a: u64 = 0;
  for (let i = 1; i < size; i++) a = (a << 8) | <u64>load<u8>(p + <usize>i);
  arg = a;
  return size;
}

/** The length of the item at p; 0: not well-formed or too deep. */
function skip(p: usize, len: i32, depth: i32): i32 {
  const size = head(p, len);
  const m = major;
  let n = arg;
  if (size == 0 || depth == 0 || m == 6) return 0;
  if (m == 2 || m == 3) return n > <u64>(len - size) ? 0 : size + <i32>n;
  if (m != 4 && m != 5) return size;
  if (n > <u64>len) return 0;
  let at = size;
  for (n <<= <u64>(m - 4); n > 0; n--) {
    const l = skip(p + <usize>at, len - at, depth - 1);
    if (l == 0) return 0;
    at += l;
  }
  return at;
}

/** One CBOR item where it lies. The empty one is absent, and everything asked of it answers with nothing. */
@final
export class Value {
  constructor(public ptr: usize, public len: i32) {}

  get absent(): bool {
    return this.len == 0;
  }

  kind(): Kind {
    const size = head(this.ptr, this.len);
    if (size == 0) return Kind.None;
    switch (major) {
      case 0:
      case 1: return Kind.Int;
      case 2: return Kind.Bytes;
      case 3: return Kind.Text;
      case 4: return Kind.List;
      case 5: return Kind.Map;
      case 6: return Kind.None;
    }
    if (size == 9) return Kind.Float;
    if (size > 1) return Kind.None;
    return arg == 22 ? Kind.Null : arg == 20 || arg == 21 ? Kind.Bool : Kind.None;
  }

  private raw(want: i32): Text {
    const size = head(this.ptr, this.len);
    if (size == 0 || major != want || arg > <u64>(this.len - size)) return EMPTY;
    return new Text(this.ptr + <usize>size, <i32>arg);
  }

  /** A text, or the empty one. */
  text(): Text {
    return this.raw(3);
  }

  /** A byte string, or the empty one. */
  bytes(): Text {
    return this.raw(2);
  }

  isInt(): bool {
    return head(this.ptr, this.len) > 0 && major < 2 && arg <= <u64>i64.MAX_VALUE;
  }

  /** An integer, or 0. */
  int(): i64 {
    if (!this.isInt()) return 0;
    return major == 0 ? <i64>arg : -1 - <i64>arg;
  }

  /** A number, or 0. */
  float(): f64 {
    const size = head(this.ptr, this.len);
    if (size == 9 && major == 7) return reinterpret<f64>(arg);
    if (size == 0 || major > 1) return 0;
    return major == 0 ? <f64>arg : -1.0 - <f64>arg;
  }

  isTrue(): bool {
    return this.len > 0 && load<u8>(this.ptr) == 0xf5;
  }

  /** Walks over a list: for (let i = v.items(); i.next(); ) … i.value. Anything else has no items. */
  items(): Iter {
    return this.each(4);
  }

  /** Walks over a map: i.key and i.value. */
  pairs(): Iter {
    return this.each(5);
  }

  private each(want: i32): Iter {
    const size = head(this.ptr, this.len);
    if (size == 0 || major != want) return new Iter(0, 0, 0, false);
    return new Iter(this.ptr + <usize>size, this.len - size, arg, want == 5);
  }

  /** The value at a text key of a map, or an absent one. */
  get(key: Text): Value {
    let size = head(this.ptr, this.len);
    if (size == 0 || major != 5) return NONE;
    let p = this.ptr + <usize>size, left = this.len - size;
    for (let n = arg; n > 0; n--) {
      const k = skip(p, left, DEEPEST);
      if (k == 0) return NONE;
      const l = skip(p + <usize>k, left - k, DEEPEST);
      if (l == 0) return NONE;
      size = head(p, k);
      if (major == 3 && k - size == key.len && memory.compare(p + <usize>size, key.ptr, <usize>key.len) == 0) return new Value(p + <usize>k, l);
      p += <usize>(k + l);
      left -= k + l;
    }
    return NONE;
  }
}

export const NONE = new Value(0, 0);

@final
export class Iter {
  key: Value = NONE;
  value: Value = NONE;
  constructor(private p: usize, private len: i32, private left: u64, private map: bool) {}

  next(): bool {
    if (this.left == 0) return false;
    this.left--;
    if (this.map) this.key = this.take();
    this.value = this.take();
    return this.value.len > 0;
  }

  private take(): Value {
    const l = skip(this.p, this.len, DEEPEST);
    const v = new Value(this.p, l);
    if (l == 0) this.left = 0;
    this.p += <usize>l;
    this.len -= l;
    return v;
  }
}

// ---- writing: deterministic CBOR

@final
class Buffer {
  p: usize = 0;
  len: i32 = 0;
  size: i32 = 0;

  room(n: i32): usize {
    if (this.size - this.len < n) {
      const size = this.size * 2 + n + 64;
      const p = heap.alloc(<usize>size);
      memory.copy(p, this.p, <usize>this.len);
      this.p = p;
      this.size = size;
    }
    this.len += n;
    return this.p + <usize>(this.len - n);
  }

  head(m: i32, n: u64): void {
    const info = n < 24 ? <i32>n : n <= 0xff ? 24 : n <= 0xffff ? 25 : n <= 0xffffffff ? 26 : 27;
    let size = info < 24 ? 0 : 1 << (info - 24);
    let p = this.room(1 + size);
    store<u8>(p++, (m << 5) | info);
    while (size-- > 0) store<u8>(p++, <u8>(n >> (<u64>(8 * size))));
  }

  raw(p: usize, n: i32): void {
    memory.copy(this.room(n), p, <usize>n);
  }

  value(): Value {
    return new Value(this.p, this.len);
  }
}

export function text(s: Text): Value {
  const b = new Buffer();
  b.head(3, <u64>s.len);
  b.raw(s.ptr, s.len);
  return b.value();
}

export function int(n: i64): Value {
  const b = new Buffer();
  if (n < 0) b.head(1, <u64>(-1 - n));
  else b.head(0, <u64>n);
  return b.value();
}

/** NaN and the infinities have no place in JSON and become null. */
export function float(f: f64): Value {
  if (!isFinite(f)) return nil();
  const b = new Buffer(), p = b.room(9);
  store<u8>(p, 0xfb);
  store<u64>(p, bswap(reinterpret<u64>(f)), 1);
  return b.value();
}

export function bool_(v: bool): Value {
  const b = new Buffer();
  store<u8>(b.room(1), v ? 0xf5 : 0xf4);
  return b.value();
}

export function nil(): Value {
  const b = new Buffer();
  store<u8>(b.room(1), 0xf6);
  return b.value();
}

/** Gathers values: new List().push(…).value(). */
@final
export class List {
  private b: Buffer = new Buffer();
  count: i32 = 0;

  push(v: Value): List {
    if (v.absent) v = nil();
    this.b.raw(v.ptr, v.len);
    this.count++;
    return this;
  }

  value(): Value {
    const b = new Buffer();
    b.head(4, <u64>this.count);
    b.raw(this.b.p, this.b.len);
    return b.value();
  }
}

/** Gathers pairs with text keys, in any order, each key once. What is absent becomes null. */
@final
export class Map {
  private keys: Text[] = [];
  private values: Value[] = [];

  put(key: Text, v: Value): Map {
    if (v.absent) v = nil();
    let i = this.keys.length; // shorter keys first, then by bytes: as their encodings are ordered
    this.keys.push(key);
    this.values.push(v);
    for (; i > 0 && Map.less(key, unchecked(this.keys[i - 1])); i--) {
      unchecked((this.keys[i] = this.keys[i - 1]));
      unchecked((this.values[i] = this.values[i - 1]));
    }
    unchecked((this.keys[i] = key));
    unchecked((this.values[i] = v));
    return this;
  }

  private static less(a: Text, b: Text): bool {
    return a.len != b.len ? a.len < b.len : memory.compare(a.ptr, b.ptr, <usize>a.len) < 0;
  }

  value(): Value {
    const b = new Buffer();
    b.head(5, <u64>this.keys.length);
    for (let i = 0; i < this.keys.length; i++) {
      const k = unchecked(this.keys[i]), v = unchecked(this.values[i]);
      b.head(3, <u64>k.len);
      b.raw(k.ptr, k.len);
      b.raw(v.ptr, v.len);
    }
    return b.value();
  }
}

// ---- state

const FIRST = 512; // bytes a value is fetched into at first; a longer one is asked for again
const LONGEST_KEY = 256;

/** The plugin's keys and values in one Space. Keys are 1–256 bytes, values up to 64 KiB. Only a fold may write. */
export namespace state {
  export function has(key: Text): bool {
    return host.state_get(key.ptr, key.len, 0, 0) >= 0;
  }

  /** A key's value, empty where there is none. */
  export function get(key: Text): Text {
    let p = heap.alloc(FIRST);
    const n = host.state_get(key.ptr, key.len, p, FIRST);
    if (n < 0) return EMPTY;
    if (n > FIRST) {
      p = heap.alloc(<usize>n);
      host.state_get(key.ptr, key.len, p, n);
    }
    return new Text(p, n);
  }

  /** What setValue put there, or an absent one. */
  export function value(key: Text): Value {
    const t = get(key);
    return new Value(t.ptr, t.len);
  }

  export function set(key: Text, value: Text): void {
    host.state_set(key.ptr, key.len, value.ptr, value.len);
  }

  export function setValue(key: Text, value: Value): void {
    host.state_set(key.ptr, key.len, value.ptr, value.len);
  }

  export function del(key: Text): void {
    host.state_del(key.ptr, key.len);
  }

  /** Walks over the keys with a prefix: for (let k = state.next(p, EMPTY); k.len > 0; k = state.next(p, k)) … */
  export function next(prefix: Text, after: Text): Text {
    const p = heap.alloc(LONGEST_KEY);
    const n = host.state_next(prefix.ptr, prefix.len, after.ptr, after.len, p, LONGEST_KEY);
    return n < 0 ? EMPTY : new Text(p, n);
  }
}

// ---- calls

/** What a fold sees of a message. */
@final
export class Message {
  id: Text = EMPTY;
  sender: Text = EMPTY;
  time: i64 = 0; // microseconds since the epoch: the only clock
  type: Text = EMPTY; // content_type, else content.type
  content: Value = NONE; // a map
  meta: Value = NONE; // a map, or absent
  parents: Value = NONE; // a list of text: refs.messages
  nodes: Value = NONE; // a list of text: refs.nodes
  role: Text = EMPTY; // of the sender: "admin", "writer", "reader"
  kind: Text = EMPTY; // of the sender: "human", "agent"
}

/** What a view or command is asked. An empty caller is nobody. */
@final
export class Query {
  name: Text = EMPTY;
  params: Value = NONE;
  caller: Text = EMPTY;
  role: Text = EMPTY; // of the caller: "admin", "writer", "reader"; empty: none
  kind: Text = EMPTY; // of the caller: "human", "agent"; empty: not known
}

/** What a reaction is about: a message, or a timer where its name isn't empty. */
@final
export class Event {
  message: Message = new Message();
  timer: Text = EMPTY;
  node: Text = EMPTY;
  role: Text = EMPTY; // the Node's, as in Query
  kind: Text = EMPTY;
  again: bool = false; // the fold refused the message when it came, and takes it now
}

/** One of a file's plugins. */
@final
export class Plugin {
  constructor(
    public name: Text,
    public fold: ((m: Message) => void) | null = null,
    public view: ((q: Query) => Value) | null = null,
    public command: ((q: Query) => void) | null = null,
    public react: ((e: Event) => void) | null = null,
  ) {}
}

/** What a command or reaction wants said: fill it, then say(). */
@final
export class Draft {
  content: Value = NONE; // a map; absent: empty
  meta: Value = NONE; // a map
  parents: Value = NONE; // a list of text
  nodes: Value = NONE; // a list of text
  key: Text = EMPTY; // reactions: a draft is sent once by it
  once: bool = false; // reactions: of several Nodes of a host that would say it of one event, the first does
  constructor(public type: Text) {}

  say(): void {
    const b = new Buffer();
    b.head(5, <u64>(1 + i32(this.type.len > 0) + i32(!this.meta.absent) + i32(!this.parents.absent) + i32(!this.nodes.absent) + i32(this.key.len > 0) + i32(this.once)));
    this.put(b, 1, this.type.len > 0 ? text(this.type) : NONE);
    this.put(b, 2, this.content.absent ? new Map().value() : this.content);
    this.put(b, 3, this.meta);
    this.put(b, 4, this.parents);
    this.put(b, 5, this.nodes);
    this.put(b, 6, this.key.len > 0 ? text(this.key) : NONE);
    this.put(b, 7, this.once ? bool_(true) : NONE);
    host.output_write(b.p, b.len);
  }

  private put(b: Buffer, key: u64, v: Value): void {
    if (v.absent) return;
    b.head(0, key);
    b.raw(v.ptr, v.len);
  }
}

const plugins: Plugin[] = [];

/** Adds a plugin to the file; call it at the top level. */
export function register(p: Plugin): void {
  plugins.push(p);
}

function readMessage(v: Value): Message {
  const m = new Message();
  for (let i = v.pairs(); i.next(); ) {
    switch (<i32>i.key.int()) {
      case 1: m.id = i.value.text(); break;
      case 2: m.sender = i.value.text(); break;
      case 3: m.time = i.value.int(); break;
      case 4: m.type = i.value.text(); break;
      case 5: m.content = i.value; break;
      case 6: m.parents = i.value; break;
      case 7: m.nodes = i.value; break;
      case 8: m.role = i.value.text(); break;
      case 9: m.kind = i.value.text(); break;
      case 10: m.meta = i.value; break;
    }
  }
  return m;
}

/** An earlier message, with an empty id where there is none: in a fold one that this plugin has folded, in a view any of the Space. */
export function message(id: Text): Message {
  let p = heap.alloc(4096);
  const n = host.message_get(id.ptr, id.len, p, 4096);
  if (n < 0) return new Message();
  if (n > 4096) {
    p = heap.alloc(<usize>n);
    host.message_get(id.ptr, id.len, p, n);
  }
  return readMessage(new Value(p, n));
}

/** Whether message a lies in b's past: whether b's author provably knew a. */
export function happenedBefore(a: Text, b: Text): bool {
  return host.happened_before(a.ptr, a.len, b.ptr, b.len) == 1;
}

/**
 * In what a value breaks a JSON Schema, behind the value's name (".title is missing"); empty: it fits. schema is a map or boolean, or a text that
 * names one of the plugin's own: "messages", "commands/NAME", "views/NAME", and "messages#/oneOf/0" for a part.
 */
export function schemaCheck(schema: Value, v: Value): Text {
  let p = heap.alloc(512);
  const n = host.schema_check(schema.ptr, schema.len, v.ptr, v.len, p, 512);
  if (n < 0) return EMPTY;
  if (n > 512) {
    p = heap.alloc(<usize>n);
    host.schema_check(schema.ptr, schema.len, v.ptr, v.len, p, n);
  }
  return new Text(p, n);
}

// The input of the call at hand.
let query: Query = new Query();
let event: Event = new Event();

function read(n: i32): Plugin {
  const p = heap.alloc(<usize>n);
  host.input_read(p);
  let name = EMPTY;
  query = new Query();
  event = new Event();
  for (let i = new Value(p, n).pairs(); i.next(); ) {
    switch (<i32>i.key.int()) {
      case 0: name = i.value.text(); break;
      case 1: event.message = readMessage(i.value); break;
      case 2: query.name = i.value.text(); break;
      case 3: query.params = i.value; break;
      case 4: query.caller = i.value.text(); break;
      case 5: event.timer = i.value.text(); break;
      case 6: event.again = i.value.isTrue(); break;
      case 7: query.role = i.value.text(); break;
      case 8: query.kind = i.value.text(); break;
    }
  }
  event.node = query.caller;
  event.role = query.role;
  event.kind = query.kind;
  for (let i = 0; i < plugins.length; i++) {
    if (plugins[i].name == name) return plugins[i];
  }
  refuse("this file has no such plugin");
  return plugins[0];
}

export function plexus_abi_1(): void {}

export function plexus_fold(n: i32): i32 {
  const f = read(n).fold;
  if (f == null) refuse("this plugin doesn't fold");
  else f(event.message);
  return 0;
}

export function plexus_view(n: i32): i32 {
  const f = read(n).view;
  if (f == null) refuse("this plugin has no views");
  else {
    const v = f(query);
    host.output_write(v.ptr, v.len);
  }
  return 0;
}

export function plexus_command(n: i32): i32 {
  const f = read(n).command;
  if (f == null) refuse("this plugin has no commands");
  else f(query);
  return 0;
}

export function plexus_react(n: i32): i32 {
  const f = read(n).react;
  if (f != null) f(event);
  return 0;
}
