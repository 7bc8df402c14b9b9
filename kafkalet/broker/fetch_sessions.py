"""Incremental fetch sessions (KIP-227): the broker remembers what a client reads and tells only what changed.

A request carries a session id and an epoch, and the pair says what it is:

    id   epoch   meaning
    0    -1      no session
    n    -1      no session; session n ends
    0     0      all partitions; open a session
    n     0      the same; session n ends first
    n     k > 0  the k-th request of session n: partitions named are added or updated, forgotten ones removed

The epoch after 2147483647 is 1. An incremental answer holds a partition when it has records, an error, a diverging
epoch or a preferred replica, or when its high watermark or log start offset is not what was told last. Partitions
that delivered records go to the end of the session's order, so that small answers serve all of them in turn.

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

# (topic name, topic id, partition); names are "" where only the id is known, ids are None where names are used
Key = tuple[str, bytes | None, int]

NAMELESS = ("", ZERO_UUID)
"""Kafka knows a topic of id zero by its name, before 4.3 in sessions, and always when another follows in an answer.

It has none, so the request fails.
"""


def next_epoch(epoch: int) -> int:
    """The epoch of the request after one of `epoch`; a session that ended stays ended."""
    if epoch < 0:
        return FINAL_EPOCH
    return 1 if epoch == MAX_EPOCH else epoch + 1


class Asked(NamedTuple):
    """What a client wants of one partition; epochs are None where none was given."""

    fetch_offset: int
    max_bytes: int
    log_start_offset: int = -1
    current_leader_epoch: int | None = None
    last_fetched_epoch: int | None = None


class Told(NamedTuple):
    """What the session has to know of the answer for one partition."""

    error: int
    high_watermark: int
    log_start_offset: int
    records_size: int
    must_tell: bool  # a diverging epoch or a preferred read replica


class _Cached:
    """A partition in a session: what was asked last, and what was told last."""

    __slots__ = ("asked", "high_watermark", "log_start_offset", "topic")

    def __init__(self, topic: str, asked: Asked) -> None:
        self.topic = topic
        self.asked = asked
        self.high_watermark = -1
        self.log_start_offset = -1

    def take_in(self, told: Told) -> bool:
        """Remember the answer; say whether the client has to get it."""
        changed = (
            told.must_tell
            or told.records_size > 0
            or told.high_watermark != self.high_watermark
            or told.log_start_offset != self.log_start_offset
            or told.error != Code.NONE
        )
        # After an error the partition is told again, whatever its high watermark is by then.
        self.high_watermark = told.high_watermark if told.error == Code.NONE else -1
        self.log_start_offset = told.log_start_offset
        return changed


def _identity(key: Key) -> tuple[str | bytes, int]:
    """Two keys mean the same partition when the ids agree, or the names where there are no ids."""
    topic, topic_id, index = key
    return (topic if topic_id is None else topic_id, index)


class FetchSession:
    """What one client reads, in the order in which it is read next."""

    __slots__ = ("created_ms", "epoch", "from_follower", "id", "last_used_ms", "partitions", "uses_topic_ids")

    def __init__(self, session_id: int, uses_topic_ids: bool, from_follower: bool, now_ms: int) -> None:
        self.id = session_id
        self.uses_topic_ids = uses_topic_ids
        self.from_follower = from_follower
        self.created_ms = self.last_used_ms = now_ms
        self.epoch = 1
        self.partitions: dict[tuple[str | bytes, int], tuple[Key, _Cached]] = {}

    def update(
        self, asked: Iterable[tuple[Key, Asked]], forgotten: Iterable[Key], *, takes_nameless: bool = True
    ) -> bool:
        """Add, change and remove partitions; say whether all went well. What comes before a bad one stays done."""
        for key, what in asked:
            if key[:2] == NAMELESS and not takes_nameless:
                return False
            identity = _identity(key)
            known = self.partitions.get(identity)
            if known is None:
                self.partitions[identity] = (key, _Cached(key[0], what))
            else:
                known[1].asked = what
        for key in forgotten:
            if key[:2] == NAMELESS and not takes_nameless:
                return False
            self.partitions.pop(_identity(key), None)
        return True


class FetchContext:
    """What one request reads: `asked` in order, and `settle`, which makes the answer of what was found."""

    error = Code.NONE
    kept_id = NO_SESSION
    """The session that goes on also where nothing is told because of a quota."""
    remembers_nothing = True
    """Without a session `settle` does not look at what was found, and need not be asked."""

    def __init__(self, asked: list[tuple[Key, Asked]]) -> None:
        self.asked = asked

    def settle(self, answers: dict[Key, Told]) -> tuple[Code, int, list[Key]]:
        """The top-level error, the session id, and the partitions that go into the answer, in order."""
        return Code.NONE, NO_SESSION, list(answers)


class ErrorContext(FetchContext):
    """A request whose session is unknown or out of step: nothing is read."""

    remembers_nothing = False

    def __init__(self, error: Code, session_id: int = NO_SESSION) -> None:
        super().__init__([])
        self.error = error
        self.session_id = session_id

    def settle(self, answers: dict[Key, Told]) -> tuple[Code, int, list[Key]]:
        return self.error, self.session_id, []


class FullContext(FetchContext):
    """A full request that opens a session when its answer is made."""

    remembers_nothing = False

    def __init__(
        self,
        asked: list[tuple[Key, Asked]],
        sessions: "FetchSessions",
        ended: int,
        uses_topic_ids: bool,
        from_follower: bool,
    ) -> None:
        super().__init__(asked)
        self.sessions = sessions
        self.ended = ended
        self.uses_topic_ids = uses_topic_ids
        self.from_follower = from_follower

    def settle(self, answers: dict[Key, Told]) -> tuple[Code, int, list[Key]]:
        session = self.sessions.open(self.uses_topic_ids, self.from_follower, len(answers))
        if session is None:
            return Code.NONE, NO_SESSION, list(answers)
        if not self.sessions.takes_nameless and any(key[:2] == NAMELESS for key in answers):
            del self.sessions.sessions[session.id]
            return Code.UNKNOWN_SERVER_ERROR, self.ended, []
        asked = dict(self.asked)
        for key, told in answers.items():
            cached = _Cached(key[0], asked[key])
            cached.high_watermark, cached.log_start_offset = told.high_watermark, told.log_start_offset
            session.partitions[_identity(key)] = (key, cached)
        return Code.NONE, session.id, list(answers)


class IncrementalContext(FetchContext):
    """A request of a running session."""

    remembers_nothing = False

    def __init__(self, session: FetchSession, name_of: Callable[[bytes], str], all_told_go_last: bool) -> None:
        asked: list[tuple[Key, Asked]] = []
        for identity, (key, cached) in list(session.partitions.items()):
            topic, topic_id, index = key
            if not topic and topic_id is not None and (topic := name_of(topic_id)):
                key = (topic, topic_id, index)  # a topic that was unknown has appeared
                session.partitions[identity] = (key, cached)
            asked.append((key, cached.asked))
        super().__init__(asked)
        self.session = session
        self.kept_id = session.id
        self.expected_epoch = session.epoch
        self.all_told_go_last = all_told_go_last

    def settle(self, answers: dict[Key, Told]) -> tuple[Code, int, list[Key]]:
        session = self.session
        if session.epoch != self.expected_epoch:  # another request of the session came while this one waited
            return Code.INVALID_FETCH_SESSION_EPOCH, session.id, []
        told_keys: list[Key] = []
        for key, told in answers.items():
            identity = _identity(key)
            entry = session.partitions[identity]
            if not entry[1].take_in(told):
                continue
            told_keys.append(key)
            if told.records_size > 0 or self.all_told_go_last:
                session.partitions[identity] = session.partitions.pop(identity)
        return Code.NONE, session.id, told_keys


class FetchSessions:
    """The sessions of one broker, at most `max_entries`; it alone opens and closes them.

    A full cache makes room only by a session that was not used for two minutes, or, two minutes after its opening, by
    a smaller one (followers go before consumers); otherwise the client gets none and sends full requests.

    `all_told_go_last`: every partition of an answer goes to the end of the order, not only those that gave records.
    `takes_nameless`: a topic of id zero can be in a session.
    """

    def __init__(
        self, clock: Clock, max_entries: int, *, all_told_go_last: bool = False, takes_nameless: bool = True
    ) -> None:
        self.clock = clock
        self.max_entries = max_entries
        self.all_told_go_last = all_told_go_last
        self.takes_nameless = takes_nameless
        self.sessions: dict[int, FetchSession] = {}

    def context(
        self,
        session_id: int,
        epoch: int,
        asked: list[tuple[Key, Asked]],
        forgotten: list[Key],
        *,
        uses_topic_ids: bool,
        from_follower: bool,
        name_of: Callable[[bytes], str],
    ) -> FetchContext:
        """What a request with this session id and epoch reads."""
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self.sessions.pop(session_id, None)
            if epoch == FINAL_EPOCH:
                return FetchContext(asked)
            return FullContext(asked, self, session_id, uses_topic_ids, from_follower)
        session = self.sessions.get(session_id)
        if session is None:
            return ErrorContext(Code.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            return ErrorContext(Code.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != uses_topic_ids:
            return ErrorContext(Code.FETCH_SESSION_TOPIC_ID_ERROR)
        if not session.update(asked, forgotten, takes_nameless=self.takes_nameless):
            return ErrorContext(Code.UNKNOWN_SERVER_ERROR, session_id)
        if not session.partitions:
            del self.sessions[session_id]
            return FetchContext(asked)
        session.last_used_ms = self.clock.now_ms()
        session.epoch = next_epoch(session.epoch)
        return IncrementalContext(session, name_of, self.all_told_go_last)

    def open(self, uses_topic_ids: bool, from_follower: bool, size: int) -> FetchSession | None:
        """A new session with an id of its own, None when the cache is full of better ones."""
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
