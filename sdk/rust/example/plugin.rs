//! vote in Rust: somebody opens a poll, everybody may cast one vote and change it, the opener closes it. On the same
//! messages it ends with the same state as vote in Go (plugins/vote).
//!
//! State (<poll> is the ID of the message that opened it; <order> its time in hex, a slash, and its ID):
//!
//!     p/<poll>             {id, order, sender, options, question}
//!     c/<poll>/<node>      the option this Node chose last
//!     o/<order>            <poll>, while it is open
//!     x/<poll>             the message that closed it
#![no_std]

#[path = "../plexus.rs"]
mod plexus;
use plexus::*;

const MAX_ID: usize = 128; // bytes of content.id
const MAX_QUESTION: usize = 512; // bytes of content.question
const MAX_OPTIONS: usize = 32;
const MAX_OPTION: usize = 128; // bytes of an option
const MAX_POLLS: usize = 100; // a view's answer

plugins![Plugin { name: "vote", fold: Some(fold), view: Some(view), command: Some(command), react: None }];

fn fold(m: &Message) -> Result<(), Refusal> {
    match m.typ {
        "vote:open" => fold_open(m),
        "vote:cast" => fold_cast(m),
        "vote:close" => fold_close(m),
        _ => Err("no such message"),
    }
}

fn fold_open(m: &Message) -> Result<(), Refusal> {
    let mut p = read_poll(m.content)?;
    p.put("order", order(m)).put("sender", m.sender);
    state::set_value(cat(&["p/", m.id]), p);
    state::set_text(cat(&["o/", order(m)]), m.id);
    Ok(())
}

/// Checks what a poll says of itself.
fn read_poll(v: Value) -> Result<Map, Refusal> {
    let (id, question, options) = (v.get("id").text(), v.get("question").text(), v.get("options"));
    if id.is_empty() || id.len() > MAX_ID {
        return Err("id must be a text of 1 to 128 bytes");
    }
    if question.is_empty() || question.len() > MAX_QUESTION {
        return Err("question must be a text of 1 to 512 bytes");
    }
    let mut seen: List<&str> = List::new();
    for o in options.items() {
        let text = o.text();
        if text.is_empty() || text.len() > MAX_OPTION || seen.items().contains(&text) {
            return Err("each option must be a text of 1 to 128 bytes, and none may come twice");
        }
        seen.push(text);
    }
    if seen.len() < 2 || seen.len() > MAX_OPTIONS {
        return Err("options must be 2 to 32 texts");
    }
    let mut p = Map::new();
    p.put("id", id).put("question", question).put("options", options);
    Ok(p)
}

fn fold_cast(m: &Message) -> Result<(), Refusal> {
    let (id, p) = running(m)?;
    let option = m.content.get("option").text();
    if !offers(p, option) {
        return Err("option must be one of the poll's options");
    }
    state::set_text(cat(&["c/", id, "/", m.sender]), option);
    Ok(())
}

fn fold_close(m: &Message) -> Result<(), Refusal> {
    let (id, p) = running(m)?;
    if p.get("sender").text() != m.sender {
        return Err("only the one who opened a poll may close it");
    }
    state::set_text(cat(&["x/", id]), m.id);
    state::del(cat(&["o/", p.get("order").text()]));
    Ok(())
}

/// Finds the poll that a message refers to and says no where it is closed.
fn running(m: &Message) -> Result<(&'static str, Value), Refusal> {
    for parent in m.parents.items() {
        let id = parent.text();
        let p = state::value(cat(&["p/", id]));
        if p.is_none() {
            continue;
        }
        if state::has(cat(&["x/", id])) {
            return Err("the poll is closed");
        }
        return Ok((id, p));
    }
    Err("refs.messages must name the message that opened the poll")
}

fn offers(p: Value, option: &str) -> bool {
    !option.is_empty() && p.get("options").items().any(|o| o.text() == option)
}

/// A message's place in canonical order as a key.
fn order(m: &Message) -> &'static str {
    let mut hex = [0; 16];
    for (i, c) in hex.iter_mut().enumerate() {
        *c = b"0123456789abcdef"[(m.time >> (60 - 4 * i)) as usize & 15];
    }
    cat(&[core::str::from_utf8(&hex).unwrap_or(""), "/", m.id])
}

fn view(q: &Query) -> Result<Value, Refusal> {
    match q.name {
        "open" => Ok(view_open()),
        "tally" => view_tally(q),
        _ => Err("no such view"),
    }
}

/// Lists the polls that run, oldest first.
fn view_open() -> Value {
    let mut polls = List::new();
    for key in state::keys("o/").take(MAX_POLLS) {
        let id = state::text(key);
        polls.push(describe(id, state::value(cat(&["p/", id]))).value());
    }
    let mut out = Map::new();
    out.put("polls", polls);
    out.value()
}

/// Counts one poll.
fn view_tally(q: &Query) -> Result<Value, Refusal> {
    let (id, p) = asked(q)?;
    let mut counts = [0i64; MAX_OPTIONS];
    let mut voters = 0i64;
    for key in state::keys(cat(&["c/", id, "/"])) {
        let chosen = state::text(key);
        for (n, o) in p.get("options").items().enumerate() {
            if o.text() == chosen {
                counts[n % MAX_OPTIONS] += 1;
            }
        }
        voters += 1;
    }
    let mut tally = List::new();
    for (n, o) in p.get("options").items().enumerate() {
        let mut item = Map::new();
        item.put("option", o).put("votes", counts[n % MAX_OPTIONS]);
        tally.push(item.value());
    }
    let mut out = describe(id, p);
    out.put("tally", tally).put("voters", voters);
    Ok(out.value())
}

fn describe(id: &'static str, p: Value) -> Map {
    let mut out = Map::new();
    out.put("poll", id);
    for field in ["id", "sender", "options", "question"] {
        out.put(field, p.get(field));
    }
    let by = state::text(cat(&["x/", id]));
    if !by.is_empty() {
        out.put("closed", by);
    }
    out
}

/// Finds the poll that a view or command is about.
fn asked(q: &Query) -> Result<(&'static str, Value), Refusal> {
    let id = q.params.get("poll").text();
    if id.is_empty() || id.len() > MAX_ID {
        return Err("poll is required: the `poll` of an item of the view open");
    }
    let p = state::value(cat(&["p/", id]));
    if p.is_none() {
        return Err(cat(&["poll ", id, " isn't known here: take the `poll` of an item of the view open"]));
    }
    Ok((id, p))
}

fn command(q: &Query) -> Result<(), Refusal> {
    if q.name == "open" {
        let mut d = Draft::new("vote:open");
        d.content = read_poll(q.params)?;
        d.say();
        return Ok(());
    }
    let (id, p) = asked(q)?;
    if state::has(cat(&["x/", id])) {
        return Err("the poll is closed");
    }
    let mut d = match q.name {
        "cast" => Draft::new("vote:cast"),
        "close" => Draft::new("vote:close"),
        _ => return Err("no such command"),
    };
    if q.name == "cast" {
        let option = q.params.get("option").text();
        if !offers(p, option) {
            return Err("option must be one of the poll's options");
        }
        d.content.put("option", option);
    } else if p.get("sender").text() != q.caller {
        return Err("only the one who opened a poll may close it");
    }
    d.parents.push(id.value());
    d.say();
    Ok(())
}
