"""ExpireDelegationToken v0-2: let a token expire after a period, or remove it if the period is negative (KIP-48).

Only the owner and the renewers of a token may do so.

Source: kafka.server.KafkaApis.handleExpireTokenRequest,
org.apache.kafka.controller.DelegationTokenControlManager.expireDelegationToken.
"""

from kafkalet.broker.context import Context
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)

NO_TIME = -1


def handle(request: ExpireDelegationTokenRequest, context: Context) -> ExpireDelegationTokenResponse:
    if not context.may_request_tokens:
        code = Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return ExpireDelegationTokenResponse(error_code=code, expiry_timestamp_ms=NO_TIME)
    tokens = context.controller.delegation_tokens
    expires_ms = tokens.expire(bytes(request.hmac), context.principal, request.expiry_time_period_ms)
    return ExpireDelegationTokenResponse(expiry_timestamp_ms=expires_ms)


def refuse(request: ExpireDelegationTokenRequest, context: Context, error: KafkaError) -> ExpireDelegationTokenResponse:
    time_ms = context.release.time_of_refused_tokens
    return ExpireDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=time_ms)
