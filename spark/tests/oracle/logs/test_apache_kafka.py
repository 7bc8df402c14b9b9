"""The log reader derives from Apache Kafka's files what the broker answered.

The directories are copied while the broker runs (with preallocated indexes, as after a kill) and after a clean
shutdown. They contain topics with dashes and dots, several segments and codecs, transactions that are committed,
aborted, interleaved and open, a compacted log, and logs whose first segments or records were deleted.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafkalet.formats import LEADER_EPOCHS
from kafkalet_conformance.playing.target import Target
from kafkalet_spark.decoding.chunks import read_chunks
from kafkalet_spark.decoding.records import decode
from kafkalet_spark.logs.checkpoints import read_epochs
from kafkalet_spark.logs.directory import PartitionLog, find
from kafkalet_spark.logs.ends import log_end
from kafkalet_spark.logs.indexed import IndexedSegment
from kafkalet_spark.logs.planning import plan
from kafkalet_spark.logs.timestamps import EARLIEST, LATEST, MAX_TIMESTAMP, TimestampSearch
from kafkalet_spark.logs.transactions import aborted_transactions, last_stable_offset, verify_transactions
from tests.oracle.apache_kafka import ApacheKafka, missing
from tests.wire.behavior.client import Client

pytestmark = pytest.mark.oracle

T0 = 1_700_000_000_000
MEBIBYTE = 1 << 20
PLAIN, TRANSACTIONAL, COMPACTED, DELETED = "plain-with.dots-7", "txn_al", "compacted", "deleted"
TOPICS = {
    PLAIN: {},
    TRANSACTIONAL: {},
    COMPACTED: {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"},
    DELETED: {},
}
EVERYWHERE = {
    "segment.bytes": str(MEBIBYTE),
    "index.interval.bytes": "2000",
    "retention.ms": "-1",
    "segment.ms": str(1 << 60),
    "message.timestamp.difference.max.ms": str((1 << 63) - 1),
}
CONFIG = {
    "log.cleaner.backoff.ms": "200",
    "log.retention.check.interval.ms": "500",
    "log.initial.task.delay.ms": "500",
    "log.segment.delete.delay.ms": "100",
    "log.flush.offset.checkpoint.interval.ms": "500",
    "log.flush.start.offset.checkpoint.interval.ms": "500",
    "log.cleaner.dedupe.buffer.size": str(2 << 20),
}


class Answered(NamedTuple):
    """The broker's responses for a partition."""

    times: dict[int, tuple[int, int] | None]
    stable: int
    aborted: dict[tuple[int, int], list[tuple[int, int]]]
    """Aborted transactions as (producer id, first offset), by offset range."""


class Recorded(NamedTuple):
    """Copies of a directory from while the broker ran and after it stopped, and the broker's responses."""

    release: str
    running: Path
    stopped: Path
    answers: dict[tuple[str, int], Answered]
    counts: dict[tuple[str, int], int]


