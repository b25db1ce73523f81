"""A second reading of docs/protocol.md, §6: who may. Used by check.py."""

import base64
import re

import check

ROLES = ["none", "reader", "writer", "admin"]
READER, WRITER, ADMIN = 1, 2, 3


# --- §6.1 statements

FIELDS = {  # required, optional
    "grant": ("host role", "invite"),
    "enrol": ("node role kind proof", ""),
    "revoke": ("subject", "cuts"),
    "role": ("subject role", "cuts"),
    "cut": ("subject", "cuts"),
    "invite": ("invite role uses expires", ""),
    "uninvite": ("invite", ""),
    "policy": ("policy", ""),
}


def text(v):
    if type(v) is not str:
        raise ValueError(v)
    return v


def id_of(v):
    b = check.cid_bytes(text(v))[4:]
    if len(b) != 32 or check.id_text(b) != v:
        raise ValueError(v)
    return b


def node_of(v):
    n = 0
    for c in text(v):
        n = n * 58 + "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".index(c)
    b = n.to_bytes(38, "big")
    if b[:6] != check.PEER or check.node_text(b[6:]) != v:
        raise ValueError(v)
    return b[6:]


def role_of(v):
    return ROLES.index(text(v), 1)


def count_of(v, low, high):
    if type(v) is not check.Number or not re.fullmatch("-?[0-9]+", v) or not low <= int(v) <= high:
        raise ValueError(v)
    return int(v)


def hash_of(v):
    if not re.fullmatch("[0-9a-f]{64}", text(v)):
        raise ValueError(v)
    return v


def proof_of(v):
    b = base64.b64decode(text(v), validate=True)
    if len(b) != 64 or base64.b64encode(b).decode() != v:
        raise ValueError(v)
    return b


def kind_of(v):
    if text(v) not in ("human", "agent"):
        raise ValueError(v)
    return v


def policy_of(v):
    if not isinstance(v, dict):
        raise ValueError(v)
    return v


def cuts_of(v):
    out = {}
    if not isinstance(v, list) or len(v) > 1024:
        raise ValueError(v)
    for c in v:
        if set(c) != {"space", "nodes"} or not isinstance(c["nodes"], dict) or id_of(c["space"]) in out:
            raise ValueError(v)
        out[id_of(c["space"])] = {node_of(k): x if x is None else id_of(x) for k, x in c["nodes"].items()}
    if sum(map(len, out.values())) > 4096:
        raise ValueError(v)
    return out


READ = {
    "host": node_of, "node": node_of, "subject": node_of, "role": role_of, "kind": kind_of, "proof": proof_of,
    "invite": hash_of, "cuts": cuts_of, "policy": policy_of,
    "uses": lambda v: count_of(v, 1, 10000), "expires": lambda v: count_of(v, 0, 253402300799999999),
}


class Statement:
    """An access entry that is wholly understood; else ValueError."""

    def __init__(self, entry, network):
        v = check.well_formed(entry.payload)
        if v is None or type(v.get("op")) is not str or v["op"] not in FIELDS:
            raise ValueError(v)
        required, optional = (set(f.split()) for f in FIELDS[v["op"]])
        if not required <= set(v) - {"op"} <= required | optional:
            raise ValueError(v)
        self.entry, self.op, self.id, self.author = entry, v["op"], entry.id, entry.author
        self.key = (entry.time, entry.id)
        self.invite, self.cuts = None, {}
        for name in set(v) - {"op"}:
            setattr(self, name, READ[name](v[name]))
        if self.op == "enrol":
            self.check_proof(network)

    def check_proof(self, network):
        said = b"plexus:enrol:1\0" + network + self.author + self.node
        said += ROLES[self.role].encode() + b"\0" + self.kind.encode()
        try:
            check.verify(self.node, said, self.proof)
        except check.Bad as e:
            raise ValueError(self.op) from e


# --- §6.2, §6.3 the tree and the evaluation


class Host:
    def __init__(self, key, up, order, at, base):
        self.id, self.up, self.order, self.at, self.base = key, up, order, at, base
        self.about, self.stays, self.queued = [], None, False
        self.role = self.peak = base
        self.revoked = False

    def above(self, other):
        while other is not None:
            if other is self:
                return True
            other = other.up
        return False


class Node:
    def __init__(self, key):
        self.id, self.lives = key, []


