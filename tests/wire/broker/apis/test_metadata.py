"""Metadata: the topics in a response, automatic creation, and offline brokers."""

from collections.abc import Iterator

import pytest

from kafkalet.broker.cluster.new_topics import NewTopic
from kafkalet.protocol.errors import Code
from kafkalet_conformance.playing.connection import Connection
from tests.wire.brokers import Plain, Wire, on_the_wire

MISSING = "00000000-0000-0000-0000-0000000000ff"
NOT_ASKED = -(1 << 31)
A_B = NewTopic("a_b", 1, {}, 1)


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    """One broker with the topics "t" and "u"."""
    with on_the_wire(topics=["u"]) as opened:
        yield opened


@pytest.fixture
def three() -> Iterator[Wire]:
    """Three brokers with a topic "t" that broker 1 leads."""
    with on_the_wire(3) as opened:
        yield opened


def ask(wire: Wire, version: int, topics: list[Plain] | None, node: int = 1, **more: bool) -> Plain:
    return wire.ask("Metadata", version, {"topics": topics, **more}, node)


def named(*names: str) -> list[Plain]:
    return [{"name": name} for name in names]


def codes_by_topic(answer: Plain) -> dict[str, int]:
    """Return the error codes by topic."""
    return {topic["name"]: topic["error_code"] for topic in answer["topics"]}


def no_creation(version: int) -> dict[str, bool]:
    return {"allow_auto_topic_creation": False} if version >= 4 else {}


# Requested topics


def test_empty_list_requests_all_topics_in_v0(wire: Wire) -> None:
    assert {"t", "u"} <= codes_by_topic(ask(wire, 0, [])).keys()


@pytest.mark.parametrize("version", [1, 4, 9, 12, 13])
def test_null_requests_all_topics_and_empty_list_none_since_v1(wire: Wire, version: int) -> None:
    assert {"t", "u"} <= codes_by_topic(ask(wire, version, None)).keys()
    answer = ask(wire, version, [])
    assert answer["topics"] == []
    assert [broker["node_id"] for broker in answer["brokers"]] == [1]


def test_duplicate_topic_is_returned_once(wire: Wire) -> None:
    assert [topic["name"] for topic in ask(wire, 9, named("t", "t"))["topics"]] == ["t"]


def topic_ids(wire: Wire) -> dict[str, str]:
    return {topic["name"]: topic["topic_id"] for topic in ask(wire, 12, None)["topics"]}


def test_existing_topics_precede_unknown_ones_in_request_order(wire: Wire) -> None:
    answer = ask(wire, 9, named("missing", "u", "gone", "t"), allow_auto_topic_creation=False)
    assert list(codes_by_topic(answer)) == ["u", "t", "missing", "gone"]


