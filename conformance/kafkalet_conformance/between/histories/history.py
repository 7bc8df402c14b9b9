"""Building blocks of histories: random topics, batches and choices."""

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kafkalet_conformance.building import LARGE, T0, ScenarioBuilder, Step, one

DUPLICATED = 0.04
"""The share of requests in which an element of an array is repeated."""
CODECS = ("none", "none", "none", "gzip", "snappy", "lz4", "zstd")
NEVER = "9000000000000"


def _each(**values: Sequence[int]) -> Iterator[Step]:
    return ({name: value} for name, given in values.items() for value in given)


HEADER_CHANGES: tuple[Step, ...] = (
    *_each(crc=[1], magic=[3, 1, -1], length=[0, 48, 49, 70, 300, -1]),
    *_each(attributes=[1, 4, 5, 7, 8, 0x10, 0x20, 0x30, 0x40, 0x80]),
    *_each(count=[0, 1, 2, -1, 1 << 30], last_offset_delta=[0, 1, 7, -1]),
    {"count": 0, "last_offset_delta": 0},
    {"count": 3, "last_offset_delta": 2},
    *_each(base_offset=[3, -1, 1 << 62], leader_epoch=[5], base_ts=[5, -1], max_ts=[7, -1, T0 + 10**6]),
    *_each(truncate=[1, 12, 50, 60], producer_id=[987654321, -2], producer_epoch=[5, -2], base_sequence=[4, -2, -1]),
)


class NotServed(Exception):
    """A history needs an API, or a version of it, that not both brokers serve."""


