"""TLS settings from properties, and handshakes with them."""

import pytest

from kafkalet.broker.security.tls import TlsSettings
from kafkalet.properties import InvalidProperty


def test_listener_without_keystore_is_refused_with_what_to_do() -> None:
    with pytest.raises(InvalidProperty, match=r"has no keystore.*kafkalet serve --tls.*Broker\(tls=True\)"):
        TlsSettings({})
