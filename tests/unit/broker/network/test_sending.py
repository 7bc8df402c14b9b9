"""Tests of outgoing portions: small chunks are joined, large ones are sent alone, order is kept, nothing is lost."""

import errno
import os
import re
import socket
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.network import sending
from kafkalet.broker.network.sending import JOIN_BYTES, MAP_BYTES, FileTooShort, Outbox, join, joined
from kafkalet.storage.files import FileRange, Files

CONTENT = bytes(range(256)) * 1024  # 256 KiB


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Files]:
    files = Files(durable=False)
    yield files
    files.close()


@pytest.fixture(scope="module")
def segment(files: Files, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("log") / "segment"
    path.write_bytes(CONTENT)
    return str(path)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.setblocking(False)
        yield ours, theirs


def drain(theirs: socket.socket) -> bytes:
    received = b""
    try:
        while data := theirs.recv(1 << 20):
            received += data
    except BlockingIOError:
        pass
    return received


def test_small_pieces_are_one_portion() -> None:
    outbox = Outbox([b"a", bytearray(b"b"), memoryview(b"c"), b""])
    assert outbox.take() == b"abc"
    assert not outbox


def test_a_small_range_of_a_file_is_read_and_joined(files: Files, segment: str) -> None:
    outbox = Outbox([b"<", FileRange(files.file(segment), 10, 5), b">"])
    assert outbox.take() == b"<" + CONTENT[10:15] + b">"


def test_large_file_range_is_a_separate_portion(files: Files, segment: str) -> None:
    outbox = Outbox([b"<", FileRange(files.file(segment), 0, JOIN_BYTES), b">"])
    assert outbox.take() == b"<"
    assert isinstance(outbox.take(), FileRange)
    assert outbox.take() == b">"


def test_a_large_piece_of_memory_is_not_copied() -> None:
    large = bytes(JOIN_BYTES)
    outbox = Outbox([b"<", large])
    assert outbox.take() == b"<"
    assert outbox.take() is large


def test_a_portion_never_exceeds_the_joining_size() -> None:
    outbox = Outbox([b"x" * 40_000, b"y" * 40_000])
    assert len(outbox.take()) == 40_000
    assert len(outbox.take()) == 40_000


def test_partly_sent_portion_is_continued(files: Files, segment: str) -> None:
    outbox = Outbox([FileRange(files.file(segment), 0, 100_000), b">"])
    outbox.put_back(outbox.take(), 70_000)
    assert outbox.take() == CONTENT[70_000:100_000] + b">"


def test_file_shorter_than_its_range_is_an_error(files: Files, segment: str) -> None:
    with pytest.raises(FileTooShort):
        Outbox([FileRange(files.file(segment), len(CONTENT) - 5, 10)]).take()


def test_file_shorter_than_a_small_range_is_an_error_that_names_its_path(files: Files, segment: str) -> None:
    with pytest.raises(FileTooShort, match=re.escape(segment)):
        join([b"<", FileRange(files.file(segment), len(CONTENT) - 5, 10)])


@pytest.mark.parametrize("with_sendfile", [True, False])
def test_a_large_range_beyond_the_end_of_its_file_is_an_error(
    files: Files,
    segment: str,
    pair: tuple[socket.socket, socket.socket],
    with_sendfile: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not with_sendfile:
        monkeypatch.setattr(sending, "_sendfile", None)
    outbox = Outbox([FileRange(files.file(segment), len(CONTENT), JOIN_BYTES)])
    with pytest.raises(FileTooShort):
        outbox.send(pair[0], 1 << 20)


def no_sendfile(*_: object) -> int:
    raise OSError(22, "this file system cannot")


@pytest.mark.parametrize("map_bytes", [MAP_BYTES, 10_000], ids=["unmapped", "mapped"])
@pytest.mark.parametrize("sendfile", [getattr(os, "sendfile", None), None, no_sendfile], ids=["yes", "no", "refused"])
@given(data=st.data())
def test_everything_arrives_in_order(
    sendfile: object, map_bytes: int, data: st.DataObject, files: Files, segment: str
) -> None:
    file = files.file(segment)
    sizes = data.draw(st.lists(st.integers(0, 100_000), min_size=1, max_size=8))
    pieces: list[bytes | FileRange] = []
    for size in sizes:
        position = data.draw(st.integers(0, len(CONTENT) - size))
        in_memory = data.draw(st.booleans())
        pieces.append(CONTENT[position : position + size] if in_memory else FileRange(file, position, size))
    expected = b"".join(piece if isinstance(piece, bytes) else piece.read() for piece in pieces)
    turn = data.draw(st.sampled_from([500, 5_000, 1 << 20]))
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sending, "_sendfile", sendfile)
        patch.setattr(sending, "MAP_BYTES", map_bytes)
        ours.setblocking(False)
        theirs.setblocking(False)
        outbox = Outbox(pieces)
        received = b""
        while outbox:
            outbox.send(ours, turn)
            received += drain(theirs)
        assert received + drain(theirs) == expected


class Calls(socket.socket):
    """A socket that counts the calls that send from a mapping, and can refuse them."""

    count = 0
    refusal: OSError | None = None

    def sendmsg(self, *arguments: object) -> int:  # type: ignore[override]
        self.count += 1
        if self.refusal is not None:
            raise self.refusal
        return super().sendmsg(*arguments)  # type: ignore[arg-type]


mapping = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="files are mapped only on Linux")


