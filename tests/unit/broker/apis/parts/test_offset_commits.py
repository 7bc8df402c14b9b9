"""The common parts of OffsetCommit and TxnOffsetCommit: validation, records and responses."""

import pytest

from kafkalet.broker.apis.parts.offset_commits import is_too_long
from kafkalet.broker.cluster.metadata import PartitionState
from kafkalet.protocol.errors import Code, KafkaError
from tests.unit.broker.groups.committing import Committing, committing

METADATA_TOO_LONG = Code.OFFSET_METADATA_TOO_LARGE


def add_partitions(client: Committing, count: int) -> None:
    """Add partitions to the topic without creating their logs."""
    partitions = client.stage.cluster._server.metadata.topics["t"].partitions
    partitions += [PartitionState(index, [1]) for index in range(len(partitions), count)]


def test_metadata_length_is_counted_as_in_java() -> None:
    assert not is_too_long(None, 4)
    assert not is_too_long("", 0)
    assert not is_too_long("abcd", 4)
    assert is_too_long("abcde", 4)
    assert not is_too_long("\U0001f600" * 2, 4)
    assert is_too_long("\U0001f600" * 2 + "a", 4)


def test_unknown_partitions_do_not_affect_others() -> None:
    with committing() as client:
        assert client.commit({0: 5, 3: 6, -1: 7}) == {("t", 3): 3, ("t", -1): 3, ("t", 0): 0}
        assert client.commit({0: 5}, topic="unknown") == {("unknown", 0): 3}
        assert client.fetch(0) == [5]


def test_too_long_metadata_is_refused_for_its_partition_only() -> None:
    with committing(config={"offset.metadata.max.bytes": "4"}) as client:
        long = {"partition_index": 0, "committed_offset": 5, "committed_metadata": "abcde"}
        short = {"partition_index": 1, "committed_offset": 6, "committed_metadata": "abcd"}
        answer = client.commit({}, topics=[{"name": "t", "partitions": [long, short]}])
        assert answer == {("t", 0): METADATA_TOO_LONG, ("t", 1): 0}
        assert client.fetch(0, 1) == [-1, 6]
        end_offset = client.shard.log.end_offset
        assert client.commit({}, topics=[{"name": "t", "partitions": [long]}]) == {("t", 0): METADATA_TOO_LONG}
        assert client.shard.log.end_offset == end_offset


@pytest.mark.parametrize(("kafka_version", "answers", "records"), [("newest", 2, 3), ("3.9", 1, 1)])
def test_before_4_0_duplicate_partition_is_committed_once(kafka_version: str, answers: int, records: int) -> None:
    partitions = [{"partition_index": 0, "committed_offset": offset, "committed_metadata": ""} for offset in (5, 6)]
    topics = [{"name": "t", "partitions": partitions}, {"name": "t", "partitions": partitions[1:]}]
    with committing(version=kafka_version) as client:
        answer = client.begin_commit({}, topics=topics).answer()
        assert len(answer["topics"]) == answers
        assert client.shard.log.end_offset == records
        assert client.fetch(0) == [6]


@pytest.mark.slow
def test_commit_of_five_thousand_partitions_is_one_batch() -> None:
    with committing() as client:
        add_partitions(client, 5000)
        assert set(client.commit(dict.fromkeys(range(5000), 7)).values()) == {0}
        assert client.shard.log.end_offset == 5000
        assert [batch.count for batch, _ in client.shard.log.read()] == [5000]
        assert client.fetch(0, 4999) == [7, 7]


@pytest.mark.parametrize(("kafka_version", "code"), [("newest", -1), ("3.9", Code.INVALID_COMMIT_OFFSET_SIZE)])
def test_commit_larger_than_batch_is_refused_as_whole(kafka_version: str, code: int) -> None:
    with committing(version=kafka_version) as client:
        add_partitions(client, 300)
        assert set(client.commit(dict.fromkeys(range(300), 7), metadata="x" * 4000).values()) == {code}
        assert client.fetch(0) == [-1]


@pytest.mark.parametrize(("kafka_version", "late"), [("newest", Code.COORDINATOR_NOT_AVAILABLE), ("3.9", 7)])
def test_response_waits_for_replication(kafka_version: str, late: int) -> None:
    with committing(3, kafka_version) as client:
        followers = [node for node in client.stage.alive if node != client.node]
        held = client.stage.cluster.hold_replication(followers[0], "__consumer_offsets")
        pending = client.begin_commit({0: 5})
        client.stage.settle()
        assert pending.is_waiting
        assert client.fetch(0) == [-1]
        held.release()
        client.stage.settle()
        assert pending.answer()["topics"][0]["partitions"][0]["error_code"] == 0
        assert client.fetch(0) == [5]
        client.stage.cluster.hold_replication(followers[0], "__consumer_offsets")
        pending = client.begin_commit({0: 6})
        client.stage.clock.advance(milliseconds=5000)
        assert pending.answer()["topics"][0]["partitions"][0]["error_code"] == late


def test_too_few_replicas_refuse_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    with committing() as client:
        client.commit({0: 5})

        def refuse(*_: object, **__: object) -> int:
            raise KafkaError(Code.NOT_ENOUGH_REPLICAS)

        monkeypatch.setattr(client.shard.log, "append_encoded", refuse)
        assert client.commit({0: 6}) == {("t", 0): Code.COORDINATOR_NOT_AVAILABLE}
        assert client.fetch(0) == [5]


@pytest.mark.parametrize(("kafka_version", "keeps_id"), [("newest", True), ("4.2", False), ("3.9", False)])
def test_since_4_3_topic_id_is_stored_with_offset(kafka_version: str, keeps_id: bool) -> None:
    with committing(version=kafka_version) as client:
        client.commit({0: 5})
        topic_id = client.stage.cluster._server.metadata.topics["t"].topic_id
        assert client.shard.offsets.committed("g")["t"][0].topic_id == (topic_id if keeps_id else bytes(16))
