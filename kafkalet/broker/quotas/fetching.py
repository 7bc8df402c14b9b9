"""The quota of consumed bytes (KIP-13), as the handler of Fetch asks for it.

An answer that is too much is not sent: the client gets an empty one, rests, and asks again. Whether it is too much is
decided before a fetch session takes note of it.

Source: kafka.server.KafkaApis.handleFetchRequest, FetchSession's getThrottledResponse and getResponseSize.
"""

from collections.abc import Mapping

from kafkalet.broker.context import Context
from kafkalet.protocol.messages.fetch import FetchResponse
from kafkalet.protocol.wire import ZERO_UUID, Chunk

Partition = FetchResponse.Topic.Partition
Key = tuple[str, bytes | None, int]


def fetch_max_bytes(context: Context) -> int:
    """The most that one answer to this client's Fetch may hold."""
    max_bytes, throttling = context.node.config.fetch_max_bytes, context.broker.throttling
    return max_bytes if throttling is None else int(min(max_bytes, throttling.most_fetch_bytes(context)))


def refuses(answers: Mapping[Key, Partition], context: Context) -> bool:
    """Whether an answer of these partitions is more than the client may have now; it is counted if not."""
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
