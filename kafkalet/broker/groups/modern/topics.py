"""The topics that the members of a group subscribe to, and a hash of their metadata.

A group detects new topics and partitions by comparing a hash of the metadata of all its topics. If the hash changes,
the group epoch is incremented.

Source: org.apache.kafka.coordinator.group.modern.TopicIds, Utils.computeGroupHash, computeTopicHash.
"""

from collections.abc import Iterable
from functools import lru_cache

from kafkalet.broker.cluster.metadata import MetadataImage

from .xxh3 import xxh3_64

_MAGIC = b"\0"


def topic_ids(names: Iterable[str], metadata: MetadataImage) -> list[bytes]:
    """Return the ids of the topics that exist."""
    topics = metadata.topics
    return [topics[name].topic_id for name in names if name in topics]


def metadata_hash(names: Iterable[str], metadata: MetadataImage) -> int:
    """Return a hash of the metadata of these topics as a signed 64-bit number, 0 if none of them exists."""
    return _together(_topic_hash(metadata, name) for name in sorted(names) if name in metadata.topics)


def hash_without_racks(topics: Iterable[tuple[str, bytes, int]]) -> int:
    """Return the hash that `metadata_hash` would return for these topics if no broker had a rack."""
    return _together(_hash(topic_id, name, ((),) * count) for name, topic_id, count in sorted(topics))


def known_topics(names: Iterable[str], metadata: MetadataImage) -> list[tuple[str, bytes, int]]:
    """Return the name, id and number of partitions of each topic that exists."""
    topics = metadata.topics
    return [(name, topics[name].topic_id, len(topics[name].partitions)) for name in sorted(names) if name in topics]


def _together(hashes: Iterable[bytes]) -> int:
    data = b"".join(hashes)
    return _signed(xxh3_64(data)) if data else 0


def _topic_hash(metadata: MetadataImage, name: str) -> bytes:
    """Return the hash of a topic: its id, name, and partitions with the racks of their replicas."""
    topic = metadata.topics[name]
    racks = {node_id: endpoint.rack for node_id, endpoint in metadata.endpoints.items() if endpoint.rack is not None}
    of_partitions = tuple(
        tuple(sorted(racks[node_id] for node_id in state.replicas if node_id in racks)) if racks else ()
        for state in topic.partitions
    )
    return _hash(topic.topic_id, name, of_partitions)


@lru_cache(maxsize=256)
def _hash(topic_id: bytes, name: str, racks: tuple[tuple[str, ...], ...]) -> bytes:
    """Return the hash of a topic.

    The hash is cached, because when one topic changes, a group hashes all of its topics again. Hashing a topic with six
    partitions takes 8 µs; a cache hit takes 0.1 µs.
    """
    data = bytearray(_MAGIC)
    data += topic_id[7::-1] + topic_id[:7:-1] + _string(name) + _number(len(racks))
    for index, of_partition in enumerate(racks):
        data += _number(index)
        for rack in of_partition:
            data += _number(len(rack)) + _string(rack)
    return xxh3_64(bytes(data)).to_bytes(8, "little")


def _string(text: str) -> bytes:
    """Encode a string as hash4j does: its UTF-16 code units, followed by the number of code units."""
    units = text.encode("utf-16-le", "surrogatepass")
    return units + _number(len(units) // 2)


def _number(number: int) -> bytes:
    return number.to_bytes(4, "little")


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
