"""Incremental fetch sessions (KIP-227): the broker remembers a client's partitions and returns only changes.

A request has a session id and a session epoch, which determine its type:
    id   epoch   meaning
    0    -1      no session
    n    -1      no session; close session n
    0     0      full request; open a session
    n     0      full request; close session n and open another one
    n     k > 0  request k of session n: add or update the listed partitions, remove forgotten partitions

After epoch 2147483647 comes epoch 1. An incremental response contains a partition if it has records, an error, a
diverging epoch or a preferred replica, or if its high watermark or log start offset has changed since it was last
returned. Partitions that returned records move to the end of the session, so that all partitions get their turn even if
responses are small.

Source: kafka.server.FetchSession, FetchManager and FetchSessionCache.
"""

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kafkalet.clock import Clock
from kafkalet.protocol.errors import Code
from kafkalet.protocol.wire import ZERO_UUID

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
NO_SESSION = 0
MAX_EPOCH = 0x7FFFFFFF
EVICTION_MS = 120_000

# (topic name, topic id, partition). The name is "" if only the id is known; the id is None if requests use names.
Key = tuple[str, bytes | None, int]

NAMELESS = ("", ZERO_UUID)
"""The key of the zero topic id, which has no name.

In two situations, Kafka looks for the name of a topic with the zero id: in sessions before 4.3, and in any response
where another topic follows. Because there is no name, the request fails.
"""


def next_epoch(epoch: int) -> int:
    """Return the epoch that follows `epoch`. FINAL_EPOCH is followed by itself."""
    if epoch < 0:
        return FINAL_EPOCH
    return 1 if epoch == MAX_EPOCH else epoch + 1


class RequestedPartition(NamedTuple):
    """A client's request for one partition. An epoch is None if the request does not contain it."""

    fetch_offset: int
    max_bytes: int
    log_start_offset: int = -1
    current_leader_epoch: int | None = None
    last_fetched_epoch: int | None = None


class PartitionResult(NamedTuple):
    """The parts of a partition's response that matter to the session."""

    error: int
    high_watermark: int
    log_start_offset: int
    records_size: int
    must_return: bool  # there is a diverging epoch or a preferred read replica


class CachedPartition:
    """A partition in a session, with its last request and the last offsets that were returned."""

    __slots__ = ("high_watermark", "log_start_offset", "requested")

    def __init__(self, requested: RequestedPartition) -> None:
        self.requested = requested
        self.high_watermark = -1
        self.log_start_offset = -1

    def record(self, result: PartitionResult) -> bool:
        """Record a result. Return True if the response must contain it."""
        changed = (
            result.must_return
            or result.records_size > 0
            or result.high_watermark != self.high_watermark
            or result.log_start_offset != self.log_start_offset
            or result.error != Code.NONE
        )
        # After an error, the next result always counts as a change.
        self.high_watermark = result.high_watermark if result.error == Code.NONE else -1
        self.log_start_offset = result.log_start_offset
        return changed


def identity_of(key: Key) -> tuple[str | bytes, int]:
    """Return the identity of a partition in a session: its index, and its topic id or, without one, its topic name."""
    topic, topic_id, index = key
    return (topic if topic_id is None else topic_id, index)


class FetchSession:
    """The partitions of one client, in the order in which they are read."""

    __slots__ = ("created_ms", "epoch", "from_follower", "id", "last_used_ms", "partitions", "uses_topic_ids")

    def __init__(self, session_id: int, uses_topic_ids: bool, from_follower: bool, now_ms: int) -> None:
        self.id = session_id
        self.uses_topic_ids = uses_topic_ids
        self.from_follower = from_follower
        self.created_ms = self.last_used_ms = now_ms
        self.epoch = 1
        self.partitions: dict[tuple[str | bytes, int], tuple[Key, CachedPartition]] = {}

    def update(
        self,
        requested: Iterable[tuple[Key, RequestedPartition]],
        forgotten: Iterable[Key],
        *,
        takes_nameless: bool = True,
    ) -> bool:
        """Add, change and remove partitions. Return False at the first invalid partition, and keep earlier changes."""
        for key, what in requested:
            if key[:2] == NAMELESS and not takes_nameless:
                return False
            identity = identity_of(key)
            known = self.partitions.get(identity)
            if known is None:
                self.partitions[identity] = (key, CachedPartition(what))
            else:
                known[1].requested = what
        for key in forgotten:
            if key[:2] == NAMELESS and not takes_nameless:
                return False
            self.partitions.pop(identity_of(key), None)
        return True


