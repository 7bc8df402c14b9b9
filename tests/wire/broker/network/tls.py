"""TLS for the tests of listeners: a server certificate, and what clients need to trust it."""

import asyncio
import ssl
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from types import SimpleNamespace
from typing import Any

from kafkalet.broker.security.principal import ANONYMOUS
from tests.wire.serving import Client, Serving


@cache
def certificate() -> tuple[str, str]:
    """Return the files of a self-signed certificate for localhost and of its key."""
    directory = Path(mkdtemp(prefix="kafkalet-test-tls-"))
    certificate, key = directory / "certificate.pem", directory / "key.pem"
    kind = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    names = "-addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    command = ["openssl", *kind.split(), *names.split(), "-out", str(certificate), "-keyout", str(key)]
    subprocess.run(command, check=True, capture_output=True)
    return str(certificate), str(key)


def settings() -> Any:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate())
    return SimpleNamespace(context=context, principal=lambda tls: ANONYMOUS)


class TlsServing(Serving):
    """A listener with TLS."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.listener.tls = settings()

    async def connect(self) -> Client:
        context = ssl.create_default_context(cafile=certificate()[0])
        streams = await asyncio.open_connection(*self.address, limit=1 << 26, ssl=context, server_hostname="localhost")
        client = Client(*streams)
        self.clients.append(client)
        return client

    async def connect_plainly(self) -> Client:
        """Connect without TLS."""
        return await super().connect()
