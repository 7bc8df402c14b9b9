"""Random topics for the log cleaner: properties, and the records written to them before each cleaning.

    for topic in random_topics("3.9", seed=1, count=30): ...

The same seed makes the same topics. Times in records are relative to the time at which the topic is filled.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

HOUR_MS = 3_600_000
OLD_MS = -20 * HOUR_MS
"""Old records are older than every limit below; producers expire after a day."""
LIMIT_MS = HOUR_MS
FOREVER_MS = 10**9
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ROUNDS = 4
Step = dict[str, Any]


@dataclass
class RandomTopic:
    """A topic with one partition."""

    name: str
    seed: int
    config: dict[str, str]
    """Its properties while it is filled, which hold the cleaner back."""
    cleaning: dict[str, str]
    """Properties that change for a cleaning."""
    rounds: list[list[Step]] = field(default_factory=list)
    """The steps before each cleaning."""

    @property
    def is_deleting(self) -> bool:
        return "delete" in self.cleaning["cleanup.policy"]


def random_topics(release: str, seed: int, count: int) -> Iterator[RandomTopic]:
    for number in range(count):
        yield random_topic(release, seed + number)


def random_topic(release: str, seed: int) -> RandomTopic:
    """Return the topic of a seed."""
    rnd = random.Random(f"{release} {seed}")
    old_format = release == "2.8" and rnd.random() < 0.3
    append_time = not old_format and rnd.random() < 0.1
    null_keys = rnd.random() < 0.08
    policy = rnd.choice(["compact", "compact", "compact", "compact,delete"])
    segment_bytes = rnd.choice([700, 1000, 2000, 5000])
    config = {
        "cleanup.policy": "delete" if null_keys else "compact,delete",
        "min.cleanable.dirty.ratio": "1",
        "retention.ms": "-1",
        "internal.segment.bytes" if release[0] > "3" else "segment.bytes": str(segment_bytes),
        "file.delete.delay.ms": "0",
        "delete.retention.ms": str(rnd.choice([0, 100, 100, FOREVER_MS])),
        "index.interval.bytes": str(rnd.choice([4096, 0, 200])),
        "min.compaction.lag.ms": str(rnd.choice([0, 0, 0, LIMIT_MS])),
    }
    if rnd.random() < 0.15:
        config["segment.index.bytes"] = str(rnd.choice([48, 96]))
    if append_time:
        config["message.timestamp.type"] = "LogAppendTime"
    if old_format:
        config["message.format.version"] = rnd.choice(["0.9.0", "0.10.0"])
    cleaning = {"cleanup.policy": policy, "min.cleanable.dirty.ratio": rnd.choice(["0", "0", "0.5", "0.1"])}
    if rnd.random() < 0.12:
        cleaning |= {"min.cleanable.dirty.ratio": "1", "max.compaction.lag.ms": str(LIMIT_MS)}
    if policy == "compact,delete":
        cleaning |= rnd.choice([{"retention.ms": str(LIMIT_MS)}, {"retention.bytes": "1500"}, {}])
    topic = RandomTopic(f"topic-{seed}", seed, config, cleaning)
    filling = _Filling(topic, rnd, old_format, null_keys)
    topic.rounds += [filling.round() for _ in range(ROUNDS)]
    return topic


class _Filling:
    """Chooses the steps of a topic."""

    def __init__(self, topic: RandomTopic, rnd: random.Random, old_format: bool, null_keys: bool) -> None:
        self.rnd, self.old_format, self.null_keys = rnd, old_format, null_keys
        self.keys = [f"k{number}" for number in range(rnd.choice([1, 3, 6, 12]))]
        if rnd.random() < 0.5:
            self.keys.append("")
        self.ages = rnd.choice([(OLD_MS,), (OLD_MS,), (0,), (OLD_MS, 0)])
        if "max.compaction.lag.ms" in topic.cleaning:
            self.ages = (OLD_MS,)
        choices = [[], ["i0"], ["x0"], ["x0", "x1"], ["i0", "x0", "x1"]]
        self.producers: list[str] = [] if old_format else rnd.choice(choices)
        self.tombstones = rnd.choice([0.0, 0.2, 0.6])
        self.codecs = rnd.choice([("none",), ("none",), CODECS[:4] if old_format else CODECS])
        self.segment_bytes = int(topic.config.get("segment.bytes") or topic.config["internal.segment.bytes"])
        self.open_transactions: set[str] = set()
        self.at = 0

    def round(self) -> list[Step]:
        rnd = self.rnd
        steps = [self._step() for _ in range(rnd.choice([2, 4, 8, 14]))]
        # Nothing above an open transaction can be cleaned.
        steps += [self._end(name) for name in sorted(self.open_transactions) if rnd.random() < 0.75]
        if rnd.random() < 0.75:  # dirty records are cleaned only in segments that are not active
            size = int(self.segment_bytes * 0.85)
            filler = {"at": self.at + rnd.choice(self.ages), "key": rnd.choice([*self.keys, "filler"])}
            records = [filler | {"value": "f" * size}]
            steps.append({"op": "produce", "producer": None, "codec": "none", "records": records})
        if not self.null_keys and rnd.random() < 0.1:
            steps.append({"op": "delete_records", "fraction": rnd.random()})
        if self.old_format and rnd.random() < 0.15:
            steps.append({"op": "format", "version": rnd.choice(["0.10.0", "2.8"])})
        return steps

    def _step(self) -> Step:
        rnd = self.rnd
        self.at += rnd.choice([1, 1000])
        chance = rnd.random()
        if self.open_transactions and chance < 0.35:
            return self._end(rnd.choice(sorted(self.open_transactions)))
        if self.producers and chance < 0.39:
            name = rnd.choice(self.producers)
            self.open_transactions.discard(name)
            return {"op": "init", "producer": name}
        producer = rnd.choice([None, *self.producers, *self.producers])
        if producer and producer[0] == "x":
            self.open_transactions.add(producer)
        records = [self._record(number) for number in range(rnd.choice([1, 1, 2, 3, 6]))]
        return {"op": "produce", "producer": producer, "codec": rnd.choice(self.codecs), "records": records}

    def _end(self, name: str) -> Step:
        self.open_transactions.discard(name)
        return {"op": "end", "producer": name, "commit": self.rnd.random() < 0.5}

    def _record(self, number: int) -> Step:
        rnd = self.rnd
        record = {
            "at": self.at + number + rnd.choice(self.ages),
            "key": rnd.choice([*self.keys, None] if self.null_keys else self.keys),
            "value": None if rnd.random() < self.tombstones else "v" * rnd.randrange(40),
        }
        if not self.old_format and rnd.random() < 0.1:
            record["headers"] = [["h", "1"]]
        return record
