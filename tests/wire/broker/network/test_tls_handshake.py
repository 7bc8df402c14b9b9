"""TLS handshakes: those that fail or never end close their own connection only, with one line in the log."""

import asyncio
import socket
import ssl

import pytest

from kafkalet.clock import ManualClock
from tests.wire.serving import in_loop

from .tls import TlsServing, certificate


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().partition(": ")[2] for record in caplog.records if record.name.startswith("kafkalet")]


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"\0\0\0\x1a\0\x12\0\0\0\0\0\1\0\x10consumer-1-group", "the client did not send TLS; does it use"),
        (b"GET / HTTP/1.1\r\n\r\n", "the client sent an HTTP request"),
        (bytes(100), "the client did not send TLS; does it use"),
    ],
)
@in_loop
async def test_plain_text_closes_the_connection_and_the_log_says_why(
    sent: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with TlsServing() as serving:
        other = await serving.connect()
        client = await serving.connect_plainly()
        client.writer.write(sent)
        assert await serving.settles(lambda: len(serving.listener) == 1)
        assert [line.startswith(f"closed; the TLS handshake failed: {reason}") for line in lines(caplog)] == [True]
        assert await other.ask(b"\1x") == b"\1x"


@in_loop
async def test_client_that_disconnects_during_the_handshake_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with TlsServing() as serving:
        client = await serving.connect_plainly()
        assert await serving.settles(lambda: len(serving.listener) == 1)
        await client.close()
        assert await serving.settles(lambda: len(serving.listener) == 0)
    assert lines(caplog) == ["closed; the TLS handshake failed: the client disconnected"]


@in_loop
async def test_client_that_does_not_trust_the_certificate_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with TlsServing() as serving:
        plain = await asyncio.to_thread(socket.create_connection, serving.address)
        with plain, pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.to_thread(ssl.create_default_context().wrap_socket, plain, server_hostname="localhost")
        assert await serving.settles(lambda: len(serving.listener) == 0)
    assert lines(caplog) == [
        "closed; the TLS handshake failed: the client does not trust the certificate of the broker "
        "(TLSV1_ALERT_UNKNOWN_CA)"
    ]


@in_loop
async def test_handshake_that_hangs_is_closed_after_the_idle_time(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    async with TlsServing(clock=clock, connections_max_idle_ms=1000) as serving:
        client = await serving.connect_plainly()
        client.writer.write(b"\x16\x03\x01")  # the start of a TLS record
        assert await serving.settles(lambda: len(serving.listener) == 1)
        clock.advance(milliseconds=2000)
        assert await client.is_closed()
    assert len(lines(caplog)) == 1
    assert lines(caplog)[0].endswith("connections.max.idle.ms=1000")


@in_loop
async def test_connection_that_cannot_be_created_is_closed_and_not_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*arguments: object) -> None:
        raise OSError("too many watched descriptors")

    async with TlsServing(max_connections_per_ip=1) as serving:
        with monkeypatch.context() as patch:
            patch.setattr(serving.listener, "_connection_type", refused)
            assert await (await serving.connect()).is_closed()
        assert lines(caplog) == ["a bug after the handshake"]
        assert await (await serving.connect()).ask(b"\1x") == b"\1x"


@in_loop
async def test_handshakes_in_progress_count_as_connections() -> None:
    async with TlsServing(max_connections_per_ip=1) as serving:
        await serving.connect_plainly()
        assert await serving.settles(lambda: len(serving.listener) == 1)
        assert await (await serving.connect_plainly()).is_closed()


@in_loop
async def test_closing_the_listener_closes_handshakes_in_progress() -> None:
    async with TlsServing() as serving:
        client = await serving.connect_plainly()
        assert await serving.settles(lambda: len(serving.listener) == 1)
        serving.listener.close()
        assert await client.is_closed()
        assert len(serving.listener) == 0


@in_loop
async def test_new_certificate_is_used_for_new_connections() -> None:
    async with TlsServing() as serving:
        first = await serving.connect()
        assert serving.listener.tls is not None
        serving.listener.tls.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)  # has no certificate
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await serving.connect()
        assert await first.ask(b"\1x") == b"\1x"
        serving.listener.tls.context.load_cert_chain(*certificate())
        assert await (await serving.connect()).ask(b"\1y") == b"\1y"
