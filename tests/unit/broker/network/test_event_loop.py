"""The event loop must behave like that of asyncio; the tests run with both."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafkalet.broker.network.event_loop import new_event_loop

Loop = asyncio.AbstractEventLoop


@pytest.fixture(params=[new_event_loop, asyncio.SelectorEventLoop], ids=["ours", "asyncio"])
def loop(request: pytest.FixtureRequest) -> Iterator[Loop]:
    new: Loop = request.param()
    yield new
    new.close()


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    left, right = socket.socketpair()
    left.setblocking(False)
    with left, right:
        yield left, right


def run(loop: Loop, until: Callable[[], Any]) -> None:
    """Run the loop until `until` returns true."""

    async def wait() -> None:
        while not until():  # noqa: ASYNC110 - the loop itself is tested
            await asyncio.sleep(0)

    loop.run_until_complete(asyncio.wait_for(wait(), 10))


def test_reader_is_called_with_its_arguments(loop: Loop, pair: tuple[socket.socket, socket.socket]) -> None:
    calls: list[bytes] = []
    loop.add_reader(pair[0], lambda sock, size: calls.append(sock.recv(size)), pair[0], 3)
    pair[1].send(b"abcdef")
    run(loop, lambda: len(calls) == 2)
    assert calls == [b"abc", b"def"]


def test_writer_is_called_until_it_is_removed(loop: Loop, pair: tuple[socket.socket, socket.socket]) -> None:
    calls: list[int] = []
    loop.add_writer(pair[0].fileno(), calls.append, 1)
    run(loop, lambda: len(calls) >= 2)
    assert loop.remove_writer(pair[0].fileno())
    calls.clear()
    loop.call_later(0, calls.append, 2)
    run(loop, lambda: calls)
    assert calls == [2]


def test_removed_reader_is_not_called(loop: Loop, pair: tuple[socket.socket, socket.socket]) -> None:
    calls: list[int] = []
    loop.add_reader(pair[0], calls.append, 1)
    loop.add_writer(pair[0], calls.append, 2)
    pair[1].send(b"x")
    assert loop.remove_reader(pair[0])
    run(loop, lambda: len(calls) > 1)
    assert set(calls) == {2}


def test_remove_returns_whether_there_was_a_callback(loop: Loop, pair: tuple[socket.socket, socket.socket]) -> None:
    loop.add_reader(pair[0], lambda: None)
    assert not loop.remove_writer(pair[0])
    assert loop.remove_reader(pair[0])
    assert not loop.remove_reader(pair[0])


def test_second_reader_replaces_the_first(loop: Loop, pair: tuple[socket.socket, socket.socket]) -> None:
    calls: list[int] = []
    loop.add_reader(pair[0], calls.append, 1)
    loop.add_reader(pair[0], calls.append, 2)
    pair[1].send(b"x")
    run(loop, lambda: calls)
    assert set(calls) == {2}


def test_callback_may_remove_the_callback_of_another_ready_socket(loop: Loop) -> None:
    pairs = [socket.socketpair() for _ in range(2)]
    calls: list[int] = []

    def close_all(number: int) -> None:
        calls.append(number)
        for left, right in pairs:
            loop.remove_reader(left)
            left.close()
            right.close()

    for number, (left, right) in enumerate(pairs):
        loop.add_reader(left, close_all, number)
        right.send(b"x")
    run(loop, lambda: calls)
    run(loop, lambda: True)
    assert len(calls) == 1


def test_disconnect_calls_reader_and_writer(loop: Loop, pair: tuple[socket.socket, socket.socket]) -> None:
    calls: set[str] = set()
    loop.add_reader(pair[0], calls.add, "reader")
    loop.add_writer(pair[0], calls.add, "writer")
    pair[1].close()
    run(loop, lambda: len(calls) == 2)


def test_exception_of_a_callback_goes_to_the_exception_handler(
    loop: Loop, pair: tuple[socket.socket, socket.socket]
) -> None:
    reports: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, report: reports.append(report))

    def fail() -> None:
        loop.remove_reader(pair[0])
        raise ValueError("refused")

    loop.add_reader(pair[0], fail)
    pair[1].send(b"x")
    run(loop, lambda: reports)
    assert isinstance(reports[0]["exception"], ValueError)


def test_other_threads_wake_the_loop(loop: Loop, pair: tuple[socket.socket, socket.socket]) -> None:
    loop.add_reader(pair[0], lambda: None)
    called = loop.create_future()
    thread = threading.Thread(target=loop.call_soon_threadsafe, args=(called.set_result, "woken"))
    loop.call_soon(thread.start)
    assert loop.run_until_complete(asyncio.wait_for(called, 10)) == "woken"
    thread.join()


def test_streams_of_asyncio_work_beside_watched_sockets(loop: Loop, pair: tuple[socket.socket, socket.socket]) -> None:
    calls: list[bytes] = []
    loop.add_reader(pair[0], lambda: calls.append(pair[0].recv(10)))

    async def echo() -> bytes:
        left, right = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=left)
        with right:
            right.send(b"stream")
            pair[1].send(b"watched")
            data = await reader.readexactly(6)
        writer.close()
        await writer.wait_closed()
        return data

    assert loop.run_until_complete(echo()) == b"stream"
    run(loop, lambda: calls)
    assert calls == [b"watched"]


def test_timers_are_not_early(loop: Loop, pair: tuple[socket.socket, socket.socket]) -> None:
    loop.add_reader(pair[0], lambda: None)

    async def sleep() -> float:
        begun = loop.time()
        await asyncio.sleep(0.0015)
        return loop.time() - begun

    assert loop.run_until_complete(sleep()) >= 0.0015
