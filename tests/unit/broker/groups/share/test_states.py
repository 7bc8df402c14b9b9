from kafkalet.broker.cluster.metadata import MetadataImage, PartitionState, TopicState
from kafkalet.broker.groups.share.states import States, StateTopic, combined, name_of

T, U = b"t" * 16, b"u" * 16


def of(*partitions: int, name: str = "t", since_ms: int = 0) -> StateTopic:
    return StateTopic(name, frozenset(partitions), since_ms)


def image(**counts: int) -> MetadataImage:
    metadata = MetadataImage("cluster")
    for name, count in counts.items():
        topic_id = name.encode() * 16
        metadata.add_topic(TopicState(name, topic_id, [PartitionState(index, [1]) for index in range(count)], {}))
    return metadata


def test_partitions_without_a_state_are_missing() -> None:
    states = States(initialized={T: of(0)})
    assert states.missing(["t", "none"], image(t=3), 5, 100) == {T: of(1, 2, since_ms=5)}


def test_partition_is_missing_again_after_the_retry_interval() -> None:
    states = States(initializing={T: of(0, 1, since_ms=10)})
    assert states.missing(["t"], image(t=2), 109, 100) == {}
    assert states.missing(["t"], image(t=2), 110, 100) == {T: of(0, 1, since_ms=110)}


def test_initializing_topic_is_not_deleted_any_more() -> None:
    states = States(deleting={T: "t", U: "u"}).begin({T: of(0)})
    assert states == States({T: of(0)}, {}, {U: "u"})


def test_success_moves_partitions_to_the_initialized_ones() -> None:
    states = States({T: of(0, 1)}, {T: of(2)}, {}).succeed({T: of(0, since_ms=9)})
    assert states == States({T: of(1)}, {T: of(0, 2, since_ms=9)}, {})
    assert states.succeed({T: of(1)}).initializing == {}


def test_failure_forgets_partitions() -> None:
    states = States({T: of(0, 1), U: of(0, name="u")}, {}, {})
    assert states.fail({T: frozenset({0})}).initializing == {T: of(1), U: of(0, name="u")}
    assert states.fail({T: frozenset({0, 1})}).initializing == {U: of(0, name="u")}


def test_deleted_topics_are_forgotten_everywhere() -> None:
    states = States({T: of(0)}, {T: of(1), U: of(0)}, {T: "t"})
    assert states.without_topics({T}) == States({}, {U: of(0)}, {})


def test_second_operand_determines_name_and_time_of_combined_topics() -> None:
    assert combined({T: of(0, name="old")}, {T: of(1, name="new", since_ms=3)}) == {T: of(0, 1, name="new", since_ms=3)}


def test_name_of_missing_topic_is_that_of_kafka() -> None:
    assert [name_of(each, image(t=1)) for each in (T, U)] == ["t", "<UNKNOWN>"]
