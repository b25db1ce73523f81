"""A second reading of docs/synapse.md, "The envelope". Used by check.py."""

import json
import re

VERSION = "1.0.0"
FIELDS = {
    "": "id version type sender receiver group_id correlation_id reply_to payload priority signature timestamp expires_at ioa",
    "sender": "agent_id system_id endpoint trust_level",
    "receiver": "agent_id system_id endpoint trust_level",
    "ioa": "space_id content_type refs meta content_schema",
    "ioa.refs": "messages nodes",
}
NAME = re.compile(r"[a-z][a-z0-9_]*:[a-z][a-z0-9_]*\Z")
WORD = re.compile(r"[a-z][a-z0-9_]*\Z")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)\Z")
ID = re.compile(r"bafyrei[a-z2-7]{52}\Z")
SEED = "version type sender receiver group_id correlation_id reply_to priority signature expires_at".split()


class Bad(Exception):
    """The envelope's field that is wrong."""


def is_text(v):
    return type(v) is str


def type_name(kind):
    if NAME.match(kind):
        return kind
    return "ioa:" + kind if WORD.match(kind) else "ioa:message"


def overrides(meta):
    """meta.synapse, or nothing where it hasn't the form."""
    over = (meta or {}).get("synapse")
    if type(over) is not dict:
        return {}
    for k in ("version", "group_id", "correlation_id", "reply_to", "signature"):
        if k in over and not is_text(over[k]):
            return {}
    for k in ("sender", "receiver"):
        if k in over and not (type(over[k]) is dict and all(is_text(over[k].get(f, "")) for f in ("system_id", "endpoint"))):
            return {}
    return over


def end(agent, extra):
    out = {"agent_id": agent, "system_id": extra.get("system_id", ""), "endpoint": extra.get("endpoint", "")}
    return {k: v for k, v in out.items() if v}


def seed_fields(m, over):
    """What the seed's own fields say of a message."""
    kind = m.get("content_type", "") or m["content"].get("type", "")
    messages, nodes, meta = m["refs"]["messages"], m["refs"]["nodes"], m.get("meta") or {}
    e = {"id": m.get("id", ""), "version": over.get("version") or VERSION, "type": type_name(kind if is_text(kind) else "")}
    if not re.match(r"1(\.\d+){0,2}\Z", e["version"]):
        e["version"] = VERSION
    if m.get("sender"):
        e["sender"] = end(m["sender"], over.get("sender", {}))
    if nodes:
        e["receiver"] = end(nodes[0], over.get("receiver", {}))
    group = ""
    if m.get("content_type", "").startswith("group:"):
        group = messages[0] if messages else m.get("id", "")
    group = over.get("group_id", group)
    around = [i for i in messages if i != group]
    reply = around[-1] if around else ""
    if over.get("reply_to", reply) in ["", *messages]:
        reply = over.get("reply_to", reply)
    e.update(group_id=group, correlation_id=over.get("correlation_id") or (around[0] if around else m.get("id", "")), reply_to=reply)
    e.update(payload=m["content"], signature=over.get("signature", ""), timestamp=m.get("created_at", ""))
    if type(meta.get("priority")) is int and 0 <= meta["priority"] <= 9:
        e["priority"] = meta["priority"]
    if is_text(meta.get("expires_at")) and TIME.match(meta["expires_at"]):
        e["expires_at"] = meta["expires_at"]
    return {k: v for k, v in e.items() if v != ""}


def assemble(e):
    """The message of an envelope, whatever is wrong with it."""
    ext = e.get("ioa", {})
    kind = "" if e["type"] == "ioa:message" else e["type"].removeprefix("ioa:")
    m = {"id": e.get("id", ""), "space_id": ext.get("space_id", ""), "sender": e.get("sender", {}).get("agent_id", "")}
    m.update(created_at=e.get("timestamp", ""), content_type=ext.get("content_type", kind), content=e["payload"], refs=ext.get("refs"))
    if m["refs"] is None:
        messages = []
        for i in (e.get("group_id", ""), e.get("correlation_id", ""), e.get("reply_to", "")):
            if ID.match(i) and i != e.get("id") and i not in messages:
                messages.append(i)
        m["refs"] = {"messages": messages, "nodes": [e["receiver"]["agent_id"]] if "receiver" in e else []}
    meta = dict(ext.get("meta", {}))
    for k in ("priority", "expires_at"):
        if k in e:
            meta.setdefault(k, e[k])
    over = needed(e, m, meta)
    if over:
        meta.setdefault("synapse", over)
    if meta or "meta" in ext:
        m["meta"] = meta
    if "content_schema" in ext:
        m["content_schema"] = ext["content_schema"]
    return {k: v for k, v in m.items() if v != ""}


