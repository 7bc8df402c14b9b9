"""The records of __transaction_state, compared byte for byte with Kafka's messages."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.transactions.metadata import Metadata, State
from kafkalet.broker.transactions.records import decode_key, decode_value, encode_key, encode_value
from kafkalet.protocol.messages.transactions_topic import TransactionLogKey, TransactionLogValue

LONGS = st.integers(-1, (1 << 63) - 1)
PARTITIONS = st.frozensets(st.tuples(st.sampled_from(["a", "topic"]), st.integers(0, 300)), max_size=200)
LOGGED = [state for state in State if state is not State.PREPARE_EPOCH_FENCE]


@st.composite
def metadata(draw: st.DrawFn) -> Metadata:
    state = draw(st.sampled_from(LOGGED))
    return Metadata(
        producer_id=draw(st.integers(0, (1 << 63) - 1)),
        producer_epoch=draw(st.integers(-1, 0x7FFF)),
        timeout_ms=draw(st.integers(1, (1 << 31) - 1)),
        state=state,
        partitions=frozenset() if state is State.EMPTY else draw(PARTITIONS),
        start_ms=draw(LONGS),
        update_ms=draw(LONGS),
        previous_producer_id=draw(LONGS),
        next_producer_id=draw(LONGS),
        client_version=draw(st.integers(0, 2)),
    )


@given(metadata(), st.sampled_from([0, 1]))
def test_encoded_values_equal_those_of_message(known: Metadata, version: int) -> None:
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(known.partitions):
        topics.setdefault(topic, []).append(index)
    types = TransactionLogValue
    message = types(
        producer_id=known.producer_id,
        producer_epoch=known.producer_epoch,
        transaction_timeout_ms=known.timeout_ms,
        transaction_status=known.state,
        transaction_partitions=None
        if known.state is State.EMPTY
        else [types.Topic(topic=topic, partition_ids=indexes) for topic, indexes in topics.items()],
        transaction_last_update_timestamp_ms=known.update_ms,
        transaction_start_timestamp_ms=known.start_ms,
    )
    if version:
        message.previous_producer_id, message.next_producer_id = known.previous_producer_id, known.next_producer_id
        message.client_transaction_version = known.client_version
    assert encode_value(known, version) == version.to_bytes(2, "big") + message.encode(version)


@given(metadata())
def test_version_1_preserves_all_fields(known: Metadata) -> None:
    assert decode_value(encode_value(known, 1)) == known


@given(metadata())
def test_version_0_lacks_producer_id_history_and_client_version(known: Metadata) -> None:
    assert decode_value(encode_value(known, 0)) == known._replace(
        previous_producer_id=-1, next_producer_id=-1, client_version=0
    )


def test_version_0_is_encoded_byte_for_byte() -> None:
    known = Metadata(1, 2, 3, State.ONGOING, frozenset({("t", 4), ("t", 3)}), start_ms=5, update_ms=6)
    fields = "0000 0000000000000001 0002 00000003 01"
    partitions = "00000001 000174 00000002 00000003 00000004"
    times = "0000000000000006 0000000000000005"
    assert encode_value(known, 0) == bytes.fromhex(fields + partitions + times)


def test_empty_transaction_has_null_partitions() -> None:
    assert encode_value(Metadata(1, 0, 3), 0)[17:21] == b"\xff\xff\xff\xff"


@given(st.text(max_size=20))
def test_key_survives_round_trip(name: str) -> None:
    assert encode_key(name) == b"\0\0" + TransactionLogKey(transactional_id=name).encode(0)
    assert decode_key(encode_key(name)) == name


def test_keys_of_later_versions_are_skipped(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert decode_key(b"\0\1\0\1x") is None
    assert "unknown version" in caplog.text
