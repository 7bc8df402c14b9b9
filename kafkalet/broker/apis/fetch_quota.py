"""The quota for consumed bytes (KIP-13), as applied by the handlers of Fetch and ShareFetch.

A response that exceeds the quota is replaced by an empty one; the client is muted and then retries. This is decided
before the session is updated.

Source: kafka.server.KafkaApis.handleFetchRequest, FetchSession's getThrottledResponse and getResponseSize.
"""

from collections.abc import Mapping

from kafkalet.broker.context import Context
from kafkalet.protocol.messages.fetch import FetchResponse
from kafkalet.protocol.schema import Response
from kafkalet.protocol.wire import ZERO_UUID, Chunk

Partition = FetchResponse.Topic.Partition
Key = tuple[str, bytes | None, int]


def fetch_max_bytes(context: Context) -> int:
    """Return the maximum size in bytes of a Fetch response to this client."""
    max_bytes, throttling = context.node.config.fetch_max_bytes, context.broker.throttling
    return max_bytes if throttling is None else int(min(max_bytes, throttling.most_fetch_bytes(context)))


def refuses(answers: Mapping[Key, Partition], context: Context) -> bool:
    """Return whether a response with these partitions exceeds the client's quota. Otherwise count its size."""
    if not has_quota(context):
        return False
    topics: dict[tuple[str, bytes | None], FetchResponse.Topic] = {}
    for (name, topic_id, _), answer in answers.items():
        topic = topics.setdefault(
            (name, topic_id), FetchResponse.Topic(topic=name, topic_id=topic_id or ZERO_UUID, partitions=[])
        )
        topic.partitions.append(answer)
    return exceeds_quota(FetchResponse(responses=list(topics.values())), context)


def has_quota(context: Context) -> bool:
    """Return whether any client has a quota, so that the size of a response matters."""
    throttling = context.broker.throttling
    return throttling is not None and context.request_bytes > 0 and bool(context.metadata.client_quotas)


def exceeds_quota(answer: Response, context: Context) -> bool:
    """Return whether a response with records exceeds the client's quota. Otherwise count its size."""
    throttling = context.broker.throttling
    assert throttling is not None, "there is no quota"
    pieces: list[Chunk] = [b""]
    answer.encode_into(pieces, context.version)
    return throttling.refuses_fetch(sum(map(len, pieces)), context)
