"""Down-conversion: which clients get which format, and who is refused."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.build import build_message_set, numbered
from kafkalet.protocol.records.codecs import Codec
from tests.wire.brokers import Wire, batch, fetched, on_the_wire


@pytest.fixture(scope="module")
def shared() -> Iterator[Wire]:
    with on_the_wire(kafka_version="3.9") as wire:
        yield wire


@pytest.fixture
def wire(shared: Wire) -> Wire:
    """A broker of Kafka 3.9 with an empty topic "t"."""
    shared.cluster.delete_topic("t")
    shared.cluster.create_topic("t", 1)
    return shared


def with_config(wire: Wire, **config: str) -> None:
    wire.cluster.delete_topic("t")
    wire.cluster.create_topic("t", 1, config={name.replace("_", "."): value for name, value in config.items()})


def test_uncompressed_records_below_the_offset_are_left_out(wire: Wire) -> None:
    wire.produce(batch(b"a", b"b", b"c"))
    assert [entry["offset"] for entry in wire.fetch(version=3, offset=1)["records"]] == [1, 2]


def test_a_compressed_batch_becomes_a_wrapper_with_all_its_records(wire: Wire) -> None:
    wire.produce(batch(b"a", b"b", b"c", codec=Codec.GZIP))
    [wrapper] = wire.fetch(version=3, offset=1)["records"]
    assert (wrapper["offset"], wrapper["codec"]) == (2, "gzip")
    assert [message["value"] for message in wrapper["inner"]] == ["a", "b", "c"]


@pytest.mark.parametrize("version", [0, 3])
def test_zstd_cannot_be_converted(wire: Wire, version: int) -> None:
    wire.produce(batch(b"a", codec=Codec.ZSTD))
    answer = wire.fetch(version=version)
    assert (answer["error_code"], answer["records"]) == (Code.UNSUPPORTED_COMPRESSION_TYPE, None)


def test_zstd_of_a_producers_choice_goes_to_v4_as_it_is(wire: Wire) -> None:
    wire.produce(batch(b"a", codec=Codec.ZSTD))
    assert [entry["codec"] for entry in wire.fetch(version=4)["records"]] == ["zstd"]


@pytest.mark.parametrize(("version", "code"), [(9, Code.UNSUPPORTED_COMPRESSION_TYPE), (10, Code.NONE)])
def test_a_zstd_topic_is_refused_below_v10_even_when_it_is_empty(wire: Wire, version: int, code: Code) -> None:
    with_config(wire, compression_type="zstd")
    assert wire.fetch(version=version)["error_code"] == code


def test_4_0_gives_zstd_topics_to_all() -> None:
    with on_the_wire(kafka_version="4.4", topic_config={"compression.type": "zstd"}) as wire:
        wire.produce(batch(b"a"))
        assert [entry["codec"] for entry in wire.fetch(version=4)["records"]] == ["zstd"]


@pytest.mark.parametrize("offset", [0, 99], ids=["readable", "out of range"])
@pytest.mark.parametrize(("version", "refused"), [(0, True), (3, True), (4, False)])
def test_where_conversion_is_switched_off_old_versions_are_refused_whatever_they_ask(
    wire: Wire, version: int, refused: bool, offset: int
) -> None:
    with_config(wire, message_downconversion_enable="false")
    wire.produce(batch(b"a"))
    answer = wire.fetch(version=version, offset=offset)
    expected = Code.UNSUPPORTED_VERSION if refused else Code.OFFSET_OUT_OF_RANGE if offset else Code.NONE
    assert answer["error_code"] == expected


def test_one_partition_that_cannot_be_converted_does_not_spoil_its_neighbours(wire: Wire) -> None:
    wire.cluster.create_topic("other", 1)
    wire.produce(batch(b"a", codec=Codec.ZSTD))
    wire.produce(batch(b"b"), topic="other")
    body = wire.fetch_body(version=3)
    body["topics"] += wire.fetch_body(version=3, topic="other")["topics"]
    del body["session_epoch"]
    first, second = wire.ask("Fetch", 3, body)["responses"]
    assert first["partitions"][0]["error_code"] == Code.UNSUPPORTED_COMPRESSION_TYPE
    assert [entry["value"] for entry in second["partitions"][0]["records"]] == ["b"]
    wire.cluster.delete_topic("other")


# Topics in old formats


def test_what_is_old_already_is_not_converted() -> None:
    with on_the_wire(kafka_version="2.8", topic_config={"message.format.version": "0.10.2"}) as wire:
        wire.produce(build_message_set(1, numbered([(1000, None, b"a", ())])), version=2)
        for version in (2, 4, 11):
            assert [entry["magic"] for entry in wire.fetch(version=version)["records"]] == [1]
        assert [entry["magic"] for entry in wire.fetch(version=1)["records"]] == [0]


def test_conversion_may_be_off_where_there_is_nothing_to_convert() -> None:
    config = {"message.format.version": "0.9.0", "message.downconversion.enable": "false"}
    with on_the_wire(kafka_version="2.8", topic_config=config) as wire:
        wire.produce(build_message_set(0, numbered([(-1, None, b"a", ())])), version=0)
        assert [entry["magic"] for entry in wire.fetch(version=0)["records"]] == [0]


# Waiting


def test_what_a_wait_brings_is_converted_too(wire: Wire) -> None:
    body = wire.fetch_body(version=2, wait_ms=60_000)
    del body["session_epoch"]
    with wire.waiting("Fetch", 2, body) as receive:
        wire.produce(batch(b"a"))
        assert [entry["magic"] for entry in fetched(receive())["records"]] == [1]
