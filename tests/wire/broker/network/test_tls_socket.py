"""Connections with TLS: requests and responses of all sizes, slow readers, and how connections end."""

import asyncio
import logging
import random
import socket
import ssl
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from kafkalet.broker.context import Context
from kafkalet.broker.security.tls import handshake_limit
from kafkalet.broker.security.tls.handshake_limit import limit_handshake_messages
from kafkalet.storage.files import FileRange, Files
from kafkalet.tasks.delayed import Delayed
from tests.wire.serving import Answer, frame, in_loop

from .tls import TlsServing, certificate


@in_loop
async def test_request_over_tls_is_answered() -> None:
    async with TlsServing() as serving:
        client = await serving.connect()
        assert await client.ask(b"\1hello") == b"\1hello"


@pytest.mark.parametrize("size", [1, 16_384, 16_385, 65_536, 300_000, 5_000_000])
@in_loop
async def test_requests_and_responses_of_any_size_arrive_unchanged(size: int) -> None:
    content = random.Random(size).randbytes(size)
    async with TlsServing() as serving:
        client = await serving.connect()
        assert await client.ask(content) == content
        assert await client.ask(b"\1after") == b"\1after"


@in_loop
async def test_many_requests_in_one_tls_record_are_all_answered() -> None:
    contents = [b"\1" + number.to_bytes(4, "big") for number in range(1500)]
    async with TlsServing() as serving:
        client = await serving.connect()
        client.writer.write(b"".join(map(frame, contents)))
        assert [await client.receive() for _ in contents] == contents


@in_loop
async def test_decrypted_requests_behind_a_delayed_response_are_answered_after_it() -> None:
    delayed: Delayed[Any] = Delayed()

    def answer(content: bytes, context: Context) -> Answer:
        return delayed if content == b"\1wait" else content

    async with TlsServing(answer) as serving:
        client = await serving.connect()
        later = [b"\1" + bytes(1000) + number.to_bytes(4, "big") for number in range(300)]
        client.send(b"\1wait", *later)
        await serving.turns()
        delayed.complete(b"\1done")
        assert await client.receive() == b"\1done"
        assert [await client.receive() for _ in later] == later


@in_loop
async def test_slow_reader_gets_everything() -> None:
    content = random.Random(1).randbytes(3_000_000)
    async with TlsServing(lambda asked, context: content, socket_send_buffer_bytes=8192) as serving:
        client = await serving.connect()
        client.send(b"\1a", b"\1b", b"\1c")
        await serving.turns()
        for _ in range(3):
            assert await client.receive() == content


@in_loop
async def test_ranges_of_files_are_sent_over_tls() -> None:
    content = random.Random(2).randbytes(500_000)
    with TemporaryDirectory() as directory:
        path = Path(directory, "segment.log")
        path.write_bytes(content)  # noqa: ASYNC240 - nothing else runs in the loop yet
        part = FileRange(Files().file(str(path)), 1000, 450_000)
        async with TlsServing(lambda asked, context: [b"head", part]) as serving:
            client = await serving.connect()
            assert await client.ask(b"\1x") == b"head" + content[1000:451_000]


@in_loop
async def test_closing_client_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with TlsServing() as serving:
        client = await serving.connect()
        await client.ask(b"\1x")
        with caplog.at_level(logging.INFO):
            await client.close()
            assert await serving.settles(lambda: not serving.listener.connections)
    assert caplog.messages == []


@in_loop
async def test_client_is_notified_when_the_broker_closes_the_connection() -> None:
    def answer(content: bytes, context: Context) -> Answer:
        context.client.close("test")
        return content

    async with TlsServing(answer) as serving:
        client = await serving.connect()
        assert await client.ask(b"\1x") == b"\1x"
        assert await client.is_closed()


@in_loop
async def test_reset_reaches_the_client() -> None:
    async with TlsServing() as serving:
        client = await serving.connect()
        await client.ask(b"\1x")
        serving.listener.connections[0].reset()
        with pytest.raises(ConnectionResetError):
            await client.reader.read(1)


@in_loop
async def test_half_closed_connection_still_receives() -> None:
    async with TlsServing() as serving:
        context = ssl.create_default_context(cafile=certificate()[0])
        with await asyncio.to_thread(socket.create_connection, serving.address) as plain:
            client = await asyncio.to_thread(context.wrap_socket, plain, server_hostname="localhost")
            with client:
                await asyncio.to_thread(client.sendall, frame(b"\1x"))
                await asyncio.to_thread(client.recv, 100)
                serving.listener.connections[0].half_close()
                assert await asyncio.to_thread(client.recv, 100) == b""
                await asyncio.to_thread(client.sendall, frame(b"\1y"))
                assert await serving.settles(lambda: serving.router.frames[1:] == [b"\1y"])


@in_loop
async def test_black_hole_discards_requests_over_tls() -> None:
    async with TlsServing() as serving:
        client = await serving.connect()
        await client.ask(b"\1x")
        connection = serving.listener.connections[0]
        connection.black_hole()
        client.send(b"\1y")
        await serving.turns(200)
        assert len(serving.router.frames) == 1
        assert connection.discards_data


@in_loop
async def test_received_but_unread_request_counts_as_activity() -> None:
    async with TlsServing() as serving:
        client = await serving.connect()
        await client.ask(b"\1x")
        connection = serving.listener.connections[0]
        assert connection.activity is None
        client.send(b"\1y")
        assert connection.activity == "a request is sent but not received"


@in_loop
async def test_client_that_only_updates_its_keys_is_disconnected(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(handshake_limit, "MOST_RECORDS", 10)
    caplog.set_level("INFO")
    async with TlsServing() as serving:
        settings: Any = serving.listener.tls
        limit_handshake_messages(settings.context)
        command = ["openssl", "s_client", "-connect", f"127.0.0.1:{serving.address[1]}", "-tls1_3"]
        pipe = asyncio.subprocess.PIPE
        client = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
        assert client.stdin is not None
        for _ in range(200):
            if client.returncode is not None or client.stdin.is_closing():
                break
            client.stdin.write(b"k\n")  # updates the keys
            await asyncio.sleep(0.02)
        await client.communicate()
    assert "more than 1000 TLS handshake messages" in caplog.text


@in_loop
async def test_closing_a_copy_after_a_fork_does_not_notify_the_client() -> None:
    async with TlsServing() as serving:
        client = await serving.connect()
        await client.ask(b"\1hello")
        [connection] = serving.listener.connections
        remains = socket.fromfd(connection._fd, socket.AF_INET, socket.SOCK_STREAM)  # the socket of the parent process
        with remains:
            connection.close_socket()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.reader.read(1), 0.2)
        connection.abort()