def test_invalid_names_precede_created_topics(wire: Wire) -> None:
    answer = ask(wire, 9, named("first", "t", "a b"), allow_auto_topic_creation=True)
    assert codes_by_topic(answer) == {
        "t": 0,
        "a b": Code.INVALID_TOPIC_EXCEPTION,
        "first": Code.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert list(codes_by_topic(answer)) == ["t", "a b", "first"]


def test_unknown_ids_precede_known_ids_in_request_order(wire: Wire) -> None:
    ids, unknown = topic_ids(wire), [f"00000000-0000-0000-0000-00000000ff{number:02}" for number in range(9)]
    for known in (["u", "t"], ["t", "u"]):
        asked = [ids[known[0]], *unknown[::2], ids[known[1]], *unknown[1::2]]
        answer = ask(wire, 12, [{"name": None, "topic_id": topic_id} for topic_id in asked])
        assert [topic["topic_id"] for topic in answer["topics"]] == unknown[::2] + unknown[1::2] + [
            ids[name] for name in known
        ]


# Automatic creation


@pytest.mark.parametrize(("release", "created"), [("3.9", 3), ("4.4", 3), ("2.8", Code.LEADER_NOT_AVAILABLE)])
def test_first_response_for_a_created_topic_has_no_partitions(release: str, created: int) -> None:
    with on_the_wire(version=release) as wire:
        assert codes_by_topic(ask(wire, 9, named("new"), allow_auto_topic_creation=True)) == {"new": created}
        assert codes_by_topic(ask(wire, 9, named("new"), allow_auto_topic_creation=True)) == {"new": 0}


@pytest.mark.parametrize(
    ("release", "collision", "replicas"),
    [("3.9", 3, 3), ("4.4", 3, 3), ("2.8", Code.INVALID_TOPIC_EXCEPTION, Code.INVALID_REPLICATION_FACTOR)],
)
def test_error_of_the_controller_is_returned_only_with_zookeeper(release: str, collision: int, replicas: int) -> None:
    with on_the_wire(version=release, config={"default.replication.factor": "3"}, topics=[A_B]) as wire:
        assert codes_by_topic(ask(wire, 9, named("a.b"), allow_auto_topic_creation=True)) == {"a.b": collision}
        assert codes_by_topic(ask(wire, 9, named("new"), allow_auto_topic_creation=True)) == {"new": replicas}
        assert {"a.b", "new"}.isdisjoint(codes_by_topic(ask(wire, 9, None)))


def test_consumer_offsets_topic_is_created_with_its_own_settings() -> None:
    with on_the_wire(config={"offsets.topic.segment.bytes": "2097152", "num.partitions": "3"}) as wire:
        ask(wire, 9, named("__consumer_offsets"), allow_auto_topic_creation=True)
        topic = wire.cluster._server.metadata.topics["__consumer_offsets"]
        assert len(topic.partitions) == 50
        assert topic.config == {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": "2097152",
        }


def test_transaction_state_topic_is_created_with_its_own_settings() -> None:
    with on_the_wire(config={"transaction.state.log.num.partitions": "7"}) as wire:
        ask(wire, 9, named("__transaction_state"), allow_auto_topic_creation=True)
        topic = wire.cluster._server.metadata.topics["__transaction_state"]
        assert len(topic.partitions) == 7
        assert topic.config["cleanup.policy"] == "compact"


@pytest.mark.parametrize(("version", "partitions", "policy"), [("3.9", 3, None), ("4.4", 50, "delete")])
def test_share_state_topic_is_created_with_its_own_settings_since_4_0(
    version: str, partitions: int, policy: str | None
) -> None:
    with on_the_wire(version=version, config={"num.partitions": "3"}) as wire:
        ask(wire, 9, named("__share_group_state"), allow_auto_topic_creation=True)
        topic = wire.cluster._server.metadata.topics["__share_group_state"]
        assert (len(topic.partitions), topic.config.get("cleanup.policy")) == (partitions, policy)


def test_groups_work_on_an_automatically_created_offsets_topic() -> None:
    with on_the_wire() as wire:
        ask(wire, 9, named("__consumer_offsets"), allow_auto_topic_creation=True)
        partition = {"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}
        committed = {"group_id": "g", "generation_id_or_member_epoch": -1, "member_id": ""}
        topics = [{"name": "t", "partitions": [partition]}]
        answer = wire.ask("OffsetCommit", 5, {**committed, "topics": topics})
        assert answer["topics"][0]["partitions"][0]["error_code"] == Code.NONE
        assert wire.cluster.group("g").committed() == {("t", 0): 5}


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ä", "x" * 250])
@pytest.mark.parametrize("creation", [True, False])
def test_invalid_topic_name_is_refused(wire: Wire, name: str, creation: bool) -> None:
    assert codes_by_topic(ask(wire, 9, named(name), allow_auto_topic_creation=creation)) == {
        name: Code.INVALID_TOPIC_EXCEPTION
    }


# Settings of automatic creation


def test_new_topic_is_unknown_in_the_first_response(wire: Wire) -> None:
    assert codes_by_topic(ask(wire, 9, named("made"), allow_auto_topic_creation=True)) == {"made": 3}
    assert codes_by_topic(ask(wire, 9, named("made"), allow_auto_topic_creation=True)) == {"made": 0}


@pytest.mark.parametrize("version", [0, 3])
def test_every_request_may_create_topics_before_v4(wire: Wire, version: int) -> None:
    ask(wire, version, named(f"made-{version}"))
    assert f"made-{version}" in wire.cluster._server.metadata.topics


def test_request_may_forbid_topic_creation_since_v4(wire: Wire) -> None:
    assert codes_by_topic(ask(wire, 4, named("forbidden"), allow_auto_topic_creation=False)) == {"forbidden": 3}
    assert "forbidden" not in wire.cluster._server.metadata.topics


def test_topic_is_created_with_the_defaults_of_the_broker() -> None:
    with on_the_wire(3, config={"num.partitions": "4", "default.replication.factor": "2"}) as wire:
        ask(wire, 9, named("made"), allow_auto_topic_creation=True)
        partitions = wire.cluster._server.metadata.topics["made"].partitions
        assert [len(partition.replicas) for partition in partitions] == [2, 2, 2, 2]


def test_broker_may_forbid_topic_creation() -> None:
    with on_the_wire(config={"auto.create.topics.enable": "false"}) as wire:
        assert codes_by_topic(ask(wire, 9, named("made"), allow_auto_topic_creation=True)) == {"made": 3}
        assert "made" not in wire.cluster._server.metadata.topics


# Topic ids


def test_topic_is_found_by_id_since_v12(wire: Wire) -> None:
    topic_id = wire.cluster._server.metadata.topics["t"].topic_id.hex()
    [topic] = ask(wire, 12, [{"name": None, "topic_id": topic_id}])["topics"]
    assert (topic["error_code"], topic["name"]) == (Code.NONE, "t")


def test_unknown_topic_id_is_returned_without_a_name(wire: Wire) -> None:
    [topic] = ask(wire, 12, [{"name": None, "topic_id": MISSING}])["topics"]
    assert (topic["error_code"], topic["name"], topic["topic_id"]) == (Code.UNKNOWN_TOPIC_ID, None, MISSING)


@pytest.mark.parametrize("version", [10, 11])
def test_topic_id_is_refused_before_v12(wire: Wire, version: int) -> None:
    answer = ask(wire, version, [{"name": "t", "topic_id": wire.cluster._server.metadata.topics["t"].topic_id.hex()}])
    assert [topic["error_code"] for topic in answer["topics"]] == [Code.INVALID_REQUEST]
    assert answer["brokers"] == []


def test_response_contains_topic_ids_since_v10(wire: Wire) -> None:
    for version in (9, 10):
        [topic] = ask(wire, version, named("t"))["topics"]
        assert ("topic_id" in topic) == (version >= 10)


# Authorized operations


@pytest.mark.parametrize("asked", [True, False])
def test_authorized_operations_are_returned_if_requested(wire: Wire, asked: bool) -> None:
    more = {"include_topic_authorized_operations": asked, "include_cluster_authorized_operations": asked}
    answer = ask(wire, 8, named("t"), **more)
    operations = (answer["topics"][0]["topic_authorized_operations"], answer["cluster_authorized_operations"])
    assert (NOT_ASKED not in operations) == asked


# Brokers


def test_every_broker_returns_all_brokers(three: Wire) -> None:
    endpoints = [(node, endpoint.port) for node, endpoint in three.cluster._server.metadata.endpoints.items()]
    for node in (1, 2, 3):
        answer = ask(three, 9, named("t"), node)
        assert [(broker["node_id"], broker["port"]) for broker in answer["brokers"]] == endpoints
        assert answer["controller_id"] == 1


def test_stopped_broker_has_offline_replicas(three: Wire) -> None:
    three.cluster.broker(1).stop()
    answer = ask(three, 9, named("t"), node=2)
    [partition] = answer["topics"][0]["partitions"]
    assert [broker["node_id"] for broker in answer["brokers"]] == [2, 3]
    assert (partition["leader_id"], partition["leader_epoch"]) == (2, 1)
    assert (partition["replica_nodes"], partition["isr_nodes"]) == ([1, 2, 3], [2, 3])
    assert partition["offline_replicas"] == [1]


def test_v0_leaves_out_offline_replicas_with_an_error(three: Wire) -> None:
    three.cluster.broker(3).stop()
    [topic] = ask(three, 0, named("t"))["topics"]
    [partition] = topic["partitions"]
    assert (partition["error_code"], partition["leader_id"]) == (Code.REPLICA_NOT_AVAILABLE, 1)
    assert (partition["replica_nodes"], partition["isr_nodes"]) == ([1, 2], [1, 2])


def test_partition_without_leader_returns_leader_not_available(three: Wire) -> None:
    three.cluster.topic("single").create(assignments=[[3]])
    three.cluster.broker(3).stop()
    [topic] = ask(three, 9, named("single"))["topics"]
    [partition] = topic["partitions"]
    assert topic["error_code"] == Code.NONE
    assert (partition["error_code"], partition["leader_id"]) == (Code.LEADER_NOT_AVAILABLE, -1)
    assert (partition["isr_nodes"], partition["offline_replicas"]) == ([], [3])


def test_advertised_address_is_returned() -> None:
    with on_the_wire(advertise=("kafka.example", 19092)) as wire:
        wire.connections[1, ""] = Connection(
            "127.0.0.1", wire.cluster._server._addresses.ports[1][0]
        )  # the address of the listener
        [broker] = ask(wire, 9, [])["brokers"]
        assert (broker["host"], broker["port"]) == ("kafka.example", 19092)


@pytest.mark.parametrize("version", range(14))
def test_every_version_returns_the_leader(wire: Wire, version: int) -> None:
    [topic] = ask(wire, version, named("t"), **no_creation(version))["topics"]
    [partition] = topic["partitions"]
    assert (partition["leader_id"], partition["replica_nodes"], partition["isr_nodes"]) == (1, [1], [1])
    assert partition.get("leader_epoch") == (0 if version >= 7 else None)
    assert ("offline_replicas" in partition) == (version >= 5)
