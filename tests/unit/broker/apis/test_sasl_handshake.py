"""SaslHandshake on a listener without authentication."""

from typing import Any, cast

from kafkalet.broker.apis.sasl_handshake import handle
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.sasl_handshake import SaslHandshakeRequest


def test_request_returns_illegal_sasl_state() -> None:
    answer = handle(SaslHandshakeRequest(mechanism="PLAIN"), cast(Any, None))
    assert answer.error_code == Code.ILLEGAL_SASL_STATE
