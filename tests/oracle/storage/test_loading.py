"""A damaged log is loaded in the same way as by Apache Kafka; both open a copy, with and without the clean shutdown
marker.

    python -m pytest -m oracle tests/oracle/storage/test_loading.py

The logs contain several segments and leader epochs, and idempotent and transactional producers. Each copy gets one to
three random kinds of damage (see DAMAGES), determined by its number. Kafka's own classes open them (OpenLogs.java).
"""

import shutil
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from kafkalet.clock import ManualClock
from kafkalet.storage.config import LogConfig
from kafkalet.storage.environment import LogEnvironment
from kafkalet.storage.files import Files
from kafkalet.storage.log import Log
from kafkalet.storage.producer_snapshot import CorruptSnapshot, decode
from kafkalet.storage.recovery import LogDamaged, create_log, open_log
from kafkalet.storage.values import Origin
from tests.oracle.apache_kafka import missing
from tests.oracle.storage.kafka_logs import RELEASE, Opening, opened_by_kafka
from tests.unit.storage.producing import T0, marker, produced

pytestmark = pytest.mark.oracle

COPIES = 300
PROPERTIES = {"segment.bytes": "1500", "index.interval.bytes": "150", "file.delete.delay.ms": "0"}
CONFIG = LogConfig(
    segment_bytes=1500, index_interval_bytes=150, file_delete_delay_ms=0, lifts_unstable_to_log_start=True
)
TOPIC_ID = bytes(range(16))
LARGEST = (1 << 63) - 1
NOW_MS = T0 + 100_000


class Copy(NamedTuple):
    """A copy of a log, how it was damaged, and what the checkpoints say about it."""

    path: Path
    damages: list[str]
    clean: bool
    start: int
    recovery_point: int


# Logs


def environment() -> LogEnvironment:
    return LogEnvironment(Files(durable=True), ManualClock(NOW_MS))


def write_log(path: Path, random: Random) -> None:
    """Write and close a log of about ten segments."""
    path.mkdir(parents=True)
    log = create_log(str(path / "t-0"), "t", 0, TOPIC_ID, CONFIG, environment())
    sequences: Counter[int] = Counter()
    is_open: set[int] = set()
    leader_epoch = 0
    for step in range(120):
        if random.random() < 0.06:
            leader_epoch += random.choice((1, 3))
            log.assign_epoch_start_offset(leader_epoch, log.log_end_offset)
        kind = random.choice(("plain", "idempotent", "transaction", "transaction", "end"))
        records: list[Any] = [step * 10 + number for number in range(random.randint(1, 4))]
        random.shuffle(records)
        fields: dict[str, Any] = {"codec": random.choice(("none", "none", "gzip"))}
        if kind == "plain":
            log.append_as_leader(produced(*records, **fields), leader_epoch)
            continue
        producer_id = random.choice((1, 2) if kind == "idempotent" else (11, 12, 13))
        if kind == "end":
            if producer_id in is_open:
                end = marker(0, producer_id, commit=random.random() < 0.4, ts=T0 + step * 10)
                log.append_as_leader(bytearray(end.view()), leader_epoch, Origin.COORDINATOR)
                is_open.discard(producer_id)
            continue
        fields |= {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequences[producer_id]}
        if kind == "transaction":
            fields["transactional"] = True
            is_open.add(producer_id)
        log.append_as_leader(produced(*records, **fields), leader_epoch)
        sequences[producer_id] += len(records)
    log.maybe_increment_high_watermark(log.log_end_offset)
    log.flush(also_empty=True)
    log.close()


# Damages. Each changes the directory of a log.


def _one(directory: Path, pattern: str, random: Random) -> Path | None:
    found = sorted(directory.glob(pattern))
    return random.choice(found[-3:] if random.random() < 0.7 else found) if found else None


def _rewrite(path: Path | None, change: Callable[[bytes], bytes]) -> None:
    if path is not None:
        path.write_bytes(change(path.read_bytes()))