@pytest.fixture
def calls(pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch) -> Calls:
    monkeypatch.setattr(sending, "MAP_BYTES", JOIN_BYTES)
    calls = Calls(fileno=os.dup(pair[0].fileno()))
    pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    return calls


@mapping
def test_large_range_is_sent_from_a_mapping_together_with_the_chunk_before_it(
    files: Files, segment: str, pair: tuple[socket.socket, socket.socket], calls: Calls
) -> None:
    outbox = Outbox([b"<", FileRange(files.file(segment), 5000, JOIN_BYTES), b">"])
    with calls:
        outbox.send(calls, 1 << 20)
    assert calls.count == 1
    assert drain(pair[1]) == b"<" + CONTENT[5000 : 5000 + JOIN_BYTES] + b">"


@mapping
@pytest.mark.parametrize("code", [errno.EFAULT, errno.EAGAIN])
def test_refused_mapping_loses_nothing(
    files: Files, segment: str, pair: tuple[socket.socket, socket.socket], calls: Calls, code: int
) -> None:
    """EFAULT: the kernel cannot read a page of the file. EAGAIN: the socket is full."""
    calls.refusal = OSError(code, "refused")
    outbox = Outbox([b"<", FileRange(files.file(segment), 0, JOIN_BYTES), b">"])
    with calls:
        outbox.send(calls, 1 << 20)
        assert bool(outbox) is (code == errno.EAGAIN)
        calls.refusal = None
        outbox.send(calls, 1 << 20)
    assert drain(pair[1]) == b"<" + CONTENT[:JOIN_BYTES] + b">"


@mapping
def test_range_of_a_truncated_file_is_sent_up_to_its_end(
    files: Files, segment: str, pair: tuple[socket.socket, socket.socket], calls: Calls
) -> None:
    outbox = Outbox([b"<", FileRange(files.file(segment), 5000, len(CONTENT))])
    with calls, pytest.raises(FileTooShort):
        outbox.send(calls, 1 << 20)
    assert calls.count == 0
    assert drain(pair[1]) == b"<" + CONTENT[5000:]


@mapping
def test_broken_connection_is_an_error_with_a_mapping(files: Files, segment: str, calls: Calls) -> None:
    calls.refusal = ConnectionResetError(errno.ECONNRESET, "reset")
    with calls, pytest.raises(ConnectionResetError):
        Outbox([FileRange(files.file(segment), 0, JOIN_BYTES)]).send(calls, 1 << 20)


def test_full_socket_raises_no_error_and_loses_nothing(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    everything = CONTENT * 40
    outbox = Outbox([everything])
    outbox.send(ours, len(everything))
    assert outbox
    received = b""
    while outbox:
        received += drain(theirs)
        outbox.send(ours, len(everything))
    assert received + drain(theirs) == everything


def test_send_stops_after_the_given_number_of_bytes(pair: tuple[socket.socket, socket.socket]) -> None:
    outbox = Outbox([b"x" * JOIN_BYTES, b"y" * JOIN_BYTES])
    outbox.send(pair[0], 1)
    assert len(outbox.take()) == JOIN_BYTES


def test_disconnected_client_is_an_error() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours, pytest.raises(OSError, match="pipe"):
        Outbox([b"x"]).send(ours, 1)


def test_large_chunk_of_memory_is_sent_in_parts(pair: tuple[socket.socket, socket.socket]) -> None:
    pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * JOIN_BYTES)
    outbox = Outbox([b"x" * 4 * JOIN_BYTES])
    outbox.send(pair[0], JOIN_BYTES)
    assert len(outbox.take()) == 3 * JOIN_BYTES


@given(st.lists(st.integers(0, JOIN_BYTES + 10), max_size=8))
def test_joined_pieces_are_the_same_bytes(sizes: list[int]) -> None:
    pieces = [bytes([number]) * size for number, size in enumerate(sizes)]
    assert b"".join(map(bytes, joined(pieces))) == b"".join(pieces)  # type: ignore[arg-type]


def test_small_pieces_are_joined_around_a_range_of_a_file(files: Files, segment: str) -> None:
    part = FileRange(files.file(segment), 0, 10)
    assert joined([b"a", b"b", part, b"c", b"d"]) == [b"ab", part, b"cd"]
