from typing import Any

import pytest

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.protocol.records.batch import TimestampType, batches
from kafkalet.protocol.records.build import build_batch, build_message_set, numbered
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker
from kafkalet.protocol.records.convert import CHUNK_BYTES, down_convert, down_converted, rebuild
from kafkalet.protocol.records.record import Record

from .recorded import recorded
from .strategies import NOW

CREATE, APPEND = TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME


def batch_at(offset: int, count: int = 2, codec: Codec = Codec.NONE, value: bytes = b"value", **header: Any) -> bytes:
    rows = [(NOW + index, b"k", value, (("h", b"x"),)) for index in range(count)]
    return build_batch(numbered(rows, offset), base_offset=offset, codec=codec, leader_epoch=0, **header)


def marker_at(offset: int) -> bytes:
    marker = EndMarker(ControlType.COMMIT, 0)
    return build_end_marker(marker, timestamp=NOW, producer_id=1, producer_epoch=0, base_offset=offset, leader_epoch=0)


def offsets_in(answer: bytes) -> list[int]:
    """Return the offsets of all complete messages."""
    return [record.offset for entry in batches(answer) for record in entry.records()]


@pytest.mark.parametrize(
    "case", recorded("down_converted"), ids=lambda case: f"{case['what']}-{case['offset']}-v{case['to_magic']}"
)
def test_fetch_responses_equal_those_of_kafka(case: dict[str, Any]) -> None:
    log, answer = bytes.fromhex(case["log"]), bytes.fromhex(case["answer"])
    assert down_converted(log, case["to_magic"], case["offset"]) == answer


@pytest.mark.parametrize(
    "case",
    recorded("rebuilt"),
    ids=lambda case: f"{case['release']}-v{case['to_magic']}-{Codec(case['codec']).name}-{case['sent'][:40]}",
)
def test_stored_records_equal_those_of_kafka(case: dict[str, Any]) -> None:
    sent = [record for entry in batches(bytes.fromhex(case["sent"])) for record in entry.records()]
    rebuilt = rebuild(
        sent,
        case["to_magic"],
        base_offset=case["base_offset"],
        timestamp_type=APPEND if case["append"] else CREATE,
        append_time=case["append_time"],
        codec=Codec(case["codec"]),
        leader_epoch=0,
    )
    stored = bytes.fromhex(case["stored"])
    if case["codec"] in (Codec.NONE, Codec.GZIP):
        assert rebuilt.data == stored
    ours, theirs = list(batches(rebuilt.data)), list(batches(stored))
    assert [(batch.attributes, batch.base_timestamp, batch.max_timestamp, batch.records()) for batch in ours] == [
        (batch.attributes, batch.base_timestamp, batch.max_timestamp, batch.records()) for batch in theirs
    ]


class TestDown:
    def test_headers_are_dropped_and_timestamps_in_format_0(self) -> None:
        for magic, timestamp in ((0, -1), (1, NOW)):
            converted = down_convert(batches(batch_at(0, 1)), magic, 0)
            assert [entry.magic for entry in batches(converted)] == [magic]
            assert [entry.records() for entry in batches(converted)] == [[Record(0, timestamp, b"k", b"value")]]

    def test_uncompressed_records_below_the_fetch_offset_are_dropped(self) -> None:
        assert offsets_in(down_convert(batches(batch_at(4, 3)), 1, 5)) == [5, 6]

    def test_compressed_batch_becomes_one_wrapper(self) -> None:
        (wrapper,) = batches(down_convert(batches(batch_at(4, 3, Codec.GZIP)), 1, 5))
        assert (wrapper.codec, wrapper.last_offset, wrapper.max_timestamp) == (Codec.GZIP, 6, NOW + 2)
        assert [record.offset for record in wrapper.records()] == [4, 5, 6]

    def test_log_append_time_is_kept(self) -> None:
        converted = down_convert(batches(batch_at(0, 2, timestamp_type=APPEND, append_time=77)), 1, 0)
        assert [(entry.timestamp_type, entry.max_timestamp) for entry in batches(converted)] == [(APPEND, 77)] * 2

    def test_entries_of_the_target_or_an_older_format_are_unchanged(self) -> None:
        old = build_message_set(0, numbered([(-1, None, b"a", ()), (-1, None, b"b", ())]))
        assert down_convert(batches(old), 1, 1) == old
        assert down_convert(batches(old), 0, 1) == old

    def test_format_1_becomes_format_0(self) -> None:
        rows = numbered([(NOW, None, b"a", ()), (NOW, None, b"b", ())])
        for codec in (Codec.NONE, Codec.GZIP, Codec.LZ4):
            converted = down_convert(batches(build_message_set(1, rows, codec=codec)), 0, 0)
            assert converted == build_message_set(0, rows, codec=codec)

    def test_markers_are_dropped(self) -> None:
        assert down_convert(batches(marker_at(0) + batch_at(1, 1) + marker_at(2)), 1, 0) == down_convert(
            batches(batch_at(1, 1)), 1, 0
        )

    def test_zstd_is_refused(self) -> None:
        with pytest.raises(KafkaError) as refusal:
            down_convert(batches(batch_at(0, 1) + batch_at(1, 1, Codec.ZSTD)), 1, 0)
        assert refusal.value.code is Code.UNSUPPORTED_COMPRESSION_TYPE

    def test_negative_timestamp_is_refused(self) -> None:
        with pytest.raises(KafkaError) as refusal:
            down_convert(batches(build_batch([Record(0, -5, None, b"")])), 1, 0)
        assert refusal.value.code is Code.UNKNOWN_SERVER_ERROR