def truncate_log(directory: Path, random: Random) -> None:
    _rewrite(_one(directory, "*.log", random), lambda data: data[: random.randint(0, len(data))])


def flip_byte(directory: Path, random: Random) -> None:
    def flip(data: bytes) -> bytes:
        at = random.randrange(len(data)) if data else 0
        return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :] if data else data

    _rewrite(_one(directory, "*.log", random), flip)


def append_remains(directory: Path, random: Random) -> None:
    remains = random.choice((bytes(random.randint(1, 300)), random.randbytes(random.randint(1, 300))))
    _rewrite(max(directory.glob("*.log")), lambda data: data + remains)


def delete_segment(directory: Path, random: Random) -> None:
    if path := _one(directory, "*.log", random):
        path.unlink()


def delete_index(directory: Path, random: Random) -> None:
    if path := _one(directory, random.choice(("*.index", "*.timeindex", "*.txnindex")), random):
        path.unlink()


def delete_all_indexes(directory: Path, random: Random) -> None:
    for path in directory.glob(random.choice(("*.index", "*.timeindex", "*.txnindex"))):
        path.unlink()


def cut_transactions(directory: Path, random: Random) -> None:
    _rewrite(_one(directory, "*.txnindex", random), lambda data: data[: random.randint(0, len(data))])


def delete_snapshot(directory: Path, random: Random) -> None:
    if path := _one(directory, "*.snapshot", random):
        path.unlink()


def delete_all_snapshots(directory: Path, random: Random) -> None:
    for path in directory.glob("*.snapshot"):
        path.unlink()


def corrupt_snapshot(directory: Path, random: Random) -> None:
    _rewrite(_one(directory, "*.snapshot", random), lambda data: data[: random.randint(0, len(data) - 1)])


def stray_snapshot(directory: Path, random: Random) -> None:
    if path := _one(directory, "*.snapshot", random):
        shutil.copy(path, directory / f"{random.randint(0, 400):020d}.snapshot")


def delete_epochs(directory: Path, random: Random) -> None:
    (directory / "leader-epoch-checkpoint").unlink(missing_ok=True)


def lose_last_epochs(directory: Path, random: Random) -> None:
    path = directory / "leader-epoch-checkpoint"
    if path.exists():
        entries = path.read_text().split("\n")[2:-1]
        entries = entries[: random.randint(0, len(entries))]
        path.write_text("\n".join(["0", str(len(entries)), *entries]) + "\n")


def add_later_epoch(directory: Path, random: Random) -> None:
    path = directory / "leader-epoch-checkpoint"
    if path.exists():
        entries = [*path.read_text().split("\n")[2:-1], f"99 {random.randint(200, 500)}"]
        path.write_text("\n".join(["0", str(len(entries)), *entries]) + "\n")


def leave_deleted(directory: Path, random: Random) -> None:
    if path := _one(directory, random.choice(("*.log", "*.index", "*.snapshot")), random):
        shutil.copy(path, path.with_name(path.name + ".deleted"))


def leave_cleaned(directory: Path, random: Random) -> None:
    if path := _one(directory, "*.log", random):
        for suffix in (".log", ".index", ".timeindex", ".txnindex")[: random.randint(1, 4)]:
            if path.with_suffix(suffix).exists():
                shutil.copy(path.with_suffix(suffix), path.with_suffix(suffix + ".cleaned"))


def leave_swap(directory: Path, random: Random) -> None:
    """Leave the files as after a crash while one or two segments were being replaced."""
    logs = sorted(directory.glob("*.log"))
    if not logs:
        return
    first = random.randrange(len(logs))
    sources = logs[first : first + random.randint(1, 2)]
    target = sources[0]
    data = b"".join(source.read_bytes() for source in sources)
    for source in sources:
        for suffix in (".log", ".index", ".timeindex", ".txnindex"):
            path = source.with_suffix(suffix)
            if path.exists() and random.random() < 0.3:
                path.rename(path.with_name(path.name + ".deleted"))
    target.with_name(target.stem + ".log.swap").write_bytes(data)
    for suffix in (".index", ".timeindex"):
        target.with_name(target.stem + suffix + ".swap").write_bytes(b"")


