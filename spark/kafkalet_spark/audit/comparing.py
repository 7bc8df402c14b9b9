"""Compare a live broker's ListOffsets responses with the results expected from the record batches.

A broker hides records at or above the high watermark and, under read_committed, at or above the last stable offset. If
the first match is hidden, the result is empty. These bounds advance during the comparison, so they are fetched before
and after it, and a response may conform to either bound:

    match below the first bound       the match
    match at or above the last bound  empty
    match between the bounds          the match, or empty
    no match in the audited offsets   empty, or a record that was written after the audit began
    the largest timestamp             the same; or empty if later records, which may be hidden, were written

The last stable offset must equal the one computed from the batches, unless records were written in the meantime. If the
log start offset has moved, matching records may have been deleted: the partition is reported as not compared.

The start and the end of the log are compared first. Offsets that exist on only one side are either explained or
reported as a finding:

    only in the directory, below the broker's log start    explained: retention or DeleteRecords deleted them
    only in the directory, from the broker's log end on    a finding: the broker has fewer records than the directory
    only in the broker, below the directory's log start    a finding: a log start offset never decreases
    only in the broker, from the directory's log end on    explained: written later, or not replicated to this follower
                                                           yet. If the broker is running in this directory, the files
                                                           have lost their end, which partition_audit.py reports
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet_spark.live.broker import LiveBroker
from kafkalet_spark.live.client_properties import ISOLATION_LEVELS
from kafkalet_spark.live.lookups import EARLIEST, LATEST, MAX_TIMESTAMP, Found, Lookup
from kafkalet_spark.live.metadata import TopicPartition
from kafkalet_spark.live.refusals import PartitionRefused

from .expected_lookups import NOTHING, Answers, LogPlace
from .findings import Findings

READ_UNCOMMITTED, READ_COMMITTED = ISOLATION_LEVELS
MOVED = "the log start offset moved"


class Bounds(NamedTuple):
    """The offsets that a broker reports for a partition at one moment."""

    log_start_offset: int
    last_stable_offset: int
    high_watermark: int

    def of(self, isolation_level: str) -> int:
        """Return the offset below which records are visible under an isolation level."""
        return self.last_stable_offset if isolation_level == READ_COMMITTED else self.high_watermark


class ExpectedPartition(NamedTuple):
    """The expected state of a partition, computed from its files."""

    topic: str
    partition: int
    path: str
    log_begins_at: int
    """The base offset of the first segment."""
    log_start_offset: int
    end_offset: int
    """The end of the audited offsets (exclusive)."""
    last_stable_offset: int
    queries: NDArray[np.int64]
    answers: Answers
    own_log_start_offset: int = 0
    """The log start offset according to the directory itself."""
    is_in_place: bool = False
    """Whether the broker is known to run in this directory."""
    is_followers: bool = False


class Compared(NamedTuple):
    """The result of comparing one partition."""

    lookups: int
    findings: Findings
    not_compared: str | None = None
    """The reason why nothing was compared, if so."""
    is_refused: str | None = None
    """The error that the broker returned, if any."""
    explained: tuple[str, ...] = ()
    """Descriptions of offsets that exist on only one side, with the reason."""


class Comparison(NamedTuple):
    """The result of comparing all partitions."""

    broker: str
    lookups: int
    disagreements: int
    not_compared: tuple[str, ...]
    """Partitions that were not compared, with the reason."""
    refused: tuple[str, ...]
    """Errors that the broker returned."""
    explained: tuple[str, ...] = ()
    """Descriptions of offsets that exist only in the directories or only in the broker, with the reason."""

    @property
    def is_complete(self) -> bool:
        """Whether every partition was compared without errors."""
        return not (self.not_compared or self.refused)

    def __str__(self) -> str:
        text = f"compared {self.lookups:,} lookups with {self.broker}: {self.disagreements:,} disagreements"
        if self.not_compared:
            text += f"; not compared: {', '.join(self.not_compared)}"
        if self.refused:
            text += f"; broker errors: {', '.join(self.refused)}"
        return text


def bounds_of(broker: LiveBroker, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Bounds | KafkaError]:
    """Fetch the bounds of each partition, or the error that the broker returns for it. The high watermark is fetched
    last so that the other offsets cannot exceed it."""
    counts = broker.topics(internal=True)
    known = [(topic, partition) for topic, partition in partitions if partition < counts.get(topic, 0)]
    asked = [
        broker.look_up([Lookup(*each, timestamp) for each in known], isolation_level)
        for timestamp, isolation_level in (
            (EARLIEST, READ_UNCOMMITTED),
            (LATEST, READ_COMMITTED),
            (LATEST, READ_UNCOMMITTED),
        )
    ]
    result: dict[TopicPartition, Bounds | KafkaError] = {
        each: KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, "the broker does not have the partition")
        for each in partitions
    }
    for each, *answers in zip(known, *asked, strict=True):
        refusals = [answer for answer in answers if isinstance(answer, KafkaError)]
        found = [answer for answer in answers if isinstance(answer, Found)]
        result[each] = refusals[0] if refusals else Bounds(*(answer.offset for answer in found))
    return result


def compare(broker: LiveBroker, expected: ExpectedPartition) -> Compared:
    """Compare one partition under both isolation levels."""
    findings = Findings(expected.topic, expected.partition)
    key = expected.topic, expected.partition
    before = bounds_of(broker, [key])[key]
    if isinstance(before, KafkaError):
        return Compared(0, findings, is_refused=str(before))
    asked = {level: list(_ask(broker, expected, level)) for level in ISOLATION_LEVELS}
    after = bounds_of(broker, [key])[key]
    if isinstance(after, KafkaError):
        return Compared(0, findings, is_refused=str(after))
    if {before.log_start_offset, after.log_start_offset} != {expected.log_start_offset}:
        return Compared(0, findings, MOVED)
    comparing = _Comparing(expected, before, after, findings)
    explained = tuple(comparing.compare_ends())
    refused = None
    lookups = 0
    for level, answers in asked.items():
        comparing.compare_bounds(level)
        for timestamp, wanted, answer in answers:
            if isinstance(answer, PartitionRefused):
                refused = str(answer)
                continue
            lookups += 1
            comparing.compare(level, timestamp, wanted, answer)
    findings.checked["lookups"] += lookups
    return Compared(lookups, findings, None, refused, explained)


def _ask(
    broker: LiveBroker, expected: ExpectedPartition, level: str
) -> Iterator[tuple[int, LogPlace, Found | PartitionRefused]]:
    place = expected.topic, expected.partition
    answers = expected.answers
    timestamps = expected.queries.tolist()
    answered = broker.look_up([Lookup(*place, timestamp) for timestamp in timestamps], level)
    yield from zip(timestamps, answers.each(), answered, strict=True)
    try:
        answered = broker.look_up([Lookup(*place, MAX_TIMESTAMP)], level)
    except KafkaError:  # Brokers before Kafka 3.0 do not support this lookup.
        return
    largest = answers.largest
    yield MAX_TIMESTAMP, LogPlace() if largest.offset == NOTHING else largest, answered[0]


class _Comparing:
    def __init__(self, expected: ExpectedPartition, before: Bounds, after: Bounds, findings: Findings) -> None:
        self.expected = expected
        self.before = before
        self.after = after
        self.findings = findings
        self.has_grown = after.high_watermark > expected.end_offset

    def compare_ends(self) -> Iterator[str]:
        """Compare the start and the end of the log, and yield the differences that can be explained."""
        expected, start, end = self.expected, self.after.log_start_offset, self.after.high_watermark
        if start < expected.log_begins_at:
            segments = f"{expected.log_begins_at} to {expected.end_offset}"
            message = f"the broker's log starts at {start}, but the segments contain {segments}"
            self._differs("directory-begins-late", message, start)
        if start > end:
            self._differs("broker-start-beyond-end", f"the broker's log starts at {start} and ends at {end}", start)
        own = expected.own_log_start_offset
        if own < min(start, expected.end_offset) and not expected.is_in_place:
            span = _span(own, min(start, expected.end_offset))
            yield f"{span} only in the directory: deleted from the broker since (retention or DeleteRecords)"
        if end < expected.end_offset:
            span = _span(max(end, own), expected.end_offset)
            what = "is empty" if start == end else f"ends at {end}"
            self._differs("broker-has-less", f"{span} only in the directory: the broker's log {what}", max(end, own))
        elif end > expected.end_offset:
            why = "written after the directory was copied, unless the copy is incomplete"
            if expected.is_in_place:
                why = "written during the audit"
            elif expected.is_followers:
                why = "not replicated to this follower yet"
            yield f"{_span(max(expected.end_offset, start), end)} only in the broker: {why}"

    def compare_bounds(self, level: str) -> None:
        """Compare the last stable offset. The high watermark has already been compared as the log end."""
        if level != READ_COMMITTED:
            return
        reported = self.after.of(level)
        mine = min(self.expected.last_stable_offset, max(self.after.high_watermark, self.expected.log_start_offset))
        # If an open transaction began below the log start, Kafka 4 returns its offset, but Kafka 3 the log start.
        if reported == max(mine, self.expected.log_start_offset):
            return
        if reported != mine and not (self.has_grown and reported > mine):
            self._add(
                f"under {level}, the broker's log ends at {reported}, but according to the batches at {mine}", mine
            )

    def compare(self, level: str, timestamp: int, wanted: LogPlace, answer: Found) -> None:
        reported = LogPlace(*answer)
        lowest, highest = self.before.of(level), self.after.of(level)
        must_be_seen, may_be_seen = wanted.offset < lowest, wanted.offset < highest
        is_right = reported.offset == NOTHING and (wanted.offset == NOTHING or not must_be_seen)
        if wanted.offset != NOTHING and may_be_seen:
            is_right |= reported[:2] == wanted[:2] and reported.leader_epoch in (wanted.leader_epoch, NOTHING)
        if not (is_right or self._may_be_newer(timestamp, wanted, reported)):
            name = "the largest timestamp" if timestamp == MAX_TIMESTAMP else f"timestamp {timestamp}"
            hidden = "" if wanted.offset == NOTHING or may_be_seen else f", which {level} hides"
            by_batches = f"according to the batches: {_named(wanted)}{hidden}"
            message = f"for {name} under {level}, the broker returns {_named(reported)}; {by_batches}"
            self._add(message, wanted.offset if wanted.offset != NOTHING else None)

    def _may_be_newer(self, timestamp: int, wanted: LogPlace, reported: LogPlace) -> bool:
        """Return whether records that were written after the audit began may explain a response."""
        if not self.has_grown:
            return False
        if timestamp == MAX_TIMESTAMP and reported.offset == NOTHING:
            return True
        return reported.offset >= self.expected.end_offset and (wanted.offset == NOTHING or timestamp == MAX_TIMESTAMP)

    def _differs(self, fault: str, message: str, offset: int) -> None:
        self.findings.add("broker", message, fault=fault, file=self.expected.path, offset=offset)

    def _add(self, message: str, offset: int | None) -> None:
        self.findings.add("list-offsets", message, file=self.expected.path, offset=offset)


def _span(first: int, end: int) -> str:
    return f"offset {first} is" if end == first + 1 else f"offsets {first} to {end - 1} are"


def _named(answer: LogPlace) -> str:
    if answer.offset == NOTHING:
        return "nothing"
    return f"offset {answer.offset} (timestamp {answer.timestamp}, leader epoch {answer.leader_epoch})"
