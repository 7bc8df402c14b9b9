"""Faults to plant in a log directory, with the expected result of an audit and the reaction of Apache Kafka.

The directory has topics `plain` (two partitions), `txn` and `compacted`, of which a part is compacted, and, if Apache
Kafka wrote it, others; each log has several segments, and its broker was shut down cleanly. `create_directory`
creates a small one with the storage of kafkalet.

An expectation names files as `plain-0/1.log`: the .log of the second segment; a snapshot counts from the end as `-1`.
`compacted-0/key 31` is the .log with that key, and `txn-0/marker` the one with the first transaction marker.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kafkalet.formats import offsets_bytes, topic_id_bytes
from kafkalet.protocol.records.batch import Batch
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.crc32c import crc32c
from kafkalet.protocol.records.record import Record
from kafkalet.storage.cleaning.cleaner import CleanerSettings
from kafkalet.storage.cleaning.log_cleaner import LogCleaner
from kafkalet_spark.logs.checkpoints import read_offsets
from spark.tests.unit.logs.made import CONFIG, T0, Made
from tests.unit.storage.cleaning.cleaned_place import run

from .audited import entries, fill, flip, idempotent, insert, overwrite, remove, write_metadata

ID = "b368e7b9ec5e4191a98db529014282fc"
VALUE = b"v" * 99
BATCH = 3
"""The batch of a segment that is damaged."""


class KafkaStart(NamedTuple):
    """The state of a directory after a start of Apache Kafka."""

    is_up: bool
    offsets: Mapping[str, tuple[int, int]]
    """Log start and end offsets by partition; empty if Kafka did not start."""
    before: Sequence[str]
    """Names of files before and after."""
    after: Sequence[str]

    @property
    def stray(self) -> bool:
        return any(name.startswith("plain-1.") and name.endswith("-stray") for name in self.after)


Place = Callable[[Path], None]
Reaction = Callable[[KafkaStart], bool]


class Fault(NamedTuple):
    plant: Place
    found: tuple[tuple[str, str, int], ...]
    """The expected causes: fault, file and number of consequences."""
    not_checked: tuple[str, ...] = ()
    kafka: Reaction | None = None
    """Whether Apache Kafka reacted as the audit says; None if this cannot be observed here."""


def create_directory(path: Path) -> Path:
    """Create a directory of kafkalet whose broker was shut down cleanly."""
    for topic, partition in (("plain", 0), ("plain", 1), ("txn", 0)):
        made = Made(path, CONFIG, topic=topic, partition=partition)
        if topic == "txn":
            fill(made)
        else:
            for sequence in range(0, 180, 3):
                idempotent(made, 5 + partition, sequence, *range(1000 + sequence, 1003 + sequence))
        made.close()
    compact(path)
    for at, topic in enumerate(("txn", "compacted"), 1):
        (path / f"{topic}-0" / "partition.metadata").write_bytes(topic_id_bytes(bytes(range(16 * at, 16 * at + 16))))
    write_metadata(path, plain={"index.interval.bytes": "200"}, txn={}, compacted={"cleanup.policy": "compact"})
    return path


def compact(path: Path) -> None:
    """Create the log of the topic `compacted`: a compacted part, and then two segments that are not compacted yet."""
    made = Made(path, CONFIG._replace(cleanup_policy=frozenset({"compact"})), topic="compacted")

    def put(*keys: int) -> None:
        made.add(build_batch([Record(at, T0, b"key %d" % key, VALUE) for at, key in enumerate(keys)]))

    for at in range(40):
        put(at, at % 8, at + 1)
    made.log.roll()
    made.add(build_batch([Record(0, T0, b"last", b"v")]))
    run(LogCleaner(lambda: [made.log], made.directory.environment.cleaning).clean_filthiest(CleanerSettings(), T0))
    made.directory.environment.deletions.hurry_all()
    for at in range(100, 118):
        put(at, 1000 + at)
    for at in range(18):
        put(at, 0)
    made.close()


# Paths


def file(directory: Path, name: str) -> Path:
    """Return the file that an expectation names."""
    log, slash, rest = name.partition("/")
    if rest.startswith("key "):
        key = bytes([2 * len(rest)]) + rest.encode()
        return next(path for path in sorted((directory / log).glob("*.log")) if key in path.read_bytes())
    if rest == "marker":
        paths = sorted((directory / log).glob("*.log"))
        return next(path for path in paths if any(path.read_bytes()[at + 22] & 0x20 for at, _ in entries(path)))
    if not slash or not re.fullmatch(r"-?\d\.\w+", rest):
        return directory / name
    number, _, suffix = rest.partition(".")
    stems = sorted(path.stem for path in (directory / log).glob(f"*.{suffix if suffix == 'snapshot' else 'log'}"))
    return directory / log / f"{stems[int(number)]}.{suffix}"


def batch(directory: Path, name: str, at: int = BATCH) -> tuple[Path, int, int]:
    """Return a .log, and the position and size of one of its batches."""
    path = file(directory, name)
    return path, *entries(path)[at]


# How faults are planted


def in_batch(name: str, field: int, data: bytes, *, at: int = BATCH, with_checksum: bool = False) -> Place:
    """Overwrite some bytes of a batch; with `with_checksum`, also update its checksum."""

    def plant(directory: Path) -> None:
        path, position, size = batch(directory, name, at)
        overwrite(path, position + field, data)
        if with_checksum:
            checksum = crc32c(path.read_bytes()[position + 21 : position + size])
            overwrite(path, position + 17, checksum.to_bytes(4, "big"))

    return plant


def with_batch(path: Path, position: int, size: int, change: Callable[[bytes], bytes]) -> None:
    """Replace a batch. Its length and its checksum are made right."""
    whole = path.read_bytes()
    data = bytearray(change(whole[position : position + size]))
    data[8:12] = (len(data) - 12).to_bytes(4, "big")
    data[17:21] = crc32c(data[21:]).to_bytes(4, "big")
    path.write_bytes(whole[:position] + data + whole[position + size :])


def keeping(name: str, count: int, at: int = BATCH) -> Place:
    """Keep only the last records of a batch, as the log cleaner may do."""

    def plant(directory: Path) -> None:
        def shorten(data: bytes) -> bytes:
            return build_batch(
                Batch(data).records()[len(Batch(data).records()) - count :],
                base_offset=int.from_bytes(data[:8], "big"),
                last_offset=Batch(data).last_offset,
                leader_epoch=int.from_bytes(data[12:16], "big"),
                producer_id=Batch(data).producer_id,
                producer_epoch=Batch(data).producer_epoch,
                base_sequence=Batch(data).base_sequence,
                max_timestamp=None if count else int.from_bytes(data[35:43], "big"),
            )

        with_batch(*batch(directory, name, at), shorten)

    return plant


def with_horizon(name: str, at: int = BATCH) -> Place:
    """Set the flag of a delete horizon, which only the log cleaner sets."""
    return in_batch(name, 22, b"\x40", at=at, with_checksum=True)


def in_record(log: str, key: bytes, change: Callable[[bytes], bytes]) -> Place:
    """Change the first batch that contains a key."""

    def plant(directory: Path) -> None:
        for path in sorted((directory / log).glob("*.log")):
            for position, size in entries(path):
                if bytes([2 * len(key)]) + key in path.read_bytes()[position : position + size]:
                    return with_batch(path, position, size, change)
        raise AssertionError(f"no record has the key {key!r}")

    return plant


def rekeyed(log: str, key: bytes, other: bytes) -> Place:
    return in_record(log, key, lambda data: data.replace(key, other))


def without_key(log: str, key: bytes) -> Place:
    """Make the key of a record with a value of VALUE a part of its value. The size of the record stays the same."""
    lengths = [(2 * length & 0x7F | 0x80, 2 * length >> 7) for length in (len(VALUE), len(VALUE) + len(key))]
    old = bytes([2 * len(key)]) + key + bytes(lengths[0]) + VALUE
    return in_record(log, key, lambda data: data.replace(old, b"\1" + bytes(lengths[1]) + key + VALUE))


def in_file(name: str, position: int, data: bytes) -> Place:
    return lambda directory: overwrite(file(directory, name), position, data)


def flipped(name: str, at: int = BATCH) -> Place:
    def plant(directory: Path) -> None:
        path, position, _ = batch(directory, name, at)
        flip(path, position + 70)

    return plant


def without_batch(name: str, at: int = BATCH) -> Place:
    return lambda directory: remove(*batch(directory, name, at))


def with_batch_twice(name: str) -> Place:
    def plant(directory: Path) -> None:
        path, position, size = batch(directory, name)
        insert(path, position + size, path.read_bytes()[position : position + size])

    return plant


def in_marker(log: str, field: int, data: bytes) -> Place:
    """Overwrite some bytes of the first transaction marker, and update its checksum."""

    def plant(directory: Path) -> None:
        for path in sorted((directory / log).glob("*.log")):
            for at, (position, _) in enumerate(entries(path)):
                if path.read_bytes()[position + 22] & 0x20:
                    return in_batch(f"{log}/{path.name}", field, data, at=at, with_checksum=True)(directory)
        raise AssertionError("there is no marker")

    return plant


def twice(name: str) -> Place:
    """Name plain-0 twice in a checkpoint: at offset 1, and then at its own offset, or at 2 if it has none."""

    def plant(directory: Path) -> None:
        offsets = read_offsets(str(directory / name))
        mine = offsets.pop(("plain", 0), 2)
        lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
        lines += ["plain 0 1", f"plain 0 {mine}"]
        (directory / name).write_text("\n".join(["0", str(len(lines)), *lines, ""]))

    return plant


def emptied(name: str) -> Place:
    return lambda directory: os.truncate(file(directory, name), 0)


def shortened(name: str, size: int) -> Place:
    return lambda directory: os.truncate(file(directory, name), file(directory, name).stat().st_size - size)


def extended(name: str, data: bytes) -> Place:
    return lambda directory: insert(file(directory, name), file(directory, name).stat().st_size, data)


def deleted(*names: str) -> Place:
    def plant(directory: Path) -> None:
        for path in [file(directory, name) for name in names]:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    return plant


def without_segment(log: str, number: int) -> Place:
    def plant(directory: Path) -> None:
        stem = file(directory, f"{log}/{number}.log").stem
        for path in (directory / log).glob(f"{stem}.*"):
            path.unlink()

    return plant


def renamed(name: str, to: str) -> Place:
    return lambda directory: file(directory, name).rename(directory / to)


def written(name: str, text: str) -> Place:
    return lambda directory: file(directory, name).write_text(text) and None


def replaced(name: str, make: Callable[[Path], None]) -> Place:
    def plant(directory: Path) -> None:
        path = file(directory, name)
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        make(path)

    return plant


def checkpoint(name: str, log: str, offset: int) -> Place:
    """Write the offset of a partition into a checkpoint."""

    def plant(directory: Path) -> None:
        path = directory / f"{name}-offset-checkpoint"
        topic, _, partition = log.rpartition("-")
        path.write_bytes(offsets_bytes(read_offsets(str(path)) | {(topic, int(partition)): offset}))

    return plant


def without_snapshots(log: str) -> Place:
    def plant(directory: Path) -> None:
        for path in (directory / log).glob("*.snapshot"):
            path.unlink()

    return plant


def copied(name: str, to: str) -> Place:
    def plant(directory: Path) -> None:
        path = file(directory, name)
        (shutil.copytree if path.is_dir() else shutil.copy)(path, directory / to)  # type: ignore[operator]

    return plant


def both(*plants: Place) -> Place:
    def plant(directory: Path) -> None:
        for each in plants:
            each(directory)

    return plant


def dangling(path: Path) -> None:
    path.symlink_to("/nowhere")


def torn(suffix: str, rest: int) -> Place:
    """Cut three bytes off the last entry of an index of the second segment."""
    log = "txn-0" if suffix == ".txnindex" else "plain-0"
    return shortened(f"{log}/1{suffix}", rest)


# How Kafka reacts


def refuses(seen: KafkaStart) -> bool:
    return not seen.is_up


def starts(seen: KafkaStart) -> bool:
    return seen.is_up


def recreates(seen: KafkaStart) -> bool:
    return seen.is_up and seen.offsets["plain-1"] == (0, 0)


def sets_aside(seen: KafkaStart) -> bool:
    return recreates(seen) and seen.stray


def deletes(name: str) -> Reaction:
    return lambda seen: any(name in each for each in seen.before) and not any(name in each for each in seen.after)


def loads(seen: KafkaStart) -> bool:
    return seen.is_up and seen.offsets["plain-1"][1] > 0


def starts_at(offset: int) -> Reaction:
    return lambda seen: seen.is_up and seen.offsets["plain-0"] == (offset, offset)


CORRUPT = "0\n9\nplain 0 1\n"
FAULTS: Mapping[str, Fault] = {
    # batches
    "checksum": Fault(flipped("plain-0/1.log"), (("checksum", "plain-0/1.log", 0),), kafka=starts),
    "last checksum": Fault(flipped("plain-0/-1.log", 0), (("checksum", "plain-0/-1.log", 0),), kafka=starts),
    "size too large": Fault(
        in_batch("plain-0/1.log", 8, b"\x7f\xff\xff\xff"), (("truncated", "plain-0/1.log", 0),), kafka=starts
    ),
    "size negative": Fault(
        in_batch("plain-0/1.log", 8, b"\xff" * 4), (("unreadable", "plain-0/1.log", 0),), kafka=starts
    ),
    "magic": Fault(in_batch("plain-0/1.log", 16, b"\x09"), (("unreadable", "plain-0/1.log", 0),), kafka=starts),
    "torn end": Fault(shortened("plain-0/-1.log", 20), (("truncated", "plain-0/-1.log", 4),), kafka=starts),
    "garbage end": Fault(
        extended("plain-0/-1.log", b"\xff" * 100), (("unreadable", "plain-0/-1.log", 0),), kafka=refuses
    ),
    "zeros end": Fault(extended("plain-0/-1.log", bytes(8192)), (("zeros", "plain-0/-1.log", 0),), kafka=refuses),
    "zeros inside": Fault(extended("plain-0/1.log", bytes(8192)), (("zeros", "plain-0/1.log", 0),), kafka=starts),
    "batch missing": Fault(without_batch("plain-0/1.log"), (("missing", "plain-0/1.log", 7),), kafka=starts),
    "last batch missing": Fault(without_batch("plain-0/-1.log", -1), (("end-lost", "plain-0/-1.log", 6),)),
    "batch twice": Fault(with_batch_twice("plain-0/1.log"), (("order", "plain-0/1.log", 1),), kafka=starts),
    "base offset": Fault(in_batch("plain-0/1.log", 7, b"\xf0"), (("missing", "plain-0/1.log", 3),), kafka=starts),
    "largest timestamp": Fault(
        in_batch("plain-0/1.log", 35, bytes(8), with_checksum=True), (("records", "plain-0/1.log", 0),), kafka=starts
    ),
    "record count": Fault(
        in_batch("plain-0/1.log", 57, b"\0\0\0\x01", with_checksum=True), (("records", "plain-0/1.log", 1),)
    ),
    "leader epoch": Fault(
        in_batch("plain-0/1.log", 12, b"\0\0\0\x07"), (("leader-epoch", "plain-0/1.log", 0),), kafka=starts
    ),
    "leader epoch of a whole segment's first batch": Fault(
        in_batch("plain-0/2.log", 12, b"\0\0\0\x07", at=0), (("leader-epoch", "plain-0/2.log", 0),)
    ),
    "producer id": Fault(
        in_batch("plain-0/1.log", 43, b"\xff" * 8, with_checksum=True), (("no-producer", "plain-0/1.log", 1),)
    ),
    "sequence": Fault(
        in_batch("plain-0/1.log", 53, b"\0\0\x70\0", with_checksum=True), (("sequence", "plain-0/1.log", 1),)
    ),
    "records removed": Fault(keeping("plain-0/1.log", 1, -1), (("removed", "plain-0/1.log", 0),), kafka=starts),
    "batch emptied": Fault(keeping("plain-0/1.log", 0, -1), (("removed", "plain-0/1.log", 0),), kafka=starts),
    "delete horizon": Fault(with_horizon("plain-0/1.log"), (("removed", "plain-0/1.log", 0),), kafka=starts),
    "segment missing before a delete horizon": Fault(
        both(with_horizon("plain-0/-1.log", 0), without_segment("plain-0", 1)),
        (("missing", "plain-0/2.log", 0), ("removed", "plain-0/-1.log", 0)),
        kafka=starts,
    ),
    "batch emptied after the cleaner offset": Fault(
        keeping("compacted-0/-1.log", 0, -1), (("removed", "compacted-0/-1.log", 0),), kafka=starts
    ),
    "records removed in a segment that has a key twice": Fault(
        keeping("compacted-0/-2.log", 1, -1), (("removed", "compacted-0/-2.log", 0),), kafka=starts
    ),
    "key twice below the cleaner offset": Fault(
        rekeyed("compacted-0", b"key 31", b"key 32"), (("repeated-key", "compacted-0/key 31", 0),), kafka=starts
    ),
    "no key below the cleaner offset": Fault(
        without_key("compacted-0", b"key 31"), (("null-key", "compacted-0/key 31", 0),), kafka=starts
    ),
    "no key above the cleaner offset": Fault(
        without_key("compacted-0", b"key 1110"), (), ("compacted-0",), kafka=starts
    ),
    "marker without a producer epoch": Fault(
        in_marker("txn-0", 51, b"\xff\xff"), (("no-producer-epoch", "txn-0/marker", 1),), kafka=starts
    ),
    # segments
    "name of a segment beyond 64 bits": Fault(
        written(f"plain-0/{'9' * 20}.log", "x"), (("foreign-log-in-log", f"plain-0/{'9' * 20}.log", 0),), kafka=refuses
    ),
    "segment missing": Fault(without_segment("plain-0", 1), (("missing", "plain-0/2.log", 0),), kafka=starts),
    "first segment missing": Fault(
        without_segment("plain-0", 0), (("begin-lost", "plain-0/leader-epoch-checkpoint", 0),)
    ),
    ".log missing": Fault(deleted("plain-0/1.log"), (("missing", "plain-0/2.log", 2),), kafka=starts),
    ".log is a directory": Fault(
        replaced("plain-0/1.log", Path.mkdir), (("log-is-no-file", "plain-0/1.log", 0),), ("plain-0/1.log",), starts
    ),
    ".log is a dangling link": Fault(
        replaced("plain-0/1.log", dangling), (("log-is-no-file", "plain-0/1.log", 0),), ("plain-0/1.log",), starts
    ),
    ".log is a pipe": Fault(
        replaced("plain-0/1.log", lambda path: os.mkfifo(path)),
        (("log-is-no-file", "plain-0/1.log", 0),),
        ("plain-0/1.log",),
    ),
    # indexes
    ".index missing": Fault(deleted("plain-0/1.index"), (("no.index", "plain-0/1.index", 0),), kafka=starts),
    ".index torn": Fault(torn(".index", 3), (("torn-index", "plain-0/1.index", 0),), kafka=starts),
    ".index torn before zeros": Fault(
        extended("plain-0/1.index", b"\0"), (("torn-index", "plain-0/1.index", 0),), kafka=starts
    ),
    "producer epoch -2 without a producer": Fault(
        in_batch("compacted-0/-1.log", 51, b"\xff\xfe", at=0, with_checksum=True),
        (("no-producer", "compacted-0/-1.log", 0),),
        kafka=starts,
    ),
    ".index offset": Fault(in_file("plain-0/1.index", 0, b"\0\0\0\x7f"), (("offset-index", "plain-0/1.index", 1),)),
    ".index position": Fault(in_file("plain-0/1.index", 7, b"\x01"), (("offset-index", "plain-0/1.index", 0),)),
    "zeros behind an .index": Fault(
        extended("plain-0/1.index", bytes(8192)), (("padded-index", "plain-0/1.index", 0),), kafka=starts
    ),
    "zeros behind a .timeindex": Fault(
        extended("plain-0/1.timeindex", bytes(8196)), (("padded-timeindex", "plain-0/1.timeindex", 0),), kafka=starts
    ),
    ".index is a directory": Fault(replaced("plain-0/1.index", Path.mkdir), (), ("plain-0/1.index",)),
    ".timeindex missing": Fault(
        deleted("plain-0/1.timeindex"), (("no.timeindex", "plain-0/1.timeindex", 0),), kafka=starts
    ),
    ".timeindex empty": Fault(
        emptied("plain-0/1.timeindex"), (("empty-timeindex", "plain-0/1.timeindex", 0),), kafka=starts
    ),
    ".timeindex empty at the end": Fault(
        emptied("plain-0/-1.timeindex"), (("empty-timeindex", "plain-0/-1.timeindex", 0),), kafka=starts
    ),
    ".timeindex torn": Fault(torn(".timeindex", 3), (("torn-timeindex", "plain-0/1.timeindex", 1),), kafka=starts),
    ".timeindex timestamp": Fault(
        in_file("plain-0/1.timeindex", 0, bytes(8)), (("time-index", "plain-0/1.timeindex", 0),), kafka=starts
    ),
    ".txnindex missing": Fault(deleted("txn-0/1.txnindex"), (("no-txnindex", "txn-0/1.txnindex", 0),), kafka=starts),
    ".txnindex torn": Fault(torn(".txnindex", 3), (("torn-txnindex", "txn-0/1.txnindex", 1),), kafka=starts),
    ".txnindex producer": Fault(
        in_file("txn-0/1.txnindex", 2, b"\x77"), (("txn-index", "txn-0/1.txnindex", 0),), kafka=starts
    ),
    ".txnindex version": Fault(
        in_file("txn-0/1.txnindex", 0, b"\0\x07"), (("txn-index", "txn-0/1.txnindex", 0),), kafka=starts
    ),
    # snapshots
    "last snapshot missing": Fault(
        deleted("plain-0/-1.snapshot"), (("no-last-snapshot", "plain-0/-1.snapshot", 0),), kafka=starts
    ),
    "all snapshots missing": Fault(
        without_snapshots("plain-0"), (("no-snapshots", "plain-0/-1.snapshot", 0),), kafka=starts
    ),
    "snapshot checksum": Fault(
        in_file("plain-0/-1.snapshot", 20, b"\x77"), (("corrupt-snapshot", "plain-0/-1.snapshot", 0),), kafka=starts
    ),
    "snapshot beyond the end": Fault(
        copied("plain-0/-1.snapshot", f"plain-0/{999999:020d}.snapshot"),
        (("snapshot-ahead", f"plain-0/{999999:020d}.snapshot", 0),),
        kafka=deletes(f"{999999:020d}.snapshot"),
    ),
    # small files
    "epochs missing": Fault(
        deleted("plain-0/leader-epoch-checkpoint"), (("no-epochs", "plain-0/leader-epoch-checkpoint", 0),), kafka=starts
    ),
    "epochs corrupt": Fault(
        written("plain-0/leader-epoch-checkpoint", "0\n7\n0 0\n"),
        (("corrupt-epochs", "plain-0/leader-epoch-checkpoint", 0),),
        kafka=refuses,
    ),
    "epochs beyond the end": Fault(
        written("plain-0/leader-epoch-checkpoint", "0\n2\n0 0\n5 99999\n"),
        (("epoch-ahead", "plain-0/leader-epoch-checkpoint", 0),),
        kafka=starts,
    ),
    **{
        f"{name} negative": Fault(
            checkpoint(name, "plain-0", -5),
            ((f"negative-{name}-offset-checkpoint", f"{name}-offset-checkpoint", 0),),
            kafka=starts,
        )
        for name in ("log-start", "recovery-point", "replication", "cleaner")
    },
    "log start beyond the end": Fault(
        checkpoint("log-start", "plain-0", 999999),
        (("ahead-log-start-offset-checkpoint", "log-start-offset-checkpoint", 2),),
        kafka=starts_at(999999),
    ),
    **{
        f"{name} beyond the end": Fault(
            checkpoint(name, "plain-0", 999999),
            ((f"ahead-{name}-offset-checkpoint", f"{name}-offset-checkpoint", 0),),
            kafka=starts,
        )
        for name in ("recovery-point", "replication", "cleaner")
    },
    "hole and a cleaner beyond the end": Fault(
        both(without_batch("plain-0/1.log"), checkpoint("cleaner", "plain-0", 999999)),
        (("missing", "plain-0/1.log", 7), ("ahead-cleaner-offset-checkpoint", "cleaner-offset-checkpoint", 0)),
        kafka=starts,
    ),
    "recovery point behind": Fault(
        checkpoint("recovery-point", "plain-0", 3),
        (("behind-recovery-point-offset-checkpoint", "recovery-point-offset-checkpoint", 0),),
        kafka=starts,
    ),
    **{
        f"{name} corrupt": Fault(
            written(f"{name}-offset-checkpoint", CORRUPT),
            ((f"corrupt-{name}-offset-checkpoint", f"{name}-offset-checkpoint", 0),),
            ("compacted-0",) if name == "cleaner" else (),
            kafka=refuses,
        )
        for name in ("log-start", "recovery-point", "replication", "cleaner")
    },
    "recovery points missing": Fault(
        deleted("recovery-point-offset-checkpoint"),
        (("no-recovery-points", "recovery-point-offset-checkpoint", 0),),
        kafka=starts,
    ),
    **{
        f"partition twice in {name}": Fault(
            twice(f"{name}-offset-checkpoint"),
            ((f"repeated-{name}-offset-checkpoint", f"{name}-offset-checkpoint", 0),),
            kafka=starts,
        )
        for name in ("log-start", "recovery-point", "replication", "cleaner")
    },
    "checkpoint is a directory": Fault(
        replaced("replication-offset-checkpoint", Path.mkdir),
        (("foreign-directory", "replication-offset-checkpoint", 0),),
        ("replication-offset-checkpoint",),
        refuses,
    ),
    # names in a log
    "file in a log": Fault(
        written("plain-0/notes.txt", "x"), (("foreign-file-in-log", "plain-0/notes.txt", 0),), kafka=starts
    ),
    "short name of a segment": Fault(
        written("plain-0/abc.log", "x"), (("foreign-log-in-log", "plain-0/abc.log", 0),), kafka=refuses
    ),
    "directory in a log": Fault(
        lambda directory: (directory / "plain-0" / "sub").mkdir(),
        (("foreign-directory-in-log", "plain-0/sub", 0),),
        kafka=starts,
    ),
    ".index without its .log": Fault(
        written(f"plain-0/{12345:020d}.index", ""),
        (("no-log", f"plain-0/{12345:020d}.index", 0),),
        kafka=deletes(f"{12345:020d}.index"),
    ),
    # names in a log directory
    "foreign file": Fault(written("notes.txt", "x"), (("foreign-file", "notes.txt", 0),), kafka=starts),
    "foreign directory": Fault(
        lambda directory: (directory / "lost+found").mkdir(), (("foreign-directory", "lost+found", 0),), kafka=refuses
    ),
    "partition missing": Fault(deleted("plain-1"), (("partition-gone", "plain-1", 0),), kafka=recreates),
    "partition empty": Fault(
        both(deleted("plain-1"), lambda directory: (directory / "plain-1").mkdir()),
        (("empty-partition", "plain-1", 0),),
        kafka=sets_aside,
    ),
    "partition is a file": Fault(
        both(deleted("plain-1"), written("plain-1", "x")), (("partition-is-file", "plain-1", 1),), kafka=refuses
    ),
    "partition is a dangling link": Fault(replaced("plain-1", dangling), (), ("plain-1",), refuses),
    "partition renamed to .bak": Fault(
        renamed("plain-1", "plain-1.bak"), (("foreign-directory", "plain-1.bak", 1),), kafka=refuses
    ),
    "partition renamed to -old": Fault(
        renamed("plain-1", "plain-1-old"), (("foreign-directory", "plain-1-old", 1),), kafka=refuses
    ),
    "partition renumbered": Fault(
        renamed("plain-1", "plain-9"), (("partition-unknown", "plain-9", 1),), kafka=recreates
    ),
    "partition with a leading zero": Fault(renamed("plain-1", "plain-01"), (("odd-name", "plain-01", 0),), kafka=loads),
    "partition twice": Fault(
        copied("plain-1", "plain-01"),
        (("odd-name", "plain-01", 0), ("partition-twice", "plain-01", 0)),
        kafka=refuses,
    ),
    "partition -stray": Fault(
        renamed("plain-1", f"plain-1.{ID}-stray"), (("stray", f"plain-1.{ID}-stray", 1),), kafka=recreates
    ),
    "partition -delete": Fault(
        renamed("plain-1", f"plain-1.{ID}-delete"), (("partition-gone", "plain-1", 0),), kafka=recreates
    ),
    "partition -future": Fault(
        renamed("plain-1", f"plain-1.{ID}-future"),
        (("partition-is-future", "plain-1", 0),),
        (f"plain-1.{ID}-future",),
        loads,
    ),
    "future replica beside its partition": Fault(
        copied("plain-1", f"plain-1.{ID}-future"),
        (("future-beside", f"plain-1.{ID}-future", 0),),
        (f"plain-1.{ID}-future",),
        refuses,
    ),
    "half a load": Fault(
        lambda directory: (directory / ".kafkalog-1.commit").mkdir(),
        (("half-a-load", ".kafkalog-1.commit", 0),),
        kafka=refuses,
    ),
    # identities
    "topic id of another topic": Fault(
        lambda directory: (
            shutil.copy(directory / "txn-0/partition.metadata", directory / "plain-1/partition.metadata") and None
        ),
        (("topic-ids-differ", "plain-1/partition.metadata", 0),),
        kafka=sets_aside,
    ),
    "topic id missing": Fault(
        deleted("plain-1/partition.metadata"), (("no-topic-id", "plain-1/partition.metadata", 0),), kafka=sets_aside
    ),
    "topic id corrupt": Fault(
        written("plain-1/partition.metadata", "version: 0\ntopic_id: none\n"),
        (("corrupt-topic-id", "plain-1/partition.metadata", 0),),
        kafka=refuses,
    ),
    "topic renamed": Fault(
        renamed("plain-1", "plane-1"),
        (("partition-unknown", "plane-1", 1), ("topic-id-shared", "plane-1/partition.metadata", 0)),
        kafka=recreates,
    ),
}
