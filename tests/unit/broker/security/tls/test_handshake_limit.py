"""The limit for handshake messages. Key updates are tested on the wire, with the listener."""

import socket
import threading

import pytest

from kafkalet.broker.security.tls import handshake_limit
from kafkalet.broker.security.tls.certificate_authority import CertificateAuthority
from kafkalet.broker.security.tls.handshake_limit import LimitedSocket

from .handshakes import client_context, settings


def records_of_a_handshake(authority: CertificateAuthority) -> int:
    server, client = socket.socketpair()

    def connect() -> None:
        try:
            client_context(authority).wrap_socket(client, server_hostname="localhost").close()
        except OSError:
            client.close()

    thread = threading.Thread(target=connect)
    thread.start()
    with settings(authority).context.wrap_socket(server, server_side=True, do_handshake_on_connect=False) as tls:
        assert isinstance(tls, LimitedSocket)
        try:
            tls.do_handshake()
        finally:
            thread.join()
        assert not tls.has_exceeded_limit
        return tls.handshake_records


def test_handshake_is_far_from_the_limit(authority: CertificateAuthority) -> None:
    assert 0 < records_of_a_handshake(authority) < 10


def test_connection_that_exceeds_the_limit_is_shut_down(
    authority: CertificateAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshake_limit, "MOST_RECORDS", 0)
    with pytest.raises(OSError):
        records_of_a_handshake(authority)
