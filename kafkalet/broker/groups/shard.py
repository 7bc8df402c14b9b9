"""The groups and offsets in one partition of __consumer_offsets, on the broker that leads this partition.

Every change is written to the log before the state in memory changes: `append` the records, then update the group. If
the append fails, nothing changes, and the client gets the error code that Kafka maps the failure to (`client_code`).

Source: org.apache.kafka.coordinator.group.GroupCoordinatorShard, GroupMetadataManager.
"""

from collections.abc import Iterator, Sequence

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.state_log import NO_SEQUENCE, StateLog, StateRecord, client_code
from kafkalet.broker.java_order import TimelineMap
from kafkalet.clock import Clock
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.tasks.delayed import Delayed

from .checked_regexes import CheckedRegexes
from .group import Group
from .offsets import Offsets
from .recent_lookups import RecentLookups


class Shard:
    """The groups and offsets of one partition. `node` is the broker, with its config, clock, release and metadata.

    All shards of a coordinator share `lookups` and `regexes`.
    """

    def __init__(self, node: Node, log: StateLog, lookups: RecentLookups, regexes: CheckedRegexes) -> None:
        self.node = node
        self.log = log
        self.lookups = lookups
        self.regexes = regexes
        self.place = log.partition.topic, log.index
        self.clock: Clock = node.clock
        self.client_clock: Clock = node.client_clock
        self.groups: TimelineMap[Group] = TimelineMap()
        self._base_sequence = 0 if node.release.writes_group_batches_with_sequence_0 else NO_SEQUENCE
        self.offsets = Offsets(log, node.release.offset_value_version)

    def visible_groups(self) -> Iterator[Group]:
        """Yield the groups that clients can list and describe (see `Group.visible_from`), in Kafka's order."""
        end_offset = self.log.end_offset
        groups = map(self.groups.__getitem__, self.groups.in_order())
        return (group for group in groups if group.visible_from <= end_offset)

    def visible_group(self, group_id: str) -> Group | None:
        """Return the group that clients can describe, or None."""
        group = self.groups.get(group_id)
        return group if group is not None and group.visible_from <= self.log.end_offset else None

    def append(self, records: Sequence[StateRecord]) -> int:
        """Append either all records or none, and return the offset of the last one.

        Raises KafkaError with a code for the client.
        """
        if not records:
            return self.log.partition.log.log_end_offset - 1
        try:
            return self.log.append(records, base_sequence=self._base_sequence)
        except KafkaError as error:
            raise KafkaError(client_code(error.code), error.message) from error

    def replicated(self, offset: int) -> Delayed[Code]:
        """Return NONE once all in-sync replicas have the records up to `offset`, or the error code for the client."""
        replicated = self.log.replicated(offset, self.node.config.offsets_commit_timeout_ms)
        return replicated.map(client_code) if replicated.is_waiting else replicated

    def close(self) -> None:
        """Close all groups, because another broker takes over or this one stops."""
        for group in self.groups.values():
            group.close()
        self.groups.clear()
