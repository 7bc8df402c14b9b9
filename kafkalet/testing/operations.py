"""The basic operations on a cluster: topics, logs, brokers and leaders.

The features of the test kit use a cluster through this class. `cluster.py` derives the public classes from it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kafkalet.broker import arguments
from kafkalet.broker.arguments import PropertyValue
from kafkalet.broker.cluster.new_topics import NewTopic, checked_topic
from kafkalet.embedded import EmbeddedCluster

if TYPE_CHECKING:
    from kafkalet.broker.cluster.compaction import CleanedPartition, RetainedPartition
    from kafkalet.broker.cluster.partition import Partition
    from kafkalet.broker.views import LogView


class ClusterOperations(EmbeddedCluster):
    """A cluster with methods that create topics, show logs, and stop, start and change brokers."""

    _has_journal = True

    def now_ms(self) -> int:
        """Return the time of the brokers, in milliseconds since 1970."""
        return self._server.clock.now_ms()

    @cached_property
    def _turns(self) -> dict[str, int]:
        """How often records without a key were sent to each topic, which determines their next partition."""
        return {}

    # Topics and records

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        config: Mapping[str, PropertyValue] | None = None,
        assignments: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Create a topic.

        By default, `partitions` and `replication_factor` are those of the broker properties `num.partitions` and
        `default.replication.factor`. Alternatively, `assignments` lists the broker ids of each partition's replicas,
        the leader first.

        Raises KafkaError with the code that CreateTopics returns: INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS,
        INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT or INVALID_CONFIG.
        """
        wanted = checked_topic(NewTopic(name, partitions, config or {}, replication_factor))
        replicas = arguments.assignments(assignments)
        if replicas is not None and partitions not in (-1, len(replicas)):
            raise ValueError(f"partitions is {partitions}, but assignments lists {len(replicas)}")
        if replicas is not None and replication_factor not in (-1, len(replicas[0])):
            raise ValueError(f"replication_factor is {replication_factor}, but assignments lists {len(replicas[0])}")
        self._server.call(lambda: self._server.controller.create_topic(wanted, replicas))

    def delete_topic(self, name: str) -> None:
        """Delete a topic and its logs.

        Raises KafkaError with UNKNOWN_TOPIC_OR_PARTITION if the topic does not exist.
        """
        self._server.call(lambda: self._server.controller.delete_topic(_topic(name)))

    def produce(self, topic: str, partition: int, records: bytes | bytearray | memoryview) -> int:
        """Append an encoded record batch, such as one from `kafkalet.protocol.records.build`. Return its first offset.

        The batch is validated like a batch from any producer. Raises KafkaError with the code that Produce returns, or
        ValueError if the bytes are not a complete batch. To write plain keys and values, use a Kafka client.
        """
        data = arguments.record_batches(records)
        return self._server.call(lambda: self._leader(topic, partition).append(data).first_offset)

    def log(self, topic: str, partition: int = 0) -> LogView:
        """Return a view of the log of a partition's leader.

        Raises KafkaError with UNKNOWN_TOPIC_OR_PARTITION if the partition does not exist.
        """
        from kafkalet.broker.views import LogView

        self._server.call(lambda: self._leader(topic, partition))
        return LogView(topic, partition, lambda: self._leader(topic, partition).log, self._server.call)

    def _leader(self, topic: str, partition: int) -> Partition:
        return self._server.leadership.leader_of(_topic(topic), _partition(partition))

    def run_cleaner(self, *, roll: bool = False) -> list[CleanedPartition]:
        """Compact all logs for which it is time, by Kafka's rules and the clock of the brokers. Return what was done.

        In the background, this happens every `log.cleaner.backoff.ms`. It is time if more than
        `min.cleanable.dirty.ratio` of a log has not been compacted yet, or if a record has not been compacted for
        `max.compaction.lag.ms`. The active segment of a log is never compacted, and neither are records that are
        younger than `min.compaction.lag.ms` or not below the last stable offset. With `roll`, the active segments are
        rolled first, so that records which were just written can be compacted.

        Each replica that was compacted is in the result once. The call returns when no log is due anymore.
        """
        return self._server.run_cleaner(roll=roll)

    def run_retention(self) -> list[RetainedPartition]:
        """Delete all expired segments now, by `retention.ms`, `retention.bytes` and the clock of the brokers.

        In the background, this happens every `log.retention.check.interval.ms`. Return the replicas whose segments
        were deleted.
        """
        return self._server.call(self._server.run_retention)

    @property
    def unimplemented_calls(self) -> dict[str, int]:
        """The number of requests for each API that kafkalet does not implement, as in `{"ShareFetch": 2}`."""
        return self._server.unimplemented_calls

    # Brokers

    def stop_broker(self, node_id: int) -> None:
        """Stop a broker. Its listener closes, and other replicas become leaders of its partitions."""
        self._server.call(lambda: self._server.stop_broker(_broker(node_id)))

    def start_broker(self, node_id: int) -> None:
        """Start a stopped broker again, on the same port."""
        self._server.call(lambda: self._server.start_broker(_broker(node_id)))

    def fail_log_dir(self, log_dir: int | str | os.PathLike[str] = 0, broker: int | None = None) -> None:
        """Make a log directory of a broker fail, as if its disk broke: it is offline until `restore_log_dir`.

        Its partitions return KAFKA_STORAGE_ERROR. Other in-sync replicas become leaders; without one, a partition has
        no leader. `log_dir` is the number of the directory in `data_dir`, or its path. `broker` is only needed if there
        are several. Raises ValueError if the directory does not exist or is offline already.
        """
        chosen = self._only_broker(broker)
        self._server.call(lambda: self._server.fail_log_directory(chosen, _log_dir(log_dir)))

    def restore_log_dir(self, log_dir: int | str | os.PathLike[str] = 0, broker: int | None = None) -> None:
        """Undo `fail_log_dir`, as if the disk was repaired and the broker restarted.

        The logs in the directory are recovered, and its replicas lead or follow again. Raises ValueError if the
        directory is not offline, and OSError if it cannot be used.
        """
        chosen = self._only_broker(broker)
        self._server.call(lambda: self._server.restore_log_directory(chosen, _log_dir(log_dir)))

    def _only_broker(self, broker: int | None) -> int:
        if broker is not None:
            return _broker(broker)
        known = self._server.node_ids
        if len(known) != 1:
            raise ValueError(f"broker is missing; name one of {', '.join(map(str, known))}")
        return known[0]

    def elect_leader(self, topic: str, partition: int, node_id: int) -> None:
        """Make a broker the leader of a partition, in a new leader epoch.

        Raises KafkaError with PREFERRED_LEADER_NOT_AVAILABLE if its replica is not in sync.
        """
        self._server.call(lambda: self._server.elect_leader(_topic(topic), _partition(partition), _broker(node_id)))

    def hold_replication(self, node_id: int, topic: str | None = None, partition: int | None = None) -> None:
        """Stop a broker's replicas from following their leaders: all replicas, those of one topic, or a single one.

        The topic must exist, and the broker must have a replica of it. A replica that is currently the leader is
        affected once another replica becomes the leader. Deleting the topic ends the hold.
        """
        self._server.call(lambda: self._server.hold_replication(*_held(node_id, topic, partition)))

    def release_replication(self, node_id: int, topic: str | None = None, partition: int | None = None) -> None:
        """Undo a `hold_replication` call with the same arguments. The replicas catch up before this method returns.

        Raises ValueError if `hold_replication` was not called with these arguments.
        """
        self._server.call(lambda: self._server.release_replication(*_held(node_id, topic, partition)))


def _topic(name: str) -> str:
    return arguments.text("the name of a topic", name)


def _partition(index: int) -> int:
    return arguments.number("the number of a partition", index)


def _broker(node_id: int) -> int:
    return arguments.number("the id of a broker", node_id)


def _log_dir(log_dir: int | str | os.PathLike[str]) -> int | str:
    return (
        arguments.number("the number of a log directory", log_dir) if isinstance(log_dir, int) else os.fspath(log_dir)
    )


def _held(node_id: int, topic: str | None, partition: int | None) -> tuple[int, str | None, int | None]:
    return (
        _broker(node_id),
        None if topic is None else _topic(topic),
        None if partition is None else _partition(partition),
    )
