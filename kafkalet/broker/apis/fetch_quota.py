"""The quota for consumed bytes (KIP-13), as applied by the Fetch handler.

A response that exceeds the quota is replaced by an empty one; the client is muted and then retries. This is decided
before the fetch session is updated.

Source: kafka.server.KafkaApis.handleFetchRequest, FetchSession's getThrottledResponse and getResponseSize.
"""

from collections.abc import Mapping

from kafkalet.broker.context import Context
from kafkalet.protocol.messages.fetch import FetchResponse
from kafkalet.protocol.wire import ZERO_UUID, Chunk

Partition = FetchResponse.Topic.Partition
Key = tuple[str, bytes | None, int]


def fetch_max_bytes(context: Context) -> int:
    """Return the maximum size in bytes of a Fetch response to this client."""
    max_bytes, throttling = context.node.config.fetch_max_bytes, context.broker.throttling
    return max_bytes if throttling is None else int(min(max_bytes, throttling.most_fetch_bytes(context)))


def refuses(answers: Mapping[Key, Partition], context: Context) -> bool:
    """Return whether a response with these partitions exceeds the client's quota. Otherwise count its size."""
    throttling = context.broker.throttling
    if not context.request_bytes or throttling is None or not context.metadata.client_quotas:
        return False
    topics: dict[tuple[str, bytes | None], FetchResponse.Topic] = {}
    for (name, topic_id, _), answer in answers.items():
        topic = topics.setdefault(
            (name, topic_id), FetchResponse.Topic(topic=name, topic_id=topic_id or ZERO_UUID, partitions=[])
        )
        topic.partitions.append(answer)
    pieces: list[Chunk] = [b""]
    FetchResponse(responses=list(topics.values())).encode_into(pieces, context.version)
    answer_bytes = sum(map(len, pieces))
    return throttling.refuses_fetch(answer_bytes, context)
