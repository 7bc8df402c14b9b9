"""Options have the same meaning as in Spark's Kafka source, and errors name the invalid option."""

import pytest

from kafkalet_spark.option_types import BadOption
from kafkalet_spark.options import EARLIEST, LATEST, Limit, Topics, read_options


def test_directory_is_read_from_earliest_to_latest_by_default() -> None:
    options = read_options({"path": "/logs"})
    assert options.paths == ("/logs",)
    assert options.starting == Limit(offset=EARLIEST)
    assert options.ending == Limit(offset=LATEST)
    assert not options.live


def test_stream_starts_at_latest_by_default() -> None:
    assert read_options({"path": "/logs"}, streaming=True).starting == Limit(offset=LATEST)


def test_option_names_are_case_insensitive() -> None:
    assert read_options({"PATH": "/logs", "SUBSCRIBE": "a"}).topics == Topics(names=("a",))


def test_several_directories_are_passed_as_json() -> None:
    assert read_options({"paths": '["/a", "/b"]'}).paths == ("/a", "/b")


def test_path_may_be_a_file_uri() -> None:
    assert read_options({"path": "file:///logs"}).paths == ("/logs",)


def test_internal_topics_are_excluded_by_default() -> None:
    topics = read_options({"path": "/logs"}).topics
    assert topics.contain("flights", 0)
    assert not topics.contain("__consumer_offsets", 0)


def test_internal_topic_is_read_if_it_is_named() -> None:
    assert read_options({"path": "/l", "subscribe": "__consumer_offsets"}).topics.contain("__consumer_offsets", 3)


def test_pattern_is_searched_for_anywhere_in_a_name() -> None:
    topics = read_options({"path": "/l", "subscribePattern": "a"}).topics
    assert [name for name in ("abc", "bad", "xa", "b", "A") if topics.contain(name, 0)] == ["abc", "bad", "xa"]


def test_pattern_does_not_match_internal_topics() -> None:
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


def test_timestamp_precedes_timestamps_per_partition_and_these_precede_offsets() -> None:
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
def test_isolation_level_may_be_set_by_the_name_of_the_client_property(option: str) -> None:
    assert read_options({"path": "/l", option: "read_committed"}).committed


def test_client_properties_lose_their_prefix() -> None:
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
def test_error_names_the_invalid_option(texts: dict[str, str], name: str) -> None:
    with pytest.raises(BadOption, match=name):
        read_options(texts)


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"])
def test_stream_refuses_options_for_the_end(name: str) -> None:
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


def test_fraction_of_an_offset_is_truncated() -> None:
    assert read_options({"path": "/l", "startingOffsets": '{"a":{"0":3.5}}'}).starting.offsets == {("a", 0): 3}


@pytest.mark.parametrize("option", ["maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay"])
def test_batch_ignores_the_options_of_triggers(option: str) -> None:
    assert read_options({"path": "/l", option: "x"}) == read_options({"path": "/l"})


def test_stream_refuses_a_bad_trigger_delay() -> None:
    with pytest.raises(BadOption, match="maxTriggerDelay"):
        read_options({"path": "/l", "maxTriggerDelay": "soon"}, streaming=True)


def test_options_can_be_parsed_before_batch_or_stream_is_known() -> None:
    for texts in ({"startingOffsets": "latest"}, {"endingOffsets": "latest"}, {"startingOffsets": '{"a":{"0":-1}}'}):
        read_options({"path": "/l", **texts}, streaming=None)
