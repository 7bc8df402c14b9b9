"""A restored cluster continues the one that ran on its ports before."""

from kafkalet.broker.cluster.cluster_image import Predecessor
from kafkalet.broker.cluster.metadata import MetadataImage, PartitionState, TopicState

ID = bytes(15) + b"\1"


def image(leader_epoch: int, topic_id: bytes = ID) -> MetadataImage:
    metadata = MetadataImage("its id")
    state = PartitionState(0, [1, 2])
    state.leader_epoch = leader_epoch
    state.leader = 2
    metadata.add_topic(TopicState("t", topic_id, [state], {}))
    return metadata


def test_leader_epoch_is_higher_than_in_both_clusters() -> None:
    for before, restored in ((7, 3), (3, 7)):
        metadata = image(restored)
        Predecessor.of(image(before), 0).continued_by(metadata, 0)
        state = metadata.topics["t"].partitions[0]
        assert (state.leader, state.leader_epoch) == (2, 8)


def test_leader_epoch_of_another_topic_of_the_same_name_is_ignored() -> None:
    metadata = image(3)
    Predecessor.of(image(7, bytes(15) + b"\2"), 0).continued_by(metadata, 0)
    assert metadata.topics["t"].partitions[0].leader_epoch == 4


def test_cluster_keeps_its_id_and_never_reuses_producer_ids() -> None:
    before = MetadataImage("the id")
    metadata = image(0)
    assert Predecessor.of(before, 40).continued_by(metadata, 30) == 40
    assert Predecessor.of(before, 40).continued_by(metadata, 50) == 50
    assert metadata.cluster_id == "the id"
