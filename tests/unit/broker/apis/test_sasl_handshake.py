"""SaslHandshake on a listener without authentication."""

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from tests.unit.broker.apis.asking import asking


def test_request_returns_illegal_sasl_state() -> None:
    with asking() as ask:
        assert ask(Api.SASL_HANDSHAKE, 1, mechanism="PLAIN") == {
            "error_code": Code.ILLEGAL_SASL_STATE,
            "mechanisms": [],
        }
