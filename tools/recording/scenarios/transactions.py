"""Logs with transactions: last stable offsets, aborted transactions in Fetch, and lookups around markers."""

from collections.abc import Iterable
from typing import Any

from kafkalet_conformance.building import (
    LARGE,
    SMALL,
    T0,
    TRANSACTION_ERRORS,
    ScenarioBuilder,
    Step,
    at,
    batch,
    one,
    record,
)
from tools.recording.definitions import KAFKA_3_9, Scenarios

scenario = Scenarios("read_committed")

BIG = 10_000_000
WEEK_MS = 604_800_000


class Transactional:
    """A transactional producer for one partition that keeps track of its sequence numbers."""

    def __init__(self, ask: ScenarioBuilder, topic: str, name: str, partition: int = 0) -> None:
        self.ask, self.topic, self.name, self.partition = ask, topic, name, partition
        self.fields = ask.transaction(topic, name, (partition,))
        self.sequence = 0

    def begin(self) -> None:
        """Add the partition to a new transaction."""
        self.ask.add_partitions(self.topic, self.name, (self.partition,))

    def send(self, *records: int | Step, case: str = "", version: int = 9, **changed: Any) -> None:
        fields = self.fields | {"base_sequence": self.sequence} | changed
        self.ask.produce(
            self.topic,
            batch(*records, **fields),
            partition=self.partition,
            case=case,
            version=version,
            transactional_id=f"${self.name}",
        )
        if not case:
            self.sequence += len(records)

    def fill(self, ts: int, size: int) -> None:
        self.send(record(ts, self.ask.fill(size)))

    def end(self, committed: bool, log_end_offset: int) -> None:
        """End the transaction and wait until the log ends at `log_end_offset`, after the marker."""
        self.ask.end(self.name, committed)
        ends_at(self.ask, self.topic, log_end_offset, self.partition)


def ends_at(ask: ScenarioBuilder, topic: str, offset: int, partition: int = 0) -> None:
    body = {"replica_id": -1, "topics": [one(topic, partition_index=partition, timestamp=-1)]}
    ask.until("ListOffsets", 2, body, "topics.0.partitions.0.offset", offset)


def fetches(
    ask: ScenarioBuilder, topic: str, offsets: Iterable[int], *limits: int, note: str = "", version: int = 11
) -> None:
    """Fetch from each offset under both isolation levels, with each limit."""
    for offset in offsets:
        for limit in limits or (BIG,):
            size = "" if limit == BIG else f", {limit} bytes"
            for level, name in enumerate(("uncommitted", "committed")):
                wanted = at(topic, offset, 0, limit)
                ask.fetch(f"offset {offset}{size} {name}{note}", wanted, version=version, isolation_level=level)


def stable(ask: ScenarioBuilder, topic: str, note: str) -> None:
    """Look up the latest, earliest and maximum timestamp offsets under both isolation levels."""
    for timestamp, name in ((-1, "latest"), (-2, "earliest"), (-3, "max timestamp")):
        for level, isolation in enumerate(("uncommitted", "committed")):
            ask.offsets(f"{name} {isolation} {note}", topic, timestamp, 7, isolation_level=level)


def producers(ask: ScenarioBuilder, topic: str, case: str) -> None:
    """Describe the producers of the log, leaving out times."""
    asked = {"topics": [{"name": topic, "partition_indexes": [0]}]}
    ask.request(case, "DescribeProducers", 0, asked)


@scenario("KIP-98 TransactionIndex.collectAbortedTxns ProducerStateManager.firstUnstableOffset", level="must")
def txn_interleaved(ask: ScenarioBuilder) -> None:
    """With interleaved transactions of three producers in several segments, the first open one limits the last stable
    offset and Fetch lists the aborted ones."""
    t = ask.topic(**ask.small_segments())
    first, second, third = (Transactional(ask, t, name) for name in ("X1", "X2", "X3"))
    first.fill(10, 80)  # 0
    ask.produce(t, batch(record(20, ask.fill(80))))  # 1
    second.fill(30, 80)  # 2
    first.fill(40, 80)  # 3
    third.fill(50, 80)  # 4
    first.end(False, 6)  # 5
    stable(ask, t, "one of three ended")
    fetches(ask, t, (0, 2), note=", one of three ended")
    second.fill(60, 80)  # 6
    third.end(False, 8)  # 7
    first.begin()
    first.fill(70, 80)  # 8
    second.end(True, 10)  # 9
    stable(ask, t, "two more ended")
    third.begin()
    third.fill(80, 80)  # 10
    first.end(False, 12)  # 11
    ask.produce(t, batch(record(90, ask.fill(80))))  # 12
    stable(ask, t, "one is open")
    unit = 1 if ask.release < "4" else LARGE // SMALL
    fetches(ask, t, range(14), 1, 160 * unit, BIG)
    for ts in range(5, 100, 10):
        for level, name in enumerate(("uncommitted", "committed")):
            ask.time(f"time {ts} {name}", t, ts, isolation_level=level)
    producers(ask, t, "producers")


