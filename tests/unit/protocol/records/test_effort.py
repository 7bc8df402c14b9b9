"""The upper bound for the effort of processing an entry, derived from its header."""

import gzip

import cramjam
import pytest

from kafkalet.protocol.records import streams
from kafkalet.protocol.records.build import build_batch, build_message_set, frame_batch, numbered
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.effort import (
    MANY_BYTES,
    MANY_HEADER_BYTES,
    MANY_RECORDS,
    may_have_many_headers,
    takes_long,
)


def rows(count: int, value: bytes = b"v") -> list[tuple[int, None, bytes, tuple[()]]]:
    return [(1000, None, value, ())] * count


def framed(payload: bytes, codec: Codec, count: int = 1) -> bytes:
    return frame_batch(
        payload,
        count,
        attributes=codec,
        base_offset=0,
        last_offset_delta=count - 1,
        leader_epoch=-1,
        base_timestamp=0,
        max_timestamp=0,
    )


@pytest.mark.parametrize("codec", list(Codec))
def test_ordinary_batch_does_not_take_long(codec: Codec) -> None:
    assert not takes_long(build_batch(numbered(rows(100, b"x" * 100)), codec=codec))


@pytest.mark.parametrize("codec", list(Codec))
def test_record_with_hundreds_of_thousands_of_headers_is_noticed(codec: Codec) -> None:
    headers = (("", b""),) * (MANY_HEADER_BYTES // 2)
    entry = build_batch(numbered([(1000, None, b"v", headers)]), codec=codec)
    assert (takes_long(entry), may_have_many_headers(entry)) == (False, True)


@pytest.mark.parametrize("codec", list(Codec))
def test_ordinary_batch_has_few_headers(codec: Codec) -> None:
    assert not may_have_many_headers(build_batch(numbered(rows(10, b"x" * 10)), codec=codec))


def test_old_formats_have_no_headers() -> None:
    messages = build_message_set(1, numbered([(1000, None, bytes(MANY_HEADER_BYTES), ())]))
    assert not may_have_many_headers(messages)
    assert not may_have_many_headers(b"")


@pytest.mark.parametrize(("count", "long"), [(MANY_RECORDS, False), (MANY_RECORDS + 1, True)])
def test_many_records_take_long(count: int, long: bool) -> None:
    assert takes_long(build_batch(numbered(rows(count, b"")))) is long


def test_many_bytes_take_long() -> None:
    assert takes_long(build_batch(numbered(rows(1, bytes(MANY_BYTES)))))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.ZSTD])
def test_small_batch_with_large_content_takes_long(codec: Codec) -> None:
    content = bytes(64 << 20)
    payload = {
        Codec.GZIP: lambda: gzip.compress(content),
        Codec.SNAPPY: lambda: bytes(cramjam.snappy.compress_raw(content)),
        Codec.ZSTD: lambda: bytes(cramjam.zstd.compress(content)),
    }[codec]()
    assert takes_long(framed(payload, codec))


def test_zstd_decompressed_in_python_always_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = build_batch(numbered(rows(1)), codec=Codec.ZSTD)
    monkeypatch.setattr("kafkalet.protocol.records.effort.cramjam_or_none", lambda: None)
    assert takes_long(batch)


def test_gzip_needs_no_package_to_be_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = build_batch(numbered(rows(100, b"x" * 100)), codec=Codec.GZIP)
    monkeypatch.setattr("kafkalet.protocol.records.effort.cramjam_or_none", lambda: None)
    assert streams.cramjam_or_none() is not None
    assert not takes_long(batch)


@pytest.mark.parametrize(("count", "long"), [(100, False), (3000, True)])
def test_set_of_many_legacy_messages_takes_long(count: int, long: bool) -> None:
    assert takes_long(build_message_set(1, numbered(rows(count)))) is long


def test_legacy_wrapper_takes_long() -> None:
    assert takes_long(build_message_set(1, numbered(rows(10, b"x" * 100)), codec=Codec.GZIP))


@pytest.mark.parametrize("data", [b"", b"x", bytes(60), b"\x09" * 100, framed(b"\x01\x02", Codec.ZSTD)])
def test_invalid_data_does_not_take_long(data: bytes) -> None:
    assert not takes_long(data)
