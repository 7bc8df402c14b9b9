"""Records of committed offsets, compared with the message definitions and with the log of Apache Kafka."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.groups.offsets_records import (
    NEVER,
    REMEMBERED_CHARACTERS,
    Commit,
    CommittedOffset,
    OffsetKey,
    _plain,
    decode_key,
    decode_value,
    encode_commits,
    encode_key,
    encode_value,
    key_head,
)
from kafkalet.protocol.errors import ProtocolError
from kafkalet.protocol.messages.offsets_topic import OffsetCommitKey
from kafkalet.protocol.records.record import Record, encode_records
from kafkalet.protocol.wire import ZERO_UUID

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
TIMESTAMPS = st.integers(0, 1 << 62)
TEXT = st.text(st.characters(codec="utf-8"), max_size=200)
COMMITTED = st.builds(
    CommittedOffset,
    offset=INT64,
    leader_epoch=st.integers(-1, (1 << 31) - 1),
    metadata=st.one_of(st.just(""), TEXT),
    commit_timestamp_ms=TIMESTAMPS,
    expire_timestamp_ms=st.one_of(st.just(NEVER), TIMESTAMPS),
    topic_id=st.one_of(st.just(ZERO_UUID), st.binary(min_size=16, max_size=16)),
    record_offset=st.just(-1),
)
COMMITS = st.lists(st.tuples(TEXT, st.integers(0, (1 << 31) - 1), COMMITTED), min_size=1, max_size=9)

# As written by Apache Kafka 3.9.2 and 4.4.0; librdkafka ends metadata with a zero byte.
KEY = b"\0\1\0\2tg\0\2tt\0\0\0\1"
V3 = b"\0\3\0\0\0\0\0\0\0\6\xff\xff\xff\xff\0\5meta\0\0\0\1\xa1\xff\x23\xf0\xe3"
V1 = b"\0\1\0\0\0\0\0\0\0\5\0\1m\0\0\1\xa1\xff\x17s\xbb\0\0\1\xa1\xff\x17w\xa3"
TOPIC_ID = b"J\xe9L\xda\x0clH\x1e\xbf\xe3x\xa6{J0\x0e"
V4 = b"\0\4\0\0\0\0\0\0\0\6\xff\xff\xff\xff\6meta\0\0\0\1\xa1\xff\x24\x2e\x21\1\0\x10" + TOPIC_ID
V4_WITHOUT_ID = b"\0\4\0\0\0\0\0\0\0\5\xff\xff\xff\xff\2m\0\0\1\xa1\xff\x1e\5\x12\0"


def test_keys_equal_those_of_kafka() -> None:
    assert encode_key(key_head("tg", "tt"), 1) == KEY
    assert decode_key(KEY, 2) == OffsetKey("tg", "tt", 1)


@pytest.mark.parametrize(
    ("value", "version", "committed"),
    [
        (V1, 3, CommittedOffset(5, -1, "m", 0x1A1FF1773BB, 0x1A1FF1777A3)),
        (V1, 4, CommittedOffset(5, -1, "m", 0x1A1FF1773BB, 0x1A1FF1777A3)),
        (V3, 3, CommittedOffset(6, -1, "meta\0", 0x1A1FF23F0E3)),
        (V4, 4, CommittedOffset(6, -1, "meta\0", 0x1A1FF242E21, NEVER, TOPIC_ID)),
        (V4_WITHOUT_ID, 4, CommittedOffset(5, -1, "m", 0x1A1FF1E0512)),
    ],
)
def test_values_equal_those_of_kafka(value: bytes, version: int, committed: CommittedOffset) -> None:
    assert encode_value(committed, version) == value
    assert decode_value(value, 7) == committed._replace(record_offset=7)


@given(COMMITTED, st.sampled_from([3, 4]))
def test_value_survives_round_trip(committed: CommittedOffset, version: int) -> None:
    written = 1 if committed.expire_timestamp_ms != NEVER else version
    kept = committed if written == 4 else committed._replace(topic_id=ZERO_UUID)
    assert decode_value(encode_value(committed, version), -1) == (
        kept if written > 1 else kept._replace(leader_epoch=-1)
    )


@given(TEXT, COMMITS, st.sampled_from([3, 4]))
def test_encoded_batch_equals_encoded_records(group_id: str, commits: list[Commit], version: int) -> None:
    rows = []
    for offset, (topic, partition, committed) in enumerate(commits):
        key = b"\0\1" + OffsetCommitKey(group=group_id, topic=topic, partition=partition).encode(1)
        rows.append(Record(offset, 0, key, encode_value(committed, version)))
    assert encode_commits(group_id, commits, version) == encode_records(rows, 0, 0)


def test_large_batch_has_deltas_of_several_bytes() -> None:
    commits = [("t", partition, CommittedOffset(partition)) for partition in range(9000)]
    head = key_head("g", "t")
    rows = [Record(n, 0, encode_key(head, n), encode_value(committed, 3)) for n, _, committed in commits_with(commits)]
    assert encode_commits("g", commits, 3) == encode_records(rows, 0, 0)


def commits_with(commits: list[Commit]) -> list[tuple[int, str, CommittedOffset]]:
    return [(number, topic, committed) for number, (topic, _, committed) in enumerate(commits)]


@pytest.mark.parametrize("value", [b"", b"\0", b"\0\3", V3[:-1], b"\0\x63" + V3[2:], V4[:20]])
def test_undecodable_value_is_refused(value: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_value(value, 0)


@pytest.mark.parametrize("version", [3, 4])
def test_longest_strings_of_requests_fit_in_records(version: int) -> None:
    longest = "x" * 32767
    assert decode_value(encode_value(CommittedOffset(5, metadata=longest), version), 0).metadata == longest
    assert decode_key(encode_key(key_head(longest, "t"), 1), 2).group_id == longest


@pytest.mark.parametrize("length", [REMEMBERED_CHARACTERS, 32767])
def test_names_of_any_length_give_same_records(length: int) -> None:
    group, committed = "g" * length, CommittedOffset(7, topic_id=TOPIC_ID)
    record = Record(0, 0, encode_key(key_head(group, "t"), 3), encode_value(committed, 4))
    assert encode_commits(group, [("t", 3, committed)], 4) == encode_records([record], 0, 0)


def test_long_names_are_not_cached() -> None:
    before = _plain.cache_info().currsize
    encode_commits("l" * 32767, [("t", 3, CommittedOffset(7))], 4)
    assert _plain.cache_info().currsize == before
