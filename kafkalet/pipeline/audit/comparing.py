"""What a live broker answers to ListOffsets, beside what the bytes say.

A broker hides what lies at or behind the high watermark, and under read_committed what lies at or behind the last
stable offset: where the first match lies there, it answers none. Both move while we ask, so both are asked for before
and after, and an answer has to fit to either:

    match below the bound before      it
    match from the bound after on     none
    in between                        one of the two
    no match in what was audited      none, or something that was written after the audit began
    the largest timestamp             the same; and if something was written since, none, for it may be hidden

The last stable offset itself has to be the one that the batches tell, unless something was written meanwhile. Where
the log start offset has moved, records that should be found may be gone: such a partition is counted, and not compared.

The ends of the log are compared first. Offsets that only one side has are a disagreement, or are explained:

    only in the directory, below the broker's start    retention or DeleteRecords has deleted them at the broker
    only in the directory, from the broker's end on    a finding: the broker has less than the directory
    only in the broker, below the directory's start    a finding: a log never begins earlier later on
    only in the broker, from the directory's end on    written since; or, in a follower's files, not replicated yet. If
                                                       the broker works in this very directory, the files have lost
                                                       their end: that is found when the log is put together
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalet.pipeline.live.broker import LiveBroker
from kafkalet.pipeline.live.client_properties import ISOLATION_LEVELS
from kafkalet.pipeline.live.lookups import EARLIEST, LATEST, MAX_TIMESTAMP, Found, Lookup
from kafkalet.pipeline.live.metadata import TopicPartition
from kafkalet.pipeline.live.refusals import PartitionRefused
from kafkalet.protocol.errors import Code, KafkaError

from .asking import NOTHING, Answers, LogPlace
from .findings import Findings

READ_UNCOMMITTED, READ_COMMITTED = ISOLATION_LEVELS
MOVED = "its log start moved"


class Bounds(NamedTuple):
    """What a broker says of a partition at one moment."""

    log_start_offset: int
    last_stable_offset: int
    high_watermark: int

    def of(self, isolation_level: str) -> int:
        """A reader sees what lies below."""
        return self.last_stable_offset if isolation_level == READ_COMMITTED else self.high_watermark


class ExpectedPartition(NamedTuple):
    """What the bytes of a partition say."""

    topic: str
    partition: int
    path: str
    log_begins_at: int
    """The base offset of the first segment."""
    log_start_offset: int
    end_offset: int
    """What lies behind was not audited."""
    last_stable_offset: int
    queries: NDArray[np.int64]
    answers: Answers
    own_log_start_offset: int = 0
    """What the directory itself says."""
    is_in_place: bool = False
    """The broker is seen to work in this directory."""
    is_followers: bool = False


class Compared(NamedTuple):
    """What came of one partition."""

    lookups: int
    findings: Findings
    not_compared: str | None = None
    """Why nothing was compared."""
    is_refused: str | None = None
    """What the broker does not answer, and why."""
    explained: tuple[str, ...] = ()
    """Offsets that only one side has, and why that is right."""


class Comparison(NamedTuple):
    """How much was compared, of all partitions together."""

    broker: str
    lookups: int
    disagreements: int
    not_compared: tuple[str, ...]
    """Partitions, each with the reason."""
    refused: tuple[str, ...]
    """What the broker does not answer, and why."""
    explained: tuple[str, ...] = ()
    """Offsets that only the directories or only the broker have, and why that is right."""

    @property
    def is_complete(self) -> bool:
        """Every partition was compared, and every question answered."""
        return not (self.not_compared or self.refused)

    def __str__(self) -> str:
        told = f"{self.broker} was asked {self.lookups:,} times, {self.disagreements:,} answers disagree"
        if self.not_compared:
            told += f"; not compared: {', '.join(self.not_compared)}"
        if self.refused:
            told += f"; not answered: {', '.join(self.refused)}"
        return told


def bounds_of(broker: LiveBroker, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Bounds | KafkaError]:
    """What the broker says now, and why it says nothing. The high watermark is asked for last, so that the others lie
    at or below it."""
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
        each: KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, "the broker does not have it") for each in partitions
    }
    for each, *answers in zip(known, *asked, strict=True):
        refusals = [answer for answer in answers if isinstance(answer, KafkaError)]
        found = [answer for answer in answers if isinstance(answer, Found)]
        result[each] = refusals[0] if refusals else Bounds(*(answer.offset for answer in found))
    return result


def compare(broker: LiveBroker, expected: ExpectedPartition) -> Compared:
    """Ask for everything under both isolation levels."""
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
    told = broker.look_up([Lookup(*place, timestamp) for timestamp in timestamps], level)
    yield from zip(timestamps, answers.each(), told, strict=True)
    try:
        told = broker.look_up([Lookup(*place, MAX_TIMESTAMP)], level)
    except KafkaError:  # before Kafka 3.0
        return
    largest = answers.largest
    yield MAX_TIMESTAMP, LogPlace() if largest.offset == NOTHING else largest, told[0]


class _Comparing:
    def __init__(self, expected: ExpectedPartition, before: Bounds, after: Bounds, findings: Findings) -> None:
        self.expected = expected
        self.before = before
        self.after = after
        self.findings = findings
        self.has_grown = after.high_watermark > expected.end_offset

    def compare_ends(self) -> Iterator[str]:
        """Yields what is explained."""
        expected, start, end = self.expected, self.after.log_start_offset, self.after.high_watermark
        if start < expected.log_begins_at:
            message = f"the log starts at {start}, its segments hold {expected.log_begins_at} to {expected.end_offset}"
            self._differs("directory-begins-late", message, start)
        if start > end:
            self._differs("broker-start-beyond-end", f"the broker's log starts at {start} and ends at {end}", start)
        own = expected.own_log_start_offset
        if own < min(start, expected.end_offset) and not expected.is_in_place:
            span = _span(own, min(start, expected.end_offset))
            yield f"{span} only in the directory: deleted at the broker since (retention or DeleteRecords)"
        if end < expected.end_offset:
            span = _span(max(end, own), expected.end_offset)
            what = "is empty" if start == end else f"ends at {end}"
            self._differs("broker-has-less", f"{span} only in the directory: the broker's log {what}", max(end, own))
        elif end > expected.end_offset:
            why = "written after the directory was copied, if nothing was lost from it"
            if expected.is_in_place:
                why = "written while it was audited"
            elif expected.is_followers:
                why = "not replicated to this follower yet"
            yield f"{_span(max(expected.end_offset, start), end)} only in the broker: {why}"

    def compare_bounds(self, level: str) -> None:
        """The high watermark is one of the ends, which were compared before."""
        if level != READ_COMMITTED:
            return
        told = self.after.of(level)
        mine = min(self.expected.last_stable_offset, max(self.after.high_watermark, self.expected.log_start_offset))
        # Kafka 4 leaves it below the log start where a transaction began there, Kafka 3 lifts it
        if told == max(mine, self.expected.log_start_offset):
            return
        if told != mine and not (self.has_grown and told > mine):
            self._add(f"under {level} the log ends at {told}, by its batches at {mine}", mine)

    def compare(self, level: str, timestamp: int, wanted: LogPlace, answer: Found) -> None:
        told = LogPlace(*answer)
        lowest, highest = self.before.of(level), self.after.of(level)
        must_be_seen, may_be_seen = wanted.offset < lowest, wanted.offset < highest
        is_right = told.offset == NOTHING and (wanted.offset == NOTHING or not must_be_seen)
        if wanted.offset != NOTHING and may_be_seen:
            is_right |= told[:2] == wanted[:2] and told.leader_epoch in (wanted.leader_epoch, NOTHING)
        if not (is_right or self._may_be_newer(timestamp, wanted, told)):
            name = "the largest timestamp" if timestamp == MAX_TIMESTAMP else f"timestamp {timestamp}"
            hidden = "" if wanted.offset == NOTHING or may_be_seen else f", which {level} hides"
            message = f"for {name} under {level} the broker says {_named(told)}, the batches {_named(wanted)}{hidden}"
            self._add(message, wanted.offset if wanted.offset != NOTHING else None)

    def _may_be_newer(self, timestamp: int, wanted: LogPlace, told: LogPlace) -> bool:
        """Whether the broker may have found what was written since; the largest timestamp may be hidden, too."""
        if not self.has_grown:
            return False
        if timestamp == MAX_TIMESTAMP and told.offset == NOTHING:
            return True
        return told.offset >= self.expected.end_offset and (wanted.offset == NOTHING or timestamp == MAX_TIMESTAMP)

    def _differs(self, fault: str, message: str, offset: int) -> None:
        self.findings.add("broker", message, fault=fault, file=self.expected.path, offset=offset)

    def _add(self, message: str, offset: int | None) -> None:
        self.findings.add("list-offsets", message, file=self.expected.path, offset=offset)


def _span(first: int, end: int) -> str:
    return f"offset {first} is" if end == first + 1 else f"offsets {first} to {end - 1} are"


def _named(answer: LogPlace) -> str:
    if answer.offset == NOTHING:
        return "none"
    return f"offset {answer.offset} at {answer.timestamp} in epoch {answer.leader_epoch}"