@pytest.fixture(scope="module", params=["2.8", "3.9", "4.4"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    release = request.param
    if reason := missing(release):
        pytest.skip(reason)
    root = tmp_path_factory.mktemp(f"kafka-{release}")
    with ApacheKafka(release, config=CONFIG) as kafka:
        counts = fill(kafka.bootstrap_servers, kafka.directory / "data", release)
        client = Client(Target(kafka.bootstrap_servers))
        answers = {key: ask(client, *key) for key in counts}
        client.close()
        running = root / "running"
        shutil.copytree(kafka.directory / "data", running, symlinks=True)
        broker = kafka.processes[-1]
        broker.terminate()
        broker.wait(60)
        stopped = root / "stopped"
        shutil.copytree(kafka.directory / "data", stopped)
    return Recorded(release, running, stopped, answers, counts)


# Writing


def fill(bootstrap: str, data: Path, release: str) -> dict[tuple[str, int], int]:
    """Fill the topics; return the number of records visible to read_uncommitted readers by partition (-1: unknown)."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = []
    for name, config in TOPICS.items():
        everywhere = dict(EVERYWHERE)
        if release != "2.8" and int(release[0]) >= 4:
            everywhere["message.timestamp.before.max.ms"] = everywhere.pop("message.timestamp.difference.max.ms")
            everywhere["message.timestamp.after.max.ms"] = str((1 << 63) - 1)
        topics.append(NewTopic(name, 2 if name == PLAIN else 1, 1, config=everywhere | config))
    for made in admin.create_topics(topics).values():
        made.result()
    rnd = random.Random(7)
    for codec in ("none", "gzip", "zstd", "lz4", "none"):
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 3})
        for number in range(2500):
            at = T0 + number * 100 + rnd.randrange(-3000, 3000)
            producer.produce(PLAIN, rnd.randbytes(400), b"%d" % number, number % 2, timestamp=at)
            if number % 7 == 0:
                producer.flush()
        producer.flush()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 3})
    for number in range(6000):
        producer.produce(COMPACTED, rnd.randbytes(500), b"%d" % (number % 300), timestamp=T0 + number)
        producer.produce(DELETED, rnd.randbytes(500), None, timestamp=T0 + number)
        if number % 7 == 0:
            producer.flush()
    producer.flush()
    transactions(bootstrap, rnd)
    deleted = TopicPartition(DELETED, 0, 4321)
    for done in admin.delete_records([deleted]).values():
        done.result()
    wait(lambda: len(list((data / f"{DELETED}-0").glob("*.log"))) < 3, "first segments deleted")
    wait(lambda: compacted_enough(data / f"{COMPACTED}-0"), "compaction")
    wait(lambda: DELETED in (data / "log-start-offset-checkpoint").read_text(), "log start checkpoint")
    time.sleep(2)  # renamed files are deleted
    return {(PLAIN, 0): 6250, (PLAIN, 1): 6250, (TRANSACTIONAL, 0): -1, (COMPACTED, 0): -1, (DELETED, 0): 6000 - 4321}


def transactions(bootstrap: str, rnd: random.Random) -> None:
    producers = [
        Producer({"bootstrap.servers": bootstrap, "transactional.id": f"t{number}", "linger.ms": 0})
        for number in range(3)
    ]
    for producer in producers:
        producer.init_transactions()
    begun = [False] * 3
    for step in range(400):
        which = rnd.randrange(3)
        producer = producers[which]
        if not begun[which]:
            producer.begin_transaction()
            begun[which] = True
        for _ in range(rnd.randrange(1, 20)):
            producer.produce(TRANSACTIONAL, rnd.randbytes(900), timestamp=T0 + step * 10)
        producer.flush()
        if rnd.random() < 0.4:
            (producer.commit_transaction if rnd.random() < 0.5 else producer.abort_transaction)()
            begun[which] = False
    for which in (0, 1):  # the third one stays open
        if begun[which]:
            producers[which].abort_transaction()
    if not begun[2]:
        producers[2].begin_transaction()
    producers[2].produce(TRANSACTIONAL, b"open", timestamp=T0)
    producers[2].flush()
    KEPT.append(producers)  # a garbage-collected producer would abort its transaction


KEPT: list[Any] = []


def compacted_enough(directory: Path) -> bool:
    logs = sorted(directory.glob("*.log"))
    return len(logs) > 1 and logs[0].stat().st_size < 600_000


def wait(ready: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 90
    while not ready():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


# The broker's responses


def ask(client: Client, topic: str, partition: int) -> Answered:
    latest = client.offset(topic, LATEST, 4, partition).offset
    earliest = client.offset(topic, EARLIEST, 4, partition).offset
    stable = client.offset(topic, LATEST, 4, partition, isolation_level=1).offset
    times: dict[int, tuple[int, int] | None] = {LATEST: (latest, -1), EARLIEST: (earliest, -1)}
    asked = list(range(T0 - 5000, T0 + 260_000, 2003)) + list(range(T0, T0 + 7000, 61)) + [T0 - 10**6, 1 << 60]
    if client.serves("ListOffsets", 7):
        asked.append(MAX_TIMESTAMP)
    for timestamp in asked:
        found = client.offset(topic, timestamp, 7 if timestamp == MAX_TIMESTAMP else 4, partition)
        assert found.error_code == 0
        times[timestamp] = None if found.offset < 0 else (found.offset, found.timestamp)
    return Answered(times, stable, dict(fetched_aborted(client, topic, partition, earliest, stable)))


def fetched_aborted(
    client: Client, topic: str, partition: int, start: int, end: int
) -> Iterator[tuple[tuple[int, int], list[tuple[int, int]]]]:
    """Yield the aborted transactions of read_committed fetches; a response lists at least those in its records."""
    if topic != TRANSACTIONAL:
        return
    for offset in range(start, end, max((end - start) // 40, 1)):
        body = {
            "replica_id": -1, "max_wait_ms": 100, "min_bytes": 0, "max_bytes": 1, "isolation_level": 1,
            "topics": [{"topic": topic, "partitions": [
                {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1}]}],
        }  # fmt: skip
        [said] = client.ask("Fetch", 4, body)["responses"][0]["partitions"]
        yield (
            (offset, offset + 1),
            [(each["producer_id"], each["first_offset"]) for each in said["aborted_transactions"]],
        )


# The files


def each_log(recorded: Recorded) -> Iterator[tuple[PartitionLog, Answered]]:
    for directory in (recorded.running, recorded.stopped):
        found = {(log.topic, log.partition): log for log in find([str(directory)])}
        assert set(recorded.answers) <= set(found)
        for key, answered in recorded.answers.items():
            yield found[key], answered


def test_start_end_and_stable_offsets_equal_those_of_the_broker(recorded: Recorded) -> None:
    for log, answered in each_log(recorded):
        end = log_end(log)
        assert (log.log_start_offset, end.offset, end.fault) == (
            answered.times[EARLIEST][0],
            answered.times[LATEST][0],
            None,
        )
        assert last_stable_offset(log) == answered.stable


def test_cleanly_stopped_directory_is_recognized(recorded: Recorded) -> None:
    assert {log.is_closed for log in find([str(recorded.running)])} == {False}
    assert {log.is_closed for log in find([str(recorded.stopped)])} == {True}


def test_high_watermarks_are_exact_after_clean_stop(recorded: Recorded) -> None:
    for log in find([str(recorded.stopped)]):
        assert log.high_watermark == log_end(log).offset


def test_lookups_by_time_equal_those_of_the_broker(recorded: Recorded) -> None:
    for log, answered in each_log(recorded):
        search = TimestampSearch(log)
        assert {asked: search.offset_for(asked) for asked in answered.times} == answered.times, log.path


def test_aborted_transactions_equal_those_of_a_fetch(recorded: Recorded) -> None:
    for log, answered in each_log(recorded):
        verify_transactions(log)
        for (start, end), returned in answered.aborted.items():
            ours = aborted_transactions(log, start, end)
            pairs = list(zip(ours.producer_id.tolist(), ours.first_offset.tolist(), strict=True))
            # The upper bound of a fetch is at or after the end of the records that it returns.
            assert [pair for pair in returned if pair[1] < end] == pairs


def test_aborted_transactions_are_indexed(recorded: Recorded) -> None:
    for log, answered in each_log(recorded):
        if answered.aborted:
            assert aborted_transactions(log, 0, 1 << 60).producer_id.size > 5


def test_splits_contain_every_record_once(recorded: Recorded) -> None:
    for log, answered in each_log(recorded):
        start, end = answered.times[EARLIEST][0], answered.times[LATEST][0]
        for more in ({}, {"max_records": 700}, {"min_splits": 50}):
            splits = plan([(log, start, end)], max_bytes=300_000, **more)
            assert len(splits) >= log.size_bytes // 400_000
            offsets = [offset for each in splits for offset, _ in rows(each)]
            assert offsets == sorted(set(offsets))
            expected = recorded.counts[log.topic, log.partition]
            assert len(offsets) == (len(all_offsets(log, start)) if expected < 0 else expected)


def test_split_by_time_omits_no_later_record(recorded: Recorded) -> None:
    for log, answered in each_log(recorded):
        end = answered.times[LATEST][0]
        everything = [row for each in plan([(log, 0, end)], max_bytes=MEBIBYTE) for row in rows(each)]
        for ms in (T0, T0 + 3000, T0 + 100_000, T0 + 245_000):
            splits = plan([(log, 0, end)], max_bytes=MEBIBYTE, not_before_ms=ms)
            found = [row for each in splits for row in rows(each) if row[1] >= ms]
            assert found == [row for row in everything if row[1] >= ms]


def test_index_entries_point_to_batches(recorded: Recorded) -> None:
    entries = 0
    for log, _ in each_log(recorded):
        for segment in log.segments:
            indexed = IndexedSegment(log, segment)
            for slot in range(indexed.offsets.offset.size):
                assert indexed.claim(slot).check(segment, lenient=False, is_last=False) is not None
                entries += 1
            indexed.times  # noqa: B018  # raises where it is corrupt
    assert entries > 1000


def test_leader_epochs_and_topic_ids_are_read(recorded: Recorded) -> None:
    for log, _ in each_log(recorded):
        epochs, starts = read_epochs(str(Path(log.path) / LEADER_EPOCHS))
        assert epochs.tolist() == [0]
        assert starts[0] <= log.log_start_offset
        assert (log.topic_id is None) == (recorded.release == "2.8")


def test_offset_gaps_of_compaction_are_accepted(recorded: Recorded) -> None:
    for log, _ in each_log(recorded):
        if log.topic == COMPACTED:
            assert len(all_offsets(log, 0)) < log_end(log).offset


def rows(each: Any) -> Iterator[tuple[int, int]]:
    for piece in each.pieces:
        for chunk in read_chunks(piece.path, piece.start, piece.end):
            assert not chunk.problems
            found = decode(chunk.buffer, chunk.batches, ())
            pairs = zip(found.offset.tolist(), found.timestamp.tolist(), strict=True)
            yield from (pair for pair in pairs if each.start_offset <= pair[0] < each.end_offset)


def all_offsets(log: PartitionLog, start: int) -> list[int]:
    found: list[int] = []
    for segment in log.segments:
        for chunk in read_chunks(segment.path, 0, segment.size):
            found += [at for at in decode(chunk.buffer, chunk.batches, ()).offset.tolist() if at >= start]
    return found
