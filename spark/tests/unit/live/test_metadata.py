from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.metadata import MetadataResponse
from kafkalet.protocol.wire import ZERO_UUID
from kafkalet_spark.live.connection import Address
from kafkalet_spark.live.metadata import Leader, Metadata

BROKERS = [MetadataResponse.Broker(node_id=1, host="a", port=1), MetadataResponse.Broker(node_id=2, host="b", port=2)]


def topic(name: str, *leaders: int, error_code: int = 0, **more: object) -> MetadataResponse.Topic:
    rows = [
        MetadataResponse.Topic.Partition(
            partition_index=index, leader_id=leader, leader_epoch=7, replica_nodes=[], isr_nodes=[]
        )
        for index, leader in enumerate(leaders)
    ]
    return MetadataResponse.Topic(name=name, partitions=rows, error_code=error_code, **more)  # type: ignore[arg-type]


def answer(*topics: MetadataResponse.Topic) -> MetadataResponse:
    return MetadataResponse(brokers=BROKERS, topics=list(topics))


def test_response_is_stored() -> None:
    metadata = Metadata()
    assert metadata.take(answer(topic("t", 1, 2, topic_id=b"x" * 16)), ["t"]) == {}
    assert metadata.brokers == {1: Address("a", 1), 2: Address("b", 2)}
    assert metadata.leaders == {("t", 0): Leader(1, 7), ("t", 1): Leader(2, 7)}
    assert metadata.partitions == {"t": 2}
    assert metadata.topic_id("t") == b"x" * 16


def test_partition_without_leader_is_counted() -> None:
    metadata = Metadata()
    metadata.take(answer(topic("t", -1, 2)), None)
    assert metadata.leaders == {("t", 1): Leader(2, 7)}
    assert metadata.partitions == {"t": 2}


def test_leader_that_is_not_in_the_cluster_is_ignored() -> None:
    metadata = Metadata()
    metadata.take(answer(topic("t", 9)), None)
    assert metadata.leaders == {}


def test_topics_with_errors_are_returned_and_forgotten() -> None:
    metadata = Metadata()
    metadata.take(answer(topic("t", 1)), ["t"])
    failed = metadata.take(answer(topic("t", error_code=Code.UNKNOWN_TOPIC_OR_PARTITION)), ["t"])
    assert failed == {"t": Code.UNKNOWN_TOPIC_OR_PARTITION}
    assert not metadata.leaders
    assert not metadata.partitions
    assert metadata.topic_id("t") == ZERO_UUID


def test_topic_missing_from_response_does_not_exist() -> None:
    assert Metadata().take(answer(), ["t"]) == {"t": Code.UNKNOWN_TOPIC_OR_PARTITION}


def test_other_topics_stay_cached() -> None:
    metadata = Metadata()
    metadata.take(answer(topic("t", 1)), ["t"])
    metadata.take(answer(topic("u", 1)), ["u"])
    assert metadata.partitions == {"t": 1, "u": 1}


def test_topic_with_fewer_partitions_was_recreated() -> None:
    metadata = Metadata()
    metadata.take(answer(topic("t", 1, 1)), ["t"])
    metadata.take(answer(topic("t", 2)), ["t"])
    assert metadata.leaders == {("t", 0): Leader(2, 7)}


def test_single_leader_is_forgotten() -> None:
    metadata = Metadata()
    metadata.take(answer(topic("t", 1, 2)), ["t"])
    metadata.forget_leader("t", 0)
    metadata.forget_leader("t", 5)
    assert metadata.leaders == {("t", 1): Leader(2, 7)}


def test_request_does_not_create_topics() -> None:
    request = Metadata.request(["t"])
    assert not request.allow_auto_topic_creation
    assert [row.name for row in request.topics or ()] == ["t"]
    assert Metadata.request(None).topics is None


def test_internal_topics_are_marked() -> None:
    metadata = Metadata()
    metadata.take(answer(topic("t", 1), topic("__consumer_offsets", 1, is_internal=True)), None)
    assert metadata.internal == {"__consumer_offsets"}


def test_cluster_id_is_that_of_the_last_response() -> None:
    metadata = Metadata()
    assert metadata.cluster_id is None
    metadata.take(MetadataResponse(brokers=BROKERS, cluster_id="c", topics=[]), None)
    assert metadata.cluster_id == "c"
