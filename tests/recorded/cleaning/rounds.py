"""The files and responses of a partition before and after Apache Kafka cleaned it.

A file `kafka-<release>.json` has a list of cases. A case has a name, the seed that it was made of, and its rounds, as
base64 of compressed JSON. Times are in milliseconds.
"""

from __future__ import annotations

import base64
import json
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kafkalet_conformance.notation import values as notation

DATA = Path(__file__).parent
DELETE_HORIZON = 0x40
ABORTED = struct.Struct(">hqqqq")

Files = dict[str, list[Any]]
"""The modification time and the content (base64) of each file, by name."""


@dataclass
class Round:
    """One cleaning of a partition."""

    config: dict[str, str]
    """The properties of the topic at the time of the cleaning."""
    until_ms: int
    """The cleaning was over at this time."""
    log_start_offset: int
    high_watermark: int
    dirty: int | None
    """The entry of the partition in cleaner-offset-checkpoint before the cleaning."""
    before: Files
    after: Files
    dirty_after: int | None
    answers: dict[str, Any]
    """The responses of the broker after the cleaning, see `tests.oracle.cleaning.kafka`."""

    @property
    def is_deleting(self) -> bool:
        return "delete" in self.config["cleanup.policy"]

    @property
    def cleaned_at_ms(self) -> int:
        """The time of the cleaning; it is exact if a delete horizon was set."""
        known = {batch.get("base_offset"): horizon(batch) for batch in entries(self.before)}
        for batch in entries(self.after):
            now = horizon(batch)
            if now is not None and known.get(batch.get("base_offset")) is None:
                return now - int(self.config["delete.retention.ms"])
        return self.until_ms


@dataclass
class Case:
    """A topic with one partition, which was cleaned several times."""

    name: str
    seed: int
    release: str
    rounds: list[Round]

    def __str__(self) -> str:
        return f"{self.release}-{self.seed}"


def load(release: str) -> list[Case]:
    """Return the recorded cases of a release."""
    found = json.loads((DATA / f"kafka-{release}.json").read_text())
    return [Case(each["name"], each["seed"], release, unpack(each["rounds"])) for each in found]


def save(release: str, cases: list[Case]) -> None:
    """Write the cases of a release."""
    lines = [json.dumps({"name": each.name, "seed": each.seed, "rounds": pack(each.rounds)}) for each in cases]
    (DATA / f"kafka-{release}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


def pack(rounds: list[Round]) -> str:
    text = json.dumps([asdict(each) for each in rounds])
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def unpack(text: str) -> list[Round]:
    return [Round(**each) for each in json.loads(zlib.decompress(base64.b64decode(text)))]


# Files


def read_files(directory: Path) -> Files:
    """Return the files of a partition. Those of its active segment are recovered from its log and are left out."""
    logs = sorted(path.name for path in directory.glob("*.log"))
    active = logs[-1].removesuffix(".log")
    found: Files = {}
    for path in sorted(directory.iterdir()):
        base, _, kind = path.name.rpartition(".")
        wanted = ("log", "txnindex", "snapshot") if base == active else ("log", "txnindex", "index", "timeindex")
        if kind in wanted:
            try:
                content, at = path.read_bytes(), path.stat().st_mtime_ns // 1_000_000
            except FileNotFoundError:
                continue
            if content or kind == "log":
                found[path.name] = [at, base64.b64encode(content).decode()]
    return found


def write_files(files: Files, directory: Path) -> None:
    """Write the files of a partition to a new directory, with their modification times."""
    directory.mkdir(parents=True)
    for name, (modified_ms, content) in files.items():
        path = directory / name
        path.write_bytes(base64.b64decode(content))
        os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))
    for name in files:
        if name.endswith(".log"):
            for kind in ("index", "timeindex"):
                beside = directory / name.replace(".log", f".{kind}")
                beside.touch()


def content(files: Files, name: str) -> bytes:
    return base64.b64decode(files[name][1]) if name in files else b""


# What is compared


def segments(files: Files) -> list[str]:
    """Return the names of the segments without their suffix, in order."""
    return sorted(name.removesuffix(".log") for name in files if name.endswith(".log"))


def entries(files: Files) -> Iterator[dict[str, Any]]:
    """Yield all entries of the log in the notation of transcripts."""
    for base in segments(files):
        yield from parse(content(files, f"{base}.log"))


def parse(data: bytes) -> list[dict[str, Any]]:
    """Return the entries in the notation of transcripts, with the raw attributes of batches."""
    found = []
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from(">i", data, at + 8)
        entry = data[at : at + 12 + length]
        assert len(entry) == 12 + length, f"an incomplete entry at {at}"
        [batch] = notation.parse(entry) or []
        if entry[16] == 2:
            batch["attributes"] = struct.unpack_from(">h", entry, 21)[0]
        found.append(batch)
        at += 12 + length
    return found


def horizon(batch: dict[str, Any]) -> int | None:
    """Return the delete horizon of a batch, or None."""
    return batch["base_ts"] if batch.get("attributes", 0) & DELETE_HORIZON else None


def summary(files: Files) -> dict[str, Any]:
    """Return everything in the files that must be equal, keyed by segment."""
    names = segments(files)
    found: dict[str, Any] = {}
    for base in names:
        txnindex = content(files, f"{base}.txnindex")
        found[base] = {
            "entries": parse(content(files, f"{base}.log")),
            "aborted": [each[1:] for each in ABORTED.iter_unpack(txnindex)],
        }
        if base != names[-1]:
            found[base]["modified"] = files[f"{base}.log"][0]
            found[base]["index"] = indexed(files, base)
            found[base]["timeindex"] = list(struct.iter_unpack(">qi", content(files, f"{base}.timeindex")))
    return found


def indexed(files: Files, base: str) -> list[tuple[int, int]]:
    """Return the entries of an offset index as offset and base offset of the entry at the position.

    Positions differ if compressed entries do.
    """
    data = content(files, f"{base}.log")
    entries = struct.iter_unpack(">ii", content(files, f"{base}.index"))
    return [(int(base) + offset, struct.unpack_from(">q", data, position)[0]) for offset, position in entries]


def differences(kafka: Any, ours: Any, path: str = "") -> list[str]:
    """Return where two values differ, one line each."""
    if isinstance(kafka, dict) and isinstance(ours, dict):
        found = []
        for key in sorted(kafka.keys() | ours.keys(), key=str):
            if key not in ours:
                found.append(f"{path}/{key}: only Kafka has it: {kafka[key]!r:.300}")
            elif key not in kafka:
                found.append(f"{path}/{key}: Kafka does not have it: {ours[key]!r:.300}")
            else:
                found += differences(kafka[key], ours[key], f"{path}/{key}")
        return found
    if isinstance(kafka, list) and isinstance(ours, list) and path.endswith("/entries"):
        return differences(by_offset(kafka), by_offset(ours), path)
    if isinstance(kafka, list | tuple) and isinstance(ours, list | tuple) and list(kafka) == list(ours):
        return []
    return [] if kafka == ours else [f"{path}: Kafka has {kafka!r:.300}, kafkalet has {ours!r:.300}"]


def by_offset(batches: list[dict[str, Any]]) -> dict[str, Any]:
    return {str(batch.get("base_offset", batch.get("offset"))): batch for batch in batches}