def leave_swapped_index(directory: Path, random: Random) -> None:
    """Leave the files as after a crash while the files of a replacement were being renamed."""
    if path := _one(directory, random.choice(("*.index", "*.timeindex")), random):
        path.rename(path.with_name(path.name + ".swap"))


def orphan_index(directory: Path, random: Random) -> None:
    (directory / f"{random.randint(300, 400):020d}.index").write_bytes(struct.pack(">ii", 1, 1))


DAMAGES = [
    *(truncate_log, truncate_log, flip_byte, flip_byte, append_remains, delete_segment, delete_index),
    *(delete_all_indexes, cut_transactions, delete_snapshot, delete_all_snapshots, corrupt_snapshot, stray_snapshot),
    *(delete_epochs, lose_last_epochs, add_later_epoch, leave_deleted, leave_cleaned, leave_swap),
    *(leave_swapped_index, orphan_index),
]


IN_LOG = {"truncate_log", "flip_byte", "append_remains"}
IN_EPOCHS = {"delete_epochs", "lose_last_epochs"}
IN_INDEXES = {"delete_index", "delete_all_indexes", "leave_swapped_index"}


def is_treated_otherwise(copy: Copy) -> bool:
    """Return whether kafkalet deliberately does more than Kafka for this copy (decision 8). After a clean shutdown,
    kafkalet recovers a damaged .log if it notices the damage. After a crash, it recovers a segment without an index
    once, after the segments before it; Kafka recovers the segment first, and then again without noticing any damage.
    """
    damages = set(copy.damages)
    if copy.clean:
        return bool(damages & IN_LOG)
    if damages & IN_EPOCHS and copy.start:
        return True  # epochs that are missing at the start of the log are read from the entries
    return bool(damages & IN_INDEXES and damages & (IN_LOG | IN_EPOCHS))


def damaged(source: Path, target: Path, number: int) -> Copy:
    random = Random(number)
    shutil.copytree(source, target)
    damages = random.choices(DAMAGES, k=random.randint(0, 3))
    for damage in damages:
        damage(target, random)
    clean = random.random() < 0.35
    start = random.choice((0, 0, 0, random.randint(0, 250), 1000))
    recovery_point = random.choice((0, random.randint(0, 250), LARGEST if clean else 150))
    return Copy(target, [damage.__name__ for damage in damages], clean, start, recovery_point)


# Opening


def opened_here(copy: Copy) -> dict[str, Any]:
    for clean in (True, False) if copy.clean else (False,):
        try:
            log = open_log(
                str(copy.path), "t", 0, None, CONFIG, environment(),
                clean=clean, log_start_offset=copy.start, recovery_point=copy.recovery_point,
            )  # fmt: skip
        except (LogDamaged, OSError) as error:
            answer = {"error": repr(error)}
            continue
        log.producers.expiration_ms = LARGEST
        log.update_high_watermark(log.log_end_offset)
        answer = facts(log)
        log.flush(also_empty=True)
        log.close()
        return answer
    return answer


def facts(log: Log) -> dict[str, Any]:
    return {
        "start": log.log_start_offset,
        "stable": log.last_stable_offset,
        "end": log.log_end_offset,
        "recovery_point": log.recovery_point,
        "segments": [[segment.base_offset, segment.size_bytes] for segment in log.segments],
        "aborted": [list(each) for segment in log.segments for each in segment.txn_index],
        "epochs": [list(entry) for entry in log.epochs.entries],
        "producers": {
            str(entry.producer_id): [
                entry.producer_epoch,
                entry.coordinator_epoch,
                entry.last_timestamp,
                -1 if entry.open_since is None else entry.open_since,
                *([b.last_sequence, b.last_offset, b.offset_delta, b.timestamp] for b in entry.batches),
            ]
            for entry in sorted(log.active_producers(), key=lambda entry: entry.producer_id)
        },
    }


