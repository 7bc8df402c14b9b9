"""Log layouts that occur in production but are hard to produce with a client in a test.

`append_batches` writes entries exactly as they are. `layout` builds common layouts from them: offsets without records,
transaction markers, old message formats. Apache Kafka itself writes every one of these layouts, or leaves it behind
after compaction. The other functions move the offsets that limit readers.

`kafkalet.testing.topic.Topic` offers all functions as methods. They raise ValueError for invalid arguments,
and KafkaError with UNKNOWN_TOPIC_OR_PARTITION if the partition does not exist.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from kafkalet.broker import arguments
from kafkalet.broker.cluster.partition import Partition
from kafkalet.protocol.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, Batch
from kafkalet.protocol.records.build import build_batch, build_message_set, numbered
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker
from kafkalet.protocol.records.record import Record
from kafkalet.suggestions import did_you_mean
from kafkalet.units import named

from .hold import Hold

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


def append_batches(
    cluster: EmbeddedCluster, topic: str, data: bytes | bytearray | memoryview, partition: int = 0
) -> None:
    """Append entries exactly as they are; see `Topic.append_batches`."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"data must be bytes, not {arguments.shown(data)}")
    given = bytes(data)
    arguments.number("partition", partition)
    leadership = cluster._server.leadership
    cluster._server.call(lambda: leadership.append_as_given(leadership.leader_of(topic, partition), given))


# Layouts


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


def _gap(layout: _Layout, size: int) -> None:
    layout.skip(size)


def _segment_gap(layout: _Layout, size: int) -> None:
    layout.skip(size)
    layout.roll()


def _segments(layout: _Layout, size: int) -> None:
    for _ in range(size):
        layout.roll()
        layout.records(2)


def _empty_batch(layout: _Layout, size: int) -> None:
    layout.empty_batch(size)


def _compacted(layout: _Layout, size: int) -> None:
    layout.holes(size)


def _markers(layout: _Layout, size: int) -> None:
    for _ in range(size):
        layout.marker(layout.new_producer_id(), commit=True)


def _committed(layout: _Layout, size: int) -> None:
    producer_id = layout.new_producer_id()
    layout.records(size, producer_id=producer_id)
    layout.marker(producer_id, commit=True)


def _aborted(layout: _Layout, size: int) -> None:
    producer_id = layout.new_producer_id()
    layout.records(size, producer_id=producer_id)
    layout.marker(producer_id, commit=False)


def _open(layout: _Layout, size: int) -> None:
    layout.records(size, producer_id=layout.new_producer_id())


def _old_magic(layout: _Layout, size: int) -> None:
    for magic in (0, 1):
        for codec in (Codec.NONE, Codec.GZIP):
            layout.messages(magic, size, codec)


def _future_timestamp(layout: _Layout, size: int) -> None:
    layout.records(size, timestamp=layout.now_ms + YEAR_MS)


def _no_timestamp(layout: _Layout, size: int) -> None:
    layout.records(size, timestamp=-1)


def _same_timestamp(layout: _Layout, size: int) -> None:
    for _ in range(size):
        layout.records(1)


def _falling_timestamps(layout: _Layout, size: int) -> None:
    for step in range(1, size + 1):
        layout.records(1, timestamp=layout.now_ms - step * 1000)


class Kind(NamedTuple):
    """A kind of layout: the function that builds its special part, and the default numbers of records."""

    build: Callable[[_Layout, int], None]
    first: int
    size: int
    after: int


