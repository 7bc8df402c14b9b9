"""Arguments of `Broker`, `Cluster` and their methods: a mistake raises an error that names it, and is never ignored."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kafkalet
from kafkalet.broker import arguments
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.build import build_message_set, numbered
from tests.wire.brokers import batch

BUILD = r"kafkalet\.protocol\.records\.build"


@pytest.fixture(scope="module")
def broker() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(topics=["t"]) as running:
        yield running


@pytest.fixture(scope="module")
def cluster() -> Iterator[kafkalet.Cluster]:
    with kafkalet.Cluster(3) as running:
        running.topic("t").create(assignments=[[1, 2], [2, 3]])
        yield running


# Records


@pytest.mark.parametrize(
    "records", [b"", b"one", b"one" * 40, bytes(5), bytes(100)], ids=["empty", "short", "long", "zeros", "many zeros"]
)
def test_plain_bytes_error_describes_a_batch(broker: kafkalet.Broker, records: bytes) -> None:
    with pytest.raises(ValueError, match=f"is not a record batch.*{BUILD}"):
        broker.topic("t").append(records)


@pytest.mark.parametrize("records", ["one", 5, None, [b"one"], [1, 2]], ids=str)
def test_append_of_another_type_raises_type_error(broker: kafkalet.Broker, records: Any) -> None:
    with pytest.raises(TypeError, match=f"is not a record batch.*{BUILD}"):
        broker.topic("t").append(records)


@pytest.mark.parametrize("cut", [1, 30, 60])
def test_truncated_batch_is_refused(broker: kafkalet.Broker, cut: int) -> None:
    with pytest.raises(ValueError, match="is not a record batch"):
        broker.topic("t").append(batch(b"a")[:-cut])


def test_batch_followed_by_partial_batch_is_refused(broker: kafkalet.Broker) -> None:
    with pytest.raises(ValueError, match=r"the last 20 of .* bytes are not a whole batch"):
        broker.topic("t").append(batch(b"a") + batch(b"b")[:20])


def test_refused_records_leave_the_log_unchanged(broker: kafkalet.Broker) -> None:
    end = broker.topic("t").log().log_end_offset
    with pytest.raises(ValueError, match="is not a record batch"):
        broker.topic("t").append(b"one")
    assert broker.topic("t").log().log_end_offset == end


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_batch_may_be_any_bytes_like_object(broker: kafkalet.Broker, kind: Callable[[bytearray], Any]) -> None:
    end = broker.topic("t").log().log_end_offset
    assert broker.topic("t").append(kind(batch(b"a", b"b"))) == end
    assert broker.topic("t").log().log_end_offset == end + 2


def test_given_bytes_are_not_modified(broker: kafkalet.Broker) -> None:
    given = batch(b"a")
    before = bytes(given)
    broker.topic("t").append(given)
    broker.topic("t").append(given)
    assert given == before


def test_messages_of_old_formats_are_accepted(broker: kafkalet.Broker) -> None:
    end = broker.topic("t").log().log_end_offset
    broker.topic("t").append(build_message_set(1, numbered([(1000, None, b"a", ()), (1000, None, b"b", ())])))
    assert broker.topic("t").log().log_end_offset == end + 2


def test_two_batches_are_refused_as_by_kafka(broker: kafkalet.Broker) -> None:
    with pytest.raises(KafkaError) as refused:
        broker.topic("t").append(batch(b"a") + batch(b"b"))
    assert refused.value.code is Code.INVALID_RECORD


# Names and numbers

DOORS: dict[str, Callable[[kafkalet.Cluster, Any], object]] = {
    "log": lambda cluster, name: cluster.topic(name).log(),
    "produce": lambda cluster, name: cluster.topic(name).append(batch(b"a")),
    "create_topic": lambda cluster, name: cluster.topic(name).create(),
    "delete_topic": lambda cluster, name: cluster.topic(name).delete(),
    "elect_leader": lambda cluster, name: cluster.topic(name).move_leader(1),
    "hold_replication": lambda cluster, name: cluster.hold_replication(1, name),
    "group": lambda cluster, name: cluster.group(name),
    "transaction": lambda cluster, name: cluster.transaction(name),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", [b"t", 5], ids=str)
def test_name_of_another_type_raises_type_error(cluster: kafkalet.Cluster, door: str, name: Any) -> None:
    with pytest.raises(TypeError, match="must be a str, not"):
        DOORS[door](cluster, name)


@pytest.mark.parametrize("door", ["log", "produce", "delete_topic", "elect_leader", "hold_replication"])
def test_missing_topic_is_named_in_the_error(cluster: kafkalet.Cluster, door: str) -> None:
    with pytest.raises(KafkaError, match="topic missing does not exist") as refused:
        DOORS[door](cluster, "missing")
    assert refused.value.code is Code.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("index", [-1, 2])
def test_missing_partition_error_lists_the_existing_ones(cluster: kafkalet.Cluster, index: int) -> None:
    with pytest.raises(KafkaError, match=f"topic t has no partition {index}; it has partition 0 to 1"):
        cluster.topic("t").log(index)


@pytest.mark.parametrize("index", ["0", True, 0.0, None], ids=repr)
def test_partition_of_another_type_raises_type_error(cluster: kafkalet.Cluster, index: Any) -> None:
    with pytest.raises(TypeError, match="the number of a partition must be an int, not"):
        cluster.topic("t").log(index)


def test_object_with_index_method_is_an_int() -> None:
    class Index:
        def __index__(self) -> int:
            return 7

    assert arguments.number("it", Index()) == 7  # type: ignore[arg-type]


# Brokers


@pytest.mark.parametrize("method", ["broker", "hold_replication"])
@pytest.mark.parametrize("node_id", [0, 99])
def test_missing_broker_error_lists_the_existing_ones(cluster: kafkalet.Cluster, method: str, node_id: int) -> None:
    with pytest.raises(ValueError, match=f"broker {node_id} does not exist; this cluster has brokers 1, 2, 3"):
        getattr(cluster, method)(node_id)


def test_broker_id_of_another_type_raises_type_error(cluster: kafkalet.Cluster) -> None:
    with pytest.raises(TypeError, match="the id of a broker must be an int, not '1'"):
        cluster.broker("1").stop()  # type: ignore[arg-type]


def test_running_broker_cannot_be_started(cluster: kafkalet.Cluster) -> None:
    with pytest.raises(ValueError, match="broker 1 is already running"):
        cluster.broker(1).start()


def test_stopped_broker_cannot_be_stopped_again() -> None:
    with kafkalet.Cluster(2) as cluster:
        cluster.broker(2).stop()
        with pytest.raises(ValueError, match=r"broker 2 is already stopped; broker\(2\).start\(\) starts it again"):
            cluster.broker(2).stop()


def test_replica_out_of_sync_is_not_elected(cluster: kafkalet.Cluster) -> None:
    cluster.topic("t").move_leader(1)
    with cluster.topic("t").shrink_isr(2), pytest.raises(KafkaError, match="broker 2 cannot lead t-0") as refused:
        cluster.topic("t").move_leader(2)
    assert refused.value.code is Code.PREFERRED_LEADER_NOT_AVAILABLE
    with pytest.raises(ValueError, match="broker 9 has no replica of t-0; its replicas are on brokers 1, 2"):
        cluster.topic("t").move_leader(9)


# Replication that is held back


def test_holding_a_partition_requires_its_topic(cluster: kafkalet.Cluster) -> None:
    with pytest.raises(ValueError, match="partition 0 is given without a topic"):
        cluster.hold_replication(1, partition=0)


@pytest.mark.parametrize(("place", "words"), [(("t", 0), "t-0"), (("t", 1), "t-1"), (("u",), "u")])
def test_partition_without_replica_on_the_broker_cannot_be_held_back(place: tuple[Any, ...], words: str) -> None:
    with kafkalet.Cluster(4) as cluster:
        cluster.topic("t").create(assignments=[[1, 2], [2, 3]])
        cluster.topic("u").create(assignments=[[1]])
        with pytest.raises(ValueError, match=f"broker 4 has no replica of {words}, so there is nothing"):
            cluster.hold_replication(4, *place)


def test_replicas_of_stopped_broker_can_be_held_back() -> None:
    with kafkalet.Cluster(2, topics=[kafkalet.NewTopic("t", 1, replication_factor=2)]) as cluster:
        cluster.broker(2).stop()
        cluster.hold_replication(2, "t")
        cluster.broker(2).start()
        cluster.topic("t").append(batch(b"a"))
        assert cluster._server.nodes[2].partitions["t", 0].log.log_end_offset == 0


# Topics


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"partitions": "3"}, "the number of partitions must be an int, not '3'"),
        ({"partitions": 3.0}, "the number of partitions must be an int, not 3.0"),
        ({"partitions": True}, "the number of partitions must be an int, not True"),
        ({"replication_factor": "1"}, "the replication factor must be an int, not '1'"),
        ({"config": [("retention.ms", "1")]}, "the config of topic x must be a dict of properties"),
        (
            {"config": {"retention.ms": None}},
            "retention.ms in the config of topic x must be a str, an int, a float or a",
        ),
        ({"config": {"cleanup.policy": ["delete"]}}, r"cleanup.policy in .* not \['delete'\]"),
        ({"config": {5: "1"}}, "the name of a property in the config of topic x must be a str, not 5"),
        ({"assignments": [1]}, "assignments must be a list with the brokers of each partition"),
        ({"assignments": ["1"]}, "assignments must be a list with the brokers of each partition"),
        ({"assignments": [["1"]]}, "a broker in assignments must be an int, not '1'"),
    ],
)
def test_topic_arguments_of_wrong_types_raise_type_error(
    broker: kafkalet.Broker, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(TypeError, match=words):
        broker.topic("x").create(**given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"assignments": []}, "assignments is empty"),
        ({"assignments": [[1]], "partitions": 4}, "partitions is 4, but assignments lists 1"),
        ({"assignments": [[1]], "replication_factor": 2}, "replication_factor is 2, but assignments lists 1"),
    ],
)
def test_counts_that_contradict_the_assignments_are_refused(
    broker: kafkalet.Broker, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        broker.topic("x").create(**given)


@pytest.mark.parametrize(
    ("value", "text"), [("5", "5"), (5, "5"), (True, "true"), (False, "false"), (0.5, "0.5")], ids=repr
)
def test_property_value_is_converted_to_the_notation_of_kafka(value: Any, text: str) -> None:
    assert arguments.properties("config", {"a": value}) == {"a": text}


def test_more_partitions_than_kafka_creates_in_one_request_are_refused(broker: kafkalet.Broker) -> None:
    with pytest.raises(KafkaError, match="Excessively large number of partitions per request") as refused:
        broker.topic("x").create(10_001)
    assert refused.value.code is Code.POLICY_VIOLATION


def test_properties_of_topics_and_brokers_may_be_numbers_and_bools() -> None:
    topic = kafkalet.NewTopic("made", 2, {"retention.ms": 100, "preallocate": True})
    config = {"num.partitions": 3, "auto.create.topics.enable": False}
    with kafkalet.Broker(topics=[topic], config=config) as broker:
        broker.topic("more").create(config={"segment.ms": 7})
        topics = broker._server.metadata.topics
        assert topics["made"].config == {"retention.ms": "100", "preallocate": "true"}
        assert (topics["more"].config, len(topics["more"].partitions)) == ({"segment.ms": "7"}, 3)
        assert not broker._server.controller.auto_creates_topics


# What a cluster is made with


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"port": "9092"}, "port must be an int, not '9092'"),
        ({"host": 5}, "host must be a str, not 5"),
        ({"brokers": "3"}, "brokers must be an int, not '3'"),
        ({"advertise": "kafka:9092"}, "advertise must be a host and a port, as in"),
        ({"advertise": ("kafka",)}, "advertise must be a host and a port, as in"),
        ({"advertise": ("kafka", "9092")}, "the port in advertise must be an int, not '9092'"),
        ({"racks": "a"}, "racks must be a list with the rack of each broker, not 'a'"),
        ({"racks": [1]}, "a rack must be a str, not 1"),
        ({"data_dir": 5}, "PathLike"),
        ({"data_dir": b"data"}, "data_dir must be a str, not"),
        ({"config": "num.partitions=3"}, "config must be a dict of properties"),
        ({"config": [("num.partitions", "3")]}, "config must be a dict of properties"),
        ({"config": {"num.partitions": None}}, "num.partitions in config must be a str, an int, a float or a bool"),
        ({"topics": "orders"}, "topics is a list of names and NewTopic values, .* not 'orders'"),
        ({"topics": 5}, "topics is a list of names and NewTopic values"),
        ({"topics": [("orders", 3)]}, r"an element of topics is a name or a NewTopic, not \('orders', 3\)"),
        ({"topics": [kafkalet.NewTopic("orders", "3")]}, "the number of partitions must be an int"),  # type: ignore[arg-type]
        ({"version": 3.9}, 'version, as in "3.9", must be a str, not 3.9'),
        ({"clock": 5}, "clock must be a kafkalet.Clock or another clock, not 5"),
        ({"bootstrap": "x"}, "Cluster has no option 'bootstrap'"),
    ],
)
def test_cluster_arguments_of_wrong_types_raise_type_error_before_the_start(given: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        kafkalet.Cluster(**given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"port": -1}, "port is -1; a port must be a number from 0 to 65535"),
        ({"port": 70000}, "port is 70000; a port must be a number from 0 to 65535"),
        ({"brokers": 3, "port": 65534}, "the port of the last of 3 brokers is 65536"),
        ({"brokers": 0}, "brokers is 0; it must be at least 1"),
        ({"advertise": ("kafka", 0)}, "the port in advertise is 0; a port must be a number from 1"),
        ({"brokers": 2, "advertise": ("kafka", 65535)}, "the port that the last of 2 brokers would advertise is 65536"),
        ({"brokers": 2, "racks": ["a"]}, "racks has 1 rack for 2 brokers"),
        ({"data_dir": ""}, "data_dir is empty"),
        ({"topics": ["t", kafkalet.NewTopic("t", 3)]}, "topics names t twice"),
        ({"version": "7"}, "Kafka 7 cannot be emulated"),
        ({"config": {"num.partitions": 0}}, "Invalid value 0 for configuration num.partitions"),
    ],
)
def test_invalid_cluster_arguments_are_refused_before_the_start(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        kafkalet.Cluster(**given)


def test_broker_class_refuses_several_brokers() -> None:
    with pytest.raises(ValueError, match=r"a Broker is one broker; for 3 use kafkalet.Cluster\(brokers=3\)"):
        kafkalet.Broker(3)


def test_data_directory_may_be_a_path(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=tmp_path, topics=["t"]):
        assert (tmp_path / "t-0").is_dir()


def test_long_value_is_shortened_in_messages() -> None:
    assert arguments.shown(b"one") == "b'one' (3 bytes)"
    assert arguments.shown(b"x" * 30) == f"{b'x' * 20!r}... (30 bytes)"
    assert arguments.shown(5) == "5 (int)"
    assert arguments.shown(list(range(100))).endswith("... (list)")