class State:
    def __init__(self, network, founders, entries):
        self.network = network
        self.entries = {e.id: e for e in entries}
        self.statements, self.known = [], set(founders)
        for e in entries:
            if e.kind != "access":
                continue
            try:
                s = Statement(e, network)
            except ValueError:
                continue
            self.statements.append(s)
            if s.op in ("grant", "enrol"):
                self.known.add(s.host if s.op == "grant" else s.node)
        self.statements.sort(key=lambda s: s.key)
        self.hosts, self.nodes, self.queue = {}, {}, []
        self.grow(founders)
        self.settle_nodes()

    def grow(self, founders):
        last = None
        for f in founders:
            last = self.attach(f, last, 0, ADMIN)
        while self.queue:
            self.queue.sort(key=lambda q: (q[0], q[1].id))
            at, s, by = self.queue.pop(0)
            h = self.hosts.get(s.host)
            if h is None:
                self.attach(s.host, by, at, s.role)
            elif s.role > h.base and not h.revoked and self.ruling(h.about) is None:
                h.base = s.role
                self.settle(h)

    def attach(self, key, up, at, base):
        h = self.hosts[key] = Host(key, up, len(self.hosts), at, base)
        for s in self.statements:
            a = self.hosts.get(s.author)
            if s.op in ("revoke", "role", "cut") and s.subject == key and a not in (None, h):
                if a.above(h) and self.stands(a, s, ADMIN):
                    h.about.append(s)
        self.settle(h)
        return h

    def settle(self, h):
        h.peak = max([h.base] + [s.role for s in h.about if s.op == "role"])
        ruling = self.ruling(h.about)
        h.revoked = any(s.op == "revoke" for s in h.about)
        h.role = 0 if h.revoked else ruling.role if ruling else h.base
        h.stays = self.staying(h) if h.role < h.peak else None
        self.leave(h)
        if h.peak == ADMIN and not h.queued:
            h.queued = True
            for s in self.statements:
                if s.op == "grant" and s.author == h.id and self.stands(h, s, ADMIN):
                    self.queue.append((max(s.entry.time, h.at), s, h))

    def staying(self, h):
        sets = []
        for s in self.counting(h.about, ADMIN):
            if self.network in s.cuts:
                last = s.cuts[self.network].get(h.id)
                sets.append(self.chain(h.id, last) if last else set())
        return sets or [set()]

    def chain(self, author, last):
        out = set()
        while last in self.entries and self.entries[last].author == author:
            out.add(last)
            e = self.entries[last]
            last = e.prev[0] if e.seq > 1 else None
        return out

    def leave(self, h):
        cut, fired = h.stays, h.revoked
        for s in self.statements:
            if s.op != "revoke" or s.author != h.id or s.subject != h.id:
                continue
            left = all(s.id in stay for stay in cut or [])
            if fired and not left:
                continue
            h.revoked, h.role = True, 0
            h.about.append(s)
            if left:
                before = s.entry.prev[0] if s.entry.seq > 1 else None
                h.stays = (h.stays or []) + [self.chain(h.id, before)]

    def ruling(self, about):
        roles = [s for s in about if s.op == "role"]
        return min(roles, key=self.precedence) if roles else None

    def precedence(self, s):
        """Smaller holds: the author attached first, then the later statement."""
        return self.hosts[s.author].order, -s.entry.seq, bytes(255 - b for b in s.id)

    def counting(self, about, role):
        ruling = self.ruling(about)
        if ruling is None or ruling.role < role:
            return list(about)
        return [s for s in about if s.op == "revoke" or s.key >= ruling.key]

    def stands(self, h, s, role):
        return h.role >= role or h.peak >= role and all(s.id in stay for stay in h.stays or [])

    # Nodes

    def settle_nodes(self):
        for s in self.statements:
            h = self.hosts.get(s.author)
            if s.op == "enrol" and h is not None and self.stands(h, s, READER):
                self.nodes.setdefault(s.node, Node(s.node)).lives.append(s)
        for n in self.nodes.values():
            self.settle_node(n)

    def settle_node(self, n):
        last = n.lives[-1]
        n.host, n.kind = self.hosts[last.author], last.kind
        n.peak = max(min(s.role, self.hosts[s.author].peak) for s in n.lives)
        own = [s for s in self.statements if self.works_on(n, s)]
        n.peak = max([n.peak] + [min(s.role, n.host.peak) for s in own if s.op == "role"])
        ruling = self.ruling(own)
        n.role = min(ruling.role if ruling else last.role, n.host.role)
        hosts = self.counting(n.host.about, WRITER)
        for f in {s.author: self.hosts[s.author] for s in n.lives}.values():
            if f is not n.host:
                for s in self.counting(f.about, WRITER):
                    if self.host_at(n, s) is f and self.hosts[s.author].above(n.host):
                        hosts.append(s)
        n.revoked = any(s.op == "revoke" for s in own + hosts)
        n.role = 0 if n.revoked else n.role
        n.cutting = self.counting(own, WRITER) + hosts

    def works_on(self, n, s):
        if s.op not in ("revoke", "role", "cut") or s.subject != n.id:
            return False
        if s.author == n.id:
            return s.op == "revoke"
        a, then = self.hosts.get(s.author), self.host_at(n, s)
        if a is None:
            return False
        if a in (n.host, then):
            return self.stands(a, s, READER)
        return (a.above(n.host) or a.above(then)) and self.stands(a, s, ADMIN)

    def host_at(self, n, at):
        h = n.host
        for s in n.lives:
            if s.key <= at.key:
                h = self.hosts[s.author]
        return h

    # Invites and policy

    def standing_admins(self):
        for s in self.statements:
            h = self.hosts.get(s.author)
            if h is not None and self.stands(h, s, ADMIN):
                yield h, s

    def invites(self):
        made, used = {}, {}
        for h, s in self.standing_admins():
            if s.op == "invite" and s.invite not in made:
                made[s.invite] = (h, s)
            if s.op == "grant" and s.invite:
                used.setdefault(s.invite, set()).add(s.host)
        for name in sorted(made):
            h, s = made[name]
            back = any(
                x.op == "uninvite" and x.invite == name and a.above(h) for a, x in self.standing_admins()
            )
            yield {
                "invite": name, "author": check.node_text(h.id), "role": ROLES[s.role], "uses": s.uses,
                "used": len(used.get(name, ())), "revoked": back or h.role < ADMIN,
            }

    def policy(self):
        all_of = [s for _, s in self.standing_admins() if s.op == "policy"]
        return min(all_of, key=self.precedence).policy if all_of else None

    # §6.4

    def standing(self, space, author):
        n, h = self.nodes.get(author), self.hosts.get(author)
        who = n or h
        if who is None:
            return {"may": False, "cuts": []}
        needs = READER if space == self.network else WRITER
        if who.role >= needs:
            return {"may": True, "cuts": []}
        if who.peak < needs:
            return {"may": False, "cuts": []}
        cutting = n.cutting if n else self.counting(h.about, WRITER)
        cuts = [s.cuts[space].get(author) for s in cutting if space in s.cuts]
        if None in cuts:
            return {"may": False, "cuts": []}
        return {"may": True, "cuts": [check.id_text(c) for c in sorted(set(cuts))]}

    # What the vectors have

    def describe(self, space, authors):
        return {
            "hosts": [
                {
                    "id": check.node_text(k), "parent": check.node_text(h.up.id) if h.up else None,
                    "role": ROLES[h.role], "revoked": h.revoked,
                }
                for k, h in sorted(self.hosts.items())
            ],
            "nodes": [
                {
                    "id": check.node_text(k), "host": check.node_text(n.host.id), "kind": n.kind,
                    "role": ROLES[n.role], "revoked": n.revoked,
                }
                for k, n in sorted(self.nodes.items())
            ],
            "invites": list(self.invites()),
            "policy": self.policy(),
            "standing": [
                {
                    "author": a, "known": node_of(a) in self.known,
                    "network": self.standing(self.network, node_of(a)), "space": self.standing(space, node_of(a)),
                }
                for a in authors
            ],
        }


def evaluate(vector):
    genesis = bytes.fromhex(vector["network"])
    founders = [check.node(f, "author") for f in check.genesis(genesis)["founders"]]
    entries = [check.Entry(bytes.fromhex(b)) for b in vector["entries"] or []]
    state = State(check.block_id(genesis), founders, entries)
    return state.describe(id_of(vector["space"]), [s["author"] for s in vector["standing"]])