def files(directory: Path) -> dict[str, Any]:
    """Return the contents of the files. An empty index counts as missing: Kafka creates it when the log is opened."""
    found: dict[str, Any] = {}
    for path in sorted(directory.iterdir()):
        data = path.read_bytes()
        if path.suffix in (".deleted", ".metadata") or path.name == "leader-epoch-checkpoint":
            continue
        if path.suffix == ".snapshot":
            try:
                found[path.name] = sorted(map(repr, decode(data)))
            except CorruptSnapshot:
                found[path.name] = "corrupt"
        elif data or path.suffix not in (".txnindex", ".timeindex"):
            found[path.name] = data.hex()
    return found


def differences(copy: Copy, kafka: dict[str, Any], kafka_directory: Path) -> list[str]:
    here = opened_here(copy)
    if "error" in kafka and "error" in here:
        return []
    assert "end" in here, here
    if "error" in kafka or is_treated_otherwise(copy):
        return []
    found = [
        f"{name}: Kafka {kafka.get(name)}, here {here.get(name)}"
        for name in (*here,)
        if kafka.get(name) != here.get(name)
    ]
    theirs, ours = files(kafka_directory), files(copy.path)
    damages = set(copy.damages)
    for name in sorted(theirs.keys() | ours.keys()):
        is_old = int(name.split(".")[0]) < copy.recovery_point
        if name.endswith("index") and is_old and damages & IN_LOG:
            continue  # kafkalet rebuilds an index when it notices that it points to a wrong position
        if name.endswith(".snapshot") and name not in ours and damages & IN_INDEXES and not copy.clean:
            continue  # Kafka takes one more when it recovers a segment twice
        if theirs.get(name) != ours.get(name):
            found.append(f"{name}: Kafka {str(theirs.get(name))[:300]}, here {str(ours.get(name))[:300]}")
    return found


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Logs that were closed by kafkalet, and by Apache Kafka."""
    if reason := missing(RELEASE):
        pytest.skip(reason)
    written = []
    for number in range(4):
        path = tmp_path_factory.mktemp("source")
        write_log(path / "here", Random(number))
        written.append(path / "here" / "t-0")
        shutil.copytree(written[-1], path / "kafka" / "t-0")
        written.append(path / "kafka" / "t-0")
        for file in written[-1].iterdir():
            if file.suffix != ".log":
                file.unlink()
    opened_by_kafka([Opening(path, clean=False) for path in written], PROPERTIES, NOW_MS)
    return written


def compare(sources: list[Path], place: Path, numbers: range) -> dict[int, list[str]]:
    copies, theirs = [], []
    for number in numbers:
        copies.append(damaged(sources[number % len(sources)], place / str(number) / "t-0", number))
        theirs.append(place / f"{number}-kafka" / "t-0")
        shutil.copytree(copies[-1].path, theirs[-1])
    logs = [Opening(path, *copy[2:]) for copy, path in zip(copies, theirs, strict=True)]
    answers = opened_by_kafka(logs, PROPERTIES, NOW_MS)
    assert sum("error" in answer for answer in answers) < len(numbers) // 4, "Kafka refused too many of these logs"
    found = {}
    for number, copy, answer, directory in zip(numbers, copies, answers, theirs, strict=True):
        if differing := differences(copy, answer, directory):
            state = f"{'clean' if copy.clean else 'unclean'}, start {copy.start}, recovered to {copy.recovery_point}"
            found[number] = [
                f"{', '.join(copy.damages) or 'no damage'}; {state}; {answer.get('first_error', '')}",
                *differing,
            ]
    return found


def test_damaged_logs_are_loaded_as_by_kafka(sources: list[Path], tmp_path: Path) -> None:
    found = compare(sources, tmp_path, range(COPIES))
    assert not found, "\n".join(f"{number}: " + "\n    ".join(lines) for number, lines in found.items())
