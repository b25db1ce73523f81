//! How a Plexus plugin is written in Rust: one file, `no_std`, no dependencies.
//!
//! A plugin folds a Space's messages one by one into keys and values; views answer from these. The node sees to order, late
//! messages, storage and replication. Write plain sequential code; every replica ends with the same state.
//!
//! ```ignore
//! #![no_std]
//! mod plexus;
//! use plexus::*;
//!
//! fn fold(m: &Message) -> Result<(), &'static str> {
//!     state::set_text(cat(&["vote/", m.sender]), m.content.get("option").text());
//!     Ok(())
//! }
//!
//! plexus::plugins![Plugin { name: "vote", fold: Some(fold), view: None, command: None, react: None }];
//! ```
//!
//! Rules. Memory doesn't live from one call to the next: before each, it is what it was at the start, so everything is `'static`
//! and nothing is ever freed. There is no clock, no randomness, no file. An `Err` refuses a message: what the fold set is undone,
//! and the message is marked with the reason. A panic does the same, with a worse reason.
//!
//! Build with `plexus plugin build`, which calls rustc (1.63 or later, with the target wasm32-unknown-unknown). The ABI is
//! docs/plugins.md of Plexus; this is version 1.
//!
//! SPDX-License-Identifier: Apache-2.0
#![allow(dead_code)]

use core::ptr::{addr_of_mut, copy_nonoverlapping, null};
use core::slice::{from_raw_parts, from_raw_parts_mut};

/// The node's functions (docs/plugins.md §6.1). What isn't called isn't imported.
pub mod host {
    #[link(wasm_import_module = "plexus_1")]
    extern "C" {
        pub fn input_read(dst: *mut u8);
        pub fn output_write(p: *const u8, n: usize);
        pub fn state_get(k: *const u8, kn: usize, dst: *mut u8, size: usize) -> i32;
        pub fn state_set(k: *const u8, kn: usize, v: *const u8, vn: usize);
        pub fn state_del(k: *const u8, kn: usize);
        pub fn state_next(p: *const u8, pn: usize, after: *const u8, an: usize, dst: *mut u8, size: usize) -> i32;
        pub fn message_get(id: *const u8, n: usize, dst: *mut u8, size: usize) -> i32;
        pub fn message_text(id: *const u8, n: usize, dst: *mut u8, size: usize) -> i32;
        pub fn happened_before(a: *const u8, an: usize, b: *const u8, bn: usize) -> i32;
        pub fn sha256(p: *const u8, n: usize, dst: *mut u8);
        pub fn ed25519_verify(key: *const u8, sig: *const u8, p: *const u8, n: usize) -> i32;
        pub fn log(level: i32, p: *const u8, n: usize);
        pub fn fail(code: u32, p: *const u8, n: usize);
        /// command and react, with the grant "now"
        pub fn now() -> i64;
        pub fn random(dst: *mut u8, n: usize);
        pub fn timer_set(k: *const u8, kn: usize, at: i64);
        pub fn timer_del(k: *const u8, kn: usize);
        /// view, command and react, with the grant "trust": 0 unknown, 1 known, 2 trusted, 3 owner; 4 nobody (of an action); -1: nothing was said
        pub fn trust_level(node: *const u8, n: usize) -> i32;
        pub fn trust_needed(action: *const u8, n: usize) -> i32;
        /// with the grant "schema"
        pub fn schema_check(s: *const u8, sn: usize, v: *const u8, vn: usize, dst: *mut u8, size: usize) -> i32;
    }
}

// ---- memory

const HEAP: usize = 256 << 10; // bytes before memory has to grow, which makes a call slow

#[repr(align(16))]
struct Heap([u8; HEAP]);

static mut FIRST: Heap = Heap([0; HEAP]);
static mut FREE: usize = 0; // address; 0: nothing taken yet
static mut END: usize = 0;

/// Returns n bytes, which live until the call ends.
pub fn alloc(n: usize) -> &'static mut [u8] {
    // One thread, and no two calls get the same bytes.
    unsafe {
        if END == 0 {
            FREE = addr_of_mut!(FIRST) as usize;
            END = FREE + HEAP;
        }
        let size = (n + 7) & !7;
        if size > END - FREE {
            let pages = (size >> 16) + 1;
            let was = core::arch::wasm32::memory_grow(0, pages);
            if was == usize::MAX {
                core::arch::wasm32::unreachable();
            }
            FREE = was << 16;
            END = FREE + (pages << 16);
        }
        let p = FREE as *mut u8;
        FREE += size;
        from_raw_parts_mut(p, n)
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}

