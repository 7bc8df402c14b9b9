"""Connections: framing, order of responses, delayed responses, slow readers, and every way they can end."""

import asyncio
import logging
import os
import socket
from pathlib import Path

import pytest

from kafkalet.broker.client import CloseConnection
from kafkalet.broker.context import Context
from kafkalet.broker.network.connection import NEXT, PENDING_BYTES, TURN_REQUESTS, Connection, Event, State
from kafkalet.broker.network.receiving import RECEIVE_BYTES
from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import DecodeError
from kafkalet.storage.files import FileRange, Files
from kafkalet.tasks.delayed import Delayed
from tests.wire.serving import Answer, Serving, frame, in_loop

KERNEL_BYTES = 64 * 1024  # requested socket buffer size; Linux doubles it, on both sides


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


# Frames


@in_loop
async def test_request_is_answered() -> None:
    async with Serving() as serving:
        client = await serving.connect()
        assert await client.ask(b"hello") == b"hello"


@in_loop
async def test_pipelined_requests_are_answered_in_order() -> None:
    async with Serving() as serving:
        client = await serving.connect()
        asked = [b"%d" % number for number in range(3 * TURN_REQUESTS)]
        client.send(*asked)
        assert [await client.receive() for _ in asked] == asked


@in_loop
async def test_request_arriving_byte_by_byte_is_answered() -> None:
    async with Serving() as serving:
        client = await serving.connect()
        for byte in frame(b"slowly") + frame(b"then this"):
            client.writer.write(bytes([byte]))
            await client.writer.drain()
            await asyncio.sleep(0)
        assert [await client.receive(), await client.receive()] == [b"slowly", b"then this"]


@pytest.mark.parametrize("size", [4095, 4096, 65_536, 262_140, 262_144, 262_145, 3_000_000])
@in_loop
async def test_frame_of_any_size_is_received(size: int) -> None:
    async with Serving() as serving:
        client = await serving.connect()
        content = os.urandom(size - 1) + b"."
        client.send(b"before", content, b"after")
        assert await client.receive() == b"before"
        assert await client.receive() == content
        assert await client.receive() == b"after"


@in_loop
async def test_large_frame_arriving_in_pieces_is_received() -> None:
    async with Serving() as serving:
        client = await serving.connect()
        content = os.urandom(1_000_000)
        wire = frame(content)
        for at in range(0, len(wire), 50_000):
            client.writer.write(wire[at : at + 50_000])
            await client.writer.drain()
            await asyncio.sleep(0)
        assert await client.receive() == content


@pytest.mark.parametrize("size", [100, 1_000_000])
@in_loop
async def test_produce_frames_are_mutable_and_others_are_not(size: int) -> None:
    async with Serving(lambda content, context: b"ok") as serving:
        client = await serving.connect()
        await client.ask(b"\x00\x00" + bytes(size))
        await client.ask(b"\x00\x01" + bytes(size))
        assert [type(frame) for frame in serving.router.frames] == [bytearray, bytes]


@pytest.mark.parametrize("size", [0, -1, -(2**31), 2**31 - 1, 1_000_001])
@in_loop
async def test_invalid_frame_size_closes_the_connection(size: int, caplog: pytest.LogCaptureFixture) -> None:
    async with Serving(socket_request_max_bytes=1_000_000) as serving:
        client = await serving.connect()
        client.send(b"fine")
        client.writer.write(size.to_bytes(4, "big", signed=True) + b"rest")
        assert await client.receive() == b"fine"
        assert await client.is_closed()
        assert await (await serving.connect()).ask(b"next") == b"next"
    [line] = warnings(caplog)
    assert "'tester' at 127.0.0.1:" in line
    assert f"a frame of {size} bytes" in line


@in_loop
async def test_request_of_maximum_size_is_served() -> None:
    async with Serving(lambda content, context: b"%d" % len(content), socket_request_max_bytes=1_000_000) as serving:
        assert await (await serving.connect()).ask(bytes(1_000_000)) == b"1000000"


# Responses


@in_loop
async def test_request_without_response_is_followed_by_next_request() -> None:
    async with Serving(lambda content, context: None if content == b"quiet" else content) as serving:
        client = await serving.connect()
        client.send(b"quiet", b"loud")
        assert await client.receive() == b"loud"


@in_loop
async def test_response_can_contain_file_ranges(tmp_path: Path) -> None:
    content = os.urandom(1_500_000)
    (tmp_path / "log").write_bytes(content)
    files = Files(durable=False)
    file = files.file(str(tmp_path / "log"))

    def answer(asked: bytes, context: Context) -> Answer:
        start, size = map(int, asked.split())
        return [b"<", FileRange(file, start, size), b"|", FileRange(file, start, 10), b">"]

    async with Serving(answer) as serving:
        client = await serving.connect()
        asked = [(0, 5), (7, 70_000), (100_000, 1_400_000), (3, 0), (0, 1_500_000)]
        client.send(*(b"%d %d" % pair for pair in asked))
        for start, size in asked:
            received = await client.receive()
            assert received == b"<" + content[start:][:size] + b"|" + content[start:][:10] + b">"
    files.close()