@scenario("KIP-98 TransactionIndex.collectAbortedTxns")
def txn_other_order(ask: ScenarioBuilder) -> None:
    """Fetch lists aborted transactions in the order of their markers, not in the order of their first offsets."""
    t = ask.topic()
    first, second, third = (Transactional(ask, t, name) for name in ("X1", "X2", "X3"))
    first.send(10)  # 0
    second.send(20, 30)  # 1-2
    third.send(40)  # 3
    second.end(False, 5)  # 4
    stable(ask, t, "the second ended")
    third.end(False, 6)  # 5
    ask.step("sleep", ms=5)  # so that the next marker has a later timestamp
    second.begin()
    second.send(50)  # 6
    first.end(False, 8)  # 7
    stable(ask, t, "the first ended")
    fetches(ask, t, range(9), note=", the second is open again")
    second.end(False, 9)  # 8
    ask.produce(t, batch(60))  # 9
    first.begin()
    first.send(70)  # 10
    first.end(True, 12)  # 11
    stable(ask, t, "all ended")
    fetches(ask, t, range(13), 1, BIG)


@scenario("KIP-98 LogSegment.fetchUpperBoundOffset LocalLog.addAbortedTransactions", level="detail")
def txn_index_entries(ask: ScenarioBuilder) -> None:
    """Fetch lists aborted transactions up to the upper bound that the offset index gives for the returned range, which
    depends on index.interval.bytes.
    """
    for name, interval, size in (("t", 4096, 10), ("u", 4096, 1500), ("v", 0, 10), ("w", 200, 100)):
        t = ask.topic(name, index_interval_bytes=interval)
        producer = Transactional(ask, t, f"X{'tuvw'.index(name) + 1}")
        for n in range(6):
            if n:
                producer.begin()
            producer.send(record(3 * n, {"fill": "x", "size": size}))
            ask.produce(t, batch(record(3 * n + 1, {"fill": "p", "size": size})))
            producer.end(n == 2, 3 * n + 3)
        note = f", {size} bytes, an index entry each {interval}"
        whole = size + 68 + (1 if size > 54 else 0) + 60
        for offset in (0, 1, 2, 5, 9, 12, 16):
            for limit in (1, whole, 3 * whole, BIG):
                ask.fetch(f"offset {offset}, {limit}{note}", at(t, offset, 0, limit), isolation_level=1)


@scenario("KIP-98 KIP-74 ReplicaManager.readFromLog")
def txn_limits(ask: ScenarioBuilder) -> None:
    """The limits of Fetch apply alike to the data and the markers of transactions; with read_committed, Fetch ends at
    the last stable offset."""
    t = ask.topic(partitions=2)
    for partition in range(2):
        producer = Transactional(ask, t, f"X{partition + 1}", partition)
        producer.send(10, 20)
        ask.produce(t, batch(30), partition=partition)
        producer.end(bool(partition), 4)
        producer.begin()
        producer.send(40)
    both = at(t, 0, 0), at(t, 0, 1)
    for version in (4, 11):
        for limit in (0, 1, 77, 78, 79, 150, 160, 230, 240, 320, 400):
            small = at(t, 0, 0, limit), at(t, 0, 1, limit)
            ask.fetch(f"v{version}, {limit} each", *small, version=version, isolation_level=1)
            ask.fetch(f"v{version}, {limit} in all", *both, version=version, max_bytes=limit, isolation_level=1)
    ask.fetch("at the marker", at(t, 3), at(t, 3, 1), max_bytes=1, isolation_level=1)
    ask.fetch("at the open one", at(t, 4), at(t, 2, 1), max_bytes=1, isolation_level=1)
    ask.fetch("past the open one", at(t, 5), at(t, 5, 1), isolation_level=1)
    ask.fetch("past the end", at(t, 6), at(t, 6, 1), isolation_level=1)


