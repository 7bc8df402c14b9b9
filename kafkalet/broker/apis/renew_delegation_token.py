"""RenewDelegationToken v0-2: let a token expire later or earlier, but not after its maximum (KIP-48).

Only the owner and the renewers of a token may do so.

Source: kafka.server.KafkaApis.handleRenewTokenRequest,
org.apache.kafka.controller.DelegationTokenControlManager.renewDelegationToken.
"""

from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse

NO_TIME = -1


def handle(request: RenewDelegationTokenRequest, context: Context) -> RenewDelegationTokenResponse:
    if not context.may_request_tokens:
        code = Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return RenewDelegationTokenResponse(error_code=code, expiry_timestamp_ms=NO_TIME)
    tokens = context.controller.delegation_tokens
    expires_ms = tokens.renew(bytes(request.hmac), context.principal, request.renew_period_ms)
    return RenewDelegationTokenResponse(expiry_timestamp_ms=expires_ms)


def refuse(request: RenewDelegationTokenRequest, context: Context, error: KafkaError) -> RenewDelegationTokenResponse:
    time_ms = context.release.time_of_refused_tokens
    return RenewDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=time_ms)
