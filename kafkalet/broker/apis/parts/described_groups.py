"""What ConsumerGroupDescribe, ShareGroupDescribe and StreamsGroupDescribe have in common."""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Protocol, TypeVar

from kafkalet.broker.context import Context
from kafkalet.broker.security.acl import Operation, ResourceType
from kafkalet.protocol.errors import Code
from kafkalet.tasks.task import pause

from .authorized_operations import authorized_operations


class Described(Protocol):
    """A group in a response."""

    error_code: int
    authorized_operations: int


GroupT = TypeVar("GroupT", bound=Described)


async def describe_groups(
    group_ids: Iterable[str],
    describe: Callable[[str, Context], GroupT],
    refused: Callable[[str, Code], GroupT],
    context: Context,
    *,
    with_operations: bool,
) -> list[GroupT]:
    """Return the groups, after those that the client may not describe.

    `describe` returns a group or its error, and `refused` one with an error. With `with_operations`, groups have the
    operations that the client may perform.
    """
    described, refusals = [], []
    by_partition = context.broker.coordinators.groups.by_partition(group_ids)
    for group_id in sorted(chain(*by_partition), key=bool):  # the empty id, which is refused, is first
        if context.allows(Operation.DESCRIBE, ResourceType.GROUP, group_id):
            group = describe(group_id, context)
            if with_operations and group.error_code == Code.NONE:
                group.authorized_operations = authorized_operations(context, ResourceType.GROUP, group_id)
            described.append(group)
        else:
            refusals.append(refused(group_id, Code.GROUP_AUTHORIZATION_FAILED))
        await pause()
    return refusals + described
