"""A second reading of docs/protocol.md §5.5: reconciliation by ranges, over a plain list. Used by check.py."""

import hashlib

INFINITY = (1 << 64) - 1
RESERVE = 200  # bytes kept free in a frame


class Refused(Exception):
    pass


def number(n):
    out = [n & 127]
    while n := n >> 7:
        out.append(n & 127 | 128)
    return bytes(reversed(out))


class Reader:
    def __init__(self, data):
        self.data, self.last = data, (0, b"")

    def take(self, n):
        if n > len(self.data):
            raise Refused("cut short")
        out, self.data = self.data[:n], self.data[n:]
        return out

    def number(self):
        n = 0
        for i, c in enumerate(self.data):
            if i == 0 and c == 128:
                raise Refused("leading zero")
            n = n << 7 | c & 127
            if n > INFINITY:
                raise Refused("over 64 bits")
            if c < 128:
                self.data = self.data[i + 1 :]
                return n
        raise Refused("cut short")

    def bound(self):
        t, before = self.number(), self.last[0]
        if t == 0 or before == INFINITY:
            t = INFINITY
        else:
            t += before - 1
            if t >= INFINITY:
                raise Refused("timestamp over 64 bits")
        n = self.number()
        if n > 32:
            raise Refused("prefix over 32 bytes")
        b = (t, self.take(n))
        if b < self.last:
            raise Refused("bounds go back")
        self.last = b
        return b


def full(bound):
    return bound[0], bound[1].ljust(32, b"\0")


class Side:
    def __init__(self, items, opener, frame):
        self.items = [(v["time"], bytes.fromhex(v["id"])) for v in items]
        self.opener, self.frame, self.have, self.want = opener, frame, [], []

    def between(self, lo, hi):
        return [i for i in self.items if full(lo) <= i and (hi[0] == INFINITY or i < full(hi))]

    @staticmethod
    def fingerprint(items):
        s = sum(int.from_bytes(i[1], "little") for i in items) % (1 << 256)
        return hashlib.sha256(s.to_bytes(32, "little") + number(len(items))).digest()[:16]

    def head(self, bound, mode):
        t, prefix = bound
        out = number(0 if t == INFINITY else t - self.time + 1)
        self.time = t
        return out + number(len(prefix)) + prefix + number(mode)

    def ids(self, bound, items):
        return self.head(bound, 2) + number(len(items)) + b"".join(i[1] for i in items)

    def split(self, items, hi):
        if len(items) < 32:
            return self.ids(hi, items)
        out, at = b"", 0
        for part in range(16):
            size = len(items) // 16 + (part < len(items) % 16)
            upto, bound = at + size, hi
            if part < 15:
                a, b = items[upto - 1], items[upto]
                same = 0
                while a[1][same] == b[1][same]:
                    same += 1
                bound = (b[0], b[1][: same + 1] if a[0] == b[0] else b"")
            out += self.head(bound, 1) + self.fingerprint(items[at:upto])
            at = upto
        return out

    def initiate(self):
        self.time = 0
        return b"\x61" + self.split(self.items, (INFINITY, b""))

    def answer(self, message):
        if not message or not 0x60 <= message[0] <= 0x6F:
            raise Refused("another protocol")
        r, out, lo, told, self.time = Reader(message[1:]), b"\x61", (0, b""), (0, b""), 0
        while r.data:
            hi = r.bound()
            mode, part, cut, ours = r.number(), b"", False, self.between(lo, hi)
            gap = lambda: self.head(lo, 0) if full(lo) != full(told) else b""
            time = self.time
            if mode == 1:
                if r.take(16) != self.fingerprint(ours):
                    part = gap()
                    part += self.split(ours, hi)
                if len(out) + len(part) > self.frame - RESERVE:
                    part, cut, self.time = b"", True, time
            elif mode == 2:
                n = r.number()
                theirs = [r.take(32) for _ in range(min(n, len(r.data) // 32 + 1))]
                if self.opener:
                    self.have += [i[1] for i in ours if i[1] not in theirs]
                    self.want += [i for i in theirs if i not in [o[1] for o in ours]]
                else:
                    part = gap()
                    room = max(0, (self.frame - RESERVE - len(out) - len(part)) // 32 + 1)
                    if len(ours) > room:
                        hi, cut, ours = ours[room], True, ours[:room]
                        told = hi
                    part += self.ids(hi, ours)
            elif mode != 0:
                raise Refused("unknown mode")
            if part and not cut:
                told = hi
            out += part
            if cut or len(out) > self.frame - RESERVE:
                if told[0] != INFINITY:
                    out += self.head((INFINITY, b""), 1) + self.fingerprint(self.between(told, (INFINITY, b"")))
                break
            lo = hi
        return out


def exchange(v):
    """The messages of both sides, and what the opener finds."""
    opener, answerer = Side(v["opener"], True, v["frame"]), Side(v["answerer"], False, v["frame"])
    messages, m = [], opener.initiate()
    while len(m) > 1:
        messages += [m, answerer.answer(m)]
        m = opener.answer(messages[-1])
    return [m.hex() for m in messages], [i.hex() for i in opener.have], [i.hex() for i in opener.want]


def refused(message):
    try:
        Side([], False, 1 << 16).answer(message)
    except Refused:
        return True
    return False