class TestFetchResponses:
    def test_missing_data_is_padded_with_incomplete_message(self) -> None:
        data = batch_at(0, 3)
        answer = down_converted(data, 0, 1)
        assert len(answer) == len(data)
        assert offsets_in(answer) == [1, 2]
        converted = down_convert(batches(data), 0, 1)
        filler = answer[len(converted) :]
        assert filler[:12] == b"\xff" * 8 + max(len(filler) + 1, 61).to_bytes(4, "big")
        assert set(filler[12:]) <= {0}

    def test_first_converted_batch_is_complete_even_if_larger(self) -> None:
        data = batch_at(0, 50, value=b"")
        answer = down_converted(data, 1, 0)
        assert len(answer) > len(data)
        assert answer == down_convert(batches(data), 1, 0)

    def test_later_data_is_truncated_to_the_original_size(self) -> None:
        data = batch_at(0, 1) + batch_at(1, 100, value=b"")
        answer = down_converted(data, 1, 0)
        assert len(answer) == len(data)
        assert answer == down_convert(batches(data), 1, 0)[: len(data)]

    def test_incomplete_entry_counts_for_the_size_but_is_not_converted(self) -> None:
        data = batch_at(0, 1) + batch_at(1, 1)[:70]
        answer = down_converted(data, 0, 0)
        assert (len(answer), offsets_in(answer)) == (len(data), [0])

    def test_batch_after_dropped_marker_is_sent_twice(self) -> None:
        assert offsets_in(down_converted(marker_at(0) + batch_at(1, 1), 1, 0)) == [1, 1]

    def test_batch_after_dropped_marker_is_sent_once_if_it_does_not_fit_twice(self) -> None:
        answer = down_converted(marker_at(0) + batch_at(1, 1, value=bytes(500)), 1, 0)
        assert (len(answer), offsets_in(answer)) == (78 + 575, [1])

    def test_response_with_only_markers_has_twelve_bytes_of_padding(self) -> None:
        assert down_converted(marker_at(0) + marker_at(1), 1, 0) == b"\xff" * 8 + (61).to_bytes(4, "big")

    def test_empty_data_gives_empty_response(self) -> None:
        assert down_converted(b"", 1, 0) == b""
        assert down_converted(batch_at(0)[:50], 1, 0) == b""

    def test_zstd_in_first_batch_is_refused(self) -> None:
        for data in (batch_at(0, 1, Codec.ZSTD), marker_at(0) + batch_at(1, 1, Codec.ZSTD)):
            with pytest.raises(KafkaError) as refusal:
                down_converted(data, 1, 0)
            assert refusal.value.code is Code.UNSUPPORTED_COMPRESSION_TYPE

    def test_chunk_with_zstd_ends_the_response(self) -> None:
        data = batch_at(0, 1) + batch_at(1, 1) + batch_at(2, 1, Codec.ZSTD)
        answer = down_converted(data, 1, 0)
        assert (len(answer), offsets_in(answer)) == (len(data), [0])

    def test_chunks_before_zstd_are_sent(self) -> None:
        large = bytes(CHUNK_BYTES - 1000)
        data = b"".join(batch_at(offset, 1, value=large) for offset in range(3)) + batch_at(3, 1, Codec.ZSTD)
        answer = down_converted(data, 1, 0)
        assert (len(answer), offsets_in(answer)) == (len(data), [0, 1])

    def test_data_beyond_the_response_size_is_not_converted(self) -> None:
        broken = bytearray(batch_at(50, 1))
        broken[-5:] = b"\xff" * 5
        data = batch_at(0, 50, value=b"") + broken
        assert down_converted(data, 1, 0) == down_convert(batches(data[: -len(broken)]), 1, 0)

    def test_other_error_in_later_chunk_fails_the_response(self) -> None:
        data = batch_at(0, 1) + build_batch([Record(1, -5, None, b"")], base_offset=1)
        with pytest.raises(KafkaError) as refusal:
            down_converted(data, 1, 0)
        assert refusal.value.code is Code.UNKNOWN_SERVER_ERROR

    def test_batch_below_the_fetch_offset_is_dropped(self) -> None:
        assert offsets_in(down_convert(batches(batch_at(0, 2) + batch_at(2, 2)), 1, 2)) == [2, 3]

    def test_long_padding_consists_of_one_message_per_chunk(self) -> None:
        data = batch_at(0, 1) + batch_at(1, 1, Codec.ZSTD) + batch_at(2, 1, value=bytes(2 * CHUNK_BYTES))
        answer = down_converted(data, 1, 0)
        filler = answer[len(down_convert(batches(batch_at(0, 1)), 1, 0)) :]
        assert int.from_bytes(filler[8:12], "big") == len(filler) + 1
        second = filler[CHUNK_BYTES:]
        assert second[:12] == b"\xff" * 8 + (len(second) + 1).to_bytes(4, "big")


