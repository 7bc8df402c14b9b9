"""Listeners: accepting connections, closing idle ones, and the memory that connections use."""

import asyncio
import contextlib
import errno
import logging
import os
import random
import socket
import subprocess
import sys
import tracemalloc
from typing import Any

import pytest

from kafkalet.broker.context import Context
from kafkalet.broker.network import listener as listener_module
from kafkalet.broker.network.listener import Listener
from kafkalet.broker.network.listener_context import Limits
from kafkalet.clock import ManualClock
from tests.wire.serving import Answer, Serving, StubRouter, in_loop


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def new_listener(**limits: Any) -> Listener:
    router: Any = StubRouter(lambda content, context: content)
    return Listener(router, ManualClock(), Limits(**limits))


# Binding


def test_port_0_binds_a_free_port() -> None:
    one, other = new_listener(), new_listener()
    host, port = one.bind("127.0.0.1", 0)
    assert host == "127.0.0.1"
    assert port > 0
    assert other.bind("127.0.0.1", 0)[1] != port
    one.close()
    other.close()


def test_binding_port_in_use_raises() -> None:
    one = new_listener()
    _, port = one.bind("127.0.0.1", 0)
    with pytest.raises(OSError, match="in use"):
        new_listener().bind("127.0.0.1", port)
    one.close()


def test_port_is_free_after_close() -> None:
    for port in (0, 0):
        listener = new_listener()
        _, taken = listener.bind("127.0.0.1", port)
        listener.close()
        again = new_listener()
        assert again.bind("127.0.0.1", taken) == ("127.0.0.1", taken)
        again.close()


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
@in_loop
async def test_listener_accepts_ipv6() -> None:
    listener = new_listener()
    try:
        host, port = listener.bind("::1", 0)
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    listener.start(asyncio.get_running_loop())
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"\0\0\0\1x")
    assert await reader.readexactly(5) == b"\0\0\0\1x"
    assert listener.connections[0].peer[0] == "::1"
    writer.close()
    await writer.wait_closed()
    listener.close()


def test_event_loop_without_add_reader_is_rejected() -> None:
    class Proactor(asyncio.SelectorEventLoop):
        def add_reader(self, *args: Any) -> None:
            raise NotImplementedError

    loop = Proactor()
    listener = new_listener()
    listener.bind("127.0.0.1", 0)
    with pytest.raises(RuntimeError, match=r"Proactor cannot watch sockets.*SelectorEventLoop"):
        listener.start(loop)
    listener.close()
    loop.close()


@in_loop
async def test_client_connecting_between_bind_and_start_is_served() -> None:
    listener = new_listener()
    reader, writer = await asyncio.open_connection(*listener.bind("127.0.0.1", 0))
    writer.write(b"\0\0\0\1x")
    listener.start(asyncio.get_running_loop())
    assert await reader.readexactly(5) == b"\0\0\0\1x"
    writer.close()
    await writer.wait_closed()
    listener.close()


# Accepting


@in_loop
async def test_clients_beyond_max_connections_wait_for_a_free_slot(caplog: pytest.LogCaptureFixture) -> None:
    async with Serving(max_connections=2) as serving:
        first, second = await serving.connect(), await serving.connect()
        assert await first.ask(b"1") == b"1"
        assert await second.ask(b"2") == b"2"
        third, fourth = await serving.connect(), await serving.connect()
        third.send(b"3")
        fourth.send(b"4")
        assert await serving.settles(lambda: bool(warnings(caplog)))
        assert len(serving.listener) == 2
        await first.close()
        assert await third.receive() == b"3"
        assert len(serving.listener) == 2
        await second.close()
        assert await fourth.receive() == b"4"
    [line] = warnings(caplog)
    assert "max.connections=2" in line


@in_loop
async def test_clients_beyond_max_connections_per_ip_are_closed(caplog: pytest.LogCaptureFixture) -> None:
    async with Serving(max_connections_per_ip=2) as serving:
        first, second = await serving.connect(), await serving.connect()
        assert await first.ask(b"1") == b"1"
        assert await second.ask(b"2") == b"2"
        assert await (await serving.connect()).is_closed()
        await first.close()
        assert await serving.settles(lambda: len(serving.listener) == 1)
        assert await (await serving.connect()).ask(b"3") == b"3"
    [line] = warnings(caplog)
    assert "max.connections.per.ip=2" in line


