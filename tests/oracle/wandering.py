"""Scenarios made by chance, for comparisons with Apache Kafka: topics in some state, and many questions about them.

A seed decides everything, so what differs once can be looked at again.
"""

import random
from typing import Any

from tests.golden.asking import T0, Asking, Step, at, batch, record

CODECS = ("none", "none", "gzip", "snappy", "lz4", "zstd")
SPECIAL = (-1, -1, -2, -2, -3, -3, -4, -5)


class Wanderer:
    """Adds steps to a scenario, each drawn by chance."""

    def __init__(self, ask: Asking, seed: int) -> None:
        self.ask, self.random = ask, random.Random(seed)
        self.partitions: list[tuple[str, int]] = []
        self.ends: dict[tuple[str, int], int] = {}
        self.sequences: dict[tuple[str, int, str], int] = {}
        self.cases = 0
        self.epoch = 0

    def wander(self, steps: int) -> None:
        for n in range(self.random.randint(1, 2)):
            self.make_topic(f"t{n}")
        self.ask.producer()
        moves = [self.produce] * 5 + [self.list_offsets] * 4 + [self.fetch] * 4 + [self.session, self.session]
        moves += [self.delete_records, self.epoch_end, self.produce_again, self.old_list, self.old_fetch]
        for _ in range(steps):
            self.random.choice(moves)()

    def case(self, what: str) -> str:
        self.cases += 1
        return f"{self.cases}: {what}"

    def chance(self, part: float) -> bool:
        return self.random.random() < part

    def make_topic(self, name: str) -> None:
        choices: list[Step] = [
            {},
            {"segment_bytes": 1048576, "index_interval_bytes": self.random.choice((0, 1, 100, 4096))},
            {"segment_ms": 1000},
            {"message_timestamp_type": "LogAppendTime"},
            {"segment_index_bytes": self.random.choice((12, 24, 48)), "index_interval_bytes": 1},
            {"compression_type": self.random.choice(("gzip", "uncompressed"))},
            {"max_message_bytes": 400},
            {"cleanup_policy": "compact"},
        ]
        if self.ask.release < "4":
            choices.append({"segment_bytes": self.random.choice((200, 400, 1000))})
        count = self.random.randint(1, 3)
        topic = self.ask.topic(name, count, **self.random.choice(choices))
        self.partitions += [(topic, n) for n in range(count)]

    def partition(self) -> tuple[str, int]:
        return self.random.choice(self.partitions)

    def time(self) -> int:
        return self.random.choice((self.random.randint(0, 60), self.random.randint(0, 6000), 3000))

    def batch(self, key: str, keyed: bool = True) -> Step:
        made = [
            record(self.time(), {"fill": "v", "size": self.random.choice((0, 1, 20, 150))}, "k" if keyed else None)
            for _ in range(self.random.choice((1, 1, 2, 3, 5)))
        ]
        fields: Step = {"codec": self.random.choice(CODECS)}
        if self.chance(0.15):
            sequence = self.sequences.get((*self.last, "P1"), 0)
            if self.chance(0.3):
                sequence += self.random.choice((-1, 1, len(made)))
            fields |= {"producer_id": "$P1", "producer_epoch": 0, "base_sequence": max(sequence, 0)}
            self.sequences[*self.last, "P1"] = max(sequence, 0) + len(made)
        if self.chance(0.04):
            fields["set"] = self.random.choice(({"crc": 3}, {"count": 9}, {"max_ts": -1}, {"base_offset": 4}))
        return batch(*made, **fields)

    def produce(self) -> None:
        self.last = topic, partition = self.partition()
        made = self.batch(topic, keyed=self.chance(0.9))
        self.ends[self.last] = self.ends.get(self.last, 0) + len(made["records"])
        version = self.random.choice((9, 9, 8, 7)) if made["codec"] == "zstd" else self.random.choice((9, 9, 5, 3))
        self.ask.produce(topic, made, partition=partition, case=self.case("produce"), version=version)

    def produce_again(self) -> None:
        sent = [step for step in self.ask.steps if step.get("api") == "Produce"]
        if sent:
            body = self.random.choice(sent)
            self.ask.request(self.case("produce again"), "Produce", body["version"], body["body"])

    def delete_records(self) -> None:
        topic, partition = self.partition()
        offset = self.random.choice((-1, self.near_end(topic, partition), self.near_end(topic, partition)))
        asked = [{"name": topic, "partitions": [{"partition_index": partition, "offset": offset}]}]
        self.ask.request(self.case(f"delete to {offset}"), "DeleteRecords", 2, {"topics": asked, "timeout_ms": 1000})

    def near_end(self, topic: str, partition: int) -> int:
        end = self.ends.get((topic, partition), 0)
        return self.random.randint(0, end + 1)

    def when(self) -> int:
        return self.random.choice((*SPECIAL, T0 + self.time(), T0 + self.time(), T0 + self.time(), 0))

    def list_offsets(self) -> None:
        version = self.random.choice((*self.ask.versions("ListOffsets", 1), 7, 8, 9))
        wanted = [
            {"name": topic, "partitions": [{"partition_index": partition, "timestamp": self.when()}]}
            for topic, partition in self.random.sample(self.partitions, self.random.randint(1, len(self.partitions)))
        ]
        body: Step = {"replica_id": self.random.choice((-1, -1, -1, -2, 5)), "topics": wanted}
        body["isolation_level"] = self.random.choice((0, 0, 1))
        self.ask.request(self.case("list offsets"), "ListOffsets", version, body)

    def old_list(self) -> None:
        if 0 in self.ask.versions("ListOffsets"):
            topic, partition = self.partition()
            limit = self.random.choice((1, 2, 10))
            when = self.random.choice((-1, -2, 0))
            self.ask.offsets(self.case("old list"), topic, when, 0, partition, max_num_offsets=limit)

    def wanted(self) -> list[Step]:
        sizes = (1, 60, 100, 200, 1000, 100_000)
        chosen = self.random.sample(self.partitions, self.random.randint(1, len(self.partitions)))
        return [at(t, self.near_end(t, p), p, self.random.choice(sizes)) for t, p in chosen]

    def limits(self) -> Step:
        return {
            "max_bytes": self.random.choice((1, 150, 400, 10_000_000, 10_000_000)),
            "min_bytes": self.random.choice((0, 1)),
            "isolation_level": self.random.choice((0, 0, 1)),
        }

    def fetch(self) -> None:
        version = self.random.choice((4, 5, 7, 11, 12))
        self.ask.fetch(self.case("fetch"), *self.wanted(), version=version, **self.limits())

    def old_fetch(self) -> None:
        if 3 in self.ask.versions("Fetch"):
            limits = self.limits() | {"isolation_level": 0}
            self.ask.fetch(self.case("old fetch"), *self.wanted(), version=self.random.choice((0, 2, 3)), **limits)

    def session(self) -> None:
        more: dict[str, Any] = {}
        if self.epoch == 0 or self.chance(0.1):
            self.epoch = 1
            body = self.ask.fetching(*self.wanted(), session_id=0, session_epoch=0, **self.limits())
            more["bind"] = {"S": "session_id"}
        else:
            named = self.wanted() if self.chance(0.4) else []
            body = self.ask.fetching(*named, session_id="$S", session_epoch=self.epoch, **self.limits())
            self.epoch += 1
        self.ask.request(self.case("session"), "Fetch", 11, body, **more)

    def epoch_end(self) -> None:
        topic, partition = self.partition()
        asked = {"partition": partition, "leader_epoch": self.random.choice((0, 0, 1, -1)), "current_leader_epoch": -1}
        body = {"replica_id": -1, "topics": [{"topic": topic, "partitions": [asked]}]}
        self.ask.request(self.case("end of an epoch"), "OffsetForLeaderEpoch", 3, body)
