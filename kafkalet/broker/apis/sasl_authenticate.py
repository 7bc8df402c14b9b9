"""SaslAuthenticate v0-2, on listeners without authentication, which are all that there are: ILLEGAL_SASL_STATE.

Source: kafka.server.KafkaApis.handleSaslAuthenticateRequest; with SASL the exchange never comes as far as that.
"""

from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse


def handle(request: SaslAuthenticateRequest, context: Context) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=Code.ILLEGAL_SASL_STATE,
        error_message="this listener does not authenticate: the client is in already",
        auth_bytes=b"",
    )