class FetchContext:
    """The partitions of one request. `settle` selects the partitions that the response contains."""

    error = Code.NONE
    kept_id = NO_SESSION
    """The id of the session that stays open even if a quota makes the response empty."""
    is_stateless = True
    """True for requests without a session. Calling `settle` is then unnecessary: it selects all partitions."""

    def __init__(self, requested: list[tuple[Key, RequestedPartition]]) -> None:
        self.requested = requested

    def settle(self, answers: dict[Key, PartitionResult]) -> tuple[Code, int, list[Key]]:
        """Return the response's top-level error, its session id, and its partitions in order."""
        return Code.NONE, NO_SESSION, list(answers)


class ErrorContext(FetchContext):
    """A request with an unknown session or a wrong epoch. Nothing is read."""

    is_stateless = False

    def __init__(self, error: Code, session_id: int = NO_SESSION) -> None:
        super().__init__([])
        self.error = error
        self.session_id = session_id

    def settle(self, answers: dict[Key, PartitionResult]) -> tuple[Code, int, list[Key]]:
        return self.error, self.session_id, []


class FullContext(FetchContext):
    """A full request. The session is opened when the response is built."""

    is_stateless = False

    def __init__(
        self,
        requested: list[tuple[Key, RequestedPartition]],
        sessions: "FetchSessions",
        ended: int,
        uses_topic_ids: bool,
        from_follower: bool,
    ) -> None:
        super().__init__(requested)
        self.sessions = sessions
        self.ended = ended
        self.uses_topic_ids = uses_topic_ids
        self.from_follower = from_follower

    def settle(self, answers: dict[Key, PartitionResult]) -> tuple[Code, int, list[Key]]:
        session = self.sessions.open(self.uses_topic_ids, self.from_follower, len(answers))
        if session is None:
            return Code.NONE, NO_SESSION, list(answers)
        if not self.sessions.takes_nameless and any(key[:2] == NAMELESS for key in answers):
            del self.sessions.sessions[session.id]
            return Code.UNKNOWN_SERVER_ERROR, self.ended, []
        requested = dict(self.requested)
        for key, result in answers.items():
            cached = CachedPartition(requested[key])
            cached.high_watermark, cached.log_start_offset = result.high_watermark, result.log_start_offset
            session.partitions[identity_of(key)] = (key, cached)
        return Code.NONE, session.id, list(answers)


class IncrementalContext(FetchContext):
    """A request in an existing session."""

    is_stateless = False

    def __init__(self, session: FetchSession, name_of: Callable[[bytes], str], returned_go_last: bool) -> None:
        for identity, (key, cached) in list(session.partitions.items()):
            topic, topic_id, index = key
            if not topic and topic_id is not None and (topic := name_of(topic_id)):
                # the topic's name was unknown until now
                session.partitions[identity] = ((topic, topic_id, index), cached)
        self.known = list(session.partitions.values())
        super().__init__([(key, cached.requested) for key, cached in self.known])
        self.session = session
        self.kept_id = session.id
        self.expected_epoch = session.epoch
        self.returned_go_last = returned_go_last

    def settle(self, answers: dict[Key, PartitionResult]) -> tuple[Code, int, list[Key]]:
        session = self.session
        if session.epoch != self.expected_epoch:  # another request arrived in the session while this one was waiting
            return Code.INVALID_FETCH_SESSION_EPOCH, session.id, []
        returned: list[Key] = []
        for key, result in answers.items():
            identity = identity_of(key)
            entry = session.partitions[identity]
            if not entry[1].record(result):
                continue
            returned.append(key)
            if result.records_size > 0 or self.returned_go_last:
                session.partitions[identity] = session.partitions.pop(identity)
        return Code.NONE, session.id, returned


