"""Mutations of frames. Each function takes a frame and returns a changed one; `mutate` applies some at random."""

import random
from collections.abc import Callable
from zlib import crc32

from kafkalet.protocol.records.crc32c import crc32c

INTERESTING = (
    *(b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff", b"\xff\xff", b"\x80\x00", b"\x7f\xff"),
    *(b"\xff\xff\xff\xff", b"\x80\x00\x00\x00", b"\x7f\xff\xff\xff", b"\x00\x00\x00\x00", b"\x00\x00\x00\x01"),
    *(b"\xff" * 8, b"\x80" + bytes(7), b"\x7f" + b"\xff" * 7, bytes(8)),
    *(b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x07", b"\x80\x80\x80\x80\x80\x80", b"\xff\xff\xff\xff\xff\xff\x01"),
    *(b"\xc3\x28", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"a" * 300),  # invalid UTF-8, and a name that is too long
)

Mutation = Callable[[random.Random, bytearray], bytearray]


def flip_a_bit(chance: random.Random, frame: bytearray) -> bytearray:
    at = chance.randrange(len(frame))
    frame[at] ^= 1 << chance.randrange(8)
    return frame


def set_a_byte(chance: random.Random, frame: bytearray) -> bytearray:
    frame[chance.randrange(len(frame))] = chance.randrange(256)
    return frame


def overwrite(chance: random.Random, frame: bytearray) -> bytearray:
    value = chance.choice(INTERESTING)
    at = chance.randrange(len(frame))
    frame[at : at + len(value)] = value
    return frame


def insert(chance: random.Random, frame: bytearray) -> bytearray:
    at = chance.randrange(len(frame) + 1)
    frame[at:at] = chance.choice(INTERESTING)
    return frame


def cut_off(chance: random.Random, frame: bytearray) -> bytearray:
    return frame[: chance.randrange(len(frame) + 1)]


def cut_out(chance: random.Random, frame: bytearray) -> bytearray:
    at = chance.randrange(len(frame))
    del frame[at : at + chance.randrange(1, 20)]
    return frame


def repeat(chance: random.Random, frame: bytearray) -> bytearray:
    at = chance.randrange(len(frame))
    piece = frame[at : at + chance.randrange(1, 60)]
    frame[at:at] = piece * chance.choice((1, 1, 2, 10))
    return frame


def other_version(chance: random.Random, frame: bytearray) -> bytearray:
    frame[2:4] = chance.choice((chance.randrange(20), 99, 32767, 65535)).to_bytes(2, "big")
    return frame


def other_api(chance: random.Random, frame: bytearray) -> bytearray:
    frame[0:2] = chance.choice((chance.randrange(95), 999, 65535)).to_bytes(2, "big")
    return frame


def add_tags(chance: random.Random, frame: bytearray) -> bytearray:
    """Insert a tagged-fields section with many tags at a random position."""
    tags = b"".join(bytes((chance.randrange(128), 1, 0)) for _ in range(chance.randrange(1, 120)))
    at = chance.randrange(len(frame) + 1)
    frame[at:at] = bytes((len(tags) // 3,)) + tags
    return frame


def reseal(chance: random.Random, frame: bytearray) -> bytearray:
    """Change a record batch or message and recompute its CRC, so that the change gets past the checksum."""
    for at in range(len(frame) - 26):
        if frame[at + 16] > 2 or frame[at : at + 4] != b"\0\0\0\0":
            continue
        end = at + 12 + int.from_bytes(frame[at + 8 : at + 12], "big", signed=True)
        begin, least = (at + 21, at + 61) if frame[at + 16] == 2 else (at + 16, at + 26)
        if least <= end <= len(frame):
            for _ in range(chance.randrange(1, 4)):
                value = chance.choice(INTERESTING[:-4])
                where = chance.randrange(begin, end)
                frame[where : where + len(value)] = value[: end - where]
            checksum = crc32c if begin == at + 21 else crc32
            frame[begin - 4 : begin] = checksum(memoryview(frame)[begin:end]).to_bytes(4, "big")
            break
    return frame


MUTATIONS: tuple[Mutation, ...] = (
    *(flip_a_bit, set_a_byte, overwrite, overwrite, insert, cut_off, cut_out, repeat),
    *(other_version, other_api, add_tags, reseal, reseal, reseal),
)


def mutate(chance: random.Random, frame: bytes, other: bytes) -> bytes:
    """Change `frame` in one to four ways; occasionally splice in the tail of `other`."""
    broken = bytearray(frame)
    if chance.random() < 0.05 and broken:
        broken = broken[: chance.randrange(len(broken))] + other[chance.randrange(len(other) + 1) :]
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        if not broken:
            broken = bytearray(chance.randbytes(chance.randrange(1, 40)))
        broken = chance.choice(MUTATIONS)(chance, broken)
    return bytes(broken)
