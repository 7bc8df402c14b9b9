"""Fetch sessions: ids, epochs and forgotten partitions."""

from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkalet_conformance.clients.observing.rules.fetch_sessions import FetchSessions

from .synthetic import Exchanges


def fetch(session: int, epoch: int, *partitions: int, forgets: tuple[int, ...] = ()) -> FetchRequest:
    listed = [
        FetchRequest.Topic.Partition(partition=partition, fetch_offset=0, partition_max_bytes=1)
        for partition in partitions
    ]
    return FetchRequest(
        max_wait_ms=1,
        min_bytes=1,
        session_id=session,
        session_epoch=epoch,
        topics=[FetchRequest.Topic(topic="t", partitions=listed)] if listed else [],
        forgotten_topics_data=[FetchRequest.ForgottenTopic(topic="t", partitions=list(forgets))] if forgets else [],
    )


def answer(session: int, error: Code = Code.NONE) -> FetchResponse:
    return FetchResponse(session_id=session, error_code=error, responses=[])


def begun() -> Exchanges:
    """Return exchanges in which session 5 of the partitions 0 and 1 has begun."""
    exchanges = Exchanges(FetchSessions())
    exchanges.ask(fetch(0, 0, 0, 1), 12, answer(5))
    return exchanges


def test_consecutive_epochs_are_correct() -> None:
    exchanges = begun()
    for epoch in (1, 2, 3):
        exchanges.ask(fetch(5, epoch), 12, answer(5))
    exchanges.ask(fetch(5, -1), 12, answer(0))
    assert exchanges.found == []


def test_skipped_epoch_is_found() -> None:
    exchanges = begun()
    exchanges.ask(fetch(5, 1), 12, answer(5))
    exchanges.sends(fetch(5, 3), 12)
    assert exchanges.found == ["fetch-session-epoch"]
    assert exchanges.texts == ["session 5 continues with epoch 3; 2 comes next"]


def test_repeated_epoch_is_found() -> None:
    exchanges = begun()
    exchanges.ask(fetch(5, 1), 12, answer(5))
    exchanges.sends(fetch(5, 1), 12)
    assert exchanges.found == ["fetch-session-epoch"]


def test_epoch_1_follows_the_largest_one() -> None:
    exchanges = begun()
    session = exchanges.rule._sessions[1, 5]  # type: ignore[attr-defined]
    session.next_epoch = (1 << 31) - 1
    exchanges.ask(fetch(5, (1 << 31) - 1), 12, answer(5))
    exchanges.ask(fetch(5, 1), 12, answer(5))
    assert exchanges.found == []


def test_epoch_without_a_session_is_found() -> None:
    exchanges = Exchanges(FetchSessions())
    exchanges.sends(fetch(0, 3), 12)
    assert exchanges.found == ["fetch-session-epoch"]


def test_full_fetch_after_a_session_error_is_correct() -> None:
    exchanges = begun()
    exchanges.ask(fetch(5, 1), 12, answer(0, Code.FETCH_SESSION_ID_NOT_FOUND))
    exchanges.ask(fetch(0, 0, 0, 1), 12, answer(6))
    exchanges.ask(fetch(6, 1), 12, answer(6, Code.INVALID_FETCH_SESSION_EPOCH))
    exchanges.ask(fetch(6, 0, 0, 1), 12, answer(7))
    exchanges.ask(fetch(7, 1), 12, answer(7))
    assert exchanges.found == []


def test_incremental_fetch_after_a_session_error_is_found() -> None:
    exchanges = begun()
    exchanges.ask(fetch(5, 1), 12, answer(0, Code.INVALID_FETCH_SESSION_EPOCH))
    exchanges.sends(fetch(5, 2), 12)
    assert exchanges.found == ["fetch-session-restart"]


def test_any_epoch_is_accepted_after_an_unknown_response() -> None:
    exchanges = begun()
    exchanges.answers(exchanges.sends(fetch(5, 1), 12), answer(5), is_altered=True)
    exchanges.sends(fetch(5, 1), 12)
    assert exchanges.found == []


def test_session_that_is_over_is_found() -> None:
    exchanges = begun()
    exchanges.ask(fetch(5, -1), 12, answer(0))
    exchanges.sends(fetch(5, 1), 12)
    assert exchanges.found == ["fetch-session-id"]


def test_session_of_another_broker_is_found() -> None:
    exchanges = begun()
    exchanges.sends(fetch(5, 1), 12, connection=2)
    assert exchanges.found == ["fetch-session-id"]


def test_forgotten_partition_of_the_session_is_correct() -> None:
    exchanges = begun()
    exchanges.ask(fetch(5, 1, 3, forgets=(0,)), 12, answer(5))
    exchanges.ask(fetch(5, 2, forgets=(3,)), 12, answer(5))
    assert exchanges.found == []


def test_forgotten_partition_outside_of_the_session_is_found() -> None:
    exchanges = begun()
    exchanges.ask(fetch(5, 1, forgets=(0,)), 12, answer(5))
    exchanges.ask(fetch(5, 2, forgets=(0,)), 12, answer(5))
    assert exchanges.found == ["fetch-session-forgotten"]
    assert exchanges.texts == ["partition 0 of topic t is forgotten, but is not in session 5"]