def needed(e, m, meta):
    """What meta.synapse must hold for the message to give the envelope back."""
    over, m = {}, {**m, "meta": meta}
    if e.get("version", VERSION) != VERSION:
        over["version"] = e["version"]
    for k in ("sender", "receiver"):
        extra = {f: e[k][f] for f in ("system_id", "endpoint") if e.get(k, {}).get(f)}
        if extra:
            over[k] = extra
    if e.get("group_id", "") != seed_fields(m, {}).get("group_id", ""):
        over["group_id"] = e.get("group_id", "")
    plain = seed_fields(m, over)
    if e.get("correlation_id", "") not in ("", plain.get("correlation_id", "")):
        over["correlation_id"] = e["correlation_id"]
    if e.get("reply_to", "") != plain.get("reply_to", ""):
        over["reply_to"] = e.get("reply_to", "")
    if e.get("signature"):
        over["signature"] = e["signature"]
    return over


def to_envelope(m):
    e = seed_fields(m, overrides(m.get("meta")))
    plain, ext = assemble(e), {}
    if m.get("space_id"):
        ext["space_id"] = m["space_id"]
    if plain.get("content_type", "") != m.get("content_type", ""):
        ext["content_type"] = m.get("content_type", "")
    if plain["refs"] != m["refs"]:
        ext["refs"] = m["refs"]
    if json.dumps(assemble({**e, "ioa": ext}).get("meta")) != json.dumps(m.get("meta")):
        ext["meta"] = m["meta"]
    if "content_schema" in m:
        ext["content_schema"] = m["content_schema"]
    return {**e, "ioa": ext} if ext else e


def known(v, at=""):
    if type(v) is not dict:
        raise Bad(at)
    for k in v:
        name = (at + "." if at else "") + k
        if k not in FIELDS[at].split():
            raise Bad(name)
        if name in FIELDS:
            known(v[k], name)


def to_message(e):
    known(e)
    for k in ("version", "group_id", "correlation_id", "reply_to", "signature", "timestamp", "expires_at", "type", "id"):
        if not is_text(e.get(k, "")):
            raise Bad(k)
    checks = {
        "version": re.match(r"1(\.\d+){0,2}\Z", e.get("version", VERSION)),
        "type": NAME.match(e.get("type", "")),
        "payload": type(e.get("payload")) is dict,
        "priority": type(e.get("priority", 0)) is int and 0 <= e.get("priority", 0) <= 9,
        "timestamp": TIME.match(e.get("timestamp", "2026-01-01T00:00:00Z")),
        "expires_at": TIME.match(e.get("expires_at", "2026-01-01T00:00:00Z")),
        "sender.agent_id": e.get("sender", {"agent_id": "x"}).get("agent_id"),
        "receiver.agent_id": e.get("receiver", {"agent_id": "x"}).get("agent_id"),
        "reply_to": "reply_to" not in e or ID.match(e["reply_to"]),
        "ioa.meta": type(e.get("ioa", {}).get("meta", {})) is dict,
    }
    for field, good in checks.items():
        if not good:
            raise Bad(field)
    m = assemble(e)
    back = seed_fields(m, overrides(m.get("meta")))
    for k in SEED:
        given = {f: v for f, v in e[k].items() if f != "trust_level"} if k in ("sender", "receiver") and k in e else e.get(k)
        if given != back.get(k) and not (k in ("version", "sender", "correlation_id") and k not in e):
            raise Bad(k)
    return m