@in_loop
async def test_client_that_has_reset_its_connection_is_closed_and_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    setsockopt = socket.socket.setsockopt

    def refuse(client: socket.socket, level: int, option: int, value: int) -> None:
        if option == socket.SO_KEEPALIVE:  # set by the broker only
            raise OSError(errno.EINVAL, "Invalid argument")  # as on macOS
        setsockopt(client, level, option, value)

    async with Serving() as serving:
        with monkeypatch.context() as patch:
            patch.setattr(socket.socket, "setsockopt", refuse)
            assert await (await serving.connect()).is_closed()
        assert len(serving.listener) == 0
        assert await (await serving.connect()).ask(b"1") == b"1"
        assert len(serving.listener) == 1


@in_loop
async def test_connection_that_cannot_be_created_is_closed_and_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Serving(max_connections_per_ip=1) as serving:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        with monkeypatch.context() as patch:
            patch.setattr(serving.listener, "_connection_type", refused)
            assert await (await serving.connect()).is_closed()
        assert await (await serving.connect()).ask(b"1") == b"1"


def refused(*arguments: object) -> None:
    raise OSError(errno.ENOSPC, "too many watched descriptors")


@in_loop
async def test_override_applies_to_its_address() -> None:
    async with Serving(max_connections_per_ip=0, max_connections_per_ip_overrides={"127.0.0.1": 1}) as serving:
        assert await (await serving.connect()).ask(b"1") == b"1"
        assert await (await serving.connect()).is_closed()


@in_loop
async def test_limits_can_change_while_listener_runs() -> None:
    async with Serving(max_connections_per_ip=1) as serving:
        assert await (await serving.connect()).ask(b"1") == b"1"
        serving.limits.max_connections_per_ip = 2
        assert await (await serving.connect()).ask(b"2") == b"2"


@in_loop
async def test_listener_out_of_descriptors_pauses_and_logs_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener_module, "RETRY_ACCEPT_SECONDS", 0.01)
    failures = 0

    class Failing(socket.socket):
        def accept(self) -> Any:
            nonlocal failures
            if failures < 3:
                failures += 1
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            return super().accept()

    monkeypatch.setattr(listener_module.socket, "socket", Failing)
    async with Serving() as serving:
        assert await (await serving.connect()).ask(b"x") == b"x"
        assert failures == 3
    [line] = warnings(caplog)
    assert "cannot accept" in line