@in_loop
async def test_file_range_beyond_truncated_file_closes_the_connection(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "log").write_bytes(bytes(100_000))
    files = Files(durable=False)
    file = files.file(str(tmp_path / "log"))
    async with Serving(lambda asked, context: [b"<", FileRange(file, 50_000, 100_000)]) as serving:
        client = await serving.connect()
        client.send(b"x")
        with pytest.raises(asyncio.IncompleteReadError):
            await client.receive()
    files.close()
    assert len(warnings(caplog)) == 1


@in_loop
async def test_client_that_does_not_read_does_not_block_others() -> None:
    large = os.urandom(1 << 20)
    async with Serving(lambda asked, context: large if asked == b"large" else asked) as serving:
        slow, quick = await serving.connect(), await serving.connect()
        slow.writer.transport.pause_reading()  # type: ignore[attr-defined]
        slow.send(*[b"large"] * 20)
        for number in range(50):
            assert await quick.ask(b"%d" % number) == b"%d" % number
        served = len(serving.router.frames) - 50
        assert served < 20  # requests are not handled while responses are not read
        slow.writer.transport.resume_reading()  # type: ignore[attr-defined]
        for _ in range(20):
            assert await slow.receive() == large


@in_loop
async def test_requests_of_client_that_does_not_read_are_not_buffered() -> None:
    large = bytes(8 << 20)
    async with Serving(lambda asked, context: large, socket_receive_buffer_bytes=KERNEL_BYTES) as serving:
        slow = await serving.connect()
        slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES)
        slow.writer.transport.pause_reading()  # type: ignore[attr-defined]
        for _ in range(64):
            slow.send(bytes(1 << 20))
        assert await serving.settles(lambda: bool(serving.router.frames))
        await serving.turns()
        assert len(serving.router.frames) == 1
        gone = 64 * (4 + (1 << 20)) - slow.writer.transport.get_write_buffer_size()
        assert gone - (4 + (1 << 20)) <= PENDING_BYTES + 4 * KERNEL_BYTES
        slow.reset()


# Delayed responses


@in_loop
async def test_delayed_response_blocks_its_own_connection_only() -> None:
    delayed: Delayed[bytes] = Delayed()
    async with Serving(lambda asked, context: delayed if asked == b"wait" else asked) as serving:
        client, other = await serving.connect(), await serving.connect()
        client.send(b"first", b"wait", b"last")
        assert await client.receive() == b"first"
        assert await other.ask(b"other") == b"other"
        assert serving.router.frames[-1] != b"last"
        delayed.complete(b"waited")
        assert await client.receive() == b"waited"
        assert await client.receive() == b"last"


@in_loop
async def test_delayed_response_can_be_none() -> None:
    delayed: Delayed[None] = Delayed()
    async with Serving(lambda asked, context: delayed if asked == b"wait" else asked) as serving:
        client = await serving.connect()
        client.send(b"wait", b"last")
        await serving.settles(lambda: bool(serving.router.frames))
        delayed.complete(None)
        assert await client.receive() == b"last"


@in_loop
async def test_consecutive_delayed_responses_keep_their_order() -> None:
    def answer(asked: bytes, context: Context) -> Answer:
        delayed: Delayed[bytes] = Delayed()
        asyncio.get_running_loop().call_soon(delayed.complete, asked)
        return delayed

    async with Serving(answer) as serving:
        client = await serving.connect()
        asked = [b"%d" % number for number in range(200)]
        client.send(*asked)
        assert [await client.receive() for _ in asked] == asked


@in_loop
async def test_closing_client_cancels_its_delayed_response(caplog: pytest.LogCaptureFixture) -> None:
    delayed: Delayed[bytes] = Delayed()
    async with Serving(lambda asked, context: delayed) as serving:
        client = await serving.connect()
        client.send(b"wait")
        assert await serving.settles(lambda: bool(serving.router.frames))
        await client.close()
        assert await serving.settles(lambda: delayed.is_cancelled)
        assert len(serving.listener) == 0
    assert warnings(caplog) == []


@in_loop
async def test_connection_reset_cancels_delayed_response() -> None:
    delayed: Delayed[bytes] = Delayed()
    async with Serving(lambda asked, context: delayed) as serving:
        client = await serving.connect()
        client.send(b"wait")
        assert await serving.settles(lambda: bool(serving.router.frames))
        client.reset()
        assert await serving.settles(lambda: delayed.is_cancelled)


