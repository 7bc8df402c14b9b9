"""CreateDelegationToken v0-3: create a token for the client, or since v3 for another user (KIP-48, KIP-373).

To create a token for another user, the client needs CREATE_TOKENS on that user.

Source: kafka.server.KafkaApis.handleCreateTokenRequest,
org.apache.kafka.controller.DelegationTokenControlManager.createDelegationToken.
"""

from kafkalet.broker.cluster.metadata import new_topic_id
from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.broker.security.principal import USER, Principal
from kafkalet.formats import uuid_text
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from kafkalet.protocol.text import MAX_STRING_BYTES

NO_TIME = -1


def handle(request: CreateDelegationTokenRequest, context: Context) -> CreateDelegationTokenResponse:
    requester = owner = context.principal
    if request.owner_principal_name:
        if request.owner_principal_type is None:
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
        owner = Principal(request.owner_principal_type, request.owner_principal_name)
    if not context.may_request_tokens:
        return _refusal(Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, owner, requester)
    if owner != requester and not context.allows(Operation.CREATE_TOKENS, ResourceType.USER, str(owner)):
        return _refusal(Code.DELEGATION_TOKEN_AUTHORIZATION_FAILED, owner, requester)
    renewers = [Principal(renewer.principal_type, renewer.principal_name) for renewer in request.renewers]
    if any(renewer.type != USER for renewer in renewers):
        return _refusal(Code.INVALID_PRINCIPAL_TYPE, owner, requester)
    if context.release.runs_without_zookeeper and len(requester.name.encode()) > MAX_STRING_BYTES:
        # The broker cannot forward the request. With ZooKeeper, Kafka creates the token but cannot return it.
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
    tokens = context.controller.delegation_tokens
    token_id = uuid_text(new_topic_id())
    try:
        token = tokens.create(token_id, owner, requester, renewers, request.max_lifetime_ms)
    except KafkaError as error:
        return _refusal(error.code, owner, requester, context.release.time_of_refused_tokens)
    return CreateDelegationTokenResponse(
        principal_type=owner.type,
        principal_name=owner.name,
        token_requester_principal_type=requester.type,
        token_requester_principal_name=requester.name,
        issue_timestamp_ms=token.issued_ms,
        expiry_timestamp_ms=token.expires_ms,
        max_timestamp_ms=token.max_ms,
        token_id=token_id,
        hmac=tokens.secret(token_id),
    )


def _refusal(
    code: Code, owner: Principal, requester: Principal, time_ms: int = NO_TIME
) -> CreateDelegationTokenResponse:
    return CreateDelegationTokenResponse(
        error_code=code,
        principal_type=owner.type,
        principal_name=owner.name,
        token_requester_principal_type=requester.type,
        token_requester_principal_name=requester.name,
        issue_timestamp_ms=time_ms,
        expiry_timestamp_ms=time_ms,
        max_timestamp_ms=time_ms,
        token_id="",
        hmac=b"",
    )
