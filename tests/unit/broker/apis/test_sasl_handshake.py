"""SaslHandshake on a listener without authentication."""

from typing import Any

from kafkalet.broker.apis.sasl_handshake import refuse
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.unit.broker.apis.asking import asking


def test_request_returns_illegal_sasl_state() -> None:
    with asking() as ask:
        assert ask(Api.SASL_HANDSHAKE, 1, mechanism="PLAIN") == {
            "error_code": Code.ILLEGAL_SASL_STATE,
            "mechanisms": [],
        }


def test_refusal_has_the_error_of_a_fault() -> None:
    request = SaslHandshakeRequest(mechanism="PLAIN")
    context: Any = None
    fault = KafkaError(Code.UNSUPPORTED_SASL_MECHANISM)
    assert refuse(request, context, fault).error_code == Code.UNSUPPORTED_SASL_MECHANISM
    assert refuse(request, context).error_code == Code.ILLEGAL_SASL_STATE