/// A growing list of plain values.
pub struct List<T: Copy + 'static> {
    p: *mut T,
    len: usize,
    size: usize,
}

impl<T: Copy + 'static> List<T> {
    pub const fn new() -> Self {
        List { p: null::<T>() as *mut T, len: 0, size: 0 }
    }

    fn room(&mut self, n: usize) {
        if self.size - self.len < n {
            let size = self.size * 2 + n + 8;
            let p = alloc(size * core::mem::size_of::<T>()).as_mut_ptr() as *mut T;
            unsafe { copy_nonoverlapping(self.p, p, if self.size == 0 { 0 } else { self.len }) };
            self.p = p;
            self.size = size;
        }
    }

    pub fn push(&mut self, v: T) {
        self.room(1);
        unsafe { self.p.add(self.len).write(v) };
        self.len += 1;
    }

    pub fn extend(&mut self, v: &[T]) {
        self.room(v.len());
        unsafe { copy_nonoverlapping(v.as_ptr(), self.p.add(self.len), v.len()) };
        self.len += v.len();
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The items as they are now; the memory outlives the list.
    pub fn items(&self) -> &'static [T] {
        if self.size == 0 {
            return &[];
        }
        unsafe { from_raw_parts(self.p, self.len) }
    }
}

fn utf8(b: &'static [u8]) -> &'static str {
    core::str::from_utf8(b).unwrap_or("")
}

/// Joins texts: `cat(&["p/", id])`.
pub fn cat(parts: &[&str]) -> &'static str {
    let n = parts.iter().map(|s| s.len()).sum();
    let b = alloc(n);
    let mut at = 0;
    for s in parts {
        unsafe { copy_nonoverlapping(s.as_ptr(), b.as_mut_ptr().add(at), s.len()) };
        at += s.len();
    }
    unsafe { core::str::from_utf8_unchecked(b) }
}

// ---- reading

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    None,
    Null,
    Bool,
    Int,
    Float,
    Text,
    Bytes,
    List,
    Map,
}

/// One CBOR item where it lies. The empty one is absent, and everything asked of it answers with nothing.
#[derive(Clone, Copy)]
pub struct Value(pub &'static [u8]);

pub const NONE: Value = Value(&[]);

/// Reads an item's first byte and argument; size 0: not well-formed.
fn head(b: &[u8]) -> (u8, u64, usize) {
    if b.is_empty() {
        return (0, 0, 0);
    }
    let info = b[0] & 31;
    if info < 24 {
        return (b[0] >> 5, info as u64, 1);
    }
    if info > 27 {
        return (0, 0, 0);
    }
    let size = 1 + (1usize << (info - 24));
    if b.len() < size {
        return (0, 0, 0);
    }
    let mut arg = 0;
    for c in &b[1..size] {
        arg = arg << 8 | *c as u64;
    }
    (b[0] >> 5, arg, size)
}

/// The length of the item at the start of b; 0: not well-formed or too deep.
fn skip(b: &[u8], depth: u32) -> usize {
    let (major, n, size) = head(b);
    if size == 0 || depth == 0 || major == 6 {
        return 0;
    }
    match major {
        2 | 3 if n > (b.len() - size) as u64 => 0,
        2 | 3 => size + n as usize,
        4 | 5 if n > b.len() as u64 => 0,
        4 | 5 => {
            let mut at = size;
            for _ in 0..n << (major - 4) {
                match skip(&b[at..], depth - 1) {
                    0 => return 0,
                    l => at += l,
                }
            }
            at
        }
        _ => size,
    }
}

const DEEPEST: u32 = 66;

impl Value {
    pub fn is_none(self) -> bool {
        self.0.is_empty()
    }

    pub fn kind(self) -> Kind {
        match head(self.0) {
            (_, _, 0) => Kind::None,
            (0, ..) | (1, ..) => Kind::Int,
            (2, ..) => Kind::Bytes,
            (3, ..) => Kind::Text,
            (4, ..) => Kind::List,
            (5, ..) => Kind::Map,
            (7, _, 9) => Kind::Float,
            (7, 20, 1) | (7, 21, 1) => Kind::Bool,
            (7, 22, 1) => Kind::Null,
            _ => Kind::None,
        }
    }

    fn raw(self, want: u8) -> &'static [u8] {
        let (major, n, size) = head(self.0);
        if size == 0 || major != want || n > (self.0.len() - size) as u64 {
            return &[];
        }
        &self.0[size..size + n as usize]
    }

    /// A text, or "".
    pub fn text(self) -> &'static str {
        utf8(self.raw(3))
    }

    /// A byte string, or none.
    pub fn bytes(self) -> &'static [u8] {
        self.raw(2)
    }

    pub fn int(self) -> Option<i64> {
        match head(self.0) {
            (_, n, size) if size == 0 || n > i64::MAX as u64 => None,
            (0, n, _) => Some(n as i64),
            (1, n, _) => Some(-1 - n as i64),
            _ => None,
        }
    }

    pub fn float(self) -> Option<f64> {
        match head(self.0) {
            (7, n, 9) => Some(f64::from_bits(n)),
            _ => self.int().map(|n| n as f64),
        }
    }

    pub fn is_true(self) -> bool {
        self.0.first() == Some(&0xf5)
    }

    /// A list's items; anything else has none.
    pub fn items(self) -> Items {
        match head(self.0) {
            (4, n, size) if size > 0 => Items { rest: &self.0[size..], left: n },
            _ => Items { rest: &[], left: 0 },
        }
    }

    /// A map's keys and values; anything else has none.
    pub fn pairs(self) -> Pairs {
        match head(self.0) {
            (5, n, size) if size > 0 => Pairs(Items { rest: &self.0[size..], left: n.saturating_mul(2) }),
            _ => Pairs(Items { rest: &[], left: 0 }),
        }
    }

    /// The value at a text key of a map, or NONE.
    pub fn get(self, key: &str) -> Value {
        for (k, v) in self.pairs() {
            if k.raw(3) == key.as_bytes() && k.kind() == Kind::Text {
                return v;
            }
        }
        NONE
    }
}

