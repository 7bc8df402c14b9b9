import pickle

import pytest

from kafkalet.protocol.records.batch import HEADER_SIZE
from kafkalet.protocol.records.build import build_batch, numbered
from kafkalet.protocol.records.codecs import LIMIT, Codec
from kafkalet_spark.decoding.exactly import Unreadable, read_exactly
from tests.unit.protocol.records.strategies import NOW


def test_error_names_position_and_reason() -> None:
    assert str(Unreadable(7, 61, "bad")) == "the entry at position 7 (61 bytes): bad"


def test_error_survives_pickling() -> None:
    copy = pickle.loads(pickle.dumps(Unreadable(7, 61, "bad")))
    assert (copy.position, copy.size, copy.reason) == (7, 61, "bad")


ROWS = numbered([(NOW, b"k", b"v", ())] * 2)


def test_records_match_the_protocol_decoder() -> None:
    data = build_batch(ROWS)
    assert read_exactly(b"xx" + data, 2, len(data), LIMIT) == ROWS


def test_error_of_the_decoder_is_reported_with_position() -> None:
    data = bytearray(build_batch(ROWS))
    data[HEADER_SIZE] += 2
    with pytest.raises(Unreadable) as caught:
        read_exactly(data, 0, len(data), LIMIT)
    assert (caught.value.position, caught.value.size) == (0, len(data))
    assert caught.value.reason.startswith("Invalid record size")


def test_negative_record_count_is_rejected_as_by_consumer() -> None:
    data = bytearray(build_batch([], last_offset=1))
    data[57:61] = b"\xff\xff\xff\xff"
    with pytest.raises(Unreadable, match="record count is -1"):
        read_exactly(data, 0, len(data), LIMIT)


def test_decompression_is_limited() -> None:
    data = build_batch(numbered([(NOW, None, bytes(9999), ())]), codec=Codec.GZIP)
    with pytest.raises(Unreadable, match="limit of 500 bytes"):
        read_exactly(data, 0, len(data), 500)
