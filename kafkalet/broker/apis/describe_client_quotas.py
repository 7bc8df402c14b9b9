"""DescribeClientQuotas v0-1: list the quotas that match a filter (KIP-546).

Each component of the filter is an entity type (user, client-id or ip) and matches a given name, the default entity, or
any entity of that type. All components have to match. A strict filter does not match entities with additional types.

Source: org.apache.kafka.image.ClientQuotasImage.describe.
"""

from collections.abc import Sequence
from enum import IntEnum

from kafkalet.broker.context import Context
from kafkalet.broker.quotas.entities import CLIENT, USER, QuotaEntity
from kafkalet.broker.quotas.hosts import IP
from kafkalet.broker.security.acl import Operation
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse

Component = DescribeClientQuotasRequest.Component
Entry = DescribeClientQuotasResponse.Entry


class Match(IntEnum):
    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2


def handle(request: DescribeClientQuotasRequest, context: Context) -> DescribeClientQuotasResponse:
    if not context.allows_on_cluster(Operation.DESCRIBE_CONFIGS):
        raise KafkaError(Code.CLUSTER_AUTHORIZATION_FAILED)
    _check(request.components, context.release.checks_quota_matches)
    entries = [
        Entry(
            entity=[Entry.Entity(entity_type=kind, entity_name=name) for kind, name in sorted(entity)],
            values=[Entry.Value(key=key, value=value) for key, value in values.items()],
        )
        for entity, values in context.metadata.client_quotas.items()
        if _matches(entity, request.components, request.strict)
    ]
    return DescribeClientQuotasResponse(entries=entries)


def _check(components: Sequence[Component], checks_matches: bool) -> None:
    kinds: set[str] = set()
    for component in components:
        kind = component.entity_type
        if kind in kinds:
            raise _invalid(f"Entity type {kind} cannot appear more than once in the filter.")
        if not kind:
            raise _invalid("Invalid empty entity type.")
        if kind not in (USER, CLIENT, IP):
            raise KafkaError(Code.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        kinds.add(kind)
        if checks_matches:
            _check_match(component)
        elif component.match_type not in list(Match) or (component.match_type, component.match) == (Match.EXACT, None):
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
    if IP in kinds and len(kinds) > 1:
        raise _invalid(
            "Invalid entity filter component combination. IP filter component should not be used with user or "
            "clientId filter component."
        )


def _check_match(component: Component) -> None:
    try:
        how = Match(component.match_type)
    except ValueError:
        raise _invalid(f"Unknown match type {component.match_type}") from None
    if how is Match.EXACT and component.match is None:
        raise _invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if how is not Match.EXACT and component.match is not None:
        raise _invalid(f"Request specified MATCH_TYPE_{how.name}, but also specified a match string.")


def _invalid(message: str) -> KafkaError:
    return KafkaError(Code.INVALID_REQUEST, message)


def _matches(entity: QuotaEntity, components: Sequence[Component], strict: bool) -> bool:
    names = dict(entity)
    if strict and len(names) != len(components):
        return False
    return all(
        component.entity_type in names
        and (
            component.match_type == Match.SPECIFIED
            or names[component.entity_type] == (component.match if component.match_type == Match.EXACT else None)
        )
        for component in components
    )