pub struct Items {
    rest: &'static [u8],
    left: u64,
}

impl Iterator for Items {
    type Item = Value;
    fn next(&mut self) -> Option<Value> {
        if self.left == 0 {
            return None;
        }
        let l = skip(self.rest, DEEPEST);
        if l == 0 {
            self.left = 0;
            return None;
        }
        self.left -= 1;
        let (v, rest) = self.rest.split_at(l);
        self.rest = rest;
        Some(Value(v))
    }
}

pub struct Pairs(Items);

impl Iterator for Pairs {
    type Item = (Value, Value);
    fn next(&mut self) -> Option<(Value, Value)> {
        Some((self.0.next()?, self.0.next()?))
    }
}

// ---- writing: deterministic CBOR

fn put_head(b: &mut List<u8>, major: u8, n: u64) {
    let m = major << 5;
    match n {
        0..=23 => b.push(m | n as u8),
        24..=0xff => b.extend(&[m | 24, n as u8]),
        0x100..=0xffff => {
            b.push(m | 25);
            b.extend(&(n as u16).to_be_bytes())
        }
        0x1_0000..=0xffff_ffff => {
            b.push(m | 26);
            b.extend(&(n as u32).to_be_bytes())
        }
        _ => {
            b.push(m | 27);
            b.extend(&n.to_be_bytes())
        }
    }
}

/// What can be put into maps, lists and views.
pub trait Encode {
    fn encode(&self, b: &mut List<u8>);

    fn value(&self) -> Value {
        let mut b = List::new();
        self.encode(&mut b);
        Value(b.items())
    }
}

impl Encode for &str {
    fn encode(&self, b: &mut List<u8>) {
        put_head(b, 3, self.len() as u64);
        b.extend(self.as_bytes());
    }
}

impl Encode for i64 {
    fn encode(&self, b: &mut List<u8>) {
        if *self < 0 {
            put_head(b, 1, (-1 - *self) as u64)
        } else {
            put_head(b, 0, *self as u64)
        }
    }
}

impl Encode for bool {
    fn encode(&self, b: &mut List<u8>) {
        b.push(if *self { 0xf5 } else { 0xf4 })
    }
}

