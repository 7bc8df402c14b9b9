"""For any bytes, columns are decoded to the same records, or rejected in the same way, as by the full decoder."""

import gc
import io
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import HEADER_SIZE, Batch, TimestampType, batches
from kafkalet.protocol.records.build import build_batch, build_message_set, frame_batch, numbered
from kafkalet.protocol.records.codecs import Codec, compress
from kafkalet.protocol.records.record import Record, encode_records
from kafkalet_spark.decoding.batches import walk
from kafkalet_spark.decoding.exactly import Unreadable
from kafkalet_spark.decoding.headers import HEADERS
from kafkalet_spark.decoding.records import Records, decode, decode_all, decode_each
from tests.profile import examples
from tests.unit.protocol.records.recorded import recorded
from tests.unit.protocol.records.strategies import NOW, damaged, record_lists

from .reading import decoded, expected, rows_of, rows_of_entry, walked

APPEND = TimestampType.LOG_APPEND_TIME
SOME = numbered(
    [
        (NOW, b"k", b"a", ()),
        (NOW + 9, None, b"b" * 70, (("h", None), ("ü", b"1"))),
        (NOW - 7000, b"", None, ()),
        (NOW + 9, None, b"", (("", b""),)),
    ]
)


@st.composite
def entries(draw: st.DrawFn, record_count: int = 40) -> bytes:
    """Draw consecutive entries of all formats, codecs and timestamp types."""
    pieces, offset = [], draw(st.sampled_from([0, 5, 1 << 40]))
    for _ in range(draw(st.integers(1, 5))):
        records = draw(record_lists(max_groups=2))[:record_count]
        records = [record._replace(offset=offset + record.offset) for record in records]
        magic = draw(st.sampled_from([2, 2, 2, 0, 1]))
        codec = draw(st.sampled_from([*Codec] if magic == 2 else [*Codec][:4]))
        kind = draw(st.sampled_from([TimestampType.CREATE_TIME, APPEND]))
        if magic == 2:
            pieces.append(
                build_batch(
                    records,
                    base_offset=offset,
                    last_offset=offset + len(records),
                    codec=codec,
                    timestamp_type=kind,
                    append_time=NOW + 1,
                    is_control=draw(st.booleans()),
                    delete_horizon_ms=draw(st.sampled_from([None, None, 7])),
                )
            )
        else:
            pieces.append(
                build_message_set(
                    magic, records, codec=codec, base_offset=offset, timestamp_type=kind, append_time=NOW + 1
                )
            )
        offset += len(records) + draw(st.integers(0, 3))
    return b"".join(pieces)


@pytest.mark.slow
@given(entries())
@settings(max_examples=examples(0.6), suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example])
def test_records_match_the_full_decoder(data: bytes) -> None:
    assert decoded(data) == expected(data)


def judged(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (KafkaError, Unreadable):
        return None


@pytest.mark.slow
@given(record_lists(max_groups=3), st.sampled_from([Codec.NONE, Codec.NONE, Codec.GZIP]), st.data())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example])
def test_damaged_records_are_handled_as_by_the_full_decoder(
    records: list[Record], codec: Codec, data: st.DataObject
) -> None:
    payload = data.draw(damaged(encode_records(records, 0, NOW)))
    count = max(1, len(records) + data.draw(st.sampled_from([0, 0, 0, 1, -1])))
    attributes = data.draw(st.sampled_from([0, 8, 0x20]))
    damage = frame_batch(
        compress(codec, payload),
        count,
        attributes=codec | attributes,
        base_offset=100,
        leader_epoch=0,
        last_offset_delta=len(records),
        base_timestamp=data.draw(st.sampled_from([NOW, -1, (1 << 63) - 5])),
        max_timestamp=NOW,
    )
    whole = build_batch(SOME, base_offset=0)
    log = whole + damage + whole
    found, stop = walk(log)
    assert stop == len(log)
    seen = judged(lambda: rows_of(decode(log, found)))
    truth = judged(lambda: rows_of_entry(Batch(damage), 1))
    assert seen == (None if truth is None else [*expected(whole), *truth, *rows_of_entry(Batch(whole), 2)])


@pytest.mark.slow
@given(entries(8), st.data())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example])
def test_arbitrary_bytes_are_decoded_or_rejected(data: bytes, chance: st.DataObject) -> None:
    damage = chance.draw(damaged(data))
    seen = judged(lambda: rows_of(decode(damage, walk(damage)[0])))
    truth = judged(lambda: [seen for row, batch in enumerate(batches(damage)) for seen in rows_of_entry(batch, row)])
    if truth is not None and all(batch.count >= -1 for batch in batches(damage)):
        assert seen == truth
    elif truth is None:
        assert seen is None


@pytest.mark.parametrize("byte", [0, 1, 127, 128, 255])
def test_changed_byte_is_detected(byte: int) -> None:
    whole = build_batch(SOME)
    for position in range(HEADER_SIZE, len(whole)):
        data = bytearray(whole)
        data[position] = byte
        assert judged(partial(decoded, data)) == judged(partial(expected, data)), position


