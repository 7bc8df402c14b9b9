"""Batches and records become rows."""

import struct

import pytest

from kafkalet.inspection.internal_records import Decoder
from kafkalet.inspection.rows import FORMATS, batch_row, printable, record_row
from kafkalet.protocol.records.batch import Batch
from kafkalet.protocol.records.record import Record
from tests.unit.storage.producing import T0, logged, marker, message_set, produced, record

AUTO = FORMATS["auto"]


def test_row_of_batch_has_all_fields_of_header() -> None:
    row = batch_row(61, logged(5, 3, producer_id=7, producer_epoch=2, base_sequence=4, codec="gzip"))
    assert (row["position"], row["base_offset"], row["last_offset"], row["count"], row["magic"]) == (61, 5, 7, 3, 2)
    assert (row["codec"], row["timestamp_type"], row["base_timestamp"]) == ("gzip", "create", T0)
    assert (row["producer_id"], row["producer_epoch"], row["base_sequence"], row["last_sequence"]) == (7, 2, 4, 6)
    assert (row["transactional"], row["control"], row["crc_valid"]) == (False, None, True)


def test_row_of_damaged_batch_has_invalid_crc() -> None:
    data = bytearray(logged(0).view())
    data[-1] ^= 1
    assert batch_row(0, Batch(data))["crc_valid"] is False


def test_delete_horizon_takes_place_of_base_timestamp() -> None:
    data = bytearray(logged(0).view())
    data[22] |= 0x40
    row = batch_row(0, Batch(data))
    assert (row["delete_horizon"], row["base_timestamp"]) == (T0, None)


@pytest.mark.parametrize(("commit", "name"), [(True, "COMMIT"), (False, "ABORT")])
def test_row_of_marker_has_type_and_coordinator_epoch(commit: bool, name: str) -> None:
    row = batch_row(0, marker(3, 7, commit=commit, coordinator_epoch=5))
    assert (row["control"], row["coordinator_epoch"]) == (name, 5)


def test_row_of_wrapper_has_no_count() -> None:
    row = batch_row(0, Batch(message_set(1, 0, 1, codec="gzip")))
    assert (row["magic"], row["count"], row["codec"], row["producer_id"]) == (1, None, "gzip", -1)


def test_unknown_codec_is_shown_by_number() -> None:
    data = bytearray(logged(0).view())
    data[22] |= 7
    assert batch_row(0, Batch(data))["codec"] == "unknown (7)"


@pytest.mark.parametrize(
    ("data", "text"), [(b"abc", "abc"), ("é\n".encode(), "é\n"), (b"\0a", None), (b"\xff", None), (b"", "")]
)
def test_only_printable_text_is_shown_as_text(data: bytes, text: str | None) -> None:
    assert printable(data) == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("auto", {"base64": "AAAAKg=="}),
        ("text", "\0\0\0*"),
        ("hex", "0000002a"),
        ("base64", "AAAAKg=="),
        ("integer", 42),
        ("json", {"base64": "AAAAKg=="}),
        ("size", 4),
    ],
)
def test_values_are_decoded_in_the_given_format(name: str, shown: object) -> None:
    assert FORMATS[name](struct.pack(">i", 42)) == shown


def test_row_of_record_has_sequence_headers_and_sizes() -> None:
    batch = Batch(produced(record(headers=[["h", "x"]]), base_sequence=3, producer_id=1, producer_epoch=0))
    row = record_row(Record(9, T0, b"k", None, (("h", b"x"),)), batch, 1, AUTO, AUTO)
    assert row == {
        "offset": 9, "timestamp": T0, "sequence": 4, "key_size": 1, "value_size": None, "headers": [["h", "x"]],
        "key": "k", "value": None,
    }  # fmt: skip


def test_control_record_is_not_decoded_as_data() -> None:
    batch = marker(3, 7, commit=True, coordinator_epoch=5)
    row = record_row(batch.records()[0], batch, 0, AUTO, AUTO, Decoder.OFFSETS)
    assert (row["record"], row["value"]) == ("COMMIT", {"coordinator_epoch": 5})
