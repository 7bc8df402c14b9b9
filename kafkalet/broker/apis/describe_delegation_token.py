"""DescribeDelegationToken v0-3: list the tokens of owners and renewers with their secrets (KIP-48, KIP-373).

If the owners are null, the tokens of all owners are listed; if they are an empty array, none are. Clients see the
tokens that they own or may renew. To see others, they need DESCRIBE on the token or DESCRIBE_TOKENS on its owner.

Source: kafka.server.KafkaApis.handleDescribeTokensRequest, kafka.server.DelegationTokenManager.filterToken.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.broker.security.delegation_tokens import DelegationToken
from kafkalet.broker.security.principal import Principal
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)

Token = DescribeDelegationTokenResponse.Token


def handle(request: DescribeDelegationTokenRequest, context: Context) -> DescribeDelegationTokenResponse:
    if context.is_at_controller:  # it advertises this API, but has no handler
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
    if not context.may_request_tokens:
        raise KafkaError(Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    tokens = context.controller.delegation_tokens
    if not tokens.are_enabled:
        raise KafkaError(Code.DELEGATION_TOKEN_AUTH_DISABLED)
    found = tokens.all()
    if request.owners is not None:
        owners = {Principal(owner.principal_type, owner.principal_name) for owner in request.owners}
        found = [token for token in found if not owners.isdisjoint((token.owner, *token.renewers))]
    return DescribeDelegationTokenResponse(
        tokens=[_described(token, tokens.secret(token.token_id)) for token in found if _may_see(token, context)]
    )


def _may_see(token: DelegationToken, context: Context) -> bool:
    return (
        token.may_be_renewed_by(context.principal)
        or context.allows(Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id)
        or (
            context.release.authorizes_token_owners
            and context.allows(Operation.DESCRIBE_TOKENS, ResourceType.USER, str(token.owner))
        )
    )


def _described(token: DelegationToken, secret: bytes) -> Token:
    return Token(
        principal_type=token.owner.type,
        principal_name=token.owner.name,
        token_requester_principal_type=token.requester.type,
        token_requester_principal_name=token.requester.name,
        issue_timestamp=token.issued_ms,
        expiry_timestamp=token.expires_ms,
        max_timestamp=token.max_ms,
        token_id=token.token_id,
        hmac=secret,
        renewers=[
            Token.Renewer(principal_type=renewer.type, principal_name=renewer.name) for renewer in token.renewers
        ],
    )