class History(ScenarioBuilder):
    """A history in progress. `nodes` are the ids of the brokers of each cluster."""

    def __init__(
        self, name: str, release: str, versions: dict[int, tuple[int, int]], nodes: Sequence[int] = (1,)
    ) -> None:
        super().__init__("h", release, versions)
        self.nodes = nodes
        self.dice = random.Random(name)  # noqa: S311 - histories can be repeated from their names
        self.places: list[tuple[str, int]] = []  # topic, partition
        self.configs: dict[str, dict[str, Any]] = {}
        self.sequences: dict[tuple[Any, ...], int] = {}
        self.ends: dict[tuple[str, int], int] = {}
        self.producers: list[str] = []
        self.cases = 0

    # Dice

    def chance(self, share: float) -> bool:
        return self.dice.random() < share

    def of(self, *choices: Any) -> Any:
        return self.dice.choice(choices)

    def weighted(self, *choices: tuple[int, Callable[[], None]]) -> None:
        """Choose one of the acts by weight and perform it. Do nothing if it needs an API that not both brokers
        serve.
        """
        weights, acts = zip(*choices, strict=True)
        length = len(self.steps)
        try:
            self.dice.choices(acts, weights)[0]()
        except NotServed:
            del self.steps[length:]

    def version(self, api: str, low: int = 0, high: int = 99) -> int:
        """Return a random version that both brokers serve. Raises NotServed if there is none."""
        versions = self.versions(api, low, high)
        if not versions:
            raise NotServed(f"{api} v{low}-{high}" if low else api)
        return self.dice.choice(versions)

    def ask(self, api: str, version: int, body: Step, **more: Any) -> None:
        """Add a request. Sometimes, an element of one of its arrays is repeated."""
        if self.chance(DUPLICATED):
            body, is_repeated = repeated(body, self.dice)
            more |= {"state": "duplicate entries in a request"} if is_repeated else {}
        self.cases += 1
        self.request(f"{self.cases} {api} v{version}", api, version, body, **more)

    def reached(self, state: str) -> None:
        """Record that the brokers are in one of the states in coverage.py."""
        self.step("note", state=state)

    # Topics

    def make_topics(self, least: int = 1, most: int = 2, make: "Callable[[], Step] | None" = None) -> None:
        for n in range(self.dice.randint(least, most)):
            given = (make or self.topic_configs)()
            partitions = self.of(1, 1, 2, 3)
            topic = self.topic(f"t{n}", partitions, **given)
            self.configs[topic] = given
            self.places += [(topic, p) for p in range(partitions)]

    def topic_configs(self) -> Step:
        """Return random configurations that affect a log, except those whose effect depends on compressed sizes."""
        out: Step = {}
        old = self.release < "4"
        if self.chance(0.3):
            out["message_timestamp_type"] = "LogAppendTime"
        if self.chance(0.5):
            if old or self.chance(0.7):  # since 4.0, segments can be small only with the internal property
                out["segment_bytes" if old else "internal_segment_bytes"] = self.of(140, 200, 300, 500, 1000, 2000)
                self.reached("small segments")
            else:
                out["segment_bytes"] = LARGE
        if self.chance(0.5):
            out["index_interval_bytes"] = self.of(0, 1, 80, 200, 1000)
        if self.chance(0.15) and "message_timestamp_type" not in out:  # otherwise the result would depend on the clock
            out["segment_ms"] = self.of(1, 20, 100, 1000)
        if self.chance(0.15):
            out["segment_index_bytes"] = self.of(12, 16, 24, 36) if old else self.of(12, 24, 48)
        if self.chance(0.15):
            out["max_message_bytes"] = self.of(0, 70, 100, 150, 400)
        if self.chance(0.15):
            out["cleanup_policy"] = self.of("compact", "compact,delete")
            out["min_compaction_lag_ms"] = NEVER
        return out

    def place(self) -> tuple[str, int]:
        """Return a random partition, or occasionally one that does not exist."""
        if self.chance(0.03):
            missing: tuple[str, int] = self.of(
                (self.places[0][0], 9), (self.unknown_topic(), 0), (self.places[0][0], -1)
            )
            return missing
        return self.dice.choice(self.places)

    # Batches

    def timestamp(self) -> int:
        chosen: int = self.of(-1, *self.times(), *self.times())
        return chosen

    def times(self) -> Sequence[int]:
        return [T0 + self.dice.randint(0, 30) * 10 for _ in range(4)]

    def value(self, topic: str) -> Any:
        if self.release >= "4" and "segment_bytes" in self.configs.get(topic, {}):
            return self.of("v", {"fill": "v", "size": self.of(100, 300_000, 600_000, 900_000)})
        return self.of(None, "", "v", "v", {"fill": "w", "size": self.of(10, 50, 100, 300)})

    def record(self, topic: str, ts: int) -> Step:
        keyed = "cleanup_policy" in self.configs.get(topic, {})
        key = self.of("k", "k", "k", "", None) if keyed else self.of(None, None, "k")
        out = {"ts": ts, "key": key, "value": self.value(topic)}
        if self.chance(0.1):
            out["headers"] = [["h", self.of(None, "", "x")] for _ in range(self.of(1, 2))]
        return out

    def batch(self, topic: str, version: int = 9, codecs: Sequence[str] = CODECS) -> Step:
        count = self.of(1, 1, 2, 3, 5)
        times = [self.timestamp() for _ in range(count)]
        if self.chance(0.2):
            times = [times[0]] * count
        elif self.chance(0.4):
            times.sort()
        out: Step = {"magic": 2, "records": [self.record(topic, ts) for ts in times]}
        codec = self.dice.choice([c for c in codecs if c != "zstd" or version >= 7 or self.chance(0.05)])
        if codec != "none":
            out["codec"] = codec
        if self.chance(0.03):
            out["ts_type"] = "append"
        return out

    def idempotent(self, batch: Step, place: tuple[str, int]) -> None:
        """Assign a producer to a batch, usually with the next sequence number."""
        if not self.producers or self.chance(0.2):
            self.producers.append(self.producer(f"P{len(self.producers) + 1}"))
        producer, epoch = self.dice.choice(self.producers), self.of(0, 0, 0, 0, 0, 1, 2, -1)
        following = self.sequences.get((*place, producer, epoch), 0)
        count = len(batch["records"])
        sequence = following if self.chance(0.6) else following + self.of(-count, -count, -1, 1, -2 * count, -3, 5)
        if self.chance(0.03):
            sequence = self.of(2**31 - 1, 2**31 - 2, -1, 0)
        self.sequences[(*place, producer, epoch)] = max(following, sequence + count)
        batch |= {"producer_id": producer, "producer_epoch": epoch, "base_sequence": sequence}

    def end_of(self, place: tuple[str, int]) -> int:
        """Return the approximate end offset of a partition."""
        return self.ends.get(place, 0)

    def offset(self, place: tuple[str, int]) -> int:
        return self.dice.randint(0, self.end_of(place) + 1) if self.chance(0.95) else self.of(-1, -2, 10**6, 2**63 - 1)

    def write_at(self, place: tuple[str, int], batches: list[Any], version: int, **body: Any) -> None:
        topic, partition = place
        self.ends[place] = self.end_of(place) + sum(len(batch.get("records", ())) for batch in batches)
        content = {"transactional_id": None, "acks": -1, "timeout_ms": 5000} | body
        content["topics"] = [{"name": topic, "partitions": [{"index": partition, "records": batches}]}]
        self.ask("Produce", version, content)

    def write(self) -> None:
        """Produce a valid batch."""
        place, version = self.place(), self.version("Produce", 3, 11)
        batch = self.batch(place[0], version)
        if self.chance(0.15):
            self.idempotent(batch, place)
        self.write_at(place, [batch], version)

    def delete(self) -> None:
        place = self.place()
        offset = self.of(-1, self.offset(place), self.offset(place), self.offset(place))
        asked = {"name": place[0], "partitions": [{"partition_index": place[1], "offset": offset}]}
        self.ask("DeleteRecords", self.version("DeleteRecords"), {"topics": [asked], "timeout_ms": 5000})

    def epoch_end(self) -> None:
        topic, partition = self.place()
        asked = {"partition": partition, "leader_epoch": self.of(0, 0, 1, 5, -1, -2)}
        asked["current_leader_epoch"] = self.of(-1, -1, 0, 1, 5, -2)
        body = {"replica_id": self.of(-1, -1, -2, 5, 1), "topics": [{"topic": topic, "partitions": [asked]}]}
        self.ask("OffsetForLeaderEpoch", self.version("OffsetForLeaderEpoch", 3), body)

    def grouped(self, places: Sequence[tuple[str, Any]], key: str = "name") -> list[Step]:
        """Group partitions by topic. Usually, adjacent partitions of a topic are combined into one entry."""
        out: list[Step] = []
        for topic, partition in places:
            if out and out[-1][key] == topic and not self.chance(0.1):
                out[-1]["partitions"].append(partition)
            else:
                entry = one(topic)
                out.append({key: entry["name"], "partitions": [partition]})
        return out


def repeated(body: Step, dice: random.Random) -> tuple[Step, bool]:
    """Return a copy of a request in which one element of an array is repeated, and whether there is an array."""
    body = copy.deepcopy(body)
    found = list(arrays(body))
    if found:
        chosen = dice.choice(found)
        chosen.insert(dice.randint(0, len(chosen)), copy.deepcopy(dice.choice(chosen)))
    return body, bool(found)


def arrays(value: Any) -> Iterator[list[Any]]:
    """Yield all arrays of a request that are not empty, except lists of record batches."""
    match value:
        case dict():
            for key, item in value.items():
                if key != "records":
                    yield from arrays(item)
        case list():
            if value:
                yield value
            for item in value:
                yield from arrays(item)