@scenario("KIP-107 ProducerStateManager.onLogStartOffsetIncremented UnifiedLog.maybeIncrementFirstUnstableOffset")
def txn_deleted_open(ask: ScenarioBuilder) -> None:
    """If records of an open transaction are deleted, the last stable offset moves to the log start offset, and in
    release 4.4 to the start of the batch that contains it."""
    t = ask.topic()
    producer = Transactional(ask, t, "X1")
    ask.produce(t, batch(5))  # 0
    producer.send(10, 20, 30)  # 1-3
    ask.produce(t, batch(40, 50))  # 4-5
    producer.send(60)  # 6
    ask.produce(t, batch(70))  # 7
    for offset in (1, 2, 4, 5, 6, 7, 8):
        ask.delete_records(t, offset)
        stable(ask, t, f"after deletion to {offset}")
        fetches(ask, t, range(offset - 1, 9), note=f" after deletion to {offset}")
        ask.time("time 15", t, 15, isolation_level=1)
    producers(ask, t, "producers, all deleted")
    producer.send(80)  # 8
    ask.produce(t, batch(90))  # 9
    stable(ask, t, "it goes on")
    fetches(ask, t, (8, 9, 10), note=", it goes on")
    producer.end(False, 11)  # 10
    stable(ask, t, "aborted")
    fetches(ask, t, (7, 8, 9, 10, 11), note=", aborted")
    producers(ask, t, "producers, aborted")


@scenario("KIP-107 TransactionIndex.collectAbortedTxns")
def txn_deleted_ended(ask: ScenarioBuilder) -> None:
    """If records of ended transactions are deleted, Fetch still lists an aborted one whose marker follows the log start
    offset."""
    t = ask.topic()
    first, second = Transactional(ask, t, "X1"), Transactional(ask, t, "X2")
    first.send(10, 20)  # 0-1
    second.send(30, 40)  # 2-3
    first.send(50)  # 4
    first.end(False, 6)  # 5
    ask.produce(t, batch(60))  # 6
    for offset in (1, 2, 3, 5):
        ask.delete_records(t, offset)
        stable(ask, t, f"after deletion to {offset}")
        fetches(ask, t, range(offset, 8), note=f" after deletion to {offset}")
    second.end(False, 8)  # 7
    stable(ask, t, "all ended")
    fetches(ask, t, range(4, 9), note=", all ended")
    ask.delete_records(t, 7)
    stable(ask, t, "only a marker is left")
    fetches(ask, t, (6, 7, 8), note=", only a marker is left")
    ask.delete_records(t, -1)
    stable(ask, t, "nothing is left")
    fetches(ask, t, (7, 8), note=", nothing is left")


@scenario(
    "KIP-107 UnifiedLog.deleteLogStartOffsetBreachedSegments ProducerStateManager.onLogStartOffsetIncremented",
    level="detail",
)
def txn_deleted_segments(ask: ScenarioBuilder) -> None:
    """If the first records of an open transaction are deleted in a log with several segments, read_committed fetches
    and lookups stay limited by this transaction until it ends."""
    t = ask.topic(**ask.small_segments())
    producer = Transactional(ask, t, "X1")
    for n in range(4):
        producer.send(record(20 * n, ask.fill(80)), record(20 * n + 10, "b"))
        ask.produce(t, batch(record(20 * n + 15, ask.fill(80))))
    for offset in (1, 2, 3, 5, 9):
        ask.delete_records(t, offset)
        stable(ask, t, f"after deletion to {offset}")
        fetches(ask, t, (offset, offset + 1, 12), note=f" after deletion to {offset}")
    producer.end(False, 13)
    stable(ask, t, "aborted")
    fetches(ask, t, range(8, 14), note=", aborted")