KINDS: dict[str, Kind] = {
    "gap": Kind(_gap, 5, 3, 5),
    "segment_gap": Kind(_segment_gap, 5, 3, 5),
    "segments": Kind(_segments, 5, 3, 5),
    "empty_batch": Kind(_empty_batch, 5, 3, 5),
    "compacted": Kind(_compacted, 5, 3, 5),
    "starts_with_marker": Kind(_markers, 0, 3, 5),
    "ends_with_marker": Kind(_committed, 5, 3, 0),
    "only_markers": Kind(_markers, 0, 3, 0),
    "committed": Kind(_committed, 5, 3, 5),
    "aborted": Kind(_aborted, 5, 3, 5),
    "open": Kind(_open, 5, 3, 5),
    "old_magic": Kind(_old_magic, 0, 3, 5),
    "future_timestamp": Kind(_future_timestamp, 5, 3, 5),
    "no_timestamp": Kind(_no_timestamp, 5, 3, 5),
    "same_timestamp": Kind(_same_timestamp, 5, 3, 5),
    "falling_timestamps": Kind(_falling_timestamps, 5, 3, 5),
}
_GAPS = ("gap", "segment_gap")
_WITHOUT_FIRST = ("starts_with_marker", "only_markers", "old_magic")
_WITHOUT_AFTER = ("ends_with_marker", "only_markers")


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
    if first and kind in _WITHOUT_FIRST:
        raise ValueError(f"first is {first}, but {kind!r} begins with its special part; omit first")
    if after and kind in _WITHOUT_AFTER:
        raise ValueError(f"after is {after}, but {kind!r} ends with its special part; omit after")
    if kind == "old_magic":
        _warn_of_librdkafka()
    first = _checked("first", found.first if first is None else first, 0, MAX_RECORDS)
    size = _checked("size", found.size if size is None else size, 1, MAX_GAP if kind in _GAPS else MAX_RECORDS)
    after = _checked("after", found.after if after is None else after, 0, MAX_RECORDS)

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


# Offsets


def delete_records(cluster: EmbeddedCluster, topic: str, before: int, partition: int = 0) -> None:
    """Advance the log start offset; see `Topic.delete_records`."""
    arguments.number("partition", partition)
    arguments.number("before", before)
    cluster._server.call(lambda: cluster._server.leadership.leader_of(topic, partition).advance_log_start(before))


def hold_high_watermark(cluster: EmbeddedCluster, topic: str, at: int | None = None, partition: int = 0) -> Hold:
    """Keep the high watermark from advancing; see `Topic.hold_high_watermark`."""
    arguments.number("partition", partition)
    if at is not None:
        arguments.number("at", at)
    cluster._server.call(lambda: cluster._server.leadership.leader_of(topic, partition).hold_high_watermark(at))
    return Hold(
        cluster,
        f"the high watermark of {topic}-{partition} does not advance",
        lambda: cluster._server.leadership.release_high_watermark(topic, partition),
    )


def release_high_watermark(cluster: EmbeddedCluster, topic: str, partition: int = 0) -> None:
    """Let the high watermark advance again. Has no effect if it is not held."""
    cluster._server.call(lambda: cluster._server.leadership.release_high_watermark(topic, partition))


# Leaders and replicas


def truncate(cluster: EmbeddedCluster, topic: str, to: int, partition: int = 0) -> None:
    """Remove records at the end of a log; see `Topic.truncate`."""
    arguments.number("to", to)

    def run() -> None:
        leader = cluster._server.leadership.leader_of(topic, partition)
        leader.truncate(to)
        _begin_epoch(cluster, leader, [leader.node_id])

    _call(cluster, partition, run)


def new_leader_epoch(cluster: EmbeddedCluster, topic: str, partition: int = 0) -> None:
    """Start a new leader epoch; see `Topic.new_leader_epoch`."""
    _call(
        cluster, partition, lambda: _begin_epoch(cluster, cluster._server.leadership.leader_of(topic, partition), None)
    )


def _begin_epoch(cluster: EmbeddedCluster, leader: Partition, isr: list[int] | None) -> None:
    server = cluster._server
    server.leadership.begin_epoch(server.metadata.topics[leader.topic], leader.state, leader.node_id, isr)
    server.controller.save()


def move_leader(cluster: EmbeddedCluster, topic: str, to: int, partition: int = 0, *, unclean: bool = False) -> None:
    """Make another replica the leader; see `Topic.move_leader`."""
    arguments.number("to", to)
    server = cluster._server

    def run() -> None:
        state = server.metadata.existing_partition(topic, partition)
        if to not in state.replicas:
            there = named("broker", state.replicas)
            raise ValueError(f"broker {to} has no replica of {topic}-{partition}; its replicas are on {there}")
        if unclean and to not in state.isr:
            node = server.nodes.get(to)
            if node is None:
                raise ValueError(f"broker {to} is stopped; broker({to}).start() starts it again")
            _begin_epoch(cluster, node.partition(topic, partition), [to])
        else:
            server.elect_leader(topic, partition, to)

    _call(cluster, partition, run)


