"""The configuration of share groups that applies to their share partitions.

A group property that is not set has the value of the broker property, or a fixed default. Changes apply at once.

Source: org.apache.kafka.coordinator.group.modern.share.ShareGroupConfigProvider, ShareGroupAutoOffsetResetStrategy.
"""

from typing import NamedTuple, Protocol

from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.config.broker_config import BrokerConfig
from kafkalet.broker.config.group_properties import duration_ms, effective_number
from kafkalet.clock import Clock
from kafkalet.storage.lookup import EARLIEST, LATEST
from kafkalet.storage.values import Isolation

from .share_partition import Limits

_WITH_DEAD_LETTERS = 2
"""The level of share.version with dead letter queues."""


class _Node(Protocol):
    """What is used of a node."""

    metadata: MetadataImage
    config: BrokerConfig
    clock: Clock

    def feature_level(self, name: str) -> int: ...


class DeadLetterQueue(NamedTuple):
    """Where a group writes records that cannot be delivered (KIP-1191), and what applies to all such topics."""

    topic: str
    copies: bool
    """Whether the records are copied, not only their offsets."""
    prefix: str
    creates_topics: bool


class ShareGroupConfigs:
    """The configuration of all share groups, on one broker."""

    def __init__(self, node: _Node) -> None:
        self._node = node

    def limits(self, group_id: str) -> Limits:
        """Return the limits for the records in flight of a group."""
        config, own = self._node.config, self._own(group_id)
        return Limits(
            effective_number(own, "share.record.lock.duration.ms", config.group_share_record_lock_duration_ms, config),
            effective_number(own, "share.delivery.count.limit", config.group_share_delivery_count_limit, config),
            effective_number(
                own, "share.partition.max.record.locks", config.group_share_partition_max_record_locks, config
            ),
            _is_true(own, "share.renew.acknowledge.enable", "true"),
            self.dead_letter_queue(group_id) is not None,
        )

    def lock_ms(self, group_id: str) -> int:
        """Return for how long the members of a group may keep acquired records."""
        return self.limits(group_id).lock_ms

    def isolation(self, group_id: str) -> Isolation:
        """Return which records a group gets (share.isolation.level)."""
        reads_committed = self._own(group_id).get("share.isolation.level", "").strip() == "read_committed"
        return Isolation.LAST_STABLE if reads_committed else Isolation.HIGH_WATERMARK

    def first_timestamp(self, group_id: str) -> int:
        """Return the timestamp at which a group begins to read (share.auto.offset.reset); EARLIEST or LATEST."""
        kind, _, duration = self._own(group_id).get("share.auto.offset.reset", "latest").strip().partition(":")
        if kind == "by_duration":
            return max(0, self._node.clock.now_ms() - (duration_ms(duration) or 0))
        return EARLIEST if kind == "earliest" else LATEST

    def dead_letter_queue(self, group_id: str) -> DeadLetterQueue | None:
        """Return the dead letter queue of a group, or None if it has none, or if the cluster does not support them."""
        own = self._own(group_id)
        topic = own.get("errors.deadletterqueue.topic.name", "").strip()
        if not topic or self._node.feature_level("share.version") < _WITH_DEAD_LETTERS:
            return None
        config = self._node.config
        return DeadLetterQueue(
            topic,
            _is_true(own, "errors.deadletterqueue.copy.record.enable"),
            config.errors_deadletterqueue_topic_name_prefix or "",
            config.errors_deadletterqueue_auto_create_topics_enable,
        )

    def _own(self, group_id: str) -> dict[str, str]:
        return self._node.metadata.group_config.get(group_id, {})


def _is_true(own: dict[str, str], name: str, default: str = "false") -> bool:
    return own.get(name, default).strip().lower() == "true"
