"""Share sessions: what an epoch does, and which partitions a response contains."""

import pytest

from kafkalet.broker.share.sessions import Place, Result, ShareContext, ShareSessions
from kafkalet.protocol.errors import Code, KafkaError

ALICE, BOB = ("group", "alice"), ("group", "bob")
TOPIC = b"t" * 16
ONE, TWO = Place(TOPIC, 0), Place(TOPIC, 1)
RECORDS, NOTHING, ERROR = Result(0, True), Result(0, False), Result(Code.KAFKA_STORAGE_ERROR, False)


class Sessions(ShareSessions):
    def ask(
        self,
        epoch: int,
        *places: Place,
        forgotten: tuple[Place, ...] = (),
        key: tuple[str, str] = ALICE,
        acknowledges: bool = False,
        connection: int = 1,
    ) -> ShareContext:
        requested: list[tuple[Place, str | None]] = [(place, "topic") for place in places]
        return self.context(key, epoch, requested, forgotten, acknowledges=acknowledges, connection=connection)


@pytest.fixture
def sessions() -> Sessions:
    return Sessions(lambda: 2)


def code_of(error: pytest.ExceptionInfo[KafkaError]) -> Code:
    return error.value.code


def test_a_session_keeps_its_partitions(sessions: Sessions) -> None:
    assert list(sessions.ask(0, ONE).partitions) == [ONE]
    assert list(sessions.ask(1, TWO).partitions) == [ONE, TWO]
    assert list(sessions.ask(2, forgotten=(ONE,)).partitions) == [TWO]


@pytest.mark.parametrize("epoch", [-1, 1, 7])
def test_a_member_without_a_session_gets_an_error(sessions: Sessions, epoch: int) -> None:
    with pytest.raises(KafkaError) as error:
        sessions.ask(epoch)
    assert code_of(error) is Code.SHARE_SESSION_NOT_FOUND


def test_epochs_count_the_requests(sessions: Sessions) -> None:
    sessions.ask(0, ONE)
    sessions.ask(1)
    for epoch in (1, 3, -2):
        with pytest.raises(KafkaError) as error:
            sessions.ask(epoch)
        assert code_of(error) is Code.INVALID_SHARE_SESSION_EPOCH
    sessions.ask(2)


def test_acknowledging_counts_too(sessions: Sessions) -> None:
    sessions.ask(0, ONE)
    sessions.acknowledge(ALICE, 1)
    sessions.ask(2)


def test_acknowledging_does_not_open_a_session(sessions: Sessions) -> None:
    sessions.ask(0, ONE)
    with pytest.raises(KafkaError) as error:
        sessions.acknowledge(ALICE, 0)
    assert code_of(error) is Code.INVALID_SHARE_SESSION_EPOCH


def test_a_session_cannot_be_opened_with_acknowledgements(sessions: Sessions) -> None:
    sessions.ask(0, ONE)
    with pytest.raises(KafkaError) as error:
        sessions.ask(0, ONE, acknowledges=True)
    assert code_of(error) is Code.INVALID_REQUEST
    sessions.ask(1)


def test_opening_a_session_ends_the_earlier_one(sessions: Sessions) -> None:
    sessions.ask(0, ONE)
    sessions.ask(0, TWO)
    assert len(sessions) == 1
    assert list(sessions.ask(1).partitions) == [TWO]


def test_a_partition_cannot_be_listed_twice_when_a_session_is_opened(sessions: Sessions) -> None:
    with pytest.raises(KafkaError) as error:
        sessions.ask(0, ONE, ONE)
    assert code_of(error) is Code.UNKNOWN_SERVER_ERROR


def test_the_last_request_reads_nothing(sessions: Sessions) -> None:
    sessions.ask(0, ONE)
    assert sessions.ask(-1).partitions == {}
    assert len(sessions) == 1  # until its acknowledgements are done
    session = sessions.remove(ALICE)
    assert session is not None
    assert list(session.partitions) == [ONE]


def test_there_is_a_limit(sessions: Sessions) -> None:
    sessions.ask(0, ONE)
    sessions.ask(0, ONE, key=BOB)
    with pytest.raises(KafkaError) as error:
        sessions.ask(0, ONE, key=("group", "carol"))
    assert code_of(error) is Code.SHARE_SESSION_LIMIT_REACHED
    sessions.ask(0, ONE)  # replaces the one before


class TestResponses:
    def test_the_first_response_contains_all_partitions(self, sessions: Sessions) -> None:
        assert sessions.ask(0, ONE, TWO).settle({ONE: NOTHING, TWO: RECORDS}) == [ONE, TWO]

    def test_later_ones_contain_records_and_errors(self, sessions: Sessions) -> None:
        sessions.ask(0, ONE, TWO)
        assert sessions.ask(1).settle({ONE: NOTHING, TWO: RECORDS}) == [TWO]
        assert sessions.ask(2).settle({ONE: NOTHING, TWO: NOTHING}) == []
        assert sessions.ask(3).settle({ONE: ERROR, TWO: NOTHING}) == [ONE]

    def test_an_error_is_followed_by_one_more_response(self, sessions: Sessions) -> None:
        sessions.ask(0, ONE)
        sessions.ask(1).settle({ONE: ERROR})
        assert sessions.ask(2).settle({ONE: NOTHING}) == [ONE]
        assert sessions.ask(3).settle({ONE: NOTHING}) == []

    def test_a_new_partition_is_returned_once_without_records(self, sessions: Sessions) -> None:
        sessions.ask(0, ONE)
        assert sessions.ask(1, TWO).settle({ONE: NOTHING, TWO: NOTHING}) == [TWO]
        assert sessions.ask(2).settle({ONE: NOTHING, TWO: NOTHING}) == []

    def test_a_partition_that_returned_records_is_the_last_one_next_time(self, sessions: Sessions) -> None:
        sessions.ask(0, ONE, TWO)
        sessions.ask(1).settle({ONE: RECORDS, TWO: NOTHING})
        assert list(sessions.ask(2).partitions) == [TWO, ONE]

    def test_a_request_that_was_overtaken_gets_an_error(self, sessions: Sessions) -> None:
        sessions.ask(0, ONE)
        overtaken = sessions.ask(1)
        sessions.ask(2)
        with pytest.raises(KafkaError) as error:
            overtaken.settle({ONE: RECORDS})
        assert code_of(error) is Code.INVALID_SHARE_SESSION_EPOCH


class TestDisconnecting:
    def test_the_session_ends_with_its_connection(self, sessions: Sessions) -> None:
        sessions.ask(0, ONE)
        member, session = sessions.disconnected(1)
        assert member == ALICE
        assert session is not None
        assert list(session.partitions) == [ONE]
        assert sessions.is_empty("group")

    def test_a_group_with_other_sessions_is_not_empty(self, sessions: Sessions) -> None:
        sessions.ask(0, ONE, connection=1)
        sessions.ask(0, ONE, key=BOB, connection=2)
        sessions.disconnected(1)
        assert not sessions.is_empty("group")

    def test_a_session_on_a_later_connection_stays(self, sessions: Sessions) -> None:
        sessions.ask(0, ONE, connection=1)
        sessions.ask(0, ONE, connection=2)
        assert sessions.disconnected(1) == (ALICE, None)
        assert len(sessions) == 1

    def test_a_connection_without_a_session_ends_none(self, sessions: Sessions) -> None:
        sessions.ask(0, ONE, connection=1)
        assert sessions.disconnected(9) == (None, None)