/// NaN and the infinities become null.
impl Encode for f64 {
    fn encode(&self, b: &mut List<u8>) {
        if !self.is_finite() {
            return b.push(0xf6);
        }
        b.push(0xfb);
        b.extend(&self.to_bits().to_be_bytes());
    }
}

/// NONE becomes null.
impl Encode for Value {
    fn encode(&self, b: &mut List<u8>) {
        if self.is_none() {
            return b.push(0xf6);
        }
        b.extend(self.0);
    }
}

impl Encode for &[Value] {
    fn encode(&self, b: &mut List<u8>) {
        put_head(b, 4, self.len() as u64);
        for v in *self {
            v.encode(b);
        }
    }
}

impl Encode for List<Value> {
    fn encode(&self, b: &mut List<u8>) {
        self.items().encode(b)
    }
}

/// A map with text keys, put in any order, each once.
pub struct Map(List<(&'static str, Value)>);

impl Map {
    pub fn new() -> Map {
        Map(List::new())
    }

    pub fn put(&mut self, key: &'static str, v: impl Encode) -> &mut Map {
        self.0.push((key, v.value()));
        self
    }
}

impl Encode for Map {
    fn encode(&self, b: &mut List<u8>) {
        let pairs = unsafe { from_raw_parts_mut(self.0.p, if self.0.size == 0 { 0 } else { self.0.len }) };
        for i in 1..pairs.len() {
            let mut j = i; // shorter keys first, then by bytes: as their encodings are ordered
            while j > 0 && (pairs[j].0.len(), pairs[j].0) < (pairs[j - 1].0.len(), pairs[j - 1].0) {
                pairs.swap(j, j - 1);
                j -= 1;
            }
        }
        put_head(b, 5, pairs.len() as u64);
        for (k, v) in pairs {
            (*k).encode(b);
            v.encode(b);
        }
    }
}

// ---- state

/// Calls with a buffer, and again with enough where it was too small.
fn fetch(first: usize, call: impl Fn(*mut u8, usize) -> i32) -> Option<&'static [u8]> {
    let b = alloc(first);
    let n = call(b.as_mut_ptr(), first);
    if n < 0 {
        return None;
    }
    if n as usize <= first {
        return Some(&b[..n as usize]);
    }
    let b = alloc(n as usize);
    call(b.as_mut_ptr(), n as usize);
    Some(b)
}

/// The plugin's keys and values in one Space. Keys are 1–256 bytes, values up to 64 KiB. Only a fold may write.
pub mod state {
    use super::*;

    pub fn get(key: &str) -> Option<&'static [u8]> {
        fetch(512, |p, n| unsafe { host::state_get(key.as_ptr(), key.len(), p, n) })
    }

    /// A key's value as text, "" where there is none.
    pub fn text(key: &str) -> &'static str {
        utf8(get(key).unwrap_or(&[]))
    }

    /// What set_value put there, or NONE.
    pub fn value(key: &str) -> Value {
        Value(get(key).unwrap_or(&[]))
    }

    pub fn has(key: &str) -> bool {
        unsafe { host::state_get(key.as_ptr(), key.len(), null::<u8>() as *mut u8, 0) >= 0 }
    }

    pub fn set(key: &str, value: &[u8]) {
        unsafe { host::state_set(key.as_ptr(), key.len(), value.as_ptr(), value.len()) }
    }

    pub fn set_text(key: &str, value: &str) {
        set(key, value.as_bytes())
    }

    pub fn set_value(key: &str, value: impl Encode) {
        set(key, value.value().0)
    }

    pub fn del(key: &str) {
        unsafe { host::state_del(key.as_ptr(), key.len()) }
    }

    /// The keys with a prefix, in order.
    pub fn keys(prefix: &'static str) -> Keys {
        Keys { prefix, last: "" }
    }

    pub struct Keys {
        prefix: &'static str,
        last: &'static str,
    }

    impl Iterator for Keys {
        type Item = &'static str;
        fn next(&mut self) -> Option<&'static str> {
            let (p, a) = (self.prefix, self.last);
            let key = fetch(256, |b, n| unsafe { host::state_next(p.as_ptr(), p.len(), a.as_ptr(), a.len(), b, n) })?;
            self.last = utf8(key);
            if self.last.is_empty() {
                return None; // a key that is no text: this plugin never writes one
            }
            Some(self.last)
        }
    }
}

/// Writes a line for the plugin's author; it changes nothing.
pub fn log(line: &str) {
    unsafe { host::log(0, line.as_ptr(), line.len()) }
}

