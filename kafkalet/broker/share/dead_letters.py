"""Dead letter queues: where a share group writes the records that it cannot deliver (KIP-1191).

A record in the queue says where it comes from and why, in its headers; with `errors.deadletterqueue.copy.record.enable`
it also has the key and the value. It is written to the partition of the queue with the same number, or that number
modulo the number of partitions. The topic has to exist with `errors.deadletterqueue.group.enable`, or is created if
`errors.deadletterqueue.auto.create.topics.enable` is set.

Whatever goes wrong is logged, and the records are archived nevertheless.

Source: org.apache.kafka.server.share.dlq.ShareGroupDLQStateManager.
"""

import logging
from collections.abc import Iterator
from functools import partial

from kafkalet.broker.cluster.controller import Controller
from kafkalet.broker.cluster.new_topics import NewTopic
from kafkalet.broker.cluster.partition import Partition
from kafkalet.broker.quoting import quoted, shown
from kafkalet.protocol.errors import KafkaError, ProtocolError
from kafkalet.protocol.records.batch import batches
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.protocol.records.record import Headers, Record
from kafkalet.storage.values import Isolation

from .configuration import DeadLetterQueue
from .in_flight import Run
from .state import SharePartitionKey

_LOG = logging.getLogger(__name__)

_ENABLED = "errors.deadletterqueue.group.enable"
_READ_BYTES = 1 << 20


class _Refused(Exception):
    """The topic must not be used as a dead letter queue."""


async def bury(
    key: SharePartitionKey, source: Partition, run: Run, queue: DeadLetterQueue, controller: Controller
) -> None:
    """Write records of a share partition to the dead letter queue of its group."""
    try:
        _check(queue, controller)
        topic = controller.metadata.topics.get(queue.topic)
        if topic is None:
            new = NewTopic(queue.topic, config=_CONFIG)
            topic = await controller.change_and_save(partial(controller.create_topic, new))
        leader = controller.leadership.leader_of(queue.topic, key.partition % len(topic.partitions))
        leader.check_replicas()
        originals = dict(_originals(source, run)) if queue.copies else {}
        now_ms = controller.clock.now_ms()
        rows = []
        for offset in range(run.first, run.last + 1):
            original = originals.get(offset)
            content = (None, None) if original is None else (original.key, original.value)
            rows.append((now_ms, *content, _headers(key, source.topic, run, offset)))
        leader.append(bytearray(build_batch(numbered(rows))))
    except (_Refused, KafkaError, ProtocolError, OSError) as problem:
        _LOG.error(
            "offsets %d to %d of %s cannot be written to the dead letter queue %s of group %s: %s",
            *(run.first, run.last, quoted(f"{source.topic}-{key.partition}"), quoted(queue.topic)),
            *(quoted(key.group_id), shown(problem)),
        )


_CONFIG = {_ENABLED: "true", "message.timestamp.type": "CreateTime"}


def _check(queue: DeadLetterQueue, controller: Controller) -> None:
    known = controller.metadata.topics.get(queue.topic)
    if known is not None:
        config = controller.config.log_config(known.config)
        if not config.errors_deadletterqueue_group_enable:
            raise _Refused(f"the topic does not have {_ENABLED}=true")
    if known is None and not queue.creates_topics:
        raise _Refused("the topic does not exist, and errors.deadletterqueue.auto.create.topics.enable is not set")
    if not queue.topic.startswith(queue.prefix):
        raise _Refused(f"its name does not begin with {queue.prefix} (errors.deadletterqueue.topic.name.prefix)")


def _headers(key: SharePartitionKey, topic: str, run: Run, offset: int) -> Headers:
    why = "Offset rejected by client." if run.is_rejected else "Offset delivery count exceeded the threshold."
    texts = {
        "topic": topic,
        "partition": str(key.partition),
        "offset": str(offset),
        "group": key.group_id,
        "delivery.count": str(run.deliveries),
        "message": why,
    }
    return tuple((f"__dlq.errors.{name}", text.encode()) for name, text in texts.items())


def _originals(source: Partition, run: Run) -> Iterator[tuple[int, Record]]:
    """Yield the records that have been delivered too often, as far as the log still has them."""
    offset = max(run.first, source.log.log_start_offset)
    while offset <= run.last:
        found = source.read(offset, _READ_BYTES, Isolation.HIGH_WATERMARK, True, None, None).result
        assert found is not None, "no reader has diverged"
        next_offset = offset
        for batch in batches(found.records if isinstance(found.records, bytes) else found.records.read()):
            next_offset = batch.next_offset
            if not batch.is_control:
                yield from ((each.offset, each) for each in batch.records() if run.first <= each.offset <= run.last)
        if next_offset == offset:
            return
        offset = next_offset
