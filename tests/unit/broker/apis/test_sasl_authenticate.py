"""SaslAuthenticate on a listener without authentication."""

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from tests.unit.broker.apis.asking import asking


def test_request_returns_illegal_sasl_state() -> None:
    with asking() as ask:
        answer = ask(Api.SASL_AUTHENTICATE, 2, auth_bytes=b"\0user\0password")
    assert answer["error_code"] == Code.ILLEGAL_SASL_STATE
    assert answer["error_message"] == "SaslAuthenticate request received after successful authentication"
