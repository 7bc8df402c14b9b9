"""SaslAuthenticate v0-2: one step of the authentication (KIP-152).

v1  adds the lifetime of the session (KIP-368)

On a listener without SASL, and after the client has been authenticated, the request returns ILLEGAL_SASL_STATE.

Source: SaslServerAuthenticator.handleSaslToken, kafka.server.KafkaApis.handleSaslAuthenticateRequest.
"""

from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kafkalet.tasks.delayed import Delayed


def handle(
    request: SaslAuthenticateRequest, context: Context
) -> SaslAuthenticateResponse | Delayed[SaslAuthenticateResponse]:
    authenticator = context.authenticator
    if authenticator is None or not authenticator.takes_tokens:
        return SaslAuthenticateResponse(
            error_code=Code.ILLEGAL_SASL_STATE,
            error_message="SaslAuthenticate request received after successful authentication",
            auth_bytes=b"",
        )
    return authenticator.authenticate(bytes(request.auth_bytes))
