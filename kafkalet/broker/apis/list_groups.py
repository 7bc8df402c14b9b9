"""ListGroups v0-5: list the groups that this broker coordinates.

v4  adds group states and a filter by state (KIP-518)
v5  adds group types and a filter by type (KIP-848)

The filter by type is case-insensitive. An unknown type matches no group.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.listGroups.
"""

from kafkalet.broker.context import Context
from kafkalet.broker.java_order import grown_concurrently, ordered, string_hash
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkalet.tasks.task import pause


async def handle(request: ListGroupsRequest, context: Context) -> ListGroupsResponse:
    in_any_case = context.release.ignores_case_of_group_states
    states = {state.lower() if in_any_case else state for state in request.states_filter}
    if context.release.trims_group_states:
        states = {state.strip() for state in states}
    types = {type_.lower() for type_ in request.types_filter}
    groups = [group for shard in context.broker.coordinators.groups.shards() for group in shard.visible_groups()]
    if not context.release.coordinates_groups_by_partition:
        slots = grown_concurrently(len(groups))
        groups = ordered(groups, lambda group: string_hash(group.group_id), slots)
    listed = [
        ListGroupsResponse.Group(
            group_id=group.group_id,
            protocol_type=group.protocol_type,
            group_state=group.state,
            group_type=group.type,
        )
        for group in groups
        if not states or _filtered_as(group.state, in_any_case=in_any_case) in states
        if not types or group.type in types
    ]
    if context.allows_on_cluster(Operation.DESCRIBE):
        return ListGroupsResponse(groups=listed)
    found = []
    for group in listed:
        if context.allows(Operation.DESCRIBE, ResourceType.GROUP, group.group_id):
            found.append(group)
        await pause()
    return ListGroupsResponse(groups=found)


def _filtered_as(state: str, *, in_any_case: bool) -> str:
    """Return the name of a state in filters. Kafka spells one of them differently (StreamsGroupState)."""
    if state == "NotReady":
        return "not_ready"
    return state.lower() if in_any_case else state
