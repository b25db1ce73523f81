#!/usr/bin/env python3
"""Checks the golden vectors by a second reading of docs/protocol.md, §2 to §4 (access.py: §6, wire.py: §5; synapse.py: docs/synapse.md), that shares no code with the first.

Python's standard library alone; plain and slow on purpose. Usage: python3 docs/vectors/check.py
"""

import base64
import hashlib
import json
import os
import struct
import sys
import unicodedata

sys.dont_write_bytecode = True


class Bad(Exception):
    """A rule of §3.8 is broken."""

    def __init__(self, rule, why=""):
        super().__init__(rule, why)
        self.rule = rule


# --- §2.1 Ed25519 with ZIP-215's validity. Points are (X, Y, Z, T), extended coordinates.

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)


def add(a, b):
    x1, y1, z1, t1 = a
    x2, y2, z2, t2 = b
    p, q = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    c, z = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    e, f, g, h = q - p, z - c, z + c, q + p
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(n, p):
    q = (0, 1, 1, 0)
    while n:
        if n & 1:
            q = add(q, p)
        p = add(p, p)
        n >>= 1
    return q


def negate(p):
    return P - p[0], p[1], p[2], P - p[3]


def is_identity(p):
    return p[0] % P == 0 and (p[1] - p[2]) % P == 0


def decompress(b):
    """Any encoding is taken, canonical or not; None is no point."""
    n = int.from_bytes(b, "little")
    sign, y = n >> 255, (n & (1 << 255) - 1) % P
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if (v * x * x - u) % P:
        x = x * ROOT % P
    if (v * x * x - u) % P:
        return None
    if x & 1 != sign:
        x = (P - x) % P
    return x, y, 1, x * y % P


