"""Log layouts that occur in production but are hard to produce with a client in a test.

They are offsets without records, transaction markers, and old message formats. Apache Kafka itself writes every one of
these layouts, or leaves it behind after compaction.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from kafkalet.broker import arguments
from kafkalet.broker.cluster.partition import Partition
from kafkalet.protocol.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, Batch
from kafkalet.protocol.records.build import build_batch, build_message_set, numbered
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker
from kafkalet.protocol.records.record import Record
from kafkalet.suggestions import did_you_mean

if TYPE_CHECKING:
    from kafkalet.embedded import EmbeddedCluster

LayoutKind = Literal[
    "gap",
    "segment_gap",
    "segments",
    "empty_batch",
    "compacted",
    "starts_with_marker",
    "ends_with_marker",
    "only_markers",
    "committed",
    "aborted",
    "open",
    "old_magic",
    "future_timestamp",
    "no_timestamp",
    "same_timestamp",
    "falling_timestamps",
]
MAX_RECORDS = 100_000
MAX_GAP = 1 << 48
FIRST_SAFE_LIBRDKAFKA = 0x021000FF
"""The version number of librdkafka 2.16.0."""
YEAR_MS = 365 * 24 * 60 * 60 * 1000


class _Layout:
    """Builds the entries of a layout, starting at the end of a log."""

    def __init__(self, leader: Partition, now_ms: int, new_producer_id: Callable[[], int]) -> None:
        self.offset = leader.log.log_end_offset
        self.leader_epoch = leader.leader_epoch
        self.now_ms = now_ms
        self.new_producer_id = new_producer_id
        self.segments: list[list[bytes]] = [[]]
        """The entries, in one list for each new segment. The first list continues the last segment of the log."""

    def add(self, entry: bytes, offsets: int) -> None:
        self.segments[-1].append(entry)
        self.offset += offsets

    def skip(self, offsets: int) -> None:
        self.offset += offsets

    def roll(self) -> None:
        self.segments.append([])

    def rows(self, offsets: range, timestamp: int | None = None) -> list[Record]:
        timestamp = self.now_ms if timestamp is None else timestamp
        return [
            record
            for offset in offsets
            for record in numbered([(timestamp, b"%d" % offset, b"%d" % offset, ())], offset)
        ]

    def records(self, count: int, *, timestamp: int | None = None, producer_id: int | None = None) -> None:
        """Add one batch of records, in a transaction if there is a producer id."""
        if count:
            rows = self.rows(range(self.offset, self.offset + count), timestamp)
            outside = producer_id is None
            entry = build_batch(
                rows,
                base_offset=self.offset,
                leader_epoch=self.leader_epoch,
                is_transactional=not outside,
                producer_id=NO_PRODUCER_ID if producer_id is None else producer_id,
                producer_epoch=NO_PRODUCER_EPOCH if outside else 0,
                base_sequence=NO_SEQUENCE if outside else 0,
            )
            self.add(entry, count)

    def marker(self, producer_id: int, *, commit: bool) -> None:
        entry = build_end_marker(
            EndMarker(ControlType.COMMIT if commit else ControlType.ABORT, coordinator_epoch=0),
            timestamp=self.now_ms,
            producer_id=producer_id,
            producer_epoch=0,
            base_offset=self.offset,
            leader_epoch=self.leader_epoch,
        )
        self.add(entry, 1)

    def empty_batch(self, offsets: int) -> None:
        """Add the rest of a producer's last batch after compaction: a header that keeps the sequence number."""
        entry = build_batch(
            [],
            base_offset=self.offset,
            last_offset=self.offset + offsets - 1,
            leader_epoch=self.leader_epoch,
            producer_id=self.new_producer_id(),
            producer_epoch=0,
            base_sequence=0,
        )
        self.add(entry, offsets)

    def holes(self, size: int) -> None:
        """Add a batch whose records, except the first and the last, were removed by compaction."""
        last = self.offset + size + 1
        rows = [*self.rows(range(self.offset, self.offset + 1)), *self.rows(range(last, last + 1))]
        self.add(build_batch(rows, base_offset=self.offset, leader_epoch=self.leader_epoch), size + 2)

    def messages(self, magic: int, count: int, codec: Codec) -> None:
        rows = self.rows(range(self.offset, self.offset + count))
        self.add(build_message_set(magic, rows, codec=codec, base_offset=self.offset), count)


def _segment_gap(layout: _Layout, size: int) -> None:
    layout.skip(size)
    layout.roll()


def _segments(layout: _Layout, size: int) -> None:
    for _ in range(size):
        layout.roll()
        layout.records(2)


def _markers(layout: _Layout, size: int) -> None:
    for _ in range(size):
        layout.marker(layout.new_producer_id(), commit=True)


