"""Fetch sessions follow the rules of KIP-227; tested without a broker."""

import pytest

from kafkalet.broker.fetch_sessions import (
    EVICTION_MS,
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MAX_EPOCH,
    NAMELESS,
    NO_SESSION,
    FetchContext,
    FetchSessions,
    Key,
    PartitionResult,
    RequestedPartition,
    next_epoch,
)
from kafkalet.clock import ManualClock
from kafkalet.protocol.errors import Code

ASKED = RequestedPartition(fetch_offset=0, max_bytes=1000)


def name_key(topic: str, index: int = 0) -> Key:
    return (topic, None, index)


def partition_result(
    high_watermark: int = 0,
    size: int = 0,
    error: Code = Code.NONE,
    log_start_offset: int = 0,
    must_return: bool = False,
) -> PartitionResult:
    return PartitionResult(error, high_watermark, log_start_offset, size, must_return)


class Client:
    """One client of a broker's sessions."""

    def __init__(self, max_entries: int = 10) -> None:
        self.clock = ManualClock()
        self.sessions = FetchSessions(self.clock, max_entries)
        self.names: dict[bytes, str] = {}

    def ask(
        self,
        session_id: int,
        epoch: int,
        *keys: Key,
        forgotten: tuple[Key, ...] = (),
        by_id: bool = False,
        follower: bool = False,
    ) -> FetchContext:
        return self.sessions.context(
            session_id,
            epoch,
            [(key, ASKED) for key in keys],
            list(forgotten),
            uses_topic_ids=by_id,
            from_follower=follower,
            name_of=lambda topic_id: self.names.get(topic_id, ""),
        )

    def open(self, *keys: Key, by_id: bool = False, follower: bool = False) -> int:
        context = self.ask(NO_SESSION, INITIAL_EPOCH, *keys, by_id=by_id, follower=follower)
        error, session_id, _ = context.settle({key: partition_result() for key in keys})
        assert error == Code.NONE
        return session_id


@pytest.fixture
def client() -> Client:
    return Client()


A, B, C = name_key("a"), name_key("b"), name_key("c")


@pytest.mark.parametrize(("epoch", "following"), [(0, 1), (1, 2), (MAX_EPOCH, 1), (-1, -1)])
def test_largest_epoch_is_followed_by_1_and_final_epoch_by_itself(epoch: int, following: int) -> None:
    assert next_epoch(epoch) == following


def test_request_without_a_session_opens_none(client: Client) -> None:
    assert client.ask(NO_SESSION, FINAL_EPOCH, A).settle({A: partition_result()}) == (Code.NONE, NO_SESSION, [A])
    assert not client.sessions.sessions


def test_epoch_0_opens_a_session_and_returns_every_partition(client: Client) -> None:
    error, session_id, keys = client.ask(NO_SESSION, INITIAL_EPOCH, A, B).settle(
        {A: partition_result(), B: partition_result()}
    )
    assert (error, keys) == (Code.NONE, [A, B])
    assert session_id > 0


def test_session_may_be_opened_without_partitions(client: Client) -> None:
    assert client.open() > 0


def test_epoch_0_with_an_id_replaces_the_session(client: Client) -> None:
    old = client.open(A)
    _, new, _ = client.ask(old, INITIAL_EPOCH, A).settle({A: partition_result()})
    assert set(client.sessions.sessions) == {new}


def test_the_final_epoch_ends_the_session(client: Client) -> None:
    client.ask(client.open(A), FINAL_EPOCH, A)
    assert not client.sessions.sessions


def test_an_incremental_request_reads_every_partition_of_the_session(client: Client) -> None:
    assert [key for key, _ in client.ask(client.open(A, B), 1).requested] == [A, B]


def test_an_unknown_id_is_refused(client: Client) -> None:
    assert client.ask(77, 1).settle({}) == (Code.FETCH_SESSION_ID_NOT_FOUND, NO_SESSION, [])


def test_a_wrong_epoch_is_refused_and_does_not_advance_the_session(client: Client) -> None:
    session_id = client.open(A)
    assert client.ask(session_id, 2).settle({})[0] == Code.INVALID_FETCH_SESSION_EPOCH
    assert client.ask(session_id, 1).error == Code.NONE


@pytest.mark.parametrize("opened_by_id", [True, False])
def test_session_cannot_switch_between_names_and_ids(client: Client, opened_by_id: bool) -> None:
    session_id = client.open(by_id=opened_by_id)
    assert client.ask(session_id, 1, by_id=not opened_by_id).error == Code.FETCH_SESSION_TOPIC_ID_ERROR
    assert client.sessions.sessions[session_id].epoch == 1


def test_unchanged_partitions_are_left_out(client: Client) -> None:
    session_id = client.open(A, B)
    assert client.ask(session_id, 1).settle({A: partition_result(), B: partition_result()}) == (
        Code.NONE,
        session_id,
        [],
    )


@pytest.mark.parametrize(
    "change",
    [
        partition_result(high_watermark=1),
        partition_result(log_start_offset=1),
        partition_result(size=10),
        partition_result(error=Code.OFFSET_OUT_OF_RANGE),
        partition_result(must_return=True),
    ],
    ids=["high watermark", "log start offset", "records", "error", "diverging epoch or preferred replica"],
)
def test_partition_is_returned_for_each_kind_of_change(client: Client, change: PartitionResult) -> None:
    session_id = client.open(A, B)
    assert client.ask(session_id, 1).settle({A: partition_result(), B: change})[2] == [B]


