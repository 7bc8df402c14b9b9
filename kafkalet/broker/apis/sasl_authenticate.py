"""SaslAuthenticate v0-2: one step of the authentication (KIP-152).

v1  adds the lifetime of the session (KIP-368)

On a listener without SASL, and once the client is authenticated, the answer is ILLEGAL_SASL_STATE.

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
    from kafkalet.broker.security.sasl.mechanism import AuthenticationFailed

    try:
        step = authenticator.evaluate(bytes(request.auth_bytes))
    except AuthenticationFailed as failed:
        response = SaslAuthenticateResponse(
            error_code=Code.SASL_AUTHENTICATION_FAILED, error_message=str(failed), auth_bytes=b""
        )
        reason = f"{failed}{f' ({failed.__cause__})' if failed.__cause__ else ''}"
        return authenticator.fail(response, reason, context.client)
    authenticator.identify(context)
    return SaslAuthenticateResponse(auth_bytes=step.token, session_lifetime_ms=step.session_lifetime_ms)
