"""The records of __share_group_state."""

from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.share.records import (
    SNAPSHOT,
    UPDATE,
    decode_key,
    decode_snapshot,
    decode_update,
    snapshot,
    tombstone,
    update,
)
from kafkalet.broker.share.state import SharePartitionKey, SharePartitionState, StateBatch

KEY = SharePartitionKey("jobs", bytes(range(16)), 3)
LONGS = st.integers(-1, (1 << 63) - 1)
INTS = st.integers(-1, (1 << 31) - 1)
BATCHES = st.lists(st.builds(StateBatch, LONGS, LONGS, st.sampled_from([0, 2, 4]), st.integers(0, 99)), max_size=4)
STATES = st.builds(SharePartitionState, INTS, LONGS, INTS, INTS, BATCHES.map(tuple), INTS, LONGS, LONGS)


@given(STATES)
def test_snapshot_is_decoded_as_it_was_encoded(state: SharePartitionState) -> None:
    record = snapshot(KEY, state)
    assert record.value is not None
    assert (decode_key(record.key), decode_snapshot(record.value)) == ((SNAPSHOT, KEY), state)


@given(STATES)
def test_update_has_no_state_epoch_and_no_times(state: SharePartitionState) -> None:
    record = update(KEY, state)
    assert record.value is not None
    assert decode_key(record.key) == (UPDATE, KEY)
    assert decode_update(record.value) == state._replace(state_epoch=0, created_ms=0, written_ms=0)


def test_tombstone_has_the_key_of_a_snapshot() -> None:
    assert tombstone(KEY) == (snapshot(KEY, SharePartitionState(0, 0)).key, None)


def test_key_of_a_later_release_is_of_no_share_partition() -> None:
    assert decode_key(b"\0\7abc") == (7, None)
