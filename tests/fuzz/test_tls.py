"""Malformed TLS: clients that send anything before, in and after the handshake only break their own connection."""

import asyncio
import logging
import random
import ssl
import tracemalloc

import pytest

from tests.wire.broker.network.tls import TlsServing, certificate
from tests.wire.serving import Client, in_loop

from .mutations import mutate

CLIENTS = 300
MEMORY_BYTES_PER_CLIENT = 200_000


def client_hello(versions: ssl.TLSVersion) -> bytes:
    """Return the first flight of a client."""
    context = ssl.create_default_context(cafile=certificate()[0])
    context.maximum_version = versions
    outgoing = ssl.MemoryBIO()
    session = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        session.do_handshake()
    return outgoing.read()


async def send_in_pieces(client: Client, data: bytes, chance: random.Random) -> None:
    """Send data in up to four pieces, which the broker receives separately."""
    cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(4)))
    for start, stop in zip([0, *cuts], [*cuts, len(data)], strict=True):
        client.writer.write(data[start:stop])
        await asyncio.sleep(0)


@pytest.mark.parametrize("seed", range(4))
@in_loop
async def test_malformed_handshakes_end_and_are_logged_in_one_line_each(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(seed)
    hellos = [client_hello(ssl.TLSVersion.TLSv1_2), client_hello(ssl.TLSVersion.TLSv1_3)]
    async with TlsServing() as serving:
        for _ in range(CLIENTS):
            client = await serving.connect_plainly()
            await send_in_pieces(client, mutate(chance, chance.choice(hellos), chance.choice(hellos)), chance)
            if chance.random() < 0.5:
                await client.close()
        other = await serving.connect()
        assert await other.ask(b"\1x") == b"\1x"
        for client in serving.clients[:-1]:
            await client.close()
        assert await serving.settles(lambda: len(serving.listener) == 1)
    assert [record for record in caplog.records if record.levelno > logging.WARNING] == []
    assert len(caplog.records) <= CLIENTS


@pytest.mark.parametrize("seed", range(4))
@in_loop
async def test_malformed_records_after_the_handshake_close_the_connection(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(seed)
    async with TlsServing() as serving:
        for _ in range(CLIENTS // 10):
            client = await serving.connect()
            await client.ask(b"\1x")
            record = b"\x17\x03\x03\0\x40" + chance.randbytes(64)
            client.socket._sock.send(mutate(chance, record, b"\x15\x03\x03\0\x02\2\x28"))  # type: ignore[attr-defined]
        other = await serving.connect()
        assert await other.ask(b"\1x") == b"\1x"
    assert [record for record in caplog.records if record.levelno > logging.WARNING] == []


@in_loop
async def test_unfinished_handshakes_use_little_memory() -> None:
    hello = client_hello(ssl.TLSVersion.TLSv1_3)
    async with TlsServing() as serving:
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            for _ in range(100):
                client = await serving.connect_plainly()
                client.writer.write(hello[:-1])
            assert await serving.settles(lambda: len(serving.listener) == 100)
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (after - before) / 100 < MEMORY_BYTES_PER_CLIENT
