"""Down-conversion: the message format that each version receives, and refused requests."""

from collections.abc import Iterator

import pytest

from kafkalet.protocol.errors import Code
from kafkalet.protocol.records.build import build_message_set, numbered
from kafkalet.protocol.records.codecs import Codec
from tests.wire.brokers import Wire, batch, fetched, on_the_wire


@pytest.fixture(scope="module")
def shared() -> Iterator[Wire]:
    with on_the_wire(version="3.9") as wire:
        yield wire


@pytest.fixture
def wire(shared: Wire) -> Wire:
    """A broker of Kafka 3.9 with an empty topic "t"."""
    shared.cluster.topic("t").delete()
    shared.cluster.topic("t").create(1)
    return shared


def with_config(wire: Wire, **config: str) -> None:
    wire.cluster.topic("t").delete()
    wire.cluster.topic("t").create(1, config={name.replace("_", "."): value for name, value in config.items()})


def test_uncompressed_records_below_the_offset_are_left_out(wire: Wire) -> None:
    wire.produce(batch(b"a", b"b", b"c"))
    assert [entry["offset"] for entry in wire.fetch(version=3, offset=1)["records"]] == [1, 2]


def test_compressed_batch_is_converted_to_a_wrapper_message_with_all_records(wire: Wire) -> None:
    wire.produce(batch(b"a", b"b", b"c", codec=Codec.GZIP))
    [wrapper] = wire.fetch(version=3, offset=1)["records"]
    assert (wrapper["offset"], wrapper["codec"]) == (2, "gzip")
    assert [message["value"] for message in wrapper["inner"]] == ["a", "b", "c"]


@pytest.mark.parametrize("version", [0, 3])
def test_zstd_cannot_be_converted(wire: Wire, version: int) -> None:
    wire.produce(batch(b"a", codec=Codec.ZSTD))
    answer = wire.fetch(version=version)
    assert (answer["error_code"], answer["records"]) == (Code.UNSUPPORTED_COMPRESSION_TYPE, None)


def test_zstd_batch_of_a_producer_is_returned_unconverted_to_v4(wire: Wire) -> None:
    wire.produce(batch(b"a", codec=Codec.ZSTD))
    assert [entry["codec"] for entry in wire.fetch(version=4)["records"]] == ["zstd"]


@pytest.mark.parametrize(("version", "code"), [(9, Code.UNSUPPORTED_COMPRESSION_TYPE), (10, Code.NONE)])
def test_zstd_topic_is_refused_before_v10_even_if_empty(wire: Wire, version: int, code: Code) -> None:
    with_config(wire, compression_type="zstd")
    assert wire.fetch(version=version)["error_code"] == code


def test_zstd_topic_is_returned_to_all_versions_since_4_0() -> None:
    with on_the_wire(version="4.4", topic_config={"compression.type": "zstd"}) as wire:
        wire.produce(batch(b"a"))
        assert [entry["codec"] for entry in wire.fetch(version=4)["records"]] == ["zstd"]


@pytest.mark.parametrize("offset", [0, 99], ids=["readable", "out of range"])
@pytest.mark.parametrize(("version", "refused"), [(0, True), (3, True), (4, False)])
def test_disabled_conversion_refuses_old_versions_for_any_offset(
    wire: Wire, version: int, refused: bool, offset: int
) -> None:
    with_config(wire, message_downconversion_enable="false")
    wire.produce(batch(b"a"))
    answer = wire.fetch(version=version, offset=offset)
    expected = Code.UNSUPPORTED_VERSION if refused else Code.OFFSET_OUT_OF_RANGE if offset else Code.NONE
    assert answer["error_code"] == expected


def test_partition_that_cannot_be_converted_does_not_affect_others(wire: Wire) -> None:
    wire.cluster.topic("other").create(1)
    wire.produce(batch(b"a", codec=Codec.ZSTD))
    wire.produce(batch(b"b"), topic="other")
    body = wire.fetch_body(version=3)
    body["topics"] += wire.fetch_body(version=3, topic="other")["topics"]
    del body["session_epoch"]
    first, second = wire.ask("Fetch", 3, body)["responses"]
    assert first["partitions"][0]["error_code"] == Code.UNSUPPORTED_COMPRESSION_TYPE
    assert [entry["value"] for entry in second["partitions"][0]["records"]] == ["b"]
    wire.cluster.topic("other").delete()


def test_damage_that_a_conversion_finds_is_logged(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    wire.produce(batch(b"a"))
    log = wire.log()
    with open(log.segments.active.path, "r+b") as file:
        file.seek(57)  # the number of records
        file.write((1 << 30).to_bytes(4, "big"))
    assert wire.fetch(version=3)["error_code"] == Code.INVALID_RECORD
    [line] = caplog.messages
    assert line.startswith(f"{log.directory}: cannot convert records from offset 0 on: ")


# Topics in old formats


def test_records_in_the_old_format_are_not_converted() -> None:
    with on_the_wire(version="2.8", topic_config={"message.format.version": "0.10.2"}) as wire:
        wire.produce(build_message_set(1, numbered([(1000, None, b"a", ())])), version=2)
        for version in (2, 4, 11):
            assert [entry["magic"] for entry in wire.fetch(version=version)["records"]] == [1]
        assert [entry["magic"] for entry in wire.fetch(version=1)["records"]] == [0]


def test_disabled_conversion_allows_records_in_the_old_format() -> None:
    config = {"message.format.version": "0.9.0", "message.downconversion.enable": "false"}
    with on_the_wire(version="2.8", topic_config=config) as wire:
        wire.produce(build_message_set(0, numbered([(-1, None, b"a", ())])), version=0)
        assert [entry["magic"] for entry in wire.fetch(version=0)["records"]] == [0]


# Waiting


def test_records_of_a_waiting_fetch_are_converted(wire: Wire) -> None:
    body = wire.fetch_body(version=2, wait_ms=60_000)
    del body["session_epoch"]
    with wire.waiting("Fetch", 2, body) as receive:
        wire.produce(batch(b"a"))
        assert [entry["magic"] for entry in fetched(receive())["records"]] == [1]