// ---- calls

/// What a fold sees of a message.
#[derive(Clone, Copy)]
pub struct Message {
    pub id: &'static str,
    pub sender: &'static str,
    pub time: i64,            // microseconds since the epoch: the only clock
    pub typ: &'static str,    // content_type, else content.type
    pub content: Value,       // a map
    pub meta: Value,          // a map, or NONE
    pub parents: Value,       // a list of text: refs.messages
    pub nodes: Value,         // a list of text: refs.nodes
    pub role: &'static str,   // of the sender: "admin", "writer", "reader"
    pub kind: &'static str,   // of the sender: "human", "agent"
}

const NO_MESSAGE: Message = Message { id: "", sender: "", time: 0, typ: "", content: NONE, meta: NONE, parents: NONE, nodes: NONE, role: "", kind: "" };

/// What a view or command is asked. caller "": nobody.
#[derive(Clone, Copy)]
pub struct Query {
    pub name: &'static str,
    pub params: Value,
    pub caller: &'static str,
    pub role: &'static str, // of the caller: "admin", "writer", "reader"; "": none
    pub kind: &'static str, // of the caller: "human", "agent"; "": not known
}

/// What a reaction is about: a message, or a timer where `timer` isn't "".
pub struct Event {
    pub message: Message,
    pub timer: &'static str,
    pub node: &'static str,
    pub role: &'static str, // the Node's, as in Query
    pub kind: &'static str,
    pub again: bool, // the fold refused the message when it came, and takes it now
}

/// Why something is refused, for people.
pub type Refusal = &'static str;

/// One of a file's plugins.
pub struct Plugin {
    pub name: &'static str,
    pub fold: Option<fn(&Message) -> Result<(), Refusal>>,
    pub view: Option<fn(&Query) -> Result<Value, Refusal>>,
    pub command: Option<fn(&Query) -> Result<(), Refusal>>,
    pub react: Option<fn(&Event) -> Result<(), Refusal>>,
}

/// What a command or reaction wants said: fill it, then say().
pub struct Draft {
    pub typ: &'static str,
    pub content: Map,
    pub meta: Map,
    pub parents: List<Value>,
    pub nodes: List<Value>,
    pub key: &'static str, // reactions: a draft is sent once by it
    pub once: bool,        // reactions: of several Nodes of a host that would say it of one event, the first does
}

impl Draft {
    pub fn new(typ: &'static str) -> Draft {
        Draft { typ, content: Map::new(), meta: Map::new(), parents: List::new(), nodes: List::new(), key: "", once: false }
    }

    pub fn say(self) {
        let mut b = List::new();
        let has = [!self.typ.is_empty(), true, self.meta.0.len() > 0, self.parents.len() > 0, self.nodes.len() > 0, !self.key.is_empty(), self.once];
        put_head(&mut b, 5, has.iter().filter(|h| **h).count() as u64);
        let mut put = |key: u64, has: bool, v: &dyn Encode| {
            if has {
                put_head(&mut b, 0, key);
                v.encode(&mut b);
            }
        };
        put(1, has[0], &self.typ);
        put(2, true, &self.content);
        put(3, has[2], &self.meta);
        put(4, has[3], &self.parents);
        put(5, has[4], &self.nodes);
        put(6, has[5], &self.key);
        put(7, has[6], &true);
        let out = b.items();
        unsafe { host::output_write(out.as_ptr(), out.len()) }
    }
}

fn read_message(v: Value) -> Message {
    let mut m = NO_MESSAGE;
    for (k, x) in v.pairs() {
        match k.int() {
            Some(1) => m.id = x.text(),
            Some(2) => m.sender = x.text(),
            Some(3) => m.time = x.int().unwrap_or(0),
            Some(4) => m.typ = x.text(),
            Some(5) => m.content = x,
            Some(6) => m.parents = x,
            Some(7) => m.nodes = x,
            Some(8) => m.role = x.text(),
            Some(9) => m.kind = x.text(),
            Some(10) => m.meta = x,
            _ => {}
        }
    }
    m
}

/// An earlier message: in a fold one that this plugin has folded, in a view any of the Space.
pub fn message(id: &str) -> Option<Message> {
    fetch(4096, |p, n| unsafe { host::message_get(id.as_ptr(), id.len(), p, n) }).map(|b| read_message(Value(b)))
}