@in_loop
async def test_input_is_bounded_while_response_is_delayed() -> None:
    delayed: Delayed[bytes] = Delayed()

    def answer(asked: bytes, context: Context) -> Answer:
        return delayed if asked == b"wait" else b"%d" % len(asked)

    async with Serving(answer, socket_receive_buffer_bytes=KERNEL_BYTES) as serving:
        client = await serving.connect()
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES)
        client.send(b"wait", *[bytes(50_000)] * 200)
        assert await serving.settles(lambda: bool(serving.router.frames))
        await serving.turns()
        gone = 8 + 200 * 50_004 - client.writer.transport.get_write_buffer_size()
        assert gone <= max(PENDING_BYTES, RECEIVE_BYTES) + 4 * KERNEL_BYTES
        delayed.complete(b"waited")
        assert await client.receive() == b"waited"
        for _ in range(200):
            assert await client.receive() == b"50000"


@in_loop
async def test_failed_delayed_response_closes_its_connection_only(caplog: pytest.LogCaptureFixture) -> None:
    delayed: Delayed[bytes] = Delayed()
    async with Serving(lambda asked, context: delayed if asked == b"wait" else asked) as serving:
        client, other = await serving.connect(), await serving.connect()
        client.send(b"wait")
        assert await serving.settles(lambda: bool(serving.router.frames))
        delayed.fail(ZeroDivisionError("oops"))
        assert await client.is_closed()
        assert await other.ask(b"other") == b"other"
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "a bug in the response to Test v0" in record.getMessage()
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ZeroDivisionError)


@in_loop
async def test_delayed_response_that_cannot_be_sent_closes_its_connection(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*arguments: object) -> None:
        raise ZeroDivisionError("oops")

    delayed: Delayed[bytes] = Delayed()
    async with Serving(lambda asked, context: delayed) as serving:
        client = await serving.connect()
        client.send(b"wait")
        assert await serving.settles(lambda: bool(serving.router.frames))
        with monkeypatch.context() as patch:
            patch.setattr(Connection, "_send", fail)
            delayed.complete(b"waited")
        assert await client.is_closed()
    assert "a bug in the response to Test v0" in caplog.text


# Muting


@in_loop
async def test_muted_client_gets_next_response_after_the_delay() -> None:
    clock = ManualClock()

    def answer(asked: bytes, context: Context) -> Answer:
        if asked == b"greedy":
            context.client.mute(500)
        return asked

    async with Serving(answer, clock) as serving:
        client = await serving.connect()
        client.send(b"greedy", b"next")
        assert await client.receive() == b"greedy"
        clock.advance(milliseconds=499)
        await serving.turns()
        assert serving.router.frames == [b"greedy"]
        clock.advance(milliseconds=1)
        assert await client.receive() == b"next"


@in_loop
async def test_muted_client_that_disconnects_is_closed_after_the_delay() -> None:
    clock = ManualClock()
    async with Serving(lambda asked, context: context.client.mute(500), clock) as serving:  # type: ignore[func-returns-value]
        client = await serving.connect()
        client.send(b"greedy", b"unanswered")
        assert await serving.settles(lambda: len(serving.router.frames) == 1)
        await client.close()
        clock.advance(milliseconds=500)
        assert await serving.settles(lambda: len(serving.router.frames) == 2)
        clock.advance(milliseconds=500)
        assert await serving.settles(lambda: len(serving.listener) == 0)


# Closing


@in_loop
async def test_orderly_disconnect_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with Serving() as serving:
        client = await serving.connect()
        await client.ask(b"x")
        await client.close()
        assert await serving.settles(lambda: len(serving.listener) == 0)
    assert caplog.records == []


@pytest.mark.parametrize("part", [1, 3, 4, 10, 100_000])
@in_loop
async def test_disconnect_in_middle_of_frame_is_logged_once(part: int, caplog: pytest.LogCaptureFixture) -> None:
    async with Serving() as serving:
        client = await serving.connect()
        client.writer.write(frame(bytes(200_000))[:part])
        await client.close()
        assert await serving.settles(lambda: len(serving.listener) == 0)
    [line] = warnings(caplog)
    assert "disconnected within a frame" in line


@in_loop
async def test_requests_sent_before_disconnect_are_served() -> None:
    async with Serving(lambda asked, context: None) as serving:
        client = await serving.connect()
        client.send(*[b"without answer"] * 500)
        await client.close()
        assert await serving.settles(lambda: len(serving.listener) == 0)
        assert len(serving.router.frames) == 500


@in_loop
async def test_half_closed_client_gets_its_responses() -> None:
    large = bytes(1 << 20)
    async with Serving(lambda asked, context: large) as serving:
        client = await serving.connect()
        client.send(*[b"x"] * 10)
        client.writer.write_eof()
        for _ in range(10):
            assert await client.receive() == large
        assert await client.is_closed()


