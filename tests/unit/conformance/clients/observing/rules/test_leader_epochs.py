"""Leader epochs in requests, and the validation of positions."""

from kafkalet.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkalet.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalet.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kafkalet_conformance.clients.observing.rules.leader_epochs import LeaderEpochs, PositionValidation

from .synthetic import Exchanges

ID = bytes(range(16))
ALL = MetadataRequest(topics=None)
NOTHING = FetchResponse(responses=[])


def metadata(epoch: int) -> MetadataResponse:
    partition = MetadataResponse.Topic.Partition(
        partition_index=0, leader_id=1, leader_epoch=epoch, replica_nodes=[1], isr_nodes=[1]
    )
    return MetadataResponse(brokers=[], topics=[MetadataResponse.Topic(name="t", topic_id=ID, partitions=[partition])])


def fetch(epoch: int, offset: int = 0) -> FetchRequest:
    partition = FetchRequest.Topic.Partition(
        partition=0, fetch_offset=offset, current_leader_epoch=epoch, partition_max_bytes=1
    )
    return FetchRequest(
        max_wait_ms=1, min_bytes=1, topics=[FetchRequest.Topic(topic="t", topic_id=ID, partitions=[partition])]
    )


def exchanges_with(*epochs: int) -> Exchanges:
    exchanges = Exchanges(LeaderEpochs())
    for epoch in epochs:
        exchanges.ask(ALL, 12, metadata(epoch))
    return exchanges


def test_newest_epoch_is_correct() -> None:
    exchanges = exchanges_with(3, 4)
    exchanges.sends(fetch(4), 12, after_s=5)
    exchanges.sends(fetch(4), 13)
    assert exchanges.found == []


def test_older_epoch_is_found() -> None:
    exchanges = exchanges_with(3, 4)
    exchanges.sends(fetch(3), 12, after_s=5)
    exchanges.sends(fetch(3), 13)
    assert exchanges.found == ["leader-epoch-old"] * 2


def test_client_without_epochs_is_correct() -> None:
    exchanges = exchanges_with(3, 4)
    exchanges.sends(fetch(-1), 12, after_s=5)
    assert exchanges.found == []


def test_older_epoch_immediately_after_the_response_is_not_judged() -> None:
    exchanges = exchanges_with(3, 4)
    exchanges.sends(fetch(3), 12, after_s=0.1)
    assert exchanges.found == []


def test_response_on_another_connection_is_not_known() -> None:
    exchanges = exchanges_with(3, 4)
    exchanges.sends(fetch(3), 12, connection=2, after_s=5)
    assert exchanges.found == []


def positions(*epochs: int) -> Exchanges:
    """Return exchanges in which a client has fetched up to offset 10."""
    exchanges = Exchanges(PositionValidation())
    exchanges.ask(fetch(3, 0), 12, NOTHING)
    exchanges.ask(fetch(3, 10), 12, NOTHING)
    return exchanges


def validation() -> OffsetForLeaderEpochRequest:
    partition = OffsetForLeaderEpochRequest.Topic.Partition(partition=0, current_leader_epoch=4, leader_epoch=3)
    topic = OffsetForLeaderEpochRequest.Topic(topic="t", partitions=[partition])
    return OffsetForLeaderEpochRequest(replica_id=-1, topics=[topic])


def test_position_that_was_validated_is_correct() -> None:
    exchanges = positions()
    exchanges.ask(validation(), 3, OffsetForLeaderEpochResponse(topics=[]))
    exchanges.sends(fetch(4, 10), 12)
    assert exchanges.found == []


def test_position_that_was_not_validated_is_found() -> None:
    exchanges = positions()
    exchanges.sends(fetch(4, 10), 12)
    assert exchanges.found == ["position-validation"]


def test_position_that_has_not_advanced_needs_no_validation() -> None:
    exchanges = Exchanges(PositionValidation())
    exchanges.ask(fetch(3, 10), 12, NOTHING)
    exchanges.sends(fetch(4, 10), 12)
    assert exchanges.found == []