def test_partition_is_returned_again_once_its_error_has_ended(client: Client) -> None:
    session_id = client.open(A)
    client.ask(session_id, 1).settle(
        {A: partition_result(high_watermark=-1, log_start_offset=-1, error=Code.NOT_LEADER_OR_FOLLOWER)}
    )
    assert client.ask(session_id, 2).settle({A: partition_result()})[2] == [A]
    assert client.ask(session_id, 3).settle({A: partition_result()})[2] == []


def test_partitions_with_records_move_to_the_end_of_the_order(client: Client) -> None:
    session_id = client.open(A, B, C)
    client.ask(session_id, 1).settle({A: partition_result(size=5), B: partition_result(), C: partition_result()})
    assert [key for key, _ in client.ask(session_id, 2).requested] == [B, C, A]


def test_a_partition_that_only_changed_keeps_its_place(client: Client) -> None:
    session_id = client.open(A, B)
    client.ask(session_id, 1).settle({A: partition_result(high_watermark=3), B: partition_result()})
    assert [key for key, _ in client.ask(session_id, 2).requested] == [A, B]


def test_before_3_0_partition_that_only_changed_moves_to_the_end_too(client: Client) -> None:
    client.sessions.returned_go_last = True
    session_id = client.open(A, B)
    client.ask(session_id, 1).settle({A: partition_result(high_watermark=3), B: partition_result()})
    assert [key for key, _ in client.ask(session_id, 2).requested] == [B, A]


def test_a_named_partition_is_added_and_a_forgotten_one_removed(client: Client) -> None:
    session_id = client.open(A, B)
    assert [key for key, _ in client.ask(session_id, 1, C, forgotten=(A,)).requested] == [B, C]


def test_a_partition_that_is_named_and_forgotten_is_removed(client: Client) -> None:
    session_id = client.open(A, B)
    assert [key for key, _ in client.ask(session_id, 1, A, forgotten=(A,)).requested] == [B]


def test_a_session_without_partitions_ends_with_the_next_request(client: Client) -> None:
    session_id = client.open(A)
    assert client.ask(session_id, 1, forgotten=(A,)).settle({}) == (Code.NONE, NO_SESSION, [])
    assert client.ask(session_id, 2).error == Code.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_topic_without_a_name_fails_a_request_of_a_session_that_cannot_contain_it(
    client: Client, is_forgotten: bool
) -> None:
    client.sessions.takes_nameless = False
    topic, nameless = ("a", b"1" * 16, 0), (*NAMELESS, 0)
    session_id = client.open(topic, by_id=True)
    named, forgotten = ((), (nameless,)) if is_forgotten else ((nameless,), ())
    assert client.ask(session_id, 1, *named, forgotten=forgotten, by_id=True).error == Code.UNKNOWN_SERVER_ERROR
    assert client.ask(session_id, 1, by_id=True).requested == [(topic, ASKED)]


def test_first_of_two_overlapping_requests_is_refused(client: Client) -> None:
    session_id = client.open(A)
    first = client.ask(session_id, 1)
    client.ask(session_id, 2)
    assert first.settle({A: partition_result()}) == (Code.INVALID_FETCH_SESSION_EPOCH, session_id, [])


def test_topic_with_an_unknown_id_is_read_once_it_exists(client: Client) -> None:
    topic_id = bytes(range(16))
    unknown: Key = ("", topic_id, 0)
    session_id = client.open(unknown, by_id=True)
    client.names[topic_id] = "a"
    assert [key for key, _ in client.ask(session_id, 1, by_id=True).requested] == [("a", topic_id, 0)]


def test_full_cache_of_recent_sessions_opens_no_session() -> None:
    client = Client(max_entries=1)
    client.open(A)
    assert client.open(A, B) == NO_SESSION


def test_cache_without_slots_opens_no_session() -> None:
    client = Client(max_entries=0)
    assert client.open(A) == NO_SESSION


def test_session_unused_for_two_minutes_is_evicted() -> None:
    client = Client(max_entries=1)
    old = client.open(A, B)
    client.clock.advance(milliseconds=EVICTION_MS + 1)
    assert client.open(A) > 0
    assert old not in client.sessions.sessions


def test_old_session_in_use_is_evicted_only_by_a_larger_one() -> None:
    client = Client(max_entries=1)
    old = client.open(A, B)
    client.clock.advance(milliseconds=EVICTION_MS + 1)
    client.ask(old, 1)
    assert client.open(A, B) == NO_SESSION
    assert client.open(A, B, C) > 0


def test_follower_session_evicts_a_recent_consumer_session() -> None:
    client = Client(max_entries=1)
    client.open(A, B, C)
    assert client.open(A, follower=True) > 0


def test_consumer_session_never_evicts_a_follower_session_in_use() -> None:
    client = Client(max_entries=1)
    follower = client.open(A, follower=True)
    client.clock.advance(milliseconds=EVICTION_MS + 1)
    client.ask(follower, 1)
    assert client.open(A, B, C) == NO_SESSION
