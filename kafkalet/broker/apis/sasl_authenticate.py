"""SaslAuthenticate v0-2: one step of the authentication (KIP-152).

On a listener without SASL, the answer is ILLEGAL_SASL_STATE.

Source: SaslServerAuthenticator.handleSaslToken, kafka.server.KafkaApis.handleSaslAuthenticateRequest.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.security.sasl.mechanism import AuthenticationFailed
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse


def handle(request: SaslAuthenticateRequest, context: Context) -> SaslAuthenticateResponse:
    authenticator = context.authenticator
    if authenticator is None or authenticator.mechanism is None:
        return SaslAuthenticateResponse(
            error_code=Code.ILLEGAL_SASL_STATE,
            error_message="this listener does not use SASL: connect without authentication",
            auth_bytes=b"",
        )
    mechanism = authenticator.mechanism
    try:
        token = mechanism.evaluate(bytes(request.auth_bytes))
    except AuthenticationFailed as failed:
        context.client.close(str(failed))
        return SaslAuthenticateResponse(
            error_code=Code.SASL_AUTHENTICATION_FAILED, error_message=str(failed), auth_bytes=b""
        )
    if mechanism.principal is not None:
        authenticator.principal = context.principal = mechanism.principal
    return SaslAuthenticateResponse(auth_bytes=token)
