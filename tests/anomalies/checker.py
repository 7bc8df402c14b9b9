"""What clients must not have seen, given a history and the contents of the log after the run.

The log is read after all faults have ended, by a consumer with read_committed; consumers of the history do so, too.
With acks=all, an idempotent producer and clean elections, Kafka permits none of the anomalies. With acks=1 it permits
lost records, and what follows from them; without an idempotent producer also duplicates and reordered records.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from .history import History, Seen

Log = dict[int, list[tuple[int, str]]]
"""Offsets and values of each partition, in order."""


class Anomaly(NamedTuple):
    kind: str
    """Its name in CHECKS, with hyphens."""
    text: str


def anomalies(history: History, log: Log) -> list[Anomaly]:
    """Return all anomalies of a run."""
    stored = _stored(log)
    return [Anomaly(check.__name__.replace("_", "-"), text) for check in CHECKS for text in check(history, log, stored)]


def lost(history: History, log: Log, stored: dict[str, int]) -> Iterator[str]:
    """A record was acknowledged, or its transaction committed, and it is not in the log."""
    for send in history.sends.values():
        if history.is_certain(send) and send.value not in stored:
            what = "was acknowledged" if send.transaction is None else f"is part of committed {send.transaction}"
            yield f"{send.value}, sent to partition {send.partition}, {what}"


def vanished(history: History, log: Log, stored: dict[str, int]) -> Iterator[str]:
    """A consumer has received a record that is not in the log."""
    for session, seen in _received(history):
        if seen.value not in stored:
            yield f"{session} received {_where(seen)}"


def duplicate(history: History, log: Log, stored: dict[str, int]) -> Iterator[str]:
    """A record is in the log twice."""
    first: dict[str, str] = {}
    for partition, records in log.items():
        for offset, value in records:
            place = f"offset {offset} of partition {partition}"
            if value in first:
                yield f"{value} is at {first[value]} and at {place}"
            first[value] = place


def inconsistent_offset(history: History, log: Log, stored: dict[str, int]) -> Iterator[str]:
    """Two records were at the same offset: in the log, in an acknowledgement, or as received by a consumer."""
    found = {(partition, offset): value for partition, records in log.items() for offset, value in records}
    acked = [
        ("its producer", Seen(0, history.sends[value].partition, offset, value))
        for value, offset in history.acked.items()
        if not history.is_aborted(history.sends[value]) and offset >= 0
    ]
    for source, seen in [*acked, *_received(history)]:
        other = found.setdefault((seen.partition, seen.offset), seen.value)
        if other != seen.value:
            yield f"{_where(seen)} according to {source}, but {other} was there, too"


def aborted_read(history: History, log: Log, stored: dict[str, int]) -> Iterator[str]:
    """A consumer has received a record of a transaction that was not committed, or it is in the log (Adya's G1a)."""
    aborted = {value for value, send in history.sends.items() if history.is_aborted(send)}
    for value in sorted(aborted & stored.keys()):
        yield f"{value} of {history.sends[value].transaction} is in the log"
    for session, seen in _received(history):
        if seen.value in aborted:
            yield f"{session} received {_where(seen)} of {history.sends[seen.value].transaction}"


def precommitted_read(history: History, log: Log, stored: dict[str, int]) -> Iterator[str]:
    """A consumer has received a record before the commit of its transaction was requested."""
    for session, seen in _received(history):
        send = history.sends.get(seen.value)
        if send is not None and send.transaction in history.commits and seen.ms < history.commits[send.transaction]:
            yield f"{session} received {_where(seen)} before the commit of {send.transaction} was requested"


def torn_transaction(history: History, log: Log, stored: dict[str, int]) -> Iterator[str]:
    """Only a part of a transaction is in the log."""
    parts: dict[str, list[str]] = {}
    for send in history.sends.values():
        if send.transaction in history.commits:
            parts.setdefault(str(send.transaction), []).append(send.value)
    for transaction, values in parts.items():
        missing = [value for value in values if value not in stored]
        if missing and len(missing) < len(values):
            yield f"{transaction} has {len(values)} records, and {', '.join(missing)} are not in the log"


def unsent_read(history: History, log: Log, stored: dict[str, int]) -> Iterator[str]:
    """A record is in the log, or was received, that no client has sent."""
    for value in sorted(stored.keys() - history.sends.keys()):
        yield f"{value} is in the log"
    for session, seen in _received(history):
        if seen.value not in history.sends:
            yield f"{session} received {_where(seen)}"


def nonmonotonic_send(history: History, log: Log, stored: dict[str, int]) -> Iterator[str]:
    """A producer has sent one record after another, and they are in the other order in the log."""
    for (session, partition), sends in history.sessions.items():
        kept = [send.value for send in sends if send.value in stored]
        for before, after in pairwise(kept):
            if stored[after] <= stored[before]:
                offsets = f"at offsets {stored[before]} and {stored[after]} of partition {partition}"
                yield f"{session} sent {before} and then {after}; they are {offsets}"


def nonmonotonic_poll(history: History, log: Log, stored: dict[str, int]) -> Iterator[str]:
    """A consumer with a fixed assignment has gone back."""
    for session, before, after in _steps(history):
        if after.offset <= before.offset:
            yield f"{session} received {_where(after)} after {_where(before)}"


def skipped(history: History, log: Log, stored: dict[str, int]) -> Iterator[str]:
    """A consumer with a fixed assignment has not received a record that was between two that it has received."""
    offsets = {partition: [offset for offset, _ in records] for partition, records in log.items()}
    positions = {partition: {offset: at for at, offset in enumerate(each)} for partition, each in offsets.items()}
    for session, before, after in _steps(history):
        position = positions.get(before.partition, {})
        start, end = position.get(before.offset), position.get(after.offset)
        if start is not None and end is not None and end > start + 1:
            missing = offsets[before.partition][start + 1 : end]
            yield f"{session} received {_where(after)} right after {_where(before)}, but not offsets {missing}"


def unseen(history: History, log: Log, stored: dict[str, int]) -> Iterator[str]:
    """The group has committed its offsets up to the end, and none of its members has received a record."""
    received = {(seen.partition, seen.offset) for seen in history.members}
    if not received:
        return
    for partition, records in log.items():
        for offset, value in records:
            if (partition, offset) not in received:
                yield f"{value} at offset {offset} of partition {partition}"


CHECKS = (
    lost,
    vanished,
    duplicate,
    inconsistent_offset,
    aborted_read,
    precommitted_read,
    torn_transaction,
    unsent_read,
    nonmonotonic_send,
    nonmonotonic_poll,
    skipped,
    unseen,
)


def _stored(log: Log) -> dict[str, int]:
    """Return the offset of each value in the log; of a value that is there twice, the first one."""
    return {value: offset for records in log.values() for offset, value in reversed(records)}


def _received(history: History) -> Iterator[tuple[str, Seen]]:
    for session, polls in history.polls.items():
        for seen in polls:
            yield session, seen
    for seen in history.members:
        yield "the group", seen


def _steps(history: History) -> Iterator[tuple[str, Seen, Seen]]:
    """Return what each consumer session has received from a partition one after another."""
    for session, polls in history.polls.items():
        last: dict[int, Seen] = {}
        for seen in polls:
            if seen.partition in last:
                yield session, last[seen.partition], seen
            last[seen.partition] = seen


def _where(seen: Seen) -> str:
    return f"{seen.value} at offset {seen.offset} of partition {seen.partition}"
