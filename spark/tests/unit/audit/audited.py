"""Creates logs for tests with kafkalet's storage, and audits them without Spark."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kafkalet.formats import epochs_bytes
from kafkalet.protocol.records.build import build_batch
from kafkalet.protocol.records.codecs import Codec
from kafkalet.protocol.records.control import ControlType, EndMarker, build_end_marker
from kafkalet.protocol.records.record import Record
from kafkalet_spark.audit import AuditOptions, Verdict, audit
from kafkalet_spark.audit.findings import Finding
from kafkalet_spark.audit.partition_audit import PartitionFacts
from spark.tests.unit.logs.made import CONFIG, T0, Made, records

from .no_spark import NoSpark

TINY = 512
"""Chunk size in bytes, such that chunks end in the middle of batches."""
LARGER = 4096
"""Chunk size in bytes for many batches: an audit takes a quarter of the time."""


def audited(path: Path, options: AuditOptions | None = None) -> Verdict:
    """Audit the logs at `path` without Spark, and return the verdict."""
    spark: Any = NoSpark()
    return audit(spark, [str(path)], options or AuditOptions(chunk_bytes=TINY))


def only(verdict: Verdict) -> PartitionFacts:
    """Return the facts about the only log."""
    (facts,) = verdict.partitions
    return facts


def idempotent(made: Made, producer_id: int, sequence: int, *times: int, epoch: int = 0) -> None:
    made.add(build_batch(records(*times), producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence))


def fill(made: Made) -> None:
    """Write several segments: codecs, sequences, committed, aborted and interleaved transactions, and an open one."""
    for at, codec in enumerate((Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.SNAPPY, Codec.ZSTD)):
        made.append(at, at + 100, at + 50, codec=codec, value=b"v" * 70)
    for sequence in range(0, 40, 4):
        idempotent(made, 7, sequence, *range(200 + sequence, 204 + sequence))
    for at in range(6):
        made.transactional(1, 300 + at, 301 + at)
        made.transactional(2, 310 + at)
        made.append(320 + at)
        made.end(1, commit=at % 2 == 0, ms=330 + at)
        made.transactional(2, 340 + at, 341 + at)
        made.end(2, commit=False, ms=350 + at)
    made.transactional(3, 400, 401)
    made.append(402)


def make(path: Path, write: Callable[[Made], None] = fill) -> Made:
    """Create a filled log whose broker was shut down cleanly."""
    made = Made(path, CONFIG)
    write(made)
    made.close()
    return made


def segments(made: Made, suffix: str = ".log") -> list[Path]:
    """Return the files of the log with a suffix, in order."""
    return sorted(made.place.glob(f"*{suffix}"))


def overwrite(path: Path, position: int, data: bytes) -> None:
    with open(path, "r+b") as file:
        file.seek(position)
        file.write(data)


def flip(path: Path, position: int, bits: int = 1) -> None:
    """Flip bits of one byte."""
    data = path.read_bytes()
    overwrite(path, position, bytes([data[position] ^ bits]))


def cut(path: Path, size: int) -> None:
    os.truncate(path, size)


def insert(path: Path, position: int, data: bytes) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:position] + data + whole[position:])


def remove(path: Path, position: int, size: int) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:position] + whole[position + size :])


def entries(path: Path) -> list[tuple[int, int]]:
    """Return the position and size of each entry of a sound .log."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        size = 12 + int.from_bytes(data[at + 8 : at + 12], "big")
        found.append((at, size))
        at += size
    return found


def found(made: Made, check: str, options: AuditOptions | None = None) -> list[Finding]:
    """Return the findings of one check."""
    return [finding for finding in audited(made.path, options).findings if finding.check == check]


def write_log(path: Path, *segments: tuple[int, Sequence[bytes]], name: str = "raw-0") -> Path:
    """Write unmodified batches to segments with these base offsets and minimal indexes. Return the directory."""
    directory = path / name
    directory.mkdir()
    if epochs := leader_epochs([data for _, batches in segments for data in batches]):
        (directory / "leader-epoch-checkpoint").write_bytes(epochs_bytes(epochs))
    for base_offset, batches in segments:
        stem = f"{base_offset:020d}"
        (directory / f"{stem}.log").write_bytes(b"".join(batches))
        if base_offset == segments[-1][0]:  # the active segment may not have indexes yet
            continue
        (directory / f"{stem}.index").write_bytes(b"")
        largest = max((int.from_bytes(data[35:43], "big", signed=True) for data in batches), default=-1)
        entry = b""
        if largest >= 0:
            holder = next(data for data in batches if data[35:43] == largest.to_bytes(8, "big"))
            offset = int.from_bytes(holder[:8], "big")
            entry = largest.to_bytes(8, "big") + (offset - base_offset).to_bytes(4, "big", signed=True)
        (directory / f"{stem}.timeindex").write_bytes(entry)
    return directory


def write_metadata(path: Path, **topics: dict[str, str]) -> None:
    """Write a kafkalet.json with these topics and their configs, which has no metadata log."""
    found = [{"name": name, "config": config, "partitions": []} for name, config in topics.items()]
    (path / "kafkalet.json").write_text(json.dumps({"broker_config": [], "topics": found}))


def set_policy(path: Path, policy: str) -> None:
    """Set the cleanup.policy of the topic `raw`."""
    write_metadata(path, raw={"cleanup.policy": policy})


def leader_epochs(batches: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return the leader epochs of these batches with their start offsets."""
    epochs: list[tuple[int, int]] = []
    for data in batches:
        epoch = int.from_bytes(data[12:16], "big", signed=True)
        if len(data) > 61 and data[16] == 2 and epoch >= 0 and (not epochs or epoch > epochs[-1][0]):
            epochs.append((epoch, int.from_bytes(data[:8], "big")))
    return epochs


def batch(base_offset: int, count: int = 2, *, value: bytes = b"value", **fields: Any) -> bytes:
    """Return a batch of records one millisecond apart, beginning at T0 + its base offset."""
    made = [
        Record(base_offset + at, T0 + base_offset + at, b"key %d" % (base_offset + at), value) for at in range(count)
    ]
    return build_batch(made, base_offset=base_offset, **({"leader_epoch": 0} | fields))


def marker(offset: int, producer_id: int, *, commit: bool = False, epoch: int = 0, coordinator_epoch: int = 0) -> bytes:
    """Return a transaction marker."""
    end = EndMarker(ControlType.COMMIT if commit else ControlType.ABORT, coordinator_epoch)
    return build_end_marker(
        end, timestamp=T0 + offset, producer_id=producer_id, producer_epoch=epoch, base_offset=offset, leader_epoch=0
    )


def sent(
    base_offset: int, producer_id: int, sequence: int, count: int = 2, *, epoch: int = 0, open_: bool = False
) -> bytes:
    """Return a batch of an idempotent producer, transactional with `open_`."""
    return batch(
        base_offset,
        count,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=open_,
    )


def complaints(directory: Path, options: AuditOptions | None = None) -> list[tuple[str, int | None]]:
    """Return check and offset of all findings about a log created by `write_log`."""
    return [(finding.check, finding.offset) for finding in audited(directory, options).findings]
