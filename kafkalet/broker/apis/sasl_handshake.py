"""SaslHandshake v0-1, on listeners without authentication, which are all that there are: ILLEGAL_SASL_STATE.

Source: kafka.server.KafkaApis.handleSaslHandshakeRequest; with SASL the exchange never comes as far as that.
"""

from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def handle(request: SaslHandshakeRequest, context: Context) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=Code.ILLEGAL_SASL_STATE, mechanisms=[])