@pytest.mark.parametrize("problem", [CloseConnection("not like this"), DecodeError("not like this")])
@in_loop
async def test_invalid_request_closes_connection_after_earlier_responses(
    problem: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def answer(asked: bytes, context: Context) -> Answer:
        if asked == b"broken":
            raise problem
        return asked

    async with Serving(answer) as serving:
        client = await serving.connect()
        client.send(b"fine", b"broken", b"never served")
        assert await client.receive() == b"fine"
        assert await client.is_closed()
        assert serving.router.frames == [b"fine", b"broken"]
    [line] = warnings(caplog)
    assert line.endswith("not like this")
    assert "PLAINTEXT connection of 'tester' at 127.0.0.1:" in line


@in_loop
async def test_invalid_request_does_not_truncate_earlier_large_response() -> None:
    large = bytes(16 << 20)

    def answer(asked: bytes, context: Context) -> Answer:
        if asked == b"broken":
            raise CloseConnection("no")
        return large

    async with Serving(answer) as serving:
        client = await serving.connect()
        client.send(b"large", b"broken")
        assert await client.receive() == large
        assert await client.is_closed()


@in_loop
async def test_exception_in_handler_closes_its_connection_only(caplog: pytest.LogCaptureFixture) -> None:
    def answer(asked: bytes, context: Context) -> Answer:
        if asked == b"bug":
            raise ZeroDivisionError
        return asked

    async with Serving(answer) as serving:
        client, other = await serving.connect(), await serving.connect()
        client.send(b"fine", b"bug")
        assert await client.receive() == b"fine"
        assert await client.is_closed()
        assert await other.ask(b"other") == b"other"
    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ZeroDivisionError)


@in_loop
async def test_handler_can_close_connection_after_its_response(caplog: pytest.LogCaptureFixture) -> None:
    def answer(asked: bytes, context: Context) -> Answer:
        context.client.close("wrong password")
        return b"farewell"

    async with Serving(answer) as serving:
        client = await serving.connect()
        client.send(b"x", b"never served")
        assert await client.receive() == b"farewell"
        assert await client.is_closed()
        assert len(serving.router.frames) == 1
    assert [line.rpartition("; ")[2] for line in warnings(caplog)] == ["wrong password"]


@in_loop
async def test_connection_can_be_closed_during_delayed_response() -> None:
    delayed: Delayed[bytes] = Delayed()
    async with Serving(lambda asked, context: delayed) as serving:
        client = await serving.connect()
        client.send(b"wait")
        assert await serving.settles(lambda: bool(serving.router.frames))
        serving.listener.connections[0].close("enough")
        assert await client.is_closed()
        assert delayed.is_cancelled


@in_loop
async def test_closing_listener_closes_connections_without_logging(caplog: pytest.LogCaptureFixture) -> None:
    delayed: Delayed[bytes] = Delayed()
    async with Serving(lambda asked, context: delayed if asked == b"wait" else asked) as serving:
        waiting, idle = await serving.connect(), await serving.connect()
        waiting.send(b"wait")
        await idle.ask(b"x")
        serving.listener.close()
        assert await waiting.is_closed()
        assert await idle.is_closed()
        assert delayed.is_cancelled
        assert len(serving.listener) == 0
    assert caplog.records == []


@in_loop
async def test_connection_reset_is_logged_at_info_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with Serving() as serving:
        client = await serving.connect()
        await client.ask(b"x")
        client.reset()
        assert await serving.settles(lambda: len(serving.listener) == 0)
    assert [record.levelno for record in caplog.records if record.name.startswith("kafkalet")] == [logging.INFO]


@in_loop
async def test_client_id_is_escaped_in_log_line(caplog: pytest.LogCaptureFixture) -> None:
    def answer(asked: bytes, context: Context) -> Answer:
        context.client_id = "a\nforged line" + "x" * 1000
        raise CloseConnection("no")

    async with Serving(answer) as serving:
        client = await serving.connect()
        client.send(b"x")
        assert await client.is_closed()
    [line] = warnings(caplog)
    assert "\n" not in line
    assert len(line) < 250


@in_loop
async def test_connection_has_nodelay_and_keepalive() -> None:
    async with Serving() as serving:
        await (await serving.connect()).ask(b"x")
        [connection] = serving.listener.connections
        assert connection._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert connection._socket.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


@pytest.mark.parametrize(("state", "event"), [(state, event) for state in State for event in Event])
def test_only_transitions_in_the_table_are_possible(state: State, event: Event) -> None:
    connection = Connection.__new__(Connection)
    connection._state = state
    if (state, event) in NEXT:
        connection._move(event)
        assert connection._state is NEXT[state, event]
    else:
        with pytest.raises(AssertionError, match=f"{event.name} in state {state.name}"):
            connection._move(event)