class TestRebuild:
    ROWS = (Record(7, NOW + 1, None, b"a"), Record(9, NOW + 5, None, b"b"), Record(11, NOW, None, b"c"))

    def rebuilt(self, magic: int, codec: Codec = Codec.NONE, kind: TimestampType = CREATE) -> tuple[int, int]:
        _, max_timestamp, offset = rebuild(
            self.ROWS, magic, base_offset=100, timestamp_type=kind, append_time=77, codec=codec
        )
        return max_timestamp, offset

    def test_records_get_new_offsets(self) -> None:
        data = rebuild(self.ROWS, 2, base_offset=100, timestamp_type=CREATE, append_time=-1).data
        assert offsets_in(data) == [100, 101, 102]

    def test_offset_of_max_timestamp_is_that_of_the_message_or_the_last_of_the_batch(self) -> None:
        assert self.rebuilt(2) == self.rebuilt(2, Codec.GZIP) == self.rebuilt(1, Codec.GZIP) == (NOW + 5, 102)
        assert self.rebuilt(1) == (NOW + 5, 101)

    def test_offset_of_append_time_is_the_first_of_uncompressed_messages(self) -> None:
        assert self.rebuilt(2, kind=APPEND) == self.rebuilt(1, Codec.GZIP, APPEND) == (77, 102)
        assert self.rebuilt(1, kind=APPEND) == (77, 100)

    def test_format_0_has_no_timestamp(self) -> None:
        assert self.rebuilt(0) == self.rebuilt(0, Codec.GZIP) == (-1, -1)

    def test_producer_fields_are_kept(self) -> None:
        data = rebuild(
            self.ROWS,
            2,
            base_offset=0,
            timestamp_type=CREATE,
            append_time=-1,
            producer_id=5,
            producer_epoch=1,
            base_sequence=9,
            is_transactional=True,
        ).data
        (batch,) = batches(data)
        assert (batch.producer_id, batch.producer_epoch, batch.last_sequence, batch.is_transactional) == (
            5,
            1,
            11,
            True,
        )

    @pytest.mark.parametrize(
        ("record", "magic", "codec"),
        [
            pytest.param(Record(0, NOW, None, b"", (("h", b""),)), 1, Codec.NONE, id="headers in format 1"),
            pytest.param(Record(0, NOW, None, b""), 1, Codec.ZSTD, id="zstd in format 1"),
            pytest.param(Record(0, -2, None, b""), 2, Codec.NONE, id="negative timestamp"),
        ],
    )
    def test_unsupported_feature_of_the_format_is_unknown_server_error(
        self, record: Record, magic: int, codec: Codec
    ) -> None:
        with pytest.raises(KafkaError) as refusal:
            rebuild([record], magic, base_offset=0, timestamp_type=CREATE, append_time=-1, codec=codec)
        assert refusal.value.code is Code.UNKNOWN_SERVER_ERROR