def take_offline(cluster: EmbeddedCluster, topic: str, partition: int = 0, broker: int | None = None) -> Hold:
    """Take replicas offline; see `Topic.take_offline`."""
    server = cluster._server

    def run() -> None:
        state = server.metadata.existing_partition(topic, partition)
        online = [id_ for id_, node in server.nodes.items() if (topic, partition) in node.partitions]
        chosen = [id_ for id_ in online if broker in (None, id_)]
        if not chosen:
            raise ValueError(f"{_replica(topic, partition, broker)} is online{_elsewhere(online)}")
        for node_id in sorted(
            chosen, key=lambda id_: id_ == state.leader
        ):  # the leader last, so that there is one election
            server.nodes[node_id].take_offline(topic, partition, f"{topic}-{partition} was taken offline by a test")
            server.leadership.replica_left(server.metadata.topics[topic], state, node_id)
        server.controller.save()

    _call(cluster, partition, run)
    replicas = "the replicas" if broker is None else f"the replica on broker {broker}"
    return Hold(
        cluster,
        f"{replicas} of {topic}-{partition} offline",
        lambda: bring_online(cluster, topic, partition, broker),
    )


def bring_online(cluster: EmbeddedCluster, topic: str, partition: int = 0, broker: int | None = None) -> None:
    """Bring replicas online again. They open their logs, and follow or lead.

    Raises ValueError if there is no such replica offline.
    """
    server = cluster._server

    def run() -> None:
        state = server.metadata.existing_partition(topic, partition)
        offline = [id_ for id_, node in server.nodes.items() if (topic, partition) in node.offline]
        chosen = [id_ for id_ in offline if broker in (None, id_)]
        if not chosen:
            raise ValueError(f"{_replica(topic, partition, broker)} is offline{_elsewhere(offline)}")
        for node_id in chosen:
            node = server.nodes[node_id]
            del node.offline[topic, partition]
            server.controller.add_replica_on(node, server.metadata.topics[topic], state, skip_broken=True)
            server.leadership.replica_came(server.metadata.topics[topic], state, node_id)
        server.controller.save()

    _call(cluster, partition, run)


def _replica(topic: str, partition: int, broker: int | None) -> str:
    return f"no replica of {topic}-{partition}" + ("" if broker is None else f" on broker {broker}")


def _elsewhere(brokers: Sequence[int]) -> str:
    return f"; there is one on {named('broker', brokers)}" if brokers else ""


def shrink_isr(cluster: EmbeddedCluster, topic: str, brokers: Sequence[int], partition: int = 0) -> Hold:
    """Remove followers from the in-sync replicas; see `Topic.shrink_isr`."""
    if not brokers:
        raise ValueError("shrink_isr() needs the id of at least one broker")
    for broker in brokers:
        arguments.number("the id of a broker", broker)

    def run() -> None:
        leader = cluster._server.leadership.leader_of(topic, partition)
        for broker in brokers:
            if broker not in leader.followers:
                raise ValueError(
                    f"broker {broker} is not a follower of {topic}-{partition}, which has leader {leader.node_id} and "
                    f"{named('follower', leader.followers)}"
                )
        cluster._server.leadership.shrink_isr(leader, brokers)
        cluster._server.controller.save()

    _call(cluster, partition, run)
    return Hold(
        cluster,
        f"{named('follower', brokers)} of {topic}-{partition} out of sync",
        lambda: expand_isr(cluster, topic, partition),
    )


def expand_isr(cluster: EmbeddedCluster, topic: str, partition: int = 0) -> None:
    """Let the followers that are held back catch up; they join the in-sync replicas again."""

    def run() -> None:
        cluster._server.metadata.existing_partition(topic, partition)
        cluster._server.leadership.expand_isr(topic, partition)
        cluster._server.controller.save()

    _call(cluster, partition, run)


def _call(cluster: EmbeddedCluster, partition: int, run: Callable[[], None]) -> None:
    arguments.number("partition", partition)
    cluster._server.call(run)
