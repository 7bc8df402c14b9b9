"""Options mean what they mean in Spark's Kafka source, and a wrong one is refused by its name."""

import pytest

from kafkalet.pipeline.option_types import BadOption
from kafkalet.pipeline.options import EARLIEST, LATEST, Limit, Topics, read_options


def test_a_directory_is_read_from_the_earliest_to_the_latest_offset() -> None:
    options = read_options({"path": "/logs"})
    assert options.paths == ("/logs",)
    assert options.starting == Limit(offset=EARLIEST)
    assert options.ending == Limit(offset=LATEST)
    assert not options.live


def test_a_stream_starts_at_the_latest_offset() -> None:
    assert read_options({"path": "/logs"}, streaming=True).starting == Limit(offset=LATEST)


def test_names_of_options_do_not_depend_on_case() -> None:
    assert read_options({"PATH": "/logs", "SUBSCRIBE": "a"}).topics == Topics(names=("a",))


def test_several_directories_come_as_spark_hands_them_on() -> None:
    assert read_options({"paths": '["/a", "/b"]'}).paths == ("/a", "/b")


def test_a_path_may_be_written_as_an_address_of_a_file() -> None:
    assert read_options({"path": "file:///logs"}).paths == ("/logs",)


def test_without_a_choice_topics_that_are_internal_to_kafka_are_left_out() -> None:
    topics = read_options({"path": "/logs"}).topics
    assert topics.contain("flights", 0)
    assert not topics.contain("__consumer_offsets", 0)


def test_an_internal_topic_is_read_when_it_is_named() -> None:
    assert read_options({"path": "/l", "subscribe": "__consumer_offsets"}).topics.contain("__consumer_offsets", 3)


def test_pattern_is_searched_for_anywhere_in_a_name() -> None:
    topics = read_options({"path": "/l", "subscribePattern": "a"}).topics
    assert [name for name in ("abc", "bad", "xa", "b", "A") if topics.contain(name, 0)] == ["abc", "bad", "xa"]


def test_pattern_matches_no_topic_that_is_internal_to_kafka() -> None:
    topics = read_options({"path": "/l", "subscribePattern": "__"}).topics
    names = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata", "__mine")
    assert [name for name in names if topics.contain(name, 0)] == ["__mine"]


def test_topic_that_begins_with_underscores_is_not_internal() -> None:
    assert read_options({"path": "/l"}).topics.contain("__mine", 0)


def test_assign_of_no_partition_reads_nothing() -> None:
    topics = read_options({"path": "/l", "assign": '{"a":[]}'}).topics
    assert not topics.contain("a", 0)


def test_assign_names_partitions() -> None:
    topics = read_options({"path": "/l", "assign": '{"a":[0,2]}'}).topics
    assert [number for number in range(4) if topics.contain("a", number)] == [0, 2]


def test_a_global_timestamp_goes_before_timestamps_of_partitions_and_these_before_offsets() -> None:
    texts = {
        "path": "/l",
        "startingOffsets": '{"a":{"0":1}}',
        "startingOffsetsByTimestamp": '{"a":{"0":5}}',
        "startingTimestamp": "7",
    }
    assert read_options(texts).starting == Limit(timestamp_ms=7)
    del texts["startingTimestamp"]
    assert read_options(texts).starting == Limit(timestamps_ms={("a", 0): 5})
    del texts["startingOffsetsByTimestamp"]
    assert read_options(texts).starting == Limit(offsets={("a", 0): 1})


@pytest.mark.parametrize("option", ["isolationLevel", "kafka.isolation.level"])
def test_the_isolation_level_may_be_given_by_kafkas_name(option: str) -> None:
    assert read_options({"path": "/l", option: "read_committed"}).committed


def test_what_is_for_the_client_of_a_broker_comes_without_its_prefix() -> None:
    options = read_options({"kafka.bootstrap.servers": "h:1", "kafka.client.id": "me", "subscribe": "a"})
    assert options.live
    assert options.client == {"bootstrap.servers": "h:1", "client.id": "me"}


@pytest.mark.parametrize(
    ("text", "size"), [("5", 5), ("64k", 65536), ("64 MiB", 64 << 20), ("2gb", 2 << 30), ("1M", 1 << 20)]
)
def test_sizes_have_units(text: str, size: int) -> None:
    assert read_options({"path": "/l", "maxBytesPerTask": text}).max_bytes_per_task == size