/// Whether message a lies in b's past: whether b's author provably knew a.
pub fn happened_before(a: &str, b: &str) -> bool {
    unsafe { host::happened_before(a.as_ptr(), a.len(), b.as_ptr(), b.len()) == 1 }
}

/// In what a value breaks a JSON Schema, behind the value's name (".title is missing"). schema is a map or boolean, or a text that names one of
/// the plugin's own: "messages", "commands/NAME", "views/NAME", and "messages#/oneOf/0" for a part.
pub fn schema_check(schema: Value, v: Value) -> Option<&'static str> {
    fetch(512, |p, n| unsafe { host::schema_check(schema.0.as_ptr(), schema.0.len(), v.0.as_ptr(), v.0.len(), p, n) }).map(utf8)
}

/// The four entry points, called by what plugins! exports.
pub mod entry {
    use super::*;

    struct Input {
        plugin: &'static Plugin,
        event: Event,
        query: Query,
    }

    fn read(n: usize, plugins: &'static [Plugin]) -> Result<Input, Refusal> {
        let b = alloc(n);
        unsafe { host::input_read(b.as_mut_ptr()) };
        let mut name = "";
        let mut event = Event { message: NO_MESSAGE, timer: "", node: "", role: "", kind: "", again: false };
        let mut query = Query { name: "", params: NONE, caller: "", role: "", kind: "" };
        for (k, v) in Value(b).pairs() {
            match k.int() {
                Some(0) => name = v.text(),
                Some(1) => event.message = read_message(v),
                Some(2) => query.name = v.text(),
                Some(3) => query.params = v,
                Some(4) => query.caller = v.text(),
                Some(5) => event.timer = v.text(),
                Some(6) => event.again = v.is_true(),
                Some(7) => query.role = v.text(),
                Some(8) => query.kind = v.text(),
                _ => {}
            }
        }
        event.node = query.caller;
        event.role = query.role;
        event.kind = query.kind;
        for plugin in plugins {
            if plugin.name == name {
                return Ok(Input { plugin, event, query });
            }
        }
        Err("this file has no such plugin")
    }

    fn code(r: Result<(), Refusal>) -> i32 {
        match r {
            Ok(()) => 0,
            Err(why) => {
                unsafe { host::output_write(why.as_ptr(), why.len()) };
                1
            }
        }
    }

    pub fn fold(n: usize, plugins: &'static [Plugin]) -> i32 {
        code(read(n, plugins).and_then(|i| i.plugin.fold.ok_or("this plugin doesn't fold")?(&i.event.message)))
    }

    pub fn view(n: usize, plugins: &'static [Plugin]) -> i32 {
        let out = read(n, plugins).and_then(|i| i.plugin.view.ok_or("this plugin has no views")?(&i.query));
        code(out.map(|v| unsafe { host::output_write(v.0.as_ptr(), v.0.len()) }))
    }

    pub fn command(n: usize, plugins: &'static [Plugin]) -> i32 {
        code(read(n, plugins).and_then(|i| i.plugin.command.ok_or("this plugin has no commands")?(&i.query)))
    }

    pub fn react(n: usize, plugins: &'static [Plugin]) -> i32 {
        code(read(n, plugins).and_then(|i| match i.plugin.react {
            Some(f) => f(&i.event),
            None => Ok(()),
        }))
    }
}

/// Lists the file's plugins; stands once.
#[macro_export]
macro_rules! plugins {
    ($($plugin:expr),+ $(,)?) => {
        static PLUGINS: &[$crate::plexus::Plugin] = &[$($plugin),+];
        #[no_mangle]
        pub extern "C" fn plexus_abi_1() {}
        #[no_mangle]
        pub extern "C" fn plexus_fold(n: usize) -> i32 { $crate::plexus::entry::fold(n, PLUGINS) }
        #[no_mangle]
        pub extern "C" fn plexus_view(n: usize) -> i32 { $crate::plexus::entry::view(n, PLUGINS) }
        #[no_mangle]
        pub extern "C" fn plexus_command(n: usize) -> i32 { $crate::plexus::entry::command(n, PLUGINS) }
        #[no_mangle]
        pub extern "C" fn plexus_react(n: usize) -> i32 { $crate::plexus::entry::react(n, PLUGINS) }
    };
}
