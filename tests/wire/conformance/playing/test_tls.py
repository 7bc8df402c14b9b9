"""Judging over TLS: a proxy with a certificate made for the test in front of kafkalet."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pytest

import kafkalet
from kafkalet.client_security import Security, tls_context
from kafkalet_conformance.judging.judge import CannotJudge, Options, judge
from kafkalet_conformance.results import Outcome

pytestmark = pytest.mark.skipif(which("openssl") is None, reason="needs openssl to make a certificate")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for localhost, with its key in the same file."""
    directory = tmp_path_factory.mktemp("tls")
    made, key = directory / "certificate.pem", directory / "key.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*new, "-keyout", str(key), "-out", str(made)], check=True, capture_output=True)
    made.write_text(made.read_text() + key.read_text())
    return made


class TlsProxy:
    """Accepts TLS connections and forwards their bytes."""

    def __init__(self, bootstrap: str, certificate: Path) -> None:
        host, _, port = bootstrap.rpartition(":")
        self.behind = host, int(port)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.threads = [threading.Thread(target=self.accept)]
        self.threads[0].start()

    @property
    def port(self) -> int:
        port: int = self.listener.getsockname()[1]
        return port

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self.forward, args=(client,))
            self.threads.append(thread)
            thread.start()

    def forward(self, plain: socket.socket) -> None:
        with plain, socket.create_connection(self.behind) as broker:
            try:
                with self.context.wrap_socket(plain, server_side=True) as client:
                    while request := exactly(client):
                        broker.sendall(request)
                        client.sendall(exactly(broker))
            except OSError:
                return

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(10)


def exactly(connection: socket.socket) -> bytes:
    """Return one frame with its size, or nothing at the end."""
    data, wanted = b"", 4
    while len(data) < wanted:
        more = connection.recv(wanted - len(data))
        if not more:
            return b""
        data += more
        if len(data) == 4:
            wanted = 4 + int.from_bytes(data, "big")
    return data


@pytest.fixture(scope="module")
def proxy(certificate: Path) -> Iterator[TlsProxy]:
    with kafkalet.Broker(version="3.9") as broker:
        proxy = TlsProxy(broker.bootstrap_servers, certificate)
        yield proxy
        proxy.close()


def options(proxy: TlsProxy, security: Security, host: str = "localhost") -> Options:
    return Options(f"{host}:{proxy.port}", "3.9", only=("lo_time_equal",), security=security)


def test_broker_with_a_trusted_certificate_is_judged(proxy: TlsProxy, certificate: Path) -> None:
    run = judge(options(proxy, Security(tls_context(str(certificate)))))
    assert run.counts() == {Outcome.AS_KAFKA: 1}


def test_untrusted_certificate_is_refused_unless_insecure(proxy: TlsProxy) -> None:
    with pytest.raises(CannotJudge, match="certificate verify failed"):
        judge(options(proxy, Security(tls_context())))
    assert judge(options(proxy, Security(tls_context(insecure=True)))).counts() == {Outcome.AS_KAFKA: 1}


def test_certificate_for_another_host_is_refused(proxy: TlsProxy, certificate: Path) -> None:
    with pytest.raises(CannotJudge, match="certificate verify failed"):
        judge(options(proxy, Security(tls_context(str(certificate))), "127.0.0.1"))


def test_connection_without_tls_gets_a_hint(proxy: TlsProxy) -> None:
    with pytest.raises(CannotJudge, match=r"it may expect TLS \(--tls\) or SASL \(--sasl\)"):
        judge(options(proxy, Security()))