def test_unreadable_entry_is_named() -> None:
    good, bad = build_batch(SOME), bytearray(build_batch(SOME))
    bad[HEADER_SIZE] += 2
    with pytest.raises(Unreadable) as caught:
        decoded(good + bad + good)
    assert (caught.value.position, caught.value.size) == (len(good), len(bad))
    assert "Invalid record size" in caught.value.reason


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("magic", [1, 2])
def test_errors_are_returned_between_readable_entries(magic: int, codec: Codec) -> None:
    good = build_batch(SOME, codec=codec) if magic == 2 else build_message_set(1, SOME[:1], codec=codec)
    bad = bytearray(good)
    bad[HEADER_SIZE if magic == 2 else 34 if codec else -4] ^= 2  # a length, or the first compressed byte
    log = bad + good + good + bad + bad + good
    items = list(decode_each(log, walked(log)))
    broken = [item.position // len(good) for item in items if isinstance(item, Unreadable)]
    assert broken == [0, 3, 4]
    rows = [seen for item in items if isinstance(item, Records) for seen in rows_of(item)]
    assert rows == [seen for row in (1, 2, 5) for seen in rows_of_entry(Batch(good), row)]


@pytest.mark.parametrize(("count", "reason"), [(-1, "record count is -1"), (9, "premature EOF"), (3, "remaining")])
def test_wrong_record_count_is_rejected(count: int, reason: str) -> None:
    data = frame_batch(
        encode_records(SOME, 0, NOW),
        count,
        attributes=0,
        base_offset=0,
        leader_epoch=0,
        last_offset_delta=3,
        base_timestamp=NOW,
        max_timestamp=NOW,
    )
    with pytest.raises(Unreadable, match=reason):
        decoded(data)


def test_huge_record_count_costs_no_memory() -> None:
    data = bytearray(build_batch(SOME))
    data[57:61] = b"\x7f\xff\xff\xff"
    with pytest.raises(Unreadable):
        decoded(data)


def test_batch_emptied_by_compaction_has_no_records() -> None:
    empty = build_batch([], base_offset=4, last_offset=9)
    assert decoded(empty) == []
    assert [seen[0] for seen in decoded(empty + build_batch(SOME) + empty)] == [0, 1, 2, 3]


def test_overlong_varints_are_accepted() -> None:
    record = bytes((28, 0, 0x80, 0x80, 0, 0x80, 0, 0x81, 0, 0x82, 0x80, 0)) + b"v" + b"\x80\x80\0"
    data = frame_batch(
        record[:1] + record[1:],
        1,
        attributes=0,
        base_offset=8,
        leader_epoch=0,
        last_offset_delta=0,
        base_timestamp=NOW,
        max_timestamp=NOW,
    )
    size = len(record) - 1
    data = bytearray(data)
    data[HEADER_SIZE] = size << 1
    assert decoded(data) == [(8, NOW, 0, None, b"v", (), 0)] == expected(data)


@pytest.mark.parametrize("extra", [0, 1, 62, 63, 64, 8191, 8192, 1 << 20, 1 << 34, 1 << 41, 1 << 62, (1 << 63) - 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_timestamp_deltas_may_be_large_and_negative(extra: int, sign: int) -> None:
    data = build_batch(numbered([(sign * extra, None, b"v", ())]), base_timestamp=0)
    assert decoded(data) == [(0, sign * extra, 0, None, b"v", (), 0)]


def test_missing_timestamp_is_minus_one() -> None:
    assert [seen[1] for seen in decoded(build_batch(numbered([(-1, None, b"v", ())] * 2)))] == [-1, -1]


def test_log_append_time_records_have_the_max_timestamp() -> None:
    seen = decoded(build_batch(SOME, timestamp_type=APPEND, append_time=77) + build_batch(SOME))
    assert [row[1:3] for row in seen] == [(77, 1)] * 4 + [(record.timestamp, 0) for record in SOME]


def test_messages_of_format_0_have_no_timestamp() -> None:
    seen = decoded(build_message_set(0, SOME, codec=Codec.GZIP) + build_message_set(0, SOME))
    assert {row[1:3] for row in seen} == {(-1, -1)}


def test_timestamps_are_relative_to_the_delete_horizon() -> None:
    data = build_batch(SOME, delete_horizon_ms=NOW + 500)
    assert [row[1] for row in decoded(data)] == [record.timestamp for record in SOME]


def test_only_requested_columns_are_decoded() -> None:
    records = decode(build_batch(SOME), walked(build_batch(SOME)), {"value"})
    assert (records.key, records.headers) == (None, None)
    assert records.value.to_pylist() == [b"a", b"b" * 70, None, b""]
    assert records.offset.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "data", [b"", build_batch(SOME), build_message_set(1, SOME), build_batch(SOME, codec=Codec.LZ4)]
)
def test_column_types_do_not_depend_on_content(data: bytes) -> None:
    records = decode(data, walked(data))
    assert [column.dtype for column in (records.offset, records.timestamp)] == [np.int64] * 2
    assert [column.dtype for column in (records.timestamp_type, records.row)] == [np.int32] * 2
    assert (records.key.type, records.value.type, records.headers.type) == (pa.binary(), pa.binary(), HEADERS)
    for column in records[3:6]:
        column.validate(full=True)


def test_record_without_headers_has_null_as_in_spark() -> None:
    assert [row is None for row in decode(build_batch(SOME), walked(build_batch(SOME))).headers.to_pylist()] == [
        True,
        False,
        True,
        False,
    ]


def test_columns_outlive_their_buffer() -> None:
    data = bytearray(build_batch(numbered([(NOW, b"k%d" % i, b"v%d" % i, ()) for i in range(500)])))
    records = decode(data, walked(data))
    data[:] = bytes(len(data))
    del data
    gc.collect()
    assert records.value.to_pylist() == [b"v%d" % i for i in range(500)]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("magic", [1, 2])
def test_pieces_are_bounded_and_number_rows_continuously(codec: Codec, magic: int) -> None:
    many = numbered([(NOW, None, bytes(1000), ())] * 50)
    one = build_batch(many, codec=codec) if magic == 2 else build_message_set(1, many, codec=codec)
    log = one * 20
    pieces = list(decode_all(log, walked(log), max_bytes=60_000))
    assert max(piece.row.size for piece in pieces) <= 2 * len(many)
    assert [seen for piece in pieces for seen in rows_of(piece)] == expected(log)


def test_entry_over_the_size_limit_is_rejected() -> None:
    data = build_batch(numbered([(NOW, None, bytes(100_000), ())]), codec=Codec.GZIP)
    with pytest.raises(Unreadable, match="limit of 1000 bytes"):
        list(decode_all(data, walked(data), limit=1000))


def test_unknown_codec_is_rejected() -> None:
    data = bytearray(build_batch(SOME, codec=Codec.GZIP))
    data[22] = 6
    with pytest.raises(Unreadable, match="Unknown compression type id: 6"):
        decoded(data)


@pytest.mark.parametrize(
    ("name", "field"), [("produced", "records_hex"), ("rebuilt", "stored"), ("down_converted", "log")]
)
def test_batches_of_apache_kafka_and_its_clients_are_read(name: str, field: str) -> None:
    for case in recorded(name):
        data = bytes.fromhex(case[field])
        assert decoded(data) == expected(data)


def by_kafka_python(records: list[Record], codec: int) -> bytes:
    from kafka.record.default_records import DefaultRecordBatchBuilder

    builder = DefaultRecordBatchBuilder(
        2, codec, is_transactional=0, producer_id=-1, producer_epoch=-1, base_sequence=-1, batch_size=1 << 24
    )
    for row in records:
        builder.append(row.offset, row.timestamp, row.key, row.value, list(row.headers))
    return bytes(builder.build())


def by_aiokafka(records: list[Record], codec: int) -> bytes:
    from aiokafka.record.default_records import DefaultRecordBatchBuilder

    builder = DefaultRecordBatchBuilder(
        2, codec, is_transactional=0, producer_id=-1, producer_epoch=-1, base_sequence=-1, batch_size=1 << 24
    )
    for row in records:
        builder.append(row.offset, row.timestamp, row.key, row.value, list(row.headers))
    return bytes(builder.build())


def by_kio(records: list[Record], codec: int) -> bytes:
    from kio.records.schema import NewRecordBatch, RecordHeader
    from kio.records.schema import Record as KioRecord
    from kio.records.writers import write_batch

    out = io.BytesIO()
    rows: Any = tuple(
        KioRecord(
            attributes=0,  # type: ignore[arg-type]
            timestamp=datetime.fromtimestamp(row.timestamp / 1000, UTC),  # type: ignore[arg-type]
            offset=row.offset,  # type: ignore[arg-type]
            key=row.key,
            value=row.value,
            headers=tuple(RecordHeader(key=key.encode(), value=value) for key, value in row.headers),
        )
        for row in records
    )
    batch: Any = NewRecordBatch(
        producer_id=-1,  # type: ignore[arg-type]
        producer_epoch=-1,  # type: ignore[arg-type]
        base_sequence=-1,  # type: ignore[arg-type]
        records=rows,
        attributes=0,  # type: ignore[arg-type]
    )
    write_batch(out, batch)
    return out.getvalue()


@pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated:DeprecationWarning")  # kafka-python, when imported
@pytest.mark.parametrize(
    ("build", "codec"), [(by_kafka_python, 0), (by_kafka_python, 1), (by_aiokafka, 0), (by_aiokafka, 3), (by_kio, 0)]
)
def test_batches_of_other_builders_are_read(build: Callable[[list[Record], int], bytes], codec: int) -> None:
    records = numbered([(NOW + 3 * i, b"k" * (i % 70), b"v" * (i % 90), (("h", b"%d" % i),)) for i in range(300)])
    assert [Record(seen[0], seen[1], *seen[3:6]) for seen in decoded(build(records, codec))] == records


def test_records_are_decoded_to_one_row_each() -> None:
    assert Records._fields == ("offset", "timestamp", "timestamp_type", "key", "value", "headers", "row")
