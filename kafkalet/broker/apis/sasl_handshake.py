"""SaslHandshake v0-1: choose the mechanism with which the client authenticates.

On a listener without SASL, the answer is ILLEGAL_SASL_STATE.

Source: SaslServerAuthenticator.handleHandshakeRequest, kafka.server.KafkaApis.handleSaslHandshakeRequest.
"""

from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def handle(request: SaslHandshakeRequest, context: Context) -> SaslHandshakeResponse:
    authenticator = context.authenticator
    if authenticator is None or authenticator.principal is not None:
        return SaslHandshakeResponse(error_code=Code.ILLEGAL_SASL_STATE, mechanisms=[])
    mechanisms = authenticator.listener.mechanisms
    if request.mechanism not in mechanisms:
        context.client.close(f"SASL mechanism {request.mechanism!r} is not enabled")
        return SaslHandshakeResponse(error_code=Code.UNSUPPORTED_SASL_MECHANISM, mechanisms=mechanisms)
    authenticator.mechanism = authenticator.listener.mechanism(request.mechanism)
    return SaslHandshakeResponse(mechanisms=mechanisms)
