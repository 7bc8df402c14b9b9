"""SaslHandshake v0-1: choose the mechanism with which the client authenticates.

v0  the tokens follow without request headers
v1  the tokens follow in SaslAuthenticate requests (KIP-152)

If the lifetime of its session is limited, an authenticated client may send this request to authenticate again
(KIP-368). On a listener without SASL, and in any other state, the request returns ILLEGAL_SASL_STATE.

Source: SaslServerAuthenticator.handleHandshakeRequest, kafka.server.KafkaApis.handleSaslHandshakeRequest.
"""

from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafkalet.tasks.delayed import Delayed


def handle(request: SaslHandshakeRequest, context: Context) -> SaslHandshakeResponse | Delayed[SaslHandshakeResponse]:
    authenticator = context.authenticator
    if authenticator is None or not authenticator.takes_handshake:
        return refuse(request, context)
    return authenticator.handshake(request.mechanism, context.version)


def refuse(request: SaslHandshakeRequest, context: Context, error: KafkaError | None = None) -> SaslHandshakeResponse:
    code = Code.ILLEGAL_SASL_STATE if error is None else error.code
    return SaslHandshakeResponse(error_code=code, mechanisms=[])
