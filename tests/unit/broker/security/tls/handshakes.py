"""TLS handshakes in memory, between a listener's context and that of a client."""

import ssl
from collections.abc import Mapping

from kafkalet.broker.security.tls.certificate_authority import CertificateAuthority
from kafkalet.broker.security.tls.certificate_tools import Issued
from kafkalet.broker.security.tls.settings import TlsSettings


def client_context(authority: CertificateAuthority, issued: Issued | None = None) -> ssl.SSLContext:
    """Return the context of a client that trusts the authority, and has the certificate if one is given."""
    context = ssl.create_default_context(cafile=authority.ca_file)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    if issued is not None:
        context.load_cert_chain(issued.certificate_file, issued.key_file)
    return context


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, host: str = "localhost") -> ssl.SSLObject:
    """Return the server's side after the handshake. Raises SSLError if either side refuses the other."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    serving = server.wrap_bio(to_server, to_client, server_side=True)
    asking = client.wrap_bio(to_client, to_server, server_hostname=host)
    waiting = [asking, serving]
    for _ in range(10):
        for side in tuple(waiting):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.remove(side)
        if not waiting:
            return serving
    raise AssertionError("the handshake does not end")


def settings(authority: CertificateAuthority, more: Mapping[str, str] | None = None) -> TlsSettings:
    """Return the settings of a listener with the broker's certificate."""
    return TlsSettings({**authority.broker_properties(), **(more or {})})
