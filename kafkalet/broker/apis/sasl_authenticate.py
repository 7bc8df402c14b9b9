"""SaslAuthenticate v0-2: refuse authentication with ILLEGAL_SASL_STATE, because no listener uses SASL.

Source: kafka.server.KafkaApis.handleSaslAuthenticateRequest, which Kafka calls only on listeners without SASL.
"""

from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse


def handle(request: SaslAuthenticateRequest, context: Context) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=Code.ILLEGAL_SASL_STATE,
        error_message="this listener does not use SASL: connect without authentication",
        auth_bytes=b"",
    )
