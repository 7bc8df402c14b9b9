from kafkalet.broker.cluster.metadata import Endpoint, MetadataImage, PartitionState, TopicState
from kafkalet.broker.groups.modern.topics import metadata_hash, topic_ids

A, B = bytes.fromhex("c5e079f374154d7e90a9610e85e02b0a"), bytes.fromhex("f6f3f1d7c4c1402c9c9312fdeeaf058e")


def image() -> MetadataImage:
    metadata = MetadataImage("cluster")
    for name, topic_id, count in (("hash-1ff9c.a", A, 3), ("hash-1ff9c.b", B, 40)):
        metadata.add_topic(TopicState(name, topic_id, [PartitionState(index, [1]) for index in range(count)], {}))
    return metadata


def test_hash_equals_that_of_kafka() -> None:
    assert metadata_hash(["hash-1ff9c.a"], image()) == 3196698471066156584
    assert metadata_hash(["hash-1ff9c.b", "hash-1ff9c.a"], image()) == 6910192466861489278


def test_topics_that_do_not_exist_are_not_hashed() -> None:
    assert metadata_hash(["hash-1ff9c.a", "other"], image()) == 3196698471066156584
    assert metadata_hash(["other"], image()) == 0


def test_partitions_and_racks_change_hash() -> None:
    metadata = image()
    hashes = {metadata_hash(["hash-1ff9c.a"], metadata)}
    metadata.topics["hash-1ff9c.a"].partitions.append(PartitionState(3, [1]))
    hashes.add(metadata_hash(["hash-1ff9c.a"], metadata))
    metadata.endpoints[1] = Endpoint(1, "localhost", 9092, "rack")
    hashes.add(metadata_hash(["hash-1ff9c.a"], metadata))
    assert len(hashes) == 3


def test_only_existing_topics_have_ids() -> None:
    assert topic_ids(["other", "hash-1ff9c.b"], image()) == [B]
