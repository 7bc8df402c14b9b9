"""Replaying a partition of __consumer_offsets."""

import logging
from struct import pack

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalet.broker.cluster.state_log import StateRecord
from kafkalet.broker.groups.loading import load
from kafkalet.broker.groups.offsets_records import CommittedOffset
from kafkalet.broker.groups.shard import Shard
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker
from kafkalet.storage.values import Origin
from tests.profile import examples

from .committing import Committing, committing

UNSTABLE = -88


def replayed(client: Committing) -> Shard:
    """Return the shard of a coordinator that replays the same log."""
    shard = client.shard
    return load(Shard(shard.node, shard.log, shard.lookups, shard.regexes))


def offsets_in(shard: Shard, group_id: str = "g") -> dict[tuple[str, int], int]:
    return {
        (topic, partition): committed.offset
        for topic, by_partition in shard.offsets.committed(group_id).items()
        for partition, committed in by_partition.items()
    }


def append(client: Committing, key: bytes, value: bytes | None) -> None:
    client.shard.log.append([StateRecord(key, value)])


def end(client: Committing, producer_id: int, *, committed: bool) -> None:
    """Write a marker without notifying the group coordinator."""
    marker = EndMarker(ControlType.COMMIT if committed else ControlType.ABORT, 0)
    batch = build_end_marker(marker, timestamp=1, producer_id=producer_id, producer_epoch=0)
    client.shard.log.partition.append(bytearray(batch), Origin.COORDINATOR)


def at(client: Committing, offset: int) -> CommittedOffset:
    return CommittedOffset(offset, record_offset=client.shard.log.end_offset)


def test_unknown_records_are_skipped_with_log_line(caplog: pytest.LogCaptureFixture) -> None:
    with committing() as client, caplog.at_level(logging.WARNING):
        append(client, pack(">h", 99), b"later")
        append(client, b"", b"nameless")
        append(client, b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\3broken")
        append(client, b"\0\1\0\1g", b"broken")
        client.commit({0: 5})
        assert offsets_in(replayed(client)) == {("t", 0): 5}
        said = [record.getMessage() for record in caplog.records]
        assert [(": skipping " in line) for line in said] == [True] * 4


def test_replay_starts_at_log_start_offset() -> None:
    with committing() as client:
        client.commit({0: 5})
        client.commit({1: 6})
        client.shard.log.partition.log.maybe_increment_log_start_offset(1)
        assert offsets_in(replayed(client)) == {("t", 1): 6}


def test_groups_with_offsets_only_are_replayed() -> None:
    with committing() as client:
        client.commit({0: 5})
        Committing(client.stage, "gone").commit({0: 6})
        Committing(client.stage, "gone").delete(0)
        assert set(replayed(client).groups) == {"g"}


def test_groups_with_pending_offsets_only_are_replayed() -> None:
    with committing() as client:
        client.commit_in(client.begin_transaction(), {0: 5})
        shard = replayed(client)
        assert set(shard.groups) == {"g"}
        assert shard.offsets.is_pending("g", "t", 0)


def test_offsets_are_committed_by_replayed_marker() -> None:
    with committing() as client:
        offsets = client.shard.offsets
        offsets.commit("g", [("t", 0, at(client, 5))], 7, 0)
        end(client, 7, committed=True)
        assert offsets_in(replayed(client)) == {("t", 0): 5}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.sampled_from("gh"), st.integers(0, 2), st.just(-1)),
        st.tuples(st.just("commit"), st.sampled_from("gh"), st.integers(0, 2), st.integers(7, 9)),
        st.tuples(st.just("end"), st.booleans(), st.just(0), st.integers(7, 9)),
        st.tuples(st.just("delete"), st.sampled_from("gh"), st.integers(0, 2), st.just(-1)),
    ),
    max_size=30,
)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=examples(0.3))
@given(STEPS)
def test_replay_restores_offsets_as_written(steps: list[tuple[str, str | bool, int, int]]) -> None:
    with committing() as client:
        shard = client.shard
        for number, (step, what, partition, producer_id) in enumerate(steps):
            if step == "commit":
                shard.offsets.commit(
                    str(what), [("t", partition, at(client, number))], producer_id, min(producer_id, 0)
                )
            elif step == "end":
                end(client, producer_id, committed=bool(what))
                shard.offsets.transaction_ended(producer_id, committed=bool(what))
            elif shard.offsets.is_known(str(what), "t", partition):
                shard.append(shard.offsets.tombstones(str(what), [("t", partition)]))
                shard.offsets.forget(str(what), [("t", partition)])
        again = replayed(client)
        for group_id in "gh":
            assert again.offsets.committed(group_id) == shard.offsets.committed(group_id)
            for partition in range(3):
                pending = shard.offsets.is_pending(group_id, "t", partition)
                assert again.offsets.is_pending(group_id, "t", partition) == pending