@scenario("KIP-98 ProducerAppendInfo.appendEndTxnMarker")
def txn_empty(ask: ScenarioBuilder) -> None:
    """A transaction without records leaves only its marker in the log, and the marker has an offset and a timestamp
    that can be found."""
    t = ask.topic()
    first, second = Transactional(ask, t, "X1"), Transactional(ask, t, "X2")
    second.end(False, 1)  # 0
    stable(ask, t, "a marker")
    fetches(ask, t, (0, 1), note=", a marker")
    producers(ask, t, "producers, a marker")
    first.send(10)  # 1
    second.begin()
    second.end(True, 3)  # 2
    stable(ask, t, "markers around an open one")
    fetches(ask, t, range(4), note=", one is open")
    first.end(False, 4)  # 3
    first.begin()
    first.end(False, 5)  # 4
    stable(ask, t, "nothing but markers at the end")
    fetches(ask, t, range(6), 1, BIG, note=", all ended")
    for ts in (0, 10, 20, 1_000_000):
        ask.time(f"time {ts}", t, ts)
    producers(ask, t, "producers, all ended")


@scenario("KIP-98 UnifiedLog.fetchOffsetByTimestamp ReplicaManager.readFromLog", level="must")
def txn_versions(ask: ScenarioBuilder) -> None:
    """Every version of ListOffsets since 2 and of Fetch since 4 respects the isolation level at the last stable
    offset."""
    t = ask.topic()
    aborted, opened = Transactional(ask, t, "X1"), Transactional(ask, t, "X2")
    ask.produce(t, batch(10))  # 0
    aborted.send(20)  # 1
    aborted.end(False, 3)  # 2
    opened.send(30)  # 3
    ask.produce(t, batch(40))  # 4
    for version in ask.versions("ListOffsets", 1):
        for timestamp in (-1, -2, *((-3,) if version >= 7 else ()), T0 + 15, T0 + 25, T0 + 35, T0 + 45):
            for level in (0, 1) if version >= 2 else (0,):
                asked: Step = {"isolation_level": level} if version >= 2 else {}
                ask.offsets(f"v{version} {timestamp} isolation {level}", t, timestamp, version, **asked)
    for version in ask.versions("Fetch"):
        name = "$t.id" if version >= 13 else t
        for offset in (0, 2, 3, 4, 5):
            for level in (0, 1) if version >= 4 else (0,):
                more: Step = {"isolation_level": level} if version >= 4 else {}
                case = f"fetch v{version} offset {offset} isolation {level}"
                ask.fetch(case, at(name, offset), version=version, **more)
    for replica in (-2, -3):
        for level in (0, 1):
            ask.fetch(f"replica {replica}, {level}", at(t, 0), replica_id=replica, isolation_level=level)
            ask.offsets(f"latest, replica {replica}, {level}", t, -1, replica_id=replica, isolation_level=level)


@scenario("KIP-98 LogSegment.shouldRoll MemoryRecords.writeEndTransactionalMarker", level="detail")
def txn_marker_rolls(ask: ScenarioBuilder) -> None:
    """The timestamp of a transaction marker is the time at which it was written; it can start a new segment, and
    lookups find it.
    """
    t = ask.topic(segment_ms=WEEK_MS)
    producer = Transactional(ask, t, "X1")
    producer.send(10, 20)  # 0-1
    ask.produce(t, batch(30))  # 2
    producer.end(False, 4)  # 3, in a new segment
    producer.begin()
    producer.send(40)  # 4, in the segment of the marker, with a much older timestamp
    ask.produce(t, batch(50))  # 5
    stable(ask, t, "open again")
    for ts in (0, 15, 30, 35, 45, 1_000_000):
        for level, name in enumerate(("uncommitted", "committed")):
            ask.time(f"time {ts} {name}", t, ts, isolation_level=level)
    fetches(ask, t, range(7), 1, BIG)
    producer.end(True, 7)  # 6
    stable(ask, t, "ended")
    fetches(ask, t, (0, 3, 4, 6), note=", ended")
    if 0 in ask.versions("ListOffsets"):
        for timestamp in (-1, -2):
            body = {"replica_id": -1, "topics": [one(t, partition_index=0, timestamp=timestamp, max_num_offsets=9)]}
            ask.request(f"v0 {timestamp}", "ListOffsets", 0, body)


@scenario("KIP-32 KIP-98 LogValidator.validateMessagesAndAssignOffsets", level="detail")
def txn_append_time(ask: ScenarioBuilder) -> None:
    """In a topic with LogAppendTime, transactional batches have the append time and markers have the time at which they
    were written."""
    t = ask.topic(message_timestamp_type="LogAppendTime")
    producer = Transactional(ask, t, "X1")
    producer.send(10, 20)
    producer.end(False, 3)
    ask.step("sleep", ms=20)  # so that the appends have different timestamps
    producer.begin()
    producer.send(30)
    stable(ask, t, "open again")
    fetches(ask, t, range(5))
    for ts in (0, 1_000_000):
        for level, name in enumerate(("uncommitted", "committed")):
            ask.time(f"time {ts} {name}", t, ts, isolation_level=level)