class FetchSessions:
    """The sessions of one broker, at most `max_entries`.

    If there is no room, a new session replaces a session that has not been used for two minutes, or a smaller session
    that was opened more than two minutes ago (followers have priority over consumers). If there is neither, the client
    gets no session and keeps sending full requests.

    With `returned_go_last`, all returned partitions move to the end of the session, not only partitions with records.
    With `takes_nameless`, a session may contain the zero topic id.
    """

    def __init__(
        self, clock: Clock, max_entries: int, *, returned_go_last: bool = False, takes_nameless: bool = True
    ) -> None:
        self.clock = clock
        self.max_entries = max_entries
        self.returned_go_last = returned_go_last
        self.takes_nameless = takes_nameless
        self.sessions: dict[int, FetchSession] = {}

    def context(
        self,
        session_id: int,
        epoch: int,
        requested: list[tuple[Key, RequestedPartition]],
        forgotten: list[Key],
        *,
        uses_topic_ids: bool,
        from_follower: bool,
        name_of: Callable[[bytes], str],
    ) -> FetchContext:
        """Return the context of a request with this session id and epoch."""
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self.sessions.pop(session_id, None)
            if epoch == FINAL_EPOCH:
                return FetchContext(requested)
            return FullContext(requested, self, session_id, uses_topic_ids, from_follower)
        session = self.sessions.get(session_id)
        if session is None:
            return ErrorContext(Code.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            return ErrorContext(Code.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != uses_topic_ids:
            return ErrorContext(Code.FETCH_SESSION_TOPIC_ID_ERROR)
        if not session.update(requested, forgotten, takes_nameless=self.takes_nameless):
            return ErrorContext(Code.UNKNOWN_SERVER_ERROR, session_id)
        if not session.partitions:
            del self.sessions[session_id]
            return FetchContext(requested)
        session.last_used_ms = self.clock.now_ms()
        session.epoch = next_epoch(session.epoch)
        return IncrementalContext(session, name_of, self.returned_go_last)

    def has_only(self, session: FetchSession, partition: tuple[str | bytes, int]) -> bool:
        """Return whether a session is open and has only this partition."""
        partitions = session.partitions
        return self.sessions.get(session.id) is session and len(partitions) == 1 and partition in partitions

    def repeat(
        self, session: FetchSession, requested: RequestedPartition, high_watermark: int, log_start_offset: int
    ) -> None:
        """Do the work of `context` and `settle` for a session with a single partition that has returned records."""
        session.last_used_ms = self.clock.now_ms()
        session.epoch = next_epoch(session.epoch)
        [(_, cached)] = session.partitions.values()
        cached.requested, cached.high_watermark, cached.log_start_offset = requested, high_watermark, log_start_offset

    def open(self, uses_topic_ids: bool, from_follower: bool, size: int) -> FetchSession | None:
        """Open a session with a new id. Return None if there is no room and no session may be evicted."""
        now_ms = self.clock.now_ms()
        if len(self.sessions) >= self.max_entries and not self._evict(from_follower, size, now_ms):
            return None
        session_id = NO_SESSION
        while session_id == NO_SESSION or session_id in self.sessions:
            session_id = int.from_bytes(os.urandom(4), "big") & MAX_EPOCH
        session = FetchSession(session_id, uses_topic_ids, from_follower, now_ms)
        self.sessions[session_id] = session
        return session

    def _evict(self, from_follower: bool, size: int, now_ms: int) -> bool:
        """Make room for a session of `size` partitions (FetchSessionCacheShard.tryEvict)."""
        stale = min(self.sessions.values(), key=lambda session: (session.last_used_ms, session.id), default=None)
        if stale is None:
            return False
        if now_ms - stale.last_used_ms > EVICTION_MS:
            del self.sessions[stale.id]
            return True
        old = [
            session
            for session in self.sessions.values()
            if now_ms - session.created_ms > EVICTION_MS or (from_follower and not session.from_follower)
        ]
        victim = min(
            old, key=lambda session: (session.from_follower, len(session.partitions), session.id), default=None
        )
        mine = (from_follower, size)
        if victim is None or (victim.from_follower, len(victim.partitions)) >= mine:
            return False
        del self.sessions[victim.id]
        return True
