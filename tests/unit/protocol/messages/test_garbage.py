"""Any bytes decode to a message or raise DecodeError, without excessive time or memory."""

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalet.protocol.errors import DecodeError
from kafkalet.protocol.schema import Message
from tests.effort import executed_lines
from tests.profile import examples

from .recorded import Recorded, recorded
from .values import message_versions

VERSIONS = list(message_versions())
VECTORS = recorded("messages.json")

MOST_LINES = 500  # to decode 36 bytes

MANY = settings(max_examples=examples(6), database=None)


def decode(message: type[Message], data: bytes | bytearray, version: int) -> Message | None:
    try:
        return message.decode(data, version)
    except DecodeError:
        return None


@MANY
@given(st.sampled_from(VERSIONS), st.binary(max_size=80))
def test_random_bytes_decode_or_raise_decode_error(of: tuple[type[Message], int], data: bytes) -> None:
    decode(of[0], data, of[1])


@MANY
@given(st.sampled_from(VECTORS), st.data())
def test_damaged_messages_decode_or_raise_decode_error(vector: Recorded, data: st.DataObject) -> None:
    changed = bytearray(vector.data)
    positions = st.integers(0, max(len(changed) - 1, 0))
    for at, byte in data.draw(
        st.lists(st.tuples(positions, st.sampled_from([0, 1, 127, 128, 255]) | st.integers(0, 255)), max_size=4)
    ):
        changed[at : at + 1] = bytes((byte,))
    message = decode(vector.message, changed, vector.version)
    if message is not None:
        again = message.encode(vector.version)
        assert vector.message.decode(again, vector.version).encode(vector.version) == again


def test_every_truncation_raises_decode_error() -> None:
    for vector in VECTORS[::7]:
        for size in range(len(vector.data)):
            with pytest.raises(DecodeError):
                vector.message.decode(vector.data[:size], vector.version)


@pytest.mark.parametrize("size", [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f", b"\x80" * 9])
def test_huge_counts_are_refused_quickly_without_allocation(size: bytes) -> None:
    for message, version in VERSIONS:
        executed_lines(lambda: decode(message, size * 3, version))  # noqa: B023 - compile the decoder first
    most_lines = most_bytes = 0
    tracemalloc.start()
    for message, version in VERSIONS:
        for lead in range(12):
            for data in (bytes(lead) + size * 3, b"\x02" * lead + size * 3):
                tracemalloc.reset_peak()
                before, _ = tracemalloc.get_traced_memory()
                most_lines = max(most_lines, executed_lines(lambda: decode(message, data, version)))  # noqa: B023
                most_bytes = max(most_bytes, tracemalloc.get_traced_memory()[1] - before)
    tracemalloc.stop()
    assert most_bytes < 1_000_000
    assert most_lines < MOST_LINES
