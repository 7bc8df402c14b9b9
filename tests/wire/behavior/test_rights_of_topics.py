"""The rights that the APIs of topics require, beyond those in the recorded transcripts."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from kafkalet.protocol.errors import Code
from tests.wire.brokers import Plain, batch
from tests.wire.rights import Rights, without_rights

REFUSED = Code.TOPIC_AUTHORIZATION_FAILED
CLUSTER_REFUSED = Code.CLUSTER_AUTHORIZATION_FAILED
NONE = Code.NONE


@pytest.fixture
def rights() -> Iterator[Rights]:
    with without_rights() as client:
        yield client


def fetch(rights: Rights, *topics: str, session: tuple[int, int] = (0, -1), **more: Any) -> Plain:
    asked = [
        {"topic": topic, "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}]}
        for topic in topics
    ]
    fields = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 10_000, "replica_id": -1} | more
    return rights.ask("Fetch", 11, session_id=session[0], session_epoch=session[1], topics=asked, **fields)


def codes(answer: Plain, topics: str = "topics", name: str = "name", partitions: str = "partitions") -> dict[str, int]:
    return {topic[name]: topic[partitions][0]["error_code"] for topic in answer[topics]}


def fetched(answer: Plain) -> dict[str, int]:
    return codes(answer, "responses", "topic")


# Fetch


def test_session_returns_a_refused_topic_until_the_client_may_read_it(rights: Rights) -> None:
    rights.grant("read topic t")
    first = fetch(rights, "t", "u", session=(0, 0))
    assert fetched(first) == {"t": NONE, "u": REFUSED}
    session_id = first["session_id"]
    assert fetched(fetch(rights, session=(session_id, 1))) == {"u": REFUSED}
    rights.grant("read topic u")
    assert fetched(fetch(rights, session=(session_id, 2))) == {"u": NONE}
    assert fetched(fetch(rights, session=(session_id, 3))) == {}


def test_session_returns_a_topic_when_the_client_loses_the_right_to_read_it(rights: Rights) -> None:
    rights.grant("read topic t")
    session_id = fetch(rights, "t", session=(0, 0))["session_id"]
    assert fetched(fetch(rights, session=(session_id, 1))) == {}
    rights.revoke("read topic t")
    assert fetched(fetch(rights, session=(session_id, 2))) == {"t": REFUSED}


def test_fetch_of_refused_topics_does_not_wait(rights: Rights) -> None:
    rights.grant("describe topic t")
    assert fetched(fetch(rights, "t", max_wait_ms=100_000, min_bytes=1)) == {"t": REFUSED}


def test_refused_topic_does_not_end_the_wait_for_another_one(rights: Rights) -> None:
    rights.grant("read topic t", "write topic t")
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    body = {
        "max_wait_ms": 100_000,
        "min_bytes": 1,
        "topics": [{"topic": topic, "partitions": [partition]} for topic in "ut"],
    }
    with rights.wire.waiting("Fetch", 11, body) as answer:
        assert produce(rights, "t") == {"t": NONE}
        assert fetched(answer()) == {"t": NONE, "u": REFUSED}


def test_follower_needs_cluster_action_and_no_right_on_the_topic(rights: Rights) -> None:
    rights.grant("read topic t")
    assert fetched(fetch(rights, "t", "unknown", replica_id=1)) == {"t": REFUSED, "unknown": REFUSED}
    rights.grant("cluster_action cluster")
    answers = fetched(fetch(rights, "u", "unknown", replica_id=1))
    assert answers["unknown"] == Code.UNKNOWN_TOPIC_OR_PARTITION
    assert answers["u"] != REFUSED


# Produce


def produce(rights: Rights, *topics: str, **more: Any) -> dict[str, int]:
    records = [{"raw": bytes(batch(b"v", **more)).hex()}]
    asked = [{"name": topic, "partitions": [{"index": 0, "records": records}]} for topic in topics]
    return codes(rights.ask("Produce", 8, acks=-1, timeout_ms=1000, topics=asked), "responses")


def test_refused_topic_does_not_affect_the_records_of_another_one(rights: Rights) -> None:
    rights.grant("write topic u")
    assert produce(rights, "t", "u", "unknown") == {"t": REFUSED, "u": NONE, "unknown": REFUSED}
    cluster = rights.wire.cluster
    assert [cluster.topic(name).log(0).log_end_offset for name in "tu"] == [0, 1]


@pytest.mark.parametrize(("release", "code"), [("2.7", CLUSTER_REFUSED), ("2.8", NONE)])
def test_idempotent_records_need_a_right_on_the_cluster_before_2_8(release: str, code: Code) -> None:
    records = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0}
    with without_rights(release) as rights:
        rights.grant("write topic t")
        assert produce(rights, "t", **records) == {"t": code}
        rights.grant("idempotent_write cluster")
        assert produce(rights, "t", **records) == {"t": NONE}


def test_records_that_are_not_idempotent_need_no_right_on_the_cluster_before_2_8() -> None:
    with without_rights("2.7") as rights:
        rights.grant("write topic t")
        assert produce(rights, "t") == {"t": NONE}


def test_transactional_records_need_the_right_to_write_for_their_transactional_id(rights: Rights) -> None:
    rights.grant("write topic t")
    records = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True}
    assert produce(rights, "t", **records) == {"t": Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED}


# ListOffsets, OffsetForLeaderEpoch, DeleteRecords, DescribeProducers


def listed(rights: Rights, version: int, *names: str, **more: Any) -> Plain:
    partition = {"partition_index": 0, "timestamp": -1, "max_num_offsets": 1}
    topics = [{"name": name, "partitions": [partition] * more.get("times", 1)} for name in names]
    return rights.ask("ListOffsets", version, topics=topics, isolation_level=more.get("isolation_level", 0))


@pytest.mark.parametrize("version", [0, 1, 7])
def test_refused_topics_follow_the_offsets_of_the_others(rights: Rights, version: int) -> None:
    rights.grant("describe topic u")
    topics = listed(rights, version, "t", "u", "unknown")["topics"]
    assert [(topic["name"], topic["partitions"][0]["error_code"]) for topic in topics] == [
        ("u", NONE),
        ("t", REFUSED),
        ("unknown", REFUSED),
    ]
    if version:
        assert {topics[place]["partitions"][0]["offset"] for place in (1, 2)} == {-1}


def test_refused_topics_follow_the_offsets_of_many_partitions(rights: Rights) -> None:
    rights.grant("describe topic many")
    rights.wire.cluster.topic("many").create(150)
    topics: list[Plain] = [{"name": "t", "partitions": [{"partition_index": 0, "timestamp": -1}]}]
    topics += [{"name": "many", "partitions": [{"partition_index": n, "timestamp": -1} for n in range(150)]}]
    answer = rights.ask("ListOffsets", 7, topics=topics)["topics"]
    assert [(topic["name"], len(topic["partitions"])) for topic in answer] == [("many", 150), ("t", 1)]
    assert {partition["error_code"] for partition in answer[0]["partitions"]} == {NONE}


def test_right_is_checked_before_duplicates_and_the_isolation_level(rights: Rights) -> None:
    assert codes(listed(rights, 7, "t", times=2, isolation_level=9)) == {"t": REFUSED}
    rights.grant("describe topic t")
    assert codes(listed(rights, 7, "t", times=2)) == {"t": Code.INVALID_REQUEST}


def test_epochs_can_be_looked_up_with_a_right_on_the_topic_or_the_cluster(rights: Rights) -> None:
    topics = [
        {"topic": name, "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]}
        for name in "tu"
    ]

    def looked_up() -> dict[str, int]:
        return codes(rights.ask("OffsetForLeaderEpoch", 3, replica_id=-1, topics=topics), name="topic")

    rights.grant("describe topic u")
    assert looked_up() == {"u": NONE, "t": REFUSED}
    rights.grant("cluster_action cluster")
    assert looked_up() == {"t": NONE, "u": NONE}


def test_records_are_deleted_only_with_the_right_to_delete(rights: Rights) -> None:
    rights.grant("write topic t", "write topic u", "delete topic u")
    produce(rights, "t", "u")
    topics = [{"name": name, "partitions": [{"partition_index": 0, "offset": 1}]} for name in ("t", "u", "unknown")]
    answer = rights.ask("DeleteRecords", 1, topics=topics, timeout_ms=1000)
    assert codes(answer) == {"t": REFUSED, "u": NONE, "unknown": REFUSED}
    cluster = rights.wire.cluster
    assert [cluster.topic(name).log(0).log_start_offset for name in "tu"] == [0, 1]


# Metadata, DescribeTopicPartitions


def described(rights: Rights, *names: str, creates: bool = False) -> dict[str, int]:
    topics = [{"name": name} for name in names]
    answer = rights.ask("Metadata", 9, topics=topics, allow_auto_topic_creation=creates)
    return {topic["name"]: topic["error_code"] for topic in answer["topics"]}


def test_topics_that_may_not_be_described_are_not_in_a_list_of_all(rights: Rights) -> None:
    rights.grant("read topic u")
    answer = rights.ask("Metadata", 9, topics=None, allow_auto_topic_creation=False)
    assert [topic["name"] for topic in answer["topics"]] == ["u"]


def test_missing_topic_is_created_with_the_right_on_the_topic_or_the_cluster(rights: Rights) -> None:
    rights.grant("describe topic a", "describe topic b", "describe topic c", "create topic a", "create topic d")
    unknown = Code.UNKNOWN_TOPIC_OR_PARTITION
    assert described(rights, "a", "b", "d", creates=True) == {"a": unknown, "b": REFUSED, "d": REFUSED}
    rights.grant("create cluster")
    assert described(rights, "c", creates=True) == {"c": unknown}
    assert {"a", "c"} <= rights.wire.cluster._server.metadata.topics.keys()
    assert not {"b", "d"} & rights.wire.cluster._server.metadata.topics.keys()


def test_missing_topic_needs_no_right_to_be_created_if_it_will_not_be(rights: Rights) -> None:
    rights.grant("describe topic a")
    assert described(rights, "a") == {"a": Code.UNKNOWN_TOPIC_OR_PARTITION}


def test_requested_topics_that_may_not_be_described_follow_each_page(rights: Rights) -> None:
    rights.grant("describe topic t", "describe topic u")
    names = ["a", "t", "u", "z"]
    asked = {"topics": [{"name": name} for name in names], "response_partition_limit": 1}
    first = rights.ask("DescribeTopicPartitions", 0, **asked, cursor=None)
    assert [topic["name"] for topic in first["topics"]] == ["t", "a", "z"]
    assert first["next_cursor"] == {"topic_name": "u", "partition_index": 0}
    second = rights.ask("DescribeTopicPartitions", 0, **asked, cursor=first["next_cursor"])
    assert [topic["name"] for topic in second["topics"]] == ["u", "z"]


def test_topic_without_a_name_fails_a_request_only_if_it_may_be_described(rights: Rights) -> None:
    def named() -> list[int]:
        asked = {"topics": [{"name": ""}], "response_partition_limit": 1, "cursor": None}
        return [topic["error_code"] for topic in rights.ask("DescribeTopicPartitions", 0, **asked)["topics"]]

    assert named() == [REFUSED]
    rights.grant("describe topic *")
    assert named() == [Code.UNKNOWN_SERVER_ERROR]


# CreateTopics, DeleteTopics, CreatePartitions


def created(rights: Rights, *names: str, version: int = 5) -> dict[str, Plain]:
    topics = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in names]
    answer = rights.ask("CreateTopics", version, topics=topics, timeout_ms=1000, validate_only=False)
    return {topic["name"]: topic for topic in answer["topics"]}


def test_refused_topic_does_not_keep_others_from_being_created(rights: Rights) -> None:
    rights.grant("create topic a")
    answers = created(rights, "a", "b")
    assert {name: answer["error_code"] for name, answer in answers.items()} == {"a": NONE, "b": REFUSED}
    assert "b" not in rights.wire.cluster._server.metadata.topics


def test_configuration_of_a_new_topic_is_returned_with_the_right_to_describe_it(rights: Rights) -> None:
    rights.grant("create cluster", "describe_configs topic b")
    answers = created(rights, "a", "b")
    assert (answers["a"].get("topic_config_error_code"), answers["a"]["num_partitions"]) == (REFUSED, -1)
    assert (answers["b"].get("topic_config_error_code"), answers["b"]["num_partitions"]) == (None, 1)
    assert [len(answers[name]["configs"]) > 10 for name in "ab"] == [False, True]


@pytest.mark.parametrize("right", ["delete topic t", "delete cluster"])
def test_topic_is_deleted_with_the_right_on_the_topic_or_the_cluster(rights: Rights, right: str) -> None:
    def deleted() -> int:
        answer = rights.ask("DeleteTopics", 6, topics=[{"name": "t"}], timeout_ms=1000)
        code: int = answer["responses"][0]["error_code"]
        return code

    assert deleted() == REFUSED
    rights.grant(right)
    assert deleted() == NONE
    assert "t" not in rights.wire.cluster._server.metadata.topics


def test_refused_topic_id_is_named_only_to_clients_that_may_describe_it(rights: Rights) -> None:
    topic_id = str(UUID(bytes=rights.wire.cluster._server.metadata.topics["t"].topic_id))

    def refused() -> Plain:
        answer = rights.ask("DeleteTopics", 6, topics=[{"name": None, "topic_id": topic_id}], timeout_ms=1000)
        result: Plain = answer["responses"][0]
        return {name: result[name] for name in ("name", "error_code")}

    assert refused() == {"name": None, "error_code": REFUSED}
    rights.grant("describe topic t")
    assert refused() == {"name": "t", "error_code": REFUSED}


def test_release_with_zookeeper_deletes_a_topic_that_is_listed_twice() -> None:
    with without_rights("2.8") as rights:
        rights.grant("delete topic t", "delete cluster")
        answer = rights.ask("DeleteTopics", 5, topic_names=["t", "u", "t"], timeout_ms=1000)
        codes = [(topic["name"], topic["error_code"]) for topic in answer["responses"]]
        assert codes == [("t", NONE), ("u", REFUSED), ("t", NONE)]
        assert "t" not in rights.wire.cluster._server.metadata.topics


def test_partitions_are_added_only_with_the_right_to_alter(rights: Rights) -> None:
    rights.grant("alter topic u", "alter cluster")
    topics = [{"name": name, "count": 2, "assignments": None} for name in ("t", "u", "unknown")]
    answer = rights.ask("CreatePartitions", 1, topics=topics, timeout_ms=1000, validate_only=False)
    assert {topic["name"]: topic["error_code"] for topic in answer["results"]} == {
        "t": REFUSED,
        "u": NONE,
        "unknown": REFUSED,
    }
    assert [len(rights.wire.cluster._server.metadata.topics[name].partitions) for name in "tu"] == [1, 2]
