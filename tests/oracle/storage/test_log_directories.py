"""A broker with two log directories, one of which fails, responds like Apache Kafka (`make oracle`).

The directory fails because a file takes its place. Which partitions a broker puts into which directory is not compared.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kafkalet
from kafkalet_conformance.playing.target import Target
from tests.oracle.apache_kafka import ApacheKafka, missing
from tests.wire.brokers import Wire, batch

pytestmark = pytest.mark.oracle

TIMEOUT_S = 30
TOPICS = [{"topic": "t", "partitions": [0, 1, 2, 3]}]
TIMEOUT = {"timeout_ms": 10_000}


class Play:
    """Requests to a broker, and its responses."""

    def __init__(self, bootstrap_servers: str, paths: list[Path]) -> None:
        self.connection = Target(bootstrap_servers).connect()
        self.a, self.b = paths
        self.answers: dict[str, Any] = {}

    def ask(self, api: str, version: int, body: dict[str, Any]) -> Any:
        return self.connection.ask(api, version, body)

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while not condition():
            assert time.monotonic() < deadline, "the condition did not become true"
            time.sleep(0.1)

    def places(self) -> dict[int, str]:
        """Return the name of the directory of each partition of topic t."""
        return {
            partition["partition_index"]: Path(result["log_dir"]).name
            for result in self.ask("DescribeLogDirs", 4, {"topics": TOPICS})["results"]
            for topic in result["topics"]
            for partition in topic["partitions"]
            if not partition["is_future_key"]
        }

    def directories(self) -> list[Any]:
        """Return the directories with their errors, the signs of their sizes, and their numbers of partitions."""
        return sorted(
            (Path(each["log_dir"]).name, each["error_code"], each["total_bytes"] > 0, each["usable_bytes"] > 0)
            for each in self.ask("DescribeLogDirs", 4, {"topics": TOPICS})["results"]
        )

    def alter(self, path: Path, topic: str, index: int) -> int:
        wanted = [{"path": str(path), "topics": [{"name": topic, "partitions": [index]}]}]
        [found] = self.ask("AlterReplicaLogDirs", 2, {"dirs": wanted})["results"]
        code: int = found["partitions"][0]["error_code"]
        return code

    def produce(self, index: int) -> Any:
        body = Wire.produce_body(batch(b"x"), index=index, **TIMEOUT)
        return self.ask("Produce", 9, body)["responses"][0]["partitions"][0]

    def note(self, name: str, answer: Any) -> None:
        """Record a response without the number of the partition."""
        if isinstance(answer, dict):
            answer = {
                key: answer[key] for key in answer if key not in ("index", "partition_index", "partition", "records")
            }
        self.answers[name] = answer

    def play(self) -> dict[str, Any]:
        self.ask(
            "CreateTopics", 5, {"topics": [{"name": "t", "num_partitions": 4, "replication_factor": 1}], **TIMEOUT}
        )
        self.until(lambda: len(self.places()) == 4)
        places = self.places()
        moved, kept = sorted(index for index, name in places.items() if name == "a")
        lost = min(index for index, name in places.items() if name == "b")
        for index in range(4):
            self.until(lambda index=index: self.produce(index)["error_code"] == 0)  # type: ignore[misc]
        self.note("directories", self.directories())
        self.note("to an unknown directory", self.alter(Path("/nowhere"), "t", kept))
        self.note("of unknown partitions", [self.alter(self.b, "t", 77), self.alter(self.b, "u", 0)])
        self.note("long name", [self.alter(self.b, "x" * 213, 0), self.alter(self.b, "x" * 214, 0)])
        self.note("to the same directory", self.alter(self.a, "t", kept))
        self.note("to another directory", self.alter(self.b, "t", moved))
        self.until(lambda: self.places()[moved] == "b")
        self.note("produce to the moved partition", self.produce(moved)["error_code"])
        self.fail(lost)
        self.note("directories afterwards", self.directories())
        self.note("produce", self.produce(lost))
        self.note("produce to another directory", self.produce(kept)["error_code"])
        fetch = self.ask("Fetch", 12, Wire.fetch_body(index=lost))
        self.note("fetch", fetch["responses"][0]["partitions"][0])
        asked: dict[str, Any] = {"partition_index": lost, "timestamp": -1}
        found = self.ask("ListOffsets", 7, {"topics": [{"name": "t", "partitions": [asked]}]})
        self.note("list offsets", found["topics"][0]["partitions"][0])
        for version in (4, 5, 9):
            [topic] = self.ask("Metadata", version, {"topics": [{"name": "t"}]})["topics"]
            for name, index in (("lost", lost), ("kept", kept)):
                [partition] = [each for each in topic["partitions"] if each["partition_index"] == index]
                partition.pop("leader_epoch", None)
                self.note(f"metadata v{version}, {name}", partition)
        self.note("move to the failed directory", self.alter(self.b, "t", kept))
        self.note("move from the failed directory", self.alter(self.a, "t", lost))
        self.note("move to the same directory afterwards", self.alter(self.a, "t", kept))
        asked = {"partition_index": lost, "offset": -1}
        found = self.ask("DeleteRecords", 2, {"topics": [{"name": "t", "partitions": [asked]}], **TIMEOUT})
        self.note("delete records", found["topics"][0]["partitions"][0])
        found = self.ask("DescribeProducers", 0, {"topics": [{"name": "t", "partition_indexes": [lost]}]})
        self.note("producers", found["topics"][0]["partitions"][0])
        for kind in (0, 1):
            wanted = [{"topic": "t", "partitions": [lost]}]
            found = self.ask("ElectLeaders", 2, {"election_type": kind, "topic_partitions": wanted, **TIMEOUT})
            result = found["replica_election_results"][0]["partition_result"][0]
            self.note(f"election of type {kind}", [result["error_code"], result["error_message"]])
        new = {"name": "v", "num_partitions": 2, "replication_factor": 1}
        found = self.ask("CreateTopics", 5, {"topics": [new], **TIMEOUT})
        self.note("new topic", found["topics"][0]["error_code"])
        self.connection.close()
        return self.answers

    def fail(self, lost: int) -> None:
        """Let directory b fail, and wait until the broker has noticed."""
        os.rename(self.b, self.b.with_name("gone"))
        self.b.write_text("")

        def has_no_leader() -> bool:
            self.produce(lost)
            [topic] = self.ask("Metadata", 4, {"topics": [{"name": "t"}]})["topics"]
            return {each["leader_id"] for each in topic["partitions"] if each["partition_index"] == lost} == {-1}

        self.until(lambda: any(code for _, code, *_ in self.directories()))
        self.until(has_no_leader)


@pytest.mark.parametrize("release", ["3.9", "4.4"])
def test_broker_with_a_failed_directory_responds_like_kafka(release: str, tmp_path: Path) -> None:
    if reason := missing(release):
        pytest.skip(reason)
    paths = [[tmp_path / broker / name for name in "ab"] for broker in ("kafka", "kafkalet")]
    for path in (each for of_broker in paths for each in of_broker):
        path.mkdir(parents=True)
    with ApacheKafka(release, config={"log.dirs": ",".join(map(str, paths[0]))}) as kafka:
        expected = Play(kafka.bootstrap_servers, paths[0]).play()
    with kafkalet.Broker(version=release, data_dir=paths[1]) as broker:
        assert Play(broker.bootstrap_servers, paths[1]).play() == expected
