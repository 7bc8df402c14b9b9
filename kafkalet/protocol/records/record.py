"""The records inside a batch of format 2."""

from typing import NamedTuple

from .varint import Buffer


class Record(NamedTuple):
    """One record, as a consumer sees it. `timestamp` is in milliseconds, -1 for none."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Walked(NamedTuple):
    """What a walk over the records of a batch found."""

    max_timestamp: int  # -1 without records or timestamps
    offset_of_max_timestamp: int  # absolute: the first record with it
    null_keys: list[int]  # indexes of records without a key, if asked for
    bad_timestamps: list[tuple[int, int]]  # (index, timestamp) outside the bounds, if given


def decode_records(
    payload: bytes, count: int, base_offset: int, base_timestamp: int, append_time: int | None = None
) -> list[Record]:
    """Decode `count` records, which fill `payload`; raises KafkaError(INVALID_RECORD) when they are not well-formed."""
    raise NotImplementedError


def encode_records(records: list[Record], base_offset: int, base_timestamp: int) -> bytes:
    """The inverse of `decode_records`."""
    raise NotImplementedError


def walk_records(
    payload: Buffer,
    count: int,
    base_offset: int,
    base_timestamp: int,
    *,
    report_null_keys: bool = False,
    min_timestamp: int | None = None,
    max_timestamp: int | None = None,
) -> Walked:
    """Check the structure of `count` records, which fill `payload`, without decoding them."""
    raise NotImplementedError
