"""Keystores and truststores from properties."""

import pytest

from kafkalet.broker.security.key_stores import key_store_of
from kafkalet.properties import InvalidProperty


def test_missing_keystore_file_is_named() -> None:
    with pytest.raises(InvalidProperty, match=r"cannot read missing\.pem"):
        key_store_of({"ssl.keystore.type": "PEM", "ssl.keystore.location": "missing.pem"})
