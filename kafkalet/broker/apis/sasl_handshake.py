"""SaslHandshake v0-1: refuse authentication with ILLEGAL_SASL_STATE, because no listener uses SASL.

Source: kafka.server.KafkaApis.handleSaslHandshakeRequest, which Kafka calls only on listeners without SASL.
"""

from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def handle(request: SaslHandshakeRequest, context: Context) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=Code.ILLEGAL_SASL_STATE, mechanisms=[])