@scenario("KIP-98 LogValidator.validateMessagesAndAssignOffsetsCompressed", level="must")
def txn_codecs(ask: ScenarioBuilder) -> None:
    """Compressed transactional batches are stored as written, and Fetch lists their aborted transactions as for
    uncompressed ones."""
    t = ask.topic()
    producer = Transactional(ask, t, "X1")
    for n, codec in enumerate(("gzip", "snappy", "lz4", "zstd")):
        if n:
            producer.begin()
        producer.send(10 * n, 10 * n + 5, codec=codec)
        producer.end(n % 2 == 0, 3 * n + 3)
    fetches(ask, t, range(13), note="")
    fetches(ask, t, (0, 4), 1, version=10)


@scenario("KIP-98 KIP-283 RecordsUtil.downConvert", KAFKA_3_9, area="old_formats", Fetch=0)
def txn_down(ask: ScenarioBuilder) -> None:
    """Fetch v0 to v3 returns the records of all transactions, including aborted and open ones, and no markers."""
    t = ask.topic(segment_bytes=600)
    first, second = Transactional(ask, t, "X1"), Transactional(ask, t, "X2")
    first.send(10, 20)  # 0-1
    second.send(30, codec="gzip")  # 2
    second.send(40, 50, codec="lz4")  # 3-4
    first.end(False, 6)  # 5
    second.end(True, 7)  # 6
    first.begin()
    first.end(False, 8)  # 7
    second.begin()
    second.send(60, 70)  # 8-9
    ask.produce(t, batch(80))  # 10
    for version in (0, 1, 2, 3):
        for offset in range(12):
            ask.fetch(f"v{version} offset {offset}", at(t, offset), version=version)
        for limit in (1, 80, 100, 160, 240):
            for offset in (0, 4, 5, 7):
                ask.fetch(f"v{version} offset {offset}, {limit} bytes", at(t, offset, 0, limit), version=version)
    ask.delete_records(t, 6)
    for version in (0, 2, 3):
        for offset in (5, 6, 7, 8):
            ask.fetch(f"v{version} offset {offset}, deleted to 6", at(t, offset), version=version)


def waiting(ask: ScenarioBuilder, name: str, *wanted: Step, version: int = 11, **body: Any) -> None:
    content = ask.fetching(*wanted, **{"max_wait_ms": 8000, "min_bytes": 1, "isolation_level": 1} | body)
    ask.step("send", id=name, api="Fetch", version=version, body=content, conn=name)


def still(ask: ScenarioBuilder, name: str, case: str) -> None:
    ask.step("is_pending", case=case, id=name, conn=name, wait_ms=300)


def woken(ask: ScenarioBuilder, name: str, case: str) -> None:
    ask.step("receive", case=case, id=name, conn=name, timing_max_wait_ms=8000)


@scenario("KIP-98 DelayedFetch.tryComplete", level="must")
def txn_waits(ask: ScenarioBuilder) -> None:
    """A waiting read_committed fetch completes at the end of a transaction, not when records are appended to the open
    transaction or behind it.
    """
    t = ask.topic()
    first, second = Transactional(ask, t, "X1"), Transactional(ask, t, "X2")
    waiting(ask, "a", at(t))
    waiting(ask, "u", at(t), isolation_level=0)
    first.send(10)  # 0
    still(ask, "a", "open")
    woken(ask, "u", "uncommitted: data is enough")
    first.end(True, 2)  # 1
    woken(ask, "a", "committed: the marker")
    waiting(ask, "a", at(t, 2))
    first.begin()
    first.send(20)  # 2
    second.send(30)  # 3
    first.end(False, 5)  # 4
    woken(ask, "a", "aborted data is data")
    waiting(ask, "b", at(t, 3))
    ask.produce(t, batch(40))  # 5
    still(ask, "b", "plain records behind an open transaction")
    second.end(False, 7)  # 6
    woken(ask, "b", "aborted")
    for least in (1, 78, 79, 300):
        case = f"{least} bytes wanted, 78 of the marker are there"
        ask.fetch(case, at(t, 6), min_bytes=least, max_wait_ms=500, timing=True, isolation_level=1)