def compress(p):
    inverse = pow(p[2], P - 2, P)
    x, y = p[0] * inverse % P, p[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


BASE = decompress(bytes.fromhex("58" + "66" * 31))


def check_key(key):
    a = decompress(key)
    if a is None:
        raise Bad("author")
    if is_identity(multiply(8, a)):
        raise Bad("small_order")
    return a


def number(*parts):
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % L


def verify(key, message, signature):
    a, r = check_key(key), decompress(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if r is None or s >= L:
        raise Bad("signature")
    k = number(signature[:32], key, message)
    rest = add(add(multiply(s, BASE), negate(multiply(k, a))), negate(r))
    if not is_identity(multiply(8, rest)):
        raise Bad("signature")


def sign(seed, message):
    h = hashlib.sha512(seed).digest()
    a = int.from_bytes(h[:32], "little") & (1 << 254) - 8 | 1 << 254
    key, r = compress(multiply(a, BASE)), number(h[32:], message)
    point = compress(multiply(r, BASE))
    s = (r + number(point, key, message) * a) % L
    return point + s.to_bytes(32, "little")


# --- §2.3 DAG-CBOR


class Link(bytes):
    """A CID."""


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if n > len(self.data) - self.at:
            raise Bad("cbor", "ends too early")
        self.at += n
        return self.data[self.at - n : self.at]

    def head(self):
        first = self.take(1)[0]
        major, info = first >> 5, first & 31
        if major == 7:
            if info in (20, 21, 22, 27):
                return major, info
            raise Bad("canonical" if info in (25, 26, 31) else "cbor")
        if info < 24:
            return major, info
        if info > 27:
            raise Bad("canonical" if info == 31 else "cbor")
        width = 1 << info - 24
        n = int.from_bytes(self.take(width), "big")
        if n < (24 if width == 1 else 1 << 4 * width):
            raise Bad("canonical", "not the shortest form")
        return major, n

    def text(self, n):
        try:
            return self.take(n).decode("utf-8")
        except UnicodeDecodeError:
            raise Bad("cbor", "not UTF-8") from None

    def item(self, depth=1):
        if depth > 32:
            raise Bad("cbor", "nested too deeply")
        major, n = self.head()
        if major == 0:
            return n
        if major == 1:
            return -1 - n
        if major == 2:
            return self.take(n)
        if major == 3:
            return self.text(n)
        if major == 4:
            out = []
            while len(out) < n:
                out.append(self.item(depth + 1))
            return out
        if major == 5:
            return self.map(n, depth)
        if major == 6:
            return self.link(n)
        if n == 27:
            f = struct.unpack(">d", self.take(8))[0]
            if f != f or f in (float("inf"), float("-inf")):
                raise Bad("cbor", "not a number")
            return f
        return {20: False, 21: True, 22: None}[n]

    def map(self, n, depth):
        out, last = {}, None
        while len(out) < n:
            major, size = self.head()
            if major != 3:
                raise Bad("cbor", "a key that is no text")
            key = self.text(size)
            order = (size, key.encode())
            if last is not None and last >= order:
                raise Bad("canonical", "keys out of order")
            last = order
            out[key] = self.item(depth + 1)
        return out

    def link(self, tag):
        if tag != 42:
            raise Bad("cbor", "another tag")
        major, n = self.head()
        if major != 2:
            raise Bad("cbor", "a link over no bytes")
        v = self.take(n)
        if not v or v[0] or not is_cid(v[1:]):
            raise Bad("cbor", "no CID")
        return Link(v[1:])


def is_cid(b):
    if len(b) == 34 and b[:2] == b"\x12\x20":
        return True
    fields = []
    for _ in range(4):
        v, i = 0, 0
        while True:
            if i >= 9 or i >= len(b):
                return False
            v |= (b[i] & 127) << 7 * i
            i += 1
            if b[i - 1] < 128:
                break
        if i > 1 and b[i - 1] == 0:
            return False
        fields.append(v)
        b = b[i:]
    return fields[0] == 1 and fields[3] == len(b)


def read(data):
    r = Reader(data)
    v = r.item()
    if r.at != len(data):
        raise Bad("cbor", "something after")
    return v


def head(major, n):
    if n < 24:
        return bytes([major << 5 | n])
    for info, width in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if n < 1 << 8 * width:
            return bytes([major << 5 | info]) + n.to_bytes(width, "big")
    raise ValueError(n)


def write(v):
    if v is None or isinstance(v, bool):
        return {False: b"\xf4", True: b"\xf5", None: b"\xf6"}[v]
    if isinstance(v, int):
        return head(0, v) if v >= 0 else head(1, -1 - v)
    if isinstance(v, Link):
        return b"\xd8\x2a" + head(2, len(v) + 1) + b"\0" + v
    if isinstance(v, bytes):
        return head(2, len(v)) + v
    if isinstance(v, str):
        return head(3, len(v.encode())) + v.encode()
    if isinstance(v, float):
        return b"\xfb" + struct.pack(">d", v)
    if isinstance(v, list):
        return head(4, len(v)) + b"".join(map(write, v))
    keys = sorted(v, key=lambda k: (len(k.encode()), k.encode()))
    return head(5, len(v)) + b"".join(write(k) + write(v[k]) for k in keys)


# --- §2.4 IDs, and the text of Nodes


def block_id(block):
    return hashlib.sha256(block).digest()


def id_text(h):
    b = base64.b32encode(b"\x01\x71\x12\x20" + h).decode()
    return "b" + b.lower().rstrip("=")


def cid_bytes(text):
    body = text[1:].upper()
    return base64.b32decode(body + "=" * (-len(body) % 8))


def node_text(key):
    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    data = PEER + key
    n, out = int.from_bytes(data, "big"), ""
    while n:
        n, digit = divmod(n, 58)
        out = alphabet[digit] + out
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + out


def from_dag_json(v):
    if isinstance(v, list):
        return [from_dag_json(x) for x in v]
    if not isinstance(v, dict):
        return v
    if "/" not in v:
        return {k: from_dag_json(x) for k, x in v.items()}
    if isinstance(v["/"], str):
        return Link(cid_bytes(v["/"]))
    return base64.b64decode(v["/"]["bytes"] + "==")


# --- §3.1 to §3.5 the entry

PEER = bytes.fromhex("002408011220")


def need(value, kind):
    if type(value) is not kind:
        raise Bad("form")
    return value


def node(v, rule):
    if len(need(v, bytes)) != 38 or v[:6] != PEER:
        raise Bad(rule)
    return v[6:]


def link(v):
    if len(need(v, Link)) != 36 or v[:4] != b"\x01\x71\x12\x20":
        raise Bad("form")
    return bytes(v[4:])


def integer(v, low, high, rule):
    if not low <= need(v, int) <= high:
        raise Bad(rule)
    return v


def array(v, most, rule):
    if not need(v, list):
        raise Bad("form")
    if len(v) > most:
        raise Bad(rule)
    return v


def signed(block, domain):
    """Returns the body, what is signed, and the signature."""
    v = need(read(block), list)
    if len(v) != 2 or len(need(v[1], bytes)) != 64:
        raise Bad("form")
    r = Reader(block)
    r.head()
    start = r.at
    r.item()
    return need(v[0], dict), domain + b"\0" + block[start : r.at], v[1]


class Entry:
    """A block that keeps the rules of §3."""

    def __init__(self, block):
        if len(block) > 262144:
            raise Bad("size")
        b, message, signature = signed(block, b"plexus:entry:1")
        for key in ("kind", "space", "author", "seq", "time", "payload"):
            if key not in b:
                raise Bad("form", key)
        self.id = block_id(block)
        self.kind = need(b["kind"], str)
        if not 1 <= len(self.kind.encode()) <= 32:
            raise Bad("kind")
        self.space, self.author = link(b["space"]), node(b["author"], "author")
        self.seq = integer(b["seq"], 1, 2**53 - 1, "seq")
        self.time = integer(b["time"], 0, 253402300799999999, "time")
        self.payload = need(b["payload"], bytes)
        self.prev = [link(x) for x in array(b["prev"], 9, "prev")] if "prev" in b else []
        self.refs = []
        if "refs" in b:
            self.read_refs(b["refs"])
        self.check_prev()
        verify(self.author, message, signature)

    def read_refs(self, refs):
        if not need(refs, dict):
            raise Bad("form")
        nodes = []
        if "messages" in refs:
            self.refs = [link(x) for x in array(refs["messages"], 256, "refs")]
        if "nodes" in refs:
            nodes = [node(x, "form") for x in array(refs["nodes"], 1024, "refs")]
        for names in (self.refs, nodes):
            if len(set(names)) != len(names):
                raise Bad("refs")

    def check_prev(self):
        heads = self.prev
        if self.seq > 1:
            if not self.prev or self.prev[0] in self.prev[1:]:
                raise Bad("prev")
            heads = self.prev[1:]
        if len(heads) > 8 or any(x >= y for x, y in zip(heads, heads[1:])):
            raise Bad("prev")

    def parents(self):
        return self.prev + [m for m in self.refs if m not in self.prev]


# --- §3.6 the payload


class Number(str):
    """A JSON number, as it stands."""


def well_formed(payload):
    """Returns the object, or None."""

    def once(pairs):
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a key twice")
        return dict(pairs)

    def refuse(word):
        raise ValueError(word)

    def depth(v):
        if isinstance(v, dict):
            v = list(v.values())
        return 1 + max(map(depth, v), default=0) if isinstance(v, list) else 0

    try:
        v = json.loads(
            payload.decode("utf-8"), object_pairs_hook=once,
            parse_int=Number, parse_float=Number, parse_constant=refuse,
        )
        json.dumps(v, ensure_ascii=False).encode("utf-8")  # fails for lone surrogates
    except (ValueError, RecursionError):
        return None
    return v if isinstance(v, dict) and depth(v) <= 64 and len(payload) <= 196608 else None


def message(payload):
    """Returns the payload's object if it reads as a message, else None."""
    v = well_formed(payload)
    if v is None or not isinstance(v.get("content"), dict):
        return None
    kind, meta, schema = (v.get(k) for k in ("content_type", "meta", "content_schema"))
    fits = (
        (kind is None or type(kind) is str and len(kind.encode()) <= 256)
        and (meta is None or isinstance(meta, dict))
        and (schema is None or isinstance(schema, (dict, bool)))
    )
    return v if fits else None


# --- §3.7 genesis


SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def name_form(name):
    return unicodedata.normalize("NFC", name.strip(SPACE))


def genesis(block):
    if len(block) > 2048:
        raise Bad("size")
    v, keys = read(block), {"v", "name", "network"}
    if isinstance(v, list):
        if len(v) != 2:
            raise Bad("genesis")
        v, text, signature = signed(block, b"plexus:genesis:1")
        keys = {"v", "kind", "name", "nonce", "founders"}
    if set(need(v, dict)) != keys:
        raise Bad("genesis")
    integer(v["v"], 1, 1, "genesis")
    name = need(v["name"], str)
    if name_form(name) != name or len(name.encode()) > 128:
        raise Bad("genesis")
    if "network" in v:
        link(v["network"])
        if not name:
            raise Bad("genesis")
        return v
    if need(v["kind"], str) != "network" or len(need(v["nonce"], bytes)) != 32:
        raise Bad("genesis")
    founders = [node(x, "author") for x in array(v["founders"], 16, "genesis")]
    for f in founders:
        check_key(f)
    if len(set(founders)) != len(founders):
        raise Bad("genesis")
    verify(founders[0], text, signature)
    return v


# --- §4 the log


class Log:
    """The entries of some Spaces; every author is known, the clock is far ahead."""

    def __init__(self):
        self.entries = {}

    def offer(self, e, space):
        """Returns verdict and rule."""
        if e.space != space:
            return "refused", "space"
        missing = False
        authors = set()
        for i, p in enumerate(e.prev):
            parent = self.entries.get(p)
            if parent is None:
                missing = True
                continue
            if parent.space != space:
                return "refused", "parent_space"
            if parent.time >= e.time:
                return "refused", "time_order"
            own = i == 0 and e.seq > 1
            if own != (parent.author == e.author) or parent.author in authors:
                return "refused", "prev_author"
            if own and parent.seq + 1 != e.seq:
                return "refused", "seq"
            authors.add(parent.author)
        for p in e.refs:
            parent = self.entries.get(p)
            if parent is None:
                missing = True
            elif parent.space != space:
                return "refused", "parent_space"
            elif parent.time >= e.time:
                return "refused", "time_order"
            elif parent.kind != "message":
                return "refused", "parent_kind"
        if missing:
            return "held", None
        self.entries[e.id] = e
        return "admitted", None

    def describe(self):
        """What §4.5 says of the log."""
        order = sorted(self.entries.values(), key=lambda e: (e.time, e.id))
        named = {p for e in order for p in e.parents()}
        heads = sorted(i for i in self.entries if i not in named)
        tips = {}
        for e in order:
            tips[e.author] = max(tips.get(e.author, (0, b"")), (e.seq, e.id))
        total = sum(int.from_bytes(i, "little") for i in self.entries) % 2**256
        return {
            "order": [id_text(e.id) for e in order],
            "heads": [id_text(i) for i in heads],
            "count": len(order),
            "hash": hashlib.sha256(b"".join(heads)).hexdigest(),
            "frontier": [
                {"author": node_text(a), "seq": tips[a][0], "id": id_text(tips[a][1])} for a in sorted(tips)
            ],
            "sum": total.to_bytes(32, "little").hex(),
        }


# --- the files


class Check:
    def __init__(self, folder):
        self.folder, self.vectors, self.wrong = folder, 0, 0

    def load(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as f:
            return json.load(f)

    def same(self, name, got, want):
        if got != want:
            self.wrong += 1
            print(f"{name}: {got!r}, want {want!r}")

    def rule(self, name, want, f, data):
        self.vectors += 1
        try:
            f(data)
            got = None
        except Bad as e:
            got = e.rule
        self.same(name, got, want)

    def entries(self):
        for v in self.load("entry.json"):
            name, block = v["name"], bytes.fromhex(v["block"])
            body = write(from_dag_json(v["body"]))
            made = block[: 1 + len(body)]
            self.same(name + ": body", made, b"\x82" + body)
            if "seed" in v:
                signature = sign(bytes.fromhex(v["seed"]), b"plexus:entry:1\0" + body)
                self.same(name + ": block", made + write(signature), block)
            self.same(name + ": id", id_text(block_id(block)), v["id"])
            self.rule(name, None, Entry, block)
            e = Entry(block)
            self.same(name + ": parents", [id_text(p) for p in e.parents()], v["parents"])
            m = message(e.payload) if e.kind == "message" else None
            self.same(name + ": message", m is not None, v["message"] is not None)

    def refused(self):
        for v in self.load("refused.json"):
            self.rule(v["name"], v["rule"], Entry, bytes.fromhex(v["block"]))
        for v in self.load("cbor.json"):
            self.rule("cbor: " + v["name"], v.get("rule"), read, bytes.fromhex(v["item"]))

    def payloads(self):
        for v in self.load("payload.json"):
            self.vectors += 1
            p = bytes.fromhex(v["payload"])
            self.same("well-formed: " + v["payload"], well_formed(p) is not None, v["json"])
            self.same("message: " + v["payload"], message(p) is not None, v["message"] is not None)

    def genesis(self):
        file = self.load("genesis.json")
        for v in file["good"]:
            block = bytes.fromhex(v["block"])
            self.rule(v["name"], None, genesis, block)
            label = name_form(v["given"])
            self.same("label", label, v["label"])
            self.same("genesis ID", id_text(block_id(block)), v["id"])
            if "network" in v:
                made = write({"v": 1, "name": label, "network": Link(cid_bytes(v["network"]))})
            else:
                body = write({
                    "v": 1, "kind": "network", "name": label, "nonce": bytes.fromhex(v["nonce"]),
                    "founders": genesis(block)["founders"],
                })
                made = b"\x82" + body + write(sign(bytes.fromhex(v["seed"]), b"plexus:genesis:1\0" + body))
            self.same("genesis block", made, block)
        for v in file["refused"]:
            self.rule("genesis: " + v["name"], v["rule"], genesis, bytes.fromhex(v["block"]))

    def admission(self):
        file = self.load("admission.json")
        space = block_id(bytes.fromhex(file["genesis"][0]))
        for v in file["blocks"]:
            self.vectors += 1
            log = Log()
            for g in v["given"]:
                e = Entry(bytes.fromhex(g))
                self.same(v["name"] + ": given", log.offer(e, e.space)[0], "admitted")
            got = log.offer(Entry(bytes.fromhex(v["block"])), space)
            self.same(v["name"], got, (v["verdict"], v.get("rule")))
        log = Log()
        for b in file["log"]["blocks"]:
            log.offer(Entry(bytes.fromhex(b)), space)
        for key, value in log.describe().items():
            self.vectors += 1
            self.same("log: " + key, value, file["log"][key])


    def access(self):
        import access  # here: it builds on this module

        for v in self.load("access.json"):
            for key, value in access.evaluate(v).items():
                self.vectors += 1
                want = v[key]
                if key == "policy" and want is not None:
                    want = well_formed(json.dumps(want).encode())
                self.same(v["name"] + ": " + key, value, want)

    def wire(self):
        import wire

        file = self.load("wire.json")
        for v in file["tickets"]:
            self.vectors += 1
            self.same("ticket", (wire.ticket(v), wire.invite(v)), (v["ticket"], v["invite"]))
        for v in file["frames"]:
            self.vectors += 1
            self.same("frame: " + v["name"], wire.frame(v).hex(), v["frame"])
        for v in file["proofs"]:
            self.vectors += 1
            text, signature = wire.proof(v)
            self.same("proof", (text.hex(), signature.hex()), (v["signed"], v["signature"]))

    def reconcile(self):
        import reconcile

        file = self.load("reconcile.json")
        for v in file["exchanges"]:
            self.vectors += 1
            self.same("reconcile: " + v["name"], reconcile.exchange(v), (v["messages"], v["have"], v["want"]))
        for v in file["refused"]:
            self.vectors += 1
            self.same("reconcile: " + v["name"], reconcile.refused(bytes.fromhex(v["message"])), True)

    def synapse(self):
        import synapse

        file = self.load("synapse.json")
        for v in file["mapped"]:
            self.vectors += 2
            self.same("synapse: " + v["name"], synapse.to_envelope(v["message"]), v["envelope"])
            self.same("synapse: " + v["name"], synapse.to_message(v["envelope"]), v["message"])
        for v in file["read"]:
            self.vectors += 1
            want = {k: f for k, f in v["message"].items() if f != ""}
            self.same("synapse: " + v["name"], synapse.to_message(v["envelope"]), want)
        for v in file["refused"]:
            self.vectors += 1
            try:
                got = synapse.to_message(v["envelope"])
            except synapse.Bad as bad:
                got = str(bad)
            self.same("synapse: refused", got, v["field"])


def main():
    c = Check(os.path.dirname(os.path.abspath(__file__)))
    for part in (c.entries, c.refused, c.payloads, c.genesis, c.admission, c.access, c.wire, c.reconcile, c.synapse):
        part()
    print(f"{c.vectors} vectors, {c.wrong} differ")
    return 1 if c.wrong else 0


if __name__ == "__main__":
    sys.modules["check"] = sys.modules["__main__"]
    sys.exit(main())