@pytest.mark.parametrize(("text", "ms"), [("250", 250), ("2s", 2000), ("1m", 60_000), ("1h", 3_600_000), ("5ms", 5)])
def test_durations_have_units(text: str, ms: int) -> None:
    assert read_options({"path": "/l", "maxTriggerDelay": text}, streaming=True).max_trigger_delay_ms == ms


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        ({}, "load"),
        ({"path": "/l", "kafka.bootstrap.servers": "h:1", "subscribe": "a"}, "both a directory and"),
        ({"kafka.bootstrap.servers": "h:1"}, "one of"),
        ({"path": "/l", "subscribe": "a", "subscribePattern": "a"}, "only one"),
        ({"path": "/l", "subscribe": " , "}, "subscribe"),
        ({"path": "/l", "subscribePattern": "("}, "subscribePattern"),
        ({"path": "/l", "assign": "a"}, "assign"),
        ({"path": "/l", "assign": '{"a":0}'}, "assign"),
        ({"path": "/l", "assign": '{"a":["0"]}'}, "assign"),
        ({"path": "/l", "assign": '{"a":[true]}'}, "assign"),
        ({"path": "/l", "assign": '{"a":[2147483648]}'}, "assign"),
        ({"path": "/l", "subscribePattern": "  "}, "subscribePattern"),
        ({"path": "/l", "startingOffsets": ""}, "startingOffsets"),
        ({"path": "/l", "startingOffsets": '{"a":{"0":"3"}}'}, "startingOffsets"),
        ({"path": "/l", "startingOffsets": '{"a":{"0":NaN}}'}, "startingOffsets"),
        ({"path": "/l", "startingOffsets": '{"a":{"0":1e999}}'}, "startingOffsets"),
        ({"path": "/l", "startingOffsets": '{"a":{"0":9223372036854775808}}'}, "startingOffsets"),
        ({"path": "/l", "startingOffsets": '{"a":{"0":-3}}'}, "startingOffsets"),
        ({"path": "/l", "endingOffsets": '{"a":{"0":-3}}'}, "endingOffsets"),
        ({"path": "/l", "startingTimestamp": "99999999999999999999"}, "startingTimestamp"),
        ({"path": "/l", "startingTimestamp": "1.5"}, "startingTimestamp"),
        ({"path": "/l", "startingOffsetsByTimestampStrategy": "skip"}, "startingOffsetsByTimestampStrategy"),
        ({"path": "/l", "minPartitions": "99999999999"}, "minPartitions"),
        ({"path": "/l", "minPartitions": " 4 "}, "minPartitions"),
        ({"path": "/l", "kafkaConsumer.pollTimeoutMs": "soon"}, "kafkaConsumer.pollTimeoutMs"),
        ({"path": "/l", "fetchOffset.numRetries": "x"}, "fetchOffset.numRetries"),
        ({"path": "/l", "fetchOffset.retryIntervalMs": "x"}, "fetchOffset.retryIntervalMs"),
        ({"path": "/l", "kafka.auto.offset.reset": "earliest"}, "kafka.auto.offset.reset"),
        ({"path": "/l", "kafka.key.deserializer": "x"}, "kafka.key.deserializer"),
        ({"path": "/l", "kafka.value.deserializer": "x"}, "kafka.value.deserializer"),
        ({"path": "/l", "kafka.enable.auto.commit": "false"}, "kafka.enable.auto.commit"),
        ({"path": "/l", "kafka.interceptor.classes": "x"}, "kafka.interceptor.classes"),
        ({"path": "/l", "startingOffsets": "latest"}, "startingOffsets"),
        ({"path": "/l", "startingOffsets": '{"a":{"0":-1}}'}, "startingOffsets"),
        ({"path": "/l", "endingOffsets": "earliest"}, "endingOffsets"),
        ({"path": "/l", "endingOffsets": '{"a":{"0":-2}}'}, "endingOffsets"),
        ({"path": "/l", "startingOffsets": "first"}, "startingOffsets"),
        ({"path": "/l", "startingOffsets": "[1]"}, "startingOffsets"),
        ({"path": "/l", "startingTimestamp": "now"}, "startingTimestamp"),
        ({"path": "/l", "isolationLevel": "serializable"}, "isolationLevel"),
        ({"path": "/l", "minPartitions": "0"}, "minPartitions"),
        ({"path": "/l", "maxBytesPerTask": "many"}, "maxBytesPerTask"),
        ({"path": "/l", "includeHeaders": "yes"}, "includeHeaders"),
        ({"path": "/l", "mode": "SLOPPY"}, "mode"),
        ({"path": "/l", "minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"}, "minOffsetsPerTrigger"),
    ],
)
def test_a_wrong_option_is_refused_by_name(texts: dict[str, str], name: str) -> None:
    with pytest.raises(BadOption, match=name):
        read_options(texts)


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"])
def test_a_stream_has_no_end(name: str) -> None:
    with pytest.raises(BadOption, match=name):
        read_options({"path": "/l", name: "5"}, streaming=True)


STARTS = {"path": "/l", "startingOffsets": '{"a":{"0":5}}'}
TIMES = {"path": "/l", "startingOffsetsByTimestamp": '{"a":{"0":5}}'}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({**STARTS, "endingOffsets": '{"a":{"0":4}}'}, "starting offset 5 of a-0 is after its ending offset 4"),
        ({**STARTS, "endingOffsets": '{"b":{"0":9}}'}, "must name the same partitions"),
        (
            {**TIMES, "endingOffsetsByTimestamp": '{"a":{"0":4}}'},
            "starting timestamp 5 of a-0 is after its ending timestamp 4",
        ),
    ],
)
def test_end_before_start_is_refused(texts: dict[str, str], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        read_options(texts)


def test_fraction_of_an_offset_is_cut_off() -> None:
    assert read_options({"path": "/l", "startingOffsets": '{"a":{"0":3.5}}'}).starting.offsets == {("a", 0): 3}


@pytest.mark.parametrize("option", ["maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay"])
def test_batch_ignores_the_options_of_triggers(option: str) -> None:
    assert read_options({"path": "/l", option: "x"}) == read_options({"path": "/l"})


def test_stream_refuses_a_bad_trigger_delay() -> None:
    with pytest.raises(BadOption, match="maxTriggerDelay"):
        read_options({"path": "/l", "maxTriggerDelay": "soon"}, streaming=True)


def test_schema_is_known_before_it_is_known_whether_a_batch_or_a_stream_reads() -> None:
    for texts in ({"startingOffsets": "latest"}, {"endingOffsets": "latest"}, {"startingOffsets": '{"a":{"0":-1}}'}):
        read_options({"path": "/l", **texts}, streaming=None)