@scenario("KIP-98 DelayedFetch.tryComplete")
def txn_min_bytes(ask: ScenarioBuilder) -> None:
    """With read_committed, Fetch counts the bytes up to the last stable offset of each partition towards min_bytes."""
    t = ask.topic(partitions=2)
    ask.produce(t, batch(10))  # 70 bytes
    ask.produce(t, batch(10), partition=1)
    first, second = Transactional(ask, t, "X1"), Transactional(ask, t, "X2", 1)
    first.send(20)
    second.send(20)
    both = at(t, 0), at(t, 0, 1)
    for least in (1, 70, 71, 140, 141, 280, 281):
        for level, name in enumerate(("uncommitted", "committed")):
            body: Step = {"min_bytes": least, "max_wait_ms": 500, "isolation_level": level}
            ask.fetch(f"{least} bytes {name}", *both, timing=True, **body)
    waiting(ask, "a", *both, min_bytes=300)
    still(ask, "a", "140 of 300")
    first.end(True, 3)
    still(ask, "a", "288 of 300")
    second.end(False, 3)
    woken(ask, "a", "436 of 300")


@scenario("DelayedFetch.tryComplete", level="detail")
def txn_waits_in_segments(ask: ScenarioBuilder) -> None:
    """A read_committed fetch at the last stable offset waits, and a fetch from a segment before that of the last stable
    offset returns immediately.
    """
    t = ask.topic(segment_ms=WEEK_MS)
    producer = Transactional(ask, t, "X1")
    ask.produce(t, batch(10))  # 0
    producer.send(20)  # 1
    body: Step = {"min_bytes": 5000, "max_wait_ms": 700, "isolation_level": 1, "timing": True}
    ask.fetch("below the open one", at(t), **body)
    ask.fetch("at the open one", at(t, 1), **body)
    producer.end(True, 3)  # 2, in the next segment
    ask.fetch("older segment", at(t), **body)
    ask.fetch("the marker", at(t, 2), **body)
    ask.fetch("the end", at(t, 3), **body)
    producer.begin()
    producer.send(30)  # 3
    ask.fetch("the stable offset is in the newer segment", at(t, 1), **body)


@scenario("KIP-227 CachedPartition.maybeUpdateResponseData")
def txn_sessions(ask: ScenarioBuilder) -> None:
    """In a session, a new last stable offset alone does not make Fetch return a partition."""
    t = ask.topic(partitions=2)
    producer = Transactional(ask, t, "X1")
    opening = ask.fetching(at(t), at(t, 0, 1), session_id=0, session_epoch=0, isolation_level=1)
    ask.request("opens", "Fetch", 11, opening, bind={"S1": "session_id"})
    session: Step = {"session_id": "$S1", "isolation_level": 1}
    epoch = iter(range(1, 99))
    producer.send(10)  # 0
    ask.fetch("open", session_epoch=next(epoch), **session)
    ask.fetch("open again", session_epoch=next(epoch), **session)
    producer.end(False, 2)  # 1
    ask.fetch("aborted", session_epoch=next(epoch), **session)
    ask.fetch("aborted again", session_epoch=next(epoch), **session)
    ask.fetch("next", at(t, 2), session_epoch=next(epoch), **session)
    producer.begin()
    ask.produce(t, batch(20))  # 2
    producer.send(30)  # 3
    ask.fetch("a stable record", session_epoch=next(epoch), **session)
    ask.fetch("behind it", at(t, 3), session_epoch=next(epoch), **session)
    ask.fetch("uncommitted now", session_epoch=next(epoch), session_id="$S1", isolation_level=0)
    ask.delete_records(t, 4)
    ask.fetch("deleted", session_epoch=next(epoch), **session)
    ask.fetch("deleted again", session_epoch=next(epoch), **session)
    producer.end(True, 5)  # 4
    ask.fetch("committed", session_epoch=next(epoch), **session)


