#![no_std]
mod plexus;
use plexus::*;

plugins![Plugin { name: "echo", fold: Some(fold), view: Some(view), command: Some(command), react: None }];

fn fold(m: &Message) -> Result<(), Refusal> {
    let mut out = Map::new();
    out.put("content", echo(m.content)).put("role", m.role).put("kind", m.kind).put("time", m.time).put("meta", echo(m.meta));
    let mut nodes = List::new();
    for n in m.nodes.items() {
        nodes.push(n.text().value());
    }
    out.put("nodes", nodes);
    state::set_value(cat(&["e/", m.id]), out);
    for p in m.parents.items() {
        if let Some(q) = message(p.text()) {
            if happened_before(p.text(), m.id) {
                state::set_text(cat(&["p/", p.text()]), q.sender);
            }
        }
    }
    Ok(())
}

fn echo(v: Value) -> Value {
    match v.kind() {
        Kind::Bool => v.is_true().value(),
        Kind::Int => v.int().unwrap_or(0).value(),
        Kind::Float => v.float().unwrap_or(0.0).value(),
        Kind::Text => v.text().value(),
        Kind::List => {
            let mut out = List::new();
            for x in v.items() {
                out.push(echo(x));
            }
            out.value()
        }
        Kind::Map => {
            let mut out = Map::new();
            for (k, x) in v.pairs() {
                out.put(k.text(), echo(x));
            }
            out.value()
        }
        _ => NONE.value(),
    }
}

fn view(_: &Query) -> Result<Value, Refusal> {
    let mut out = Map::new();
    for k in state::keys("e/") {
        out.put(&k[2..], state::value(k).get("content"));
    }
    Ok(out.value())
}

fn command(q: &Query) -> Result<(), Refusal> {
    let mut d = Draft::new("echo");
    d.content.put("x", q.params.get("x"));
    let problem = schema_check("views/all".value(), q.params).unwrap_or("");
    d.meta.put("m", -70000i64).put("role", q.role).put("kind", q.kind).put("problem", problem);
    for p in q.params.get("parents").items() {
        d.parents.push(p);
    }
    d.nodes.push(q.caller.value());
    d.say();
    Ok(())
}
