"""Options mean what they mean in Spark's Kafka source, and a wrong one is refused by its name."""

import pytest

from kafkalet.pipeline.options import EARLIEST, LATEST, BadOption, Limit, Topics, read_options


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


def test_a_pattern_has_to_match_the_whole_name() -> None:
    topics = read_options({"path": "/l", "subscribePattern": "a.*"}).topics
    assert topics.contain("abc", 0)
    assert not topics.contain("ba", 0)


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
        ({"path": "/l", "kafka.bootstrap.servers": "h:1", "subscribe": "a"}, "exclude"),
        ({"kafka.bootstrap.servers": "h:1"}, "One of"),
        ({"path": "/l", "subscribe": "a", "subscribePattern": "a"}, "Only one"),
        ({"path": "/l", "subscribe": " , "}, "subscribe"),
        ({"path": "/l", "subscribePattern": "("}, "subscribePattern"),
        ({"path": "/l", "assign": "a"}, "assign"),
        ({"path": "/l", "assign": '{"a":0}'}, "assign"),
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
        ({"path": "/l", "maxTriggerDelay": "soon"}, "maxTriggerDelay"),
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
