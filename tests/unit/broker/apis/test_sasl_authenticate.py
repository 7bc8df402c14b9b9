"""SaslAuthenticate on a listener without authentication."""

from typing import Any, cast

from kafkalet.broker.apis.sasl_authenticate import handle
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.sasl_authenticate import SaslAuthenticateRequest


def test_request_returns_illegal_sasl_state() -> None:
    answer = handle(SaslAuthenticateRequest(auth_bytes=b"\0user\0password"), cast(Any, None))
    assert answer.error_code == Code.ILLEGAL_SASL_STATE
