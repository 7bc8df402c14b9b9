"""SaslHandshake v0-1: choose the mechanism with which the client authenticates.

v0  the tokens follow without request headers
v1  the tokens follow in SaslAuthenticate requests (KIP-152)

An authenticated client may send it to authenticate again if the lifetime of its session is limited (KIP-368). On a
listener without SASL, and in any other state, the answer is ILLEGAL_SASL_STATE.

Source: SaslServerAuthenticator.handleHandshakeRequest, kafka.server.KafkaApis.handleSaslHandshakeRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafkalet.tasks.delayed import Delayed

if TYPE_CHECKING:  # imported only if a listener uses SASL
    from kafkalet.broker.security.sasl.authenticator import Authenticator

Answer = SaslHandshakeResponse | Delayed[SaslHandshakeResponse]


def handle(request: SaslHandshakeRequest, context: Context) -> Answer:
    authenticator = context.authenticator
    if authenticator is None or (authenticator.is_complete and not authenticator.begins_reauthentication()):
        return refuse(request, context)
    response = _handshake(request, authenticator, context)
    if authenticator.is_reauthenticating and isinstance(response, SaslHandshakeResponse):
        # The frames that follow are tokens, so this request must be the last one of its turn.
        delayed: Delayed[SaslHandshakeResponse] = Delayed()
        authenticator.listener.call_soon(lambda: delayed.complete(response))
        return delayed
    return response


def refuse(request: SaslHandshakeRequest, context: Context, error: KafkaError | None = None) -> SaslHandshakeResponse:
    code = Code.ILLEGAL_SASL_STATE if error is None else error.code
    return SaslHandshakeResponse(error_code=code, mechanisms=[])


def _handshake(request: SaslHandshakeRequest, authenticator: Authenticator, context: Context) -> Answer:
    mechanisms = authenticator.listener.mechanisms
    if authenticator.handshake(request.mechanism, context.version):
        return SaslHandshakeResponse(mechanisms=mechanisms)
    response = SaslHandshakeResponse(error_code=Code.UNSUPPORTED_SASL_MECHANISM, mechanisms=mechanisms)
    reason = f"Unsupported SASL mechanism {request.mechanism[:100]!r}; enabled are {', '.join(mechanisms)}"
    return authenticator.fail(response, reason, context.client)
