"""The contents of a whole cluster, and the numbers that have to continue when it is restored.

A cluster is restored by stopping its brokers, replacing the data directory and starting them again on the same ports.
Clients must not notice that time went back: they ignore a leader epoch below one that they have seen, and a producer id
must not be assigned twice.
"""

from typing import NamedTuple, Self

from kafkalet.storage.image import Image

from .metadata import MetadataImage


class ClusterImage(NamedTuple):
    """The data directories of a cluster at one moment: logs, checkpoints and metadata."""

    files: Image
    first_node_id: int
    brokers: int
    directories: int = 1
    """The number of data directories."""


class Predecessor(NamedTuple):
    """The cluster that ran on the same ports until now."""

    cluster_id: str
    next_producer_id: int
    leader_epochs: dict[tuple[bytes, int], int]
    """The latest leader epochs, keyed by topic id and partition."""

    @classmethod
    def of(cls, metadata: MetadataImage, next_producer_id: int) -> Self:
        epochs = {(topic.topic_id, state.index): state.leader_epoch for topic, state in metadata.all_partitions()}
        return cls(metadata.cluster_id, next_producer_id, epochs)

    def continued_by(self, metadata: MetadataImage, next_producer_id: int) -> int:
        """Give `metadata` this cluster's id and later leader epochs. Return the next producer id."""
        metadata.cluster_id = self.cluster_id
        for topic, state in metadata.all_partitions():
            state.note_leader_epoch(self.leader_epochs.get((topic.topic_id, state.index), -1))
            state.change_leader(state.leader)
        return max(next_producer_id, self.next_producer_id)
