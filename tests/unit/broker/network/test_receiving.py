"""Tests of splitting received data into frames."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.network.receiving import GROWTH, Partial, ReceiveBuffer, check_size
from kafkalet.protocol.errors import DecodeError


@pytest.mark.parametrize("size", [0, -1, -(2**31), 101, 2**31 - 1])
def test_size_below_1_or_above_the_limit_is_refused(size: int) -> None:
    with pytest.raises(DecodeError, match=str(size)):
        check_size(size, 100)


def test_the_limit_itself_is_allowed() -> None:
    check_size(1, 100)
    check_size(100, 100)


def test_only_the_frame_of_a_produce_request_is_writable() -> None:
    buffer = ReceiveBuffer(64)
    buffer.data[:12] = b"\x00\x00\x00\x09abcd\x00\x01wx"
    assert type(buffer.frame(0, 8)) is bytearray
    assert type(buffer.frame(8, 12)) is bytes
    assert buffer.frame(8, 12) == b"\x00\x01wx"


def test_a_frame_is_a_copy() -> None:
    buffer = ReceiveBuffer(16)
    buffer.data[:4] = b"\x00\x01ab"
    frame = buffer.frame(0, 4)
    buffer.data[:4] = b"zzzz"
    assert frame == b"\x00\x01ab"


@given(st.binary(min_size=2, max_size=3000), st.lists(st.integers(1, 700), min_size=1), st.data())
def test_partial_frame_is_joined_from_any_pieces(frame: bytes, sizes: list[int], data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(frame) - 1))
    partial = Partial(len(frame), bytearray(frame[:at]), at)
    whole: bytes | bytearray | None = None
    turn = 0
    while whole is None:
        room = partial.room()
        count = min(len(room), sizes[turn % len(sizes)])
        assert count > 0
        room[:count] = frame[at : at + count]
        room.release()
        at += count
        turn += 1
        whole = partial.received(count)
    assert whole == frame
    assert (type(whole) is bytearray) is (frame[:2] == b"\0\0")


def test_partial_frame_allocates_memory_for_received_bytes_only() -> None:
    partial = Partial(2**31 - 1, bytearray(5000), 5000)
    room = partial.room()
    assert len(room) == (GROWTH - 1) * 5000
    room.release()
    assert sys.getsizeof(partial._data) < 2 * GROWTH * 5000


def receive(buffer: ReceiveBuffer, content: bytes, head: int) -> bytes | bytearray:
    """Receive `content` in two parts."""
    buffer.data[:head] = content[:head]
    partial = buffer.begin(len(content), 0, head)
    whole = None
    while whole is None:
        at = len(partial)
        room = partial.room()
        count = min(len(room), len(content) - at)
        room[:count] = content[at : at + count]
        room.release()
        whole = partial.received(count)
    return whole


@given(st.lists(st.tuples(st.integers(4097, 30_000), st.booleans(), st.booleans()), max_size=12))
def test_frames_in_reused_memory_are_complete(frames: list[tuple[int, bool, bool]]) -> None:
    buffer = ReceiveBuffer(40_000)
    views: list[tuple[memoryview, bytes]] = []
    for number, (size, is_produce, is_viewed) in enumerate(frames):
        content = (b"\0\0" if is_produce else b"\0\1") + bytes([number]) * (size - 2)
        frame = receive(buffer, content, size // 2)
        assert frame == content
        if is_viewed:
            views.append((memoryview(frame), content))
        buffer.give_back(frame)
    for view, content in views:
        assert view == content


def test_memory_of_a_served_frame_is_reused() -> None:
    buffer = ReceiveBuffer(40_000)
    frame = receive(buffer, bytes(20_000), 5000)
    buffer.give_back(frame)
    assert receive(buffer, bytes(21_000), 5000) is frame


def test_memory_with_a_view_is_not_reused() -> None:
    buffer = ReceiveBuffer(40_000)
    frame = receive(buffer, bytes(20_000), 5000)
    view = memoryview(frame)
    buffer.give_back(frame)
    assert receive(buffer, bytes(20_000), 5000) is not frame
    view.release()


def test_memory_is_not_kept_for_frames_of_another_size() -> None:
    buffer = ReceiveBuffer(40_000)
    frame = receive(buffer, bytes(20_000), 5000)
    buffer.give_back(frame)
    assert receive(buffer, bytes(5000), 4500) is not frame
