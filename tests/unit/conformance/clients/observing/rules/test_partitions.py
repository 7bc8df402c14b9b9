"""What responses and requests say about topics."""

from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.metadata import MetadataRequest
from kafkalet_conformance.clients.observing.rules.partitions import (
    FetchedPartition,
    ToldEpoch,
    partitions_with_epochs,
    told_epochs,
    told_topics,
    topic_ids,
)
from kafkalet_conformance.clients.observing.rules.rule import Rule

from .synthetic import Exchanges
from .test_leader_epochs import ID, fetch, metadata

ALL = MetadataRequest(topics=None)


def test_metadata_contains_ids_and_epochs() -> None:
    sent = Exchanges(Rule()).ask(ALL, 12, metadata(7))
    assert list(told_topics(sent)) == [("t", ID)]
    assert list(told_epochs(sent)) == [ToldEpoch("t", ID, 0, 7)]


def test_partition_without_a_leader_has_no_epoch() -> None:
    response = metadata(7)
    response.topics[0].partitions[0].error_code = Code.LEADER_NOT_AVAILABLE
    assert list(told_epochs(Exchanges(Rule()).ask(ALL, 12, response))) == []


def test_fetch_names_topics_by_ids_since_version_13() -> None:
    exchanges = Exchanges(Rule())
    assert list(topic_ids(exchanges.sends(fetch(1), 12))) == []
    assert list(topic_ids(exchanges.sends(fetch(1), 13))) == [ID]


def test_fetch_contains_leader_epochs() -> None:
    sent = Exchanges(Rule()).sends(fetch(4, 10), 12)
    assert list(partitions_with_epochs(sent)) == [FetchedPartition("t", bytes(16), 0, 4, 10)]