@scenario(
    "KIP-98 ProducerAppendInfo.checkSequence ProducerAppendInfo.checkProducerEpoch", level="must", area="transactions"
)
def txn_produce(ask: ScenarioBuilder) -> None:
    """In a transaction, Produce returns a repeated batch with its original offset, rejects gaps, and in release 4.4
    other epochs, and rejects batches after the end of the transaction."""
    t = ask.topic(partitions=2)
    producer = Transactional(ask, t, "X1")
    producer.send(10, 20)
    producer.send(10, 20, case="duplicate", base_sequence=0)
    producer.send(10, case="part of a duplicate", base_sequence=1)
    producer.send(10, case="gap", base_sequence=5)
    producer.send(10, case="outside of the transaction", base_sequence=2, transactional=False)
    for version in (3, 8, 9, 11):
        producer.send(10, case=f"v{version}, another epoch", base_sequence=0, producer_epoch=7, version=version)
        producer.send(10, case=f"v{version}, epoch -1", base_sequence=2, producer_epoch=-1, version=version)
    ask.offsets("latest", t, -1)


@scenario(
    "KIP-890 ReplicaManager.maybeStartTransactionVerificationForPartitions "
    "TransactionCoordinator.handleVerifyPartitionsInTransaction",
    level="must",
    area="transactions",
)
def txn_produce_first(ask: ScenarioBuilder) -> None:
    """The first transactional batch in a partition is verified with the coordinator, which returns an error for other
    transactional ids, producer ids and epochs."""
    t = ask.topic(partitions=2)
    producer = Transactional(ask, t, "X1")
    fields = producer.fields | {"base_sequence": 0}
    for version in (3, 7, 8, 9, 10, 11):
        for name, xid in (("its name", "$X1"), ("another name", "nobody"), ("an empty name", "")):
            more: Step = {"partition": 1, "version": version, "transactional_id": xid}
            ask.produce(t, batch(10, **fields), case=f"v{version} not added, {name}", **more)
            wrong = fields | {"producer_epoch": 3}
            ask.produce(t, batch(10, **wrong), case=f"v{version} not added, {name}, another epoch", **more)
            other = fields | {"producer_id": 99_999}
            ask.produce(t, batch(10, **other), case=f"v{version} not added, {name}, another producer", **more)
    for name, changed in (("another epoch", {"producer_epoch": 3}), ("another producer", {"producer_id": 99_999})):
        ask.produce(t, batch(10, **fields | changed), case=f"added, {name}", version=9, transactional_id="$X1")
    ask.produce(t, batch(10, **fields), case="added, nobody's name", version=9, transactional_id="nobody")
    producer.send(10, 20)
    producer.end(True, 3)
    ask.step("sleep", ms=500)  # until the coordinator knows that the marker is written
    producer.send(30, case="after the end")
    producer.send(10, 20, case="duplicate after the end", base_sequence=0)
    producer.send(30, case="after the end, without a transaction", transactional=False)
    ask.offsets("latest", t, -1)
    ask.offsets("latest of the other", t, -1, partition=1)


@scenario("KIP-98 ProducerAppendInfo.checkProducerEpoch", level="must", area="transactions")
def txn_fenced(ask: ScenarioBuilder) -> None:
    """After a producer was initialized again, its open transaction is aborted and batches in the older epoch are
    rejected with INVALID_PRODUCER_EPOCH."""
    t = ask.topic()
    old = Transactional(ask, t, "X1")
    old.send(10)  # 0
    body = {"transactional_id": "$X1", "transaction_timeout_ms": 600000}
    bind = {"P1": "producer_id", "E2": "producer_epoch"}
    ask.setup("InitProducerId", 3, body, bind=bind, retry_errors=TRANSACTION_ERRORS)
    ends_at(ask, t, 2)
    old.send(20, case="the older epoch")
    old.send(10, case="the older epoch, a duplicate", base_sequence=0)
    old.send(20, case="the older epoch, without a transaction", transactional=False)
    more = {"transactional_id": "$X1", "producer_id": "$P1", "producer_epoch": "$E2"}
    added = {"topics": [{"name": t, "partitions": [0]}]}
    ask.setup("AddPartitionsToTxn", 3, more | added, retry_errors=TRANSACTION_ERRORS)
    old.send(20, case="the newer epoch, not at sequence 0", base_sequence=5, producer_epoch="$E2")
    old.send(20, case="the newer epoch", base_sequence=0, producer_epoch="$E2")
    old.send(30, case="the older epoch inside of the newer's transaction", base_sequence=1)
    stable(ask, t, "the newer is open")
    fetches(ask, t, range(4))