@in_loop
async def test_closing_connection_ends_the_pause(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(listening: socket.socket) -> Any:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(listener_module, "RETRY_ACCEPT_SECONDS", 3600)
    async with Serving() as serving:
        first = await serving.connect()
        await first.ask(b"x")
        with monkeypatch.context() as patch:
            patch.setattr(socket.socket, "accept", fail)
            second = await serving.connect()
            second.send(b"y")
            assert await serving.settles(lambda: bool(warnings(caplog)))
        await serving.turns()
        assert len(serving.listener) == 1
        await first.close()
        assert await second.receive() == b"y"


# Idle connections


@in_loop
async def test_idle_connection_is_closed_after_idle_timeout(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    clock = ManualClock()
    async with Serving(clock=clock, connections_max_idle_ms=1000) as serving:
        client = await serving.connect()
        await client.ask(b"x")
        clock.advance(milliseconds=999)
        assert await client.ask(b"y") == b"y"  # resets the idle time
        clock.advance(milliseconds=999)
        assert len(serving.listener) == 1
        clock.advance(milliseconds=1)
        assert await client.is_closed()
    assert any("connections.max.idle.ms=1000" in record.getMessage() for record in caplog.records)


@in_loop
async def test_idle_time_is_per_connection() -> None:
    clock = ManualClock()
    async with Serving(clock=clock, connections_max_idle_ms=1000) as serving:
        early = await serving.connect()
        await early.ask(b"x")
        clock.advance(milliseconds=500)
        late = await serving.connect()
        await late.ask(b"x")
        clock.advance(milliseconds=500)
        assert await early.is_closed()
        assert len(serving.listener) == 1
        clock.advance(milliseconds=500)
        assert await late.is_closed()


@in_loop
async def test_negative_idle_timeout_disables_it() -> None:
    clock = ManualClock()
    async with Serving(clock=clock, connections_max_idle_ms=-1) as serving:
        client = await serving.connect()
        await client.ask(b"x")
        clock.advance(milliseconds=10**9)
        assert await client.ask(b"y") == b"y"


@in_loop
async def test_connection_without_requests_is_closed_after_idle_timeout() -> None:
    clock = ManualClock()
    async with Serving(clock=clock, connections_max_idle_ms=1000) as serving:
        client = await serving.connect()
        assert await serving.settles(lambda: len(serving.listener) == 1)
        clock.advance(milliseconds=1000)
        assert await client.is_closed()


# Memory use and malformed input


@in_loop
async def test_clients_are_served_beside_hundreds_of_idle_connections() -> None:
    async with Serving() as serving:
        clients = [await serving.connect() for _ in range(400)]
        for client in clients[::40]:
            assert await client.ask(b"x") == b"x"
        assert await serving.settles(lambda: len(serving.listener) == 400)


MANY = 10_000
SERVER = """
import asyncio, collections, resource, sys
from tests.wire.serving import Serving

async def main():
    async with Serving() as serving:
        serving.router.frames = collections.deque(maxlen=1)
        def rss():
            with open("/proc/self/statm") as statm:
                return int(statm.read().split()[1]) * resource.getpagesize() // 1024
        print(serving.address[1], rss(), flush=True)
        loop = asyncio.get_running_loop()
        while await loop.run_in_executor(None, sys.stdin.readline):
            print(len(serving.listener), rss(), flush=True)

asyncio.run(main())
"""


class Process:
    """SERVER in a separate process, to measure its memory."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # has a line for each client that disconnects in the middle of a frame
            text=True,
        )
        assert self.process.stdout is not None
        self.port, self.first_kb = map(int, self.process.stdout.readline().split())

    def look(self) -> tuple[int, int]:
        """Return the number of open connections and the resident memory in KiB."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        count, resident_kb = map(int, self.process.stdout.readline().split())
        return count, resident_kb

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port))

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_ten_thousand_idle_connections_use_under_five_kilobytes_each() -> None:
    import resource

    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    many = min(MANY, allowed - 500)
    server = Process()
    clients: list[socket.socket] = []
    try:
        clients += [server.connect() for _ in range(many)]
        for client in (clients[0], clients[-1]):
            client.sendall(b"\0\0\0\1x")
            assert client.recv(5) == b"\0\0\0\1x"
        count, resident_kb = server.look()
        assert count == many
        assert (resident_kb - server.first_kb) / many < 5
    finally:
        for client in clients:
            client.close()
        server.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_is_bounded_for_large_frames_and_unread_responses() -> None:
    server = Process()
    clients = [server.connect() for _ in range(150)]
    try:
        for client in clients:
            client.setblocking(False)
        for client in clients[:50]:  # frames of 100 MiB of which only a part is sent
            client.send((100 << 20).to_bytes(4, "big") + bytes(10_000))
        request = (60_000).to_bytes(4, "big") + bytes(60_000)
        for client in clients[50:]:  # many requests, whose responses are never read
            with contextlib.suppress(BlockingIOError):
                for _ in range(1000):
                    client.sendall(request)
        honest = server.connect()
        honest.sendall(b"\0\0\0\1x")
        assert honest.recv(5) == b"\0\0\0\1x"
        honest.close()
        _, resident_kb = server.look()
        assert resident_kb - server.first_kb < 150 * 256
    finally:
        for client in clients:
            client.close()
        server.close()


@in_loop
async def test_random_bytes_close_their_own_connection_only() -> None:
    chance = random.Random(4711)

    def answer(content: bytes, context: Context) -> Answer:
        return content[:10]

    async with Serving(answer, socket_request_max_bytes=1 << 20) as serving:
        honest = await serving.connect()
        for _ in range(300):
            client = await serving.connect()
            client.writer.write(chance.randbytes(chance.randrange(1, 5000)))
            if chance.random() < 0.5:
                client.reset()
            else:
                await client.close()
            assert await honest.ask(b"still here?") == b"still here"
        assert await serving.settles(lambda: len(serving.listener) == 1)


@in_loop
async def test_announced_frame_size_is_not_allocated() -> None:
    async with Serving() as serving:
        clients = [await serving.connect() for _ in range(100)]
        assert await serving.settles(lambda: len(serving.listener) == 100)
        tracemalloc.start()
        for client in clients:
            client.writer.write((100 << 20).to_bytes(4, "big") + bytes(5000))
        await serving.turns()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert 100 * 5000 < peak < 100 * 50_000
        for client in clients:
            client.reset()
