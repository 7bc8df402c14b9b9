"""When share partitions are opened and dropped: connections that close, leaders that move, and brokers that restart."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalet.protocol.errors import Code

from .members import ACCEPT, RELEASE, Jobs, jobs


@pytest.fixture
def group() -> Iterator[Jobs]:
    with jobs() as opened:
        opened.write(10)
        yield opened


def test_records_are_released_when_the_connection_of_their_member_closes(group: Jobs) -> None:
    alice, bob = group.member("alice"), group.member("bob")
    alice.fetch()
    assert bob.fetch() == []
    alice.disconnect()
    assert bob.fetch(max_wait_ms=20_000) == [(0, 9, 2)]


def test_share_partitions_are_dropped_when_the_last_member_disconnects(group: Jobs) -> None:
    alice = group.member("alice")
    alice.fetch()
    alice.acknowledge((0, 3, ACCEPT))
    alice.disconnect()
    assert group.member("bob").fetch(max_wait_ms=20_000) == [(4, 9, 2)]


def test_what_is_acknowledged_survives_a_restart_and_the_rest_is_released(tmp_path: Path) -> None:
    with jobs(data_dir=tmp_path) as group:
        group.write(10)
        member = group.member()
        member.fetch()
        member.acknowledge((0, 3, ACCEPT), (4, 6, RELEASE))
    with jobs(data_dir=tmp_path) as group:
        assert group.member().fetch(max_wait_ms=20_000) == [(4, 9, 2)]


def test_a_new_leader_continues_where_the_old_one_was() -> None:
    with jobs(brokers=2) as group:
        group.write(10)
        member = group.member()
        leader = group.cluster.topic("t").leader()
        assert leader is not None
        member.node = leader
        member.fetch(max_wait_ms=20_000)
        member.acknowledge((0, 3, ACCEPT))
        group.cluster.topic("t").move_leader(3 - leader)
        answer = member.request()
        assert answer["responses"][0]["partitions"][0]["error_code"] == Code.NOT_LEADER_OR_FOLLOWER
        assert answer["responses"][0]["partitions"][0]["current_leader"]["leader_id"] == 3 - leader
        assert [node["node_id"] for node in answer["node_endpoints"]] == [3 - leader]
        bob = group.member("bob")
        bob.node = 3 - leader
        assert bob.fetch(max_wait_ms=20_000) == [(4, 9, 1)]


def test_a_state_that_was_reset_is_read_again(group: Jobs) -> None:
    alice = group.member("alice")
    alice.fetch()
    group.initialize(state_epoch=1)
    assert alice.acknowledge((0, 9, ACCEPT)) is Code.NOT_LEADER_OR_FOLLOWER
    assert alice.fetch(max_wait_ms=20_000) == [(0, 9, 1)]


def test_a_state_that_was_never_initialized_is_an_error_after_the_wait(group: Jobs) -> None:
    answer = group.member().request(group_id="others", max_wait_ms=50)
    assert answer["responses"][0]["partitions"][0]["error_code"] == Code.UNKNOWN_SERVER_ERROR


def test_share_partition_that_could_not_be_loaded_is_dropped_although_no_fetch_waits_for_it(group: Jobs) -> None:
    member = group.member()
    member.request(group_id="others", max_wait_ms=0)
    assert member.acknowledge((0, 0, ACCEPT), group_id="others") is Code.UNKNOWN_TOPIC_OR_PARTITION
