"""What the five requests to the share coordinator have in common (InitializeShareGroupState and its neighbors).

Brokers send them to each other; clients need CLUSTER_ACTION. kafkalet's own brokers call the coordinator directly
(broker/share/persister.py). Each share partition is handled on its own, and the response lists them in the order of
Java's hash maps. A request without a group id, or with an empty list, gets an empty response.

Source: org.apache.kafka.coordinator.share.ShareCoordinatorService.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from kafkalet.broker.context import Context
from kafkalet.broker.java_order import order_of_numbers, order_of_uuids
from kafkalet.broker.security.acl import Operation
from kafkalet.broker.share.persister import replicated
from kafkalet.broker.share.shard import StateShard
from kafkalet.broker.share.state import SharePartitionKey
from kafkalet.protocol.errors import Code, KafkaError

from .error_texts import text_of

NOT_AUTHORIZED = "Cluster authorization failed."


class Asked(Protocol):
    """A partition in a request."""

    partition: int


P = TypeVar("P", bound=Asked)
R = TypeVar("R")


class Topic(Protocol[P]):
    topic_id: bytes

    @property
    def partitions(self) -> list[P]: ...


class Request(Protocol[P]):
    group_id: str

    @property
    def topics(self) -> "Sequence[Topic[P]]": ...


async def for_each_partition(
    request: Request[P],
    context: Context,
    failure: str,
    serve: Callable[[StateShard, SharePartitionKey, P], tuple[R, int]],
    result: Callable[..., R],
) -> list[tuple[bytes, list[R]]]:
    """Return the results by topic id.

    `serve` returns the result for a partition, and the offset of the record that must be replicated before it is sent.
    `result` is its class, for errors; `failure` begins the message of an error outside of the coordinator.
    """
    topics = request.topics
    if not context.allows_on_cluster(Operation.CLUSTER_ACTION):
        refused = partial(result, error_code=Code.CLUSTER_AUTHORIZATION_FAILED, error_message=NOT_AUTHORIZED)
        return [(topic.topic_id, [refused(partition=each.partition) for each in topic.partitions]) for topic in topics]
    if not request.group_id or not all(topic.partitions for topic in topics):
        return []
    results: dict[bytes, dict[int, R]] = {}
    for topic in topics:
        answers = results.setdefault(topic.topic_id, {})
        for asked in topic.partitions:
            refused = partial(result, partition=asked.partition)
            key = SharePartitionKey(request.group_id, topic.topic_id, asked.partition)
            try:
                shard = _shard(context, key)
                try:
                    answers[asked.partition], offset = serve(shard, key, asked)
                except KafkaError as error:
                    answers[asked.partition] = refused(error_code=error.code, error_message=error.message)
                    continue
                await replicated(shard, offset)
            except KafkaError as error:
                answers[asked.partition] = refused(error_code=error.code, error_message=f"{failure}: {error.message}")
    return [
        (topic_id, [answers[each] for each in order_of_numbers(answers)])
        for topic_id, answers in ((topic_id, results[topic_id]) for topic_id in order_of_uuids(results))
    ]


def _shard(context: Context, key: SharePartitionKey) -> StateShard:
    try:
        return context.broker.coordinators.share.shard_of(key)
    except KafkaError as error:
        raise KafkaError(error.code, text_of(error)) from error
