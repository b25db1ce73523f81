"""A second reading of docs/protocol.md, §5.2, §5.6 and §5.7: frames, proofs and tickets. Used by check.py."""

import hashlib

import access
import check

ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def base32(data):
    bits = len(data) * 8
    n, pad = int.from_bytes(data, "big"), -bits % 5
    n <<= pad
    return "".join(ALPHABET[n >> i & 31] for i in range(bits + pad - 5, -1, -5))


def public_key(seed):
    h = hashlib.sha512(seed).digest()
    a = int.from_bytes(h[:32], "little") & (1 << 254) - 8 | 1 << 254
    return check.compress(check.multiply(a, check.BASE))


def ticket(v):
    b = b"\x01" + access.id_of(v["network"]) + access.node_of(v["inviter"]) + bytes.fromhex(v["secret"])
    for raw in map(bytes.fromhex, v["raw"] or []):
        b += bytes([len(raw)]) + raw
    return "plexus1" + base32(b + hashlib.sha256(b"plexus1" + b).digest()[:5])


def invite(v):
    return hashlib.sha256(public_key(bytes.fromhex(v["secret"]))).hexdigest()


def value(v):
    if isinstance(v, dict):
        return check.write(bytes.fromhex(v["hex"]))
    if isinstance(v, list):
        return check.head(4, len(v)) + b"".join(map(value, v))
    return check.write(v)


def frame(v):
    """A body's keys stand in ascending order."""
    body = check.head(5, len(v["body"]))
    for key in sorted(map(int, v["body"])):
        body += check.write(key) + value(v["body"][str(key)])
    return len(body).to_bytes(4, "big") + bytes([v["type"]]) + body


def proof(v):
    text = b"plexus:join:1\0" + access.id_of(v["network"]) + access.node_of(v["joiner"])
    text += access.node_of(v["inviter"]) + bytes.fromhex(v["nonce"])
    return text, check.sign(bytes.fromhex(v["secret"]), text)