def _transaction(layout: _Layout, size: int, *, commit: bool = True) -> None:
    producer_id = layout.new_producer_id()
    layout.records(size, producer_id=producer_id)
    layout.marker(producer_id, commit=commit)


def _old_magic(layout: _Layout, size: int) -> None:
    for magic in (0, 1):
        for codec in (Codec.NONE, Codec.GZIP):
            layout.messages(magic, size, codec)


def _singles(layout: _Layout, size: int, step_ms: int = 0) -> None:
    """Add batches of one record, each older than the one before by a time."""
    for step in range(1, size + 1):
        layout.records(1, timestamp=layout.now_ms - step * step_ms)


class Kind(NamedTuple):
    """A kind of layout: the function that builds its special part, and what may surround it."""

    build: Callable[[_Layout, int], None]
    has_first: bool = True
    has_after: bool = True
    most: int = MAX_RECORDS
    """The largest size of the special part."""


KINDS: dict[str, Kind] = {
    "gap": Kind(_Layout.skip, most=MAX_GAP),
    "segment_gap": Kind(_segment_gap, most=MAX_GAP),
    "segments": Kind(_segments),
    "empty_batch": Kind(_Layout.empty_batch),
    "compacted": Kind(_Layout.holes),
    "starts_with_marker": Kind(_markers, has_first=False),
    "ends_with_marker": Kind(_transaction, has_after=False),
    "only_markers": Kind(_markers, has_first=False, has_after=False),
    "committed": Kind(_transaction),
    "aborted": Kind(partial(_transaction, commit=False)),
    "open": Kind(lambda layout, size: layout.records(size, producer_id=layout.new_producer_id())),
    "old_magic": Kind(_old_magic, has_first=False),
    "future_timestamp": Kind(lambda layout, size: layout.records(size, timestamp=layout.now_ms + YEAR_MS)),
    "no_timestamp": Kind(lambda layout, size: layout.records(size, timestamp=-1)),
    "same_timestamp": Kind(_singles),
    "falling_timestamps": Kind(partial(_singles, step_ms=1000)),
}


def layout(
    cluster: EmbeddedCluster,
    topic: str,
    kind: LayoutKind,
    *,
    first: int | None = None,
    size: int | None = None,
    after: int | None = None,
    partition: int = 0,
) -> None:
    """Append a layout; `Topic.layout` describes the kinds."""
    arguments.number("partition", partition)
    found = KINDS.get(arguments.text("the kind of a layout", kind))
    if found is None:
        hint = did_you_mean(kind, KINDS, most=3) or f"the layouts are {', '.join(KINDS)}"
        raise ValueError(f"there is no layout {kind!r}; {hint}")
    if first and not found.has_first:
        raise ValueError(f"first is {first}, but {kind!r} begins with its special part; omit first")
    if after and not found.has_after:
        raise ValueError(f"after is {after}, but {kind!r} ends with its special part; omit after")
    if kind == "old_magic":
        _warn_of_librdkafka()
    first = _checked("first", 5 * found.has_first if first is None else first, 0, MAX_RECORDS)
    size = _checked("size", 3 if size is None else size, 1, found.most)
    after = _checked("after", 5 * found.has_after if after is None else after, 0, MAX_RECORDS)

    def build() -> None:
        leader = cluster._server.leadership.leader_of(topic, partition)
        layout = _Layout(leader, cluster._server.loop_clock.now_ms(), cluster._server.controller.producer_ids.take)
        layout.records(first)
        found.build(layout, size)
        layout.records(after)
        for index, entries in enumerate(layout.segments):
            data = b"".join(entries)
            if index:
                cluster._server.leadership.roll(leader, Batch(data).base_offset if data else 0)
            if data:
                cluster._server.leadership.append_as_given(leader, data)

    cluster._server.call(build)


def _warn_of_librdkafka() -> None:
    """Warn if this process has loaded a librdkafka that aborts it when it reads compressed messages of formats 0 and 1.

    That ends pytest without a report (`rd_slice_narrow_copy: Assertion`).
    """
    client = sys.modules.get("confluent_kafka")
    if client is None:
        return
    text, number = client.libversion()
    if number < FIRST_SAFE_LIBRDKAFKA:
        warnings.warn(
            f"a consumer of librdkafka {text} aborts the process when it reads layout('old_magic'); install "
            "confluent-kafka 2.16 or newer, or read the topic with another client",
            stacklevel=4,  # the caller of Topic.layout
        )


def _checked(name: str, value: int, least: int, most: int) -> int:
    if not least <= arguments.number(name, value) <= most:
        raise ValueError(f"{name} is {value}; it must be a number from {least} to {most}")
    return value
