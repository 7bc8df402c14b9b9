"""Share sessions: the broker remembers which partitions a member of a share group fetches (KIP-932).

The session of a member has an epoch, which determines what a request does:

    0       open a session with the listed partitions; an earlier one of the member ends
    n > 0   request n of the session: add the listed partitions, remove forgotten ones
    -1      acknowledge, then close the session and release what the member has acquired

After epoch 2147483647 comes epoch 1. Unlike fetch sessions, share sessions do not expire: they end with the connection
that opened them. If there are too many, no other one may be opened.

A response contains a partition if it has records or an error, if it was added after the session had been opened, or if
its last response had an error. Partitions that returned records move to the end of the session.

Source: kafka.server.share.SharePartitionManager.newContext and acknowledgeSessionUpdate; ShareSessionCache,
ShareSession, ShareSessionContext and CachedSharePartition in org.apache.kafka.server.share.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kafkalet.broker.fetch_sessions import FINAL_EPOCH, INITIAL_EPOCH, next_epoch
from kafkalet.protocol.errors import Code, KafkaError

MemberKey = tuple[str, str]
"""A group id and a member id."""


class Place(NamedTuple):
    """A partition of a topic."""

    topic_id: bytes
    partition: int


class ShareSession:
    """The partitions of one member, in the order in which they are read.

    Each has the name that its topic had when it was added, or None, and whether the next response must contain it.
    """

    __slots__ = ("connection", "epoch", "key", "must_return", "partitions")

    def __init__(self, key: MemberKey, partitions: Mapping[Place, str | None], connection: int) -> None:
        self.key = key
        self.epoch = next_epoch(INITIAL_EPOCH)
        self.partitions = dict(partitions)
        self.must_return: set[Place] = set()
        self.connection = connection

    def update(self, added: Mapping[Place, str | None], forgotten: Iterable[Place]) -> None:
        for place, name in added.items():
            if place not in self.partitions:
                self.partitions[place] = name
                self.must_return.add(place)
        for place in forgotten:
            self.partitions.pop(place, None)
            self.must_return.discard(place)


class Result(NamedTuple):
    """What matters to the session of a partition's response."""

    error: int
    has_records: bool


class ShareContext:
    """The partitions to read for one request. `settle` selects those that the response contains."""

    def __init__(self, partitions: Mapping[Place, str | None], session: ShareSession | None = None) -> None:
        self.partitions = dict(partitions)
        self._session = session
        self._epoch = None if session is None else session.epoch

    @property
    def is_current(self) -> bool:
        """Whether no other request has arrived in the session since."""
        return self._session is None or self._session.epoch == self._epoch

    def settle(self, results: Mapping[Place, Result]) -> list[Place]:
        """Return the partitions of the response. Raises INVALID_SHARE_SESSION_EPOCH if it is no longer wanted."""
        session = self._session
        if session is None:
            return list(results)
        if not self.is_current:
            raise KafkaError(Code.INVALID_SHARE_SESSION_EPOCH)
        returned: list[Place] = []
        for place, result in results.items():
            if not (result.has_records or result.error or place in session.must_return):
                continue
            returned.append(place)
            session.must_return.discard(place)
            if result.error:
                session.must_return.add(place)
            if result.has_records and place in session.partitions:
                session.partitions[place] = session.partitions.pop(place)
        return returned


class _Connection:
    """The session that a connection opened last. It may have ended before the connection."""

    __slots__ = ("has_ended", "key")

    def __init__(self, key: MemberKey) -> None:
        self.key = key
        self.has_ended = False


class ShareSessions:
    """The share sessions of a broker, at most `max_entries()`."""

    def __init__(self, max_entries: Callable[[], int]) -> None:
        self._max_entries = max_entries
        self._sessions: dict[MemberKey, ShareSession] = {}
        self._members: Counter[str] = Counter()
        """The number of sessions by group."""
        self._connections: dict[int, _Connection] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def context(
        self,
        key: MemberKey,
        epoch: int,
        requested: list[tuple[Place, str | None]],
        forgotten: Iterable[Place],
        *,
        acknowledges: bool,
        connection: int,
    ) -> ShareContext:
        """Return the context of a ShareFetch request.

        Raises SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH, SHARE_SESSION_LIMIT_REACHED, INVALID_REQUEST for
        acknowledgements without a session, and UNKNOWN_SERVER_ERROR if a partition is listed twice.
        """
        if epoch == FINAL_EPOCH:
            self._find(key)
            return ShareContext({})
        if epoch == INITIAL_EPOCH:
            if acknowledges:
                raise KafkaError(Code.INVALID_REQUEST)
            return ShareContext(self._open(key, requested, connection).partitions)
        session = self._advance(key, epoch)
        session.update(dict(requested), forgotten)
        return ShareContext(session.partitions, session)

    def acknowledge(self, key: MemberKey, epoch: int) -> None:
        """Note a ShareAcknowledge request. Raises SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH."""
        if epoch == INITIAL_EPOCH:
            raise KafkaError(Code.INVALID_SHARE_SESSION_EPOCH)
        if epoch == FINAL_EPOCH:
            self._find(key)
        else:
            self._advance(key, epoch)

    def _find(self, key: MemberKey) -> ShareSession:
        session = self._sessions.get(key)
        if session is None:
            raise KafkaError(Code.SHARE_SESSION_NOT_FOUND)
        return session

    def _advance(self, key: MemberKey, epoch: int) -> ShareSession:
        session = self._find(key)
        if session.epoch != epoch:
            raise KafkaError(Code.INVALID_SHARE_SESSION_EPOCH)
        session.epoch = next_epoch(epoch)
        return session

    def _open(self, key: MemberKey, requested: list[tuple[Place, str | None]], connection: int) -> ShareSession:
        self.remove(key)
        partitions = dict(requested)
        if len(partitions) < len(requested):
            raise KafkaError(Code.UNKNOWN_SERVER_ERROR)
        if len(self._sessions) >= self._max_entries():
            raise KafkaError(Code.SHARE_SESSION_LIMIT_REACHED)
        session = self._sessions[key] = ShareSession(key, partitions, connection)
        self._members[key[0]] += 1
        self._connections[connection] = _Connection(key)
        return session

    def remove(self, key: MemberKey) -> ShareSession | None:
        """End the session of a member. Return it, or None if there is none."""
        session = self._sessions.pop(key, None)
        if session is not None:
            self._members[key[0]] -= 1
            of_connection = self._connections.get(session.connection)
            if of_connection is not None:
                of_connection.has_ended = True
        return session

    def disconnected(self, connection: int) -> tuple[MemberKey | None, ShareSession | None]:
        """End the session of a connection that has closed. Return the member that opened it, and the session."""
        found = self._connections.pop(connection, None)
        if found is None:
            return None, None
        return found.key, None if found.has_ended else self.remove(found.key)

    def is_empty(self, group_id: str) -> bool:
        """Return whether no member of a group has a session."""
        return not self._members[group_id]

    def clear(self) -> None:
        """End all sessions."""
        self._sessions.clear()
        self._members.clear()
