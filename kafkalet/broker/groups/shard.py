"""The groups and offsets of one partition of __consumer_offsets, on the broker that leads it.

Whatever changes goes to the log first: `append` what was decided, then change what is remembered. A record that cannot
be written changes nothing, and the client gets the code that Kafka makes of the reason (`client_code`).

Source: org.apache.kafka.coordinator.group.GroupCoordinatorShard, GroupMetadataManager.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from kafkalet.broker.cluster.node import Node
from kafkalet.broker.cluster.state_log import NO_SEQUENCE, StateLog, StateRecord, client_code
from kafkalet.broker.scheduling.purgatory import Delayed
from kafkalet.clock import Clock
from kafkalet.protocol.errors import Code, KafkaError

from .classic.arrivals import Arrivals
from .consumer.checked_regexes import CheckedRegexes
from .group import Group
from .offsets import Offsets

T = TypeVar("T")


class Shard:
    """One partition's groups. `node` is the broker: its config, clock, release and metadata.

    `arrivals` and `regexes` are what the coordinator remembers for all of its shards.
    """

    def __init__(self, node: Node, log: StateLog, arrivals: Arrivals, regexes: CheckedRegexes) -> None:
        self.node = node
        self.log = log
        self.arrivals = arrivals
        self.regexes = regexes
        self.place = log.partition.topic, log.index
        self.clock: Clock = node.clock
        self.groups: dict[str, Group] = {}
        self._base_sequence = 0 if node.release.numbers_group_records else NO_SEQUENCE
        self.offsets = Offsets(log, node.release.offset_value_version)

    def append(self, records: Sequence[StateRecord]) -> int:
        """Write records, all or none; the offset of the last. Raises KafkaError with a code for the client."""
        if not records:
            return self.log.partition.log.log_end_offset - 1
        try:
            return self.log.append(records, base_sequence=self._base_sequence)
        except KafkaError as error:
            raise KafkaError(client_code(error.code), error.message) from error

    def when_replicated(self, offset: int, timeout_ms: float, answer: Callable[[Code], T]) -> T | Delayed[T]:
        """`answer` with NONE once all in-sync replicas have what was appended up to `offset`, else with the client's
        code for what went wrong; at once where nobody has to be waited for."""
        return self.log.when_replicated(offset, timeout_ms, lambda code: answer(client_code(code)))

    def close(self) -> None:
        """Another broker takes over, or this one stops."""
        for group in self.groups.values():
            group.close()
        self.groups.clear()
