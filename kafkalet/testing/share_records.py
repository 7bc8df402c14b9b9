"""The state of records in share groups: which were delivered, how often, to which member, and how deliveries ended.

Records in flight are known to the broker that leads their partition, once a member has fetched from it; others to the
share coordinator. Both forget records below the start offset, so that their state comes from
kafkalet/broker/share/outcomes.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.values import Isolation
from kafkalet.suggestions import did_you_mean
from kafkalet.units import counted

from .lag import UnknownLag
from .reading import PartitionReader, offset_at
from .record import Record

if TYPE_CHECKING:
    from kafkalet.broker.share.open_partition import OpenSharePartition
    from kafkalet.broker.share.persister import SharePersister
    from kafkalet.broker.share.state import StateBatch
    from kafkalet.embedded import EmbeddedCluster

ShareState = Literal["available", "acquired", "acknowledged", "archived"]
STATES: tuple[ShareState, ...] = get_args(ShareState)


class ShareRecord(NamedTuple):
    """A record, and what a share group has done with it."""

    record: Record
    state: ShareState
    deliveries: int
    """How often the record was delivered."""
    member_id: str | None
    """The member that has acquired the record, otherwise None."""

    @property
    def topic(self) -> str:
        """The topic of the record."""
        return self.record.topic

    @property
    def partition(self) -> int:
        """The partition of the record."""
        return self.record.partition

    @property
    def offset(self) -> int:
        """The offset of the record."""
        return self.record.offset

    @property
    def key(self) -> bytes | None:
        """The key of the record."""
        return self.record.key

    @property
    def value(self) -> bytes | None:
        """The value of the record."""
        return self.record.value

    def text(self) -> str:
        """Return the value decoded as UTF-8. Raises ValueError if there is no value or it is not UTF-8."""
        return self.record.text()

    def json(self) -> Any:
        """Return the value parsed as JSON. Raises ValueError if there is no value or it is not JSON."""
        return self.record.json()

    def __repr__(self) -> str:
        held = "" if self.member_id is None else f" by {self.member_id}"
        return f"{self.record!r}: {self.state}{held}, delivered {counted(self.deliveries, 'time')}"


class ShareRun(NamedTuple):
    """Records with consecutive offsets in the same state."""

    first: int
    last: int
    state: ShareState
    deliveries: int = 0
    member_id: str | None = None

    @property
    def size(self) -> int:
        return self.last - self.first + 1


class SharePlace(NamedTuple):
    """A partition, as consumed by a share group."""

    topic: str
    partition: int
    start_offset: int | None
    """None until the first fetch, which decides on it (share.auto.offset.reset)."""
    end: int
    """The high watermark."""
    completed: int
    """The number of records at or above the start offset whose delivery has ended."""
    lag: int
    runs: list[ShareRun]
    """All records that the group has consumed or can consume, by offset."""
    is_current: bool = True

    def count(self, state: ShareState) -> int:
        """Return the number of records in a state."""
        return sum(run.size for run in self.runs if run.state == state)

    def __str__(self) -> str:
        start = "not started" if self.start_offset is None else f"start offset {self.start_offset}"
        shown = "".join(f", {count} {state}" for state in STATES if (count := self.count(state)))
        return f"{self.topic}-{self.partition}: {start}, end {self.end}, lag {self.lag}{shown}"


def checked_state(state: str | None) -> ShareState | None:
    """Return the state, or None for all. Raises ValueError for an unknown one."""
    for known in STATES:
        if state == known:
            return known
    if state is None:
        return None
    hint = did_you_mean(state, STATES) if isinstance(state, str) else ""
    names = ", ".join(map(repr, STATES[:-1]))
    raise ValueError(f"state is {state!r}; it must be {names} or {STATES[-1]!r}{'; ' if hint else ''}{hint}")


def records_of(cluster: EmbeddedCluster, place: SharePlace, state: ShareState | None) -> list[ShareRecord]:
    """Read the records of a partition that are in a state."""
    runs = [run for run in place.runs if state in (None, run.state)]
    if not runs:
        return []
    reader = PartitionReader(cluster, place.topic, place.partition, Isolation.HIGH_WATERMARK, runs[0].first)
    end = runs[-1].last + 1
    found: list[ShareRecord] = []
    left = iter(runs)
    run = next(left)
    for record in reader.read(end):
        while record.offset > run.last:
            following = next(left, None)
            if following is None:
                return found
            run = following
        if record.offset >= run.first:
            found.append(ShareRecord(record, run.state, run.deliveries, run.member_id))
    return found


# Functions that run in the event loop


def persister(cluster: EmbeddedCluster) -> SharePersister:
    """Return the access to the state of share partitions. All running brokers have the same."""
    return next(iter(cluster._server.brokers.values())).share_state


def see_places(
    cluster: EmbeddedCluster, group_id: str, places: Iterable[tuple[str, int]]
) -> tuple[list[SharePlace], list[UnknownLag]]:
    """Return the state of partitions, and the partitions in which it is unknown."""
    found: list[SharePlace] = []
    unknown: list[UnknownLag] = []
    for place in places:
        try:
            found.append(see_place(cluster, group_id, *place))
        except KafkaError as error:
            if error.code is not Code.UNKNOWN_TOPIC_OR_PARTITION:
                unknown.append(UnknownLag(*place, is_current=True))
    return found, unknown


def see_place(cluster: EmbeddedCluster, group_id: str, topic: str, index: int) -> SharePlace:
    """Return the state of a partition. Raises KafkaError."""
    from kafkalet.broker.share.state import UNINITIALIZED, SharePartitionKey, SharePartitionState

    server = cluster._server
    leader = server.leadership.leader_of(topic, index)
    key = SharePartitionKey(group_id, server.metadata.existing_topic(topic).topic_id, index)
    high_watermark = leader.log.high_watermark
    stored = SharePartitionState(0, UNINITIALIZED)
    ended: Iterable[StateBatch] = ()
    if "__share_group_state" in server.metadata.topics:
        stored, ended = persister(cluster).stored(key)
    shares = server.brokers[server.metadata.existing_partition(topic, index).leader].shares
    opened = shares.find(key)
    start: int | None
    if opened is not None and opened.state is not None:
        runs = list(_in_flight(opened))
        start = opened.state.start_offset
    elif stored.start_offset != UNINITIALIZED:
        runs = [_stored(batch) for batch in stored.batches]
        start = _advanced(max(stored.start_offset, leader.log.log_start_offset), runs)
    else:
        runs, start = [], None
    first = offset_at(cluster, (topic, index), shares.configs.first_timestamp(group_id)) if start is None else start
    runs = [run._replace(first=max(run.first, first)) for run in runs if run.last >= first]
    completed = sum(run.size for run in runs if run.state in ("acknowledged", "archived"))
    before = [_stored(batch) for batch in ended if batch.first_offset < first]
    before = [run._replace(last=min(run.last, first - 1)) for run in before]
    lag = max(0, high_watermark - first - completed)
    return SharePlace(
        topic, index, start, high_watermark, completed, lag, [*before, *_with_available(runs, first, high_watermark)]
    )


def _in_flight(opened: OpenSharePartition) -> Iterator[ShareRun]:
    """Yield the records in flight. An acknowledgement counts when it is persisted."""
    assert opened.state is not None
    for batch in opened.state.in_flight:
        for run in batch.runs:
            state, member = (run.state, run.member) if run.before is None else run.before[:2]
            yield ShareRun(run.first, run.last, _named(state), run.deliveries, member or None)


def _stored(batch: StateBatch) -> ShareRun:
    return ShareRun(batch.first_offset, batch.last_offset, _named(batch.delivery_state), batch.delivery_count)


def _named(state: int) -> ShareState:
    """Return the name of a state. A record on its way to a dead-letter queue counts as archived."""
    return STATES[min(state, 3)]


def _with_available(runs: list[ShareRun], first: int, end: int) -> list[ShareRun]:
    """Add the records that have not been delivered: those between `first` and `end` that are in no run."""
    found: list[ShareRun] = []
    for run in runs:
        if run.first > first:
            found.append(ShareRun(first, run.first - 1, "available"))
        found.append(run)
        first = run.last + 1
    if first < end:
        found.append(ShareRun(first, end - 1, "available"))
    return found


def _advanced(start: int, runs: list[ShareRun]) -> int:
    """Return the start offset after the records that follow it and are done. What is stored may be below it."""
    for run in runs:
        if run.first > start or run.state not in ("acknowledged", "archived"):
            break
        start = max(start, run.last + 1)
    return start
