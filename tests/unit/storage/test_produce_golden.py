"""Replays the produce transcripts of Apache Kafka against validation and producer states, without a broker.

A few lines imitate the rest of a broker: topics with their configurations, checks of the whole request, and log start
offsets. Steps about anything else (acks 0, connections, raw frames) are left to the replay against a running broker.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalet.broker.apis.produce_rules import (
    WITHOUT_LOG_START,
    check_first_header,
    check_produced,
    is_transactional,
)
from kafkalet.protocol.errors import KafkaError
from kafkalet.storage.config import LogConfig, LogRules
from kafkalet.storage.files import Files
from kafkalet.storage.producers import ProducerStates
from kafkalet.storage.refusals import AppendRefused, RecordsRefused
from kafkalet.storage.validation import validate
from kafkalet.storage.values import Origin
from kafkalet_conformance.notation import values as notation
from kafkalet_conformance.playing.matching import Matcher, resolve
from kafkalet_conformance.playing.player import at_path
from kafkalet_conformance.transcripts import Step, load, names

RULES = {
    "2.8": LogRules((2, 8), True, honors_message_format=True, refuses_claimed_append_time=True),
    "3.9": LogRules((3, 9), True),
    "4.4": LogRules((4, 4)),
}
NOT_ABOUT_RECORDS = ("legacy_limits", "legacy_sessions", "legacy_special_times", "topic_ids")
UNKNOWN_TOPIC = 3
BAD_ACKS = 21
NO_TRANSACTIONAL_ID = 53

Answer = dict[str, Any]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Partition:
    """The parts of a log that are visible to a producer."""

    def __init__(self, name: str, config: LogConfig, directory: Path, files: Files) -> None:
        directory.mkdir(parents=True)
        self.name, self.config = name, config
        self.producers = ProducerStates(str(directory), files)
        self.log_start_offset = self.log_end_offset = 0
        self.stored: list[bytes] = []

    def append(self, data: bytes, version: int) -> Answer:
        try:
            check_produced(data, version)
            check_first_header(data)
            accepted = validate(
                bytearray(data),
                self.config,
                next_offset=self.log_end_offset,
                leader_epoch=0,
                origin=Origin.CLIENT,
                now_ms=now_ms(),
                partition=self.name,
            )
            change = self.producers.prepare(accepted.batches, Origin.CLIENT)
        except KafkaError as error:
            has_start = isinstance(error, AppendRefused) and error.code not in WITHOUT_LOG_START
            start = self.log_start_offset if has_start else -1
            answer = answer_of(error.code, log_start_offset=start, error_message=error.message)
            if isinstance(error, RecordsRefused):
                answer["record_errors"] = [
                    {"batch_index": each.batch_index, "batch_index_error_message": each.message}
                    for each in error.record_errors
                ]
            return answer
        if (old := change.duplicate) is not None:
            return answer_of(0, old.first_offset, old.timestamp, self.log_start_offset)
        self.producers.commit(change)
        if accepted.batches:
            self.stored.append(bytes(accepted.records))
            self.log_end_offset = accepted.last_offset + 1
        return answer_of(0, accepted.first_offset, accepted.log_append_time_ms, self.log_start_offset)


def answer_of(
    code: int,
    base_offset: int = -1,
    log_append_time_ms: int = -1,
    log_start_offset: int = -1,
    error_message: str | None = None,
) -> Answer:
    return {
        "error_code": int(code),
        "base_offset": base_offset,
        "log_append_time_ms": log_append_time_ms,
        "log_start_offset": log_start_offset,
        "record_errors": [],
        "error_message": error_message,
    }


SINCE = {"log_append_time_ms": 2, "log_start_offset": 5, "record_errors": 8, "error_message": 8}


class Imitation:
    """Runs the steps of a scenario; unknown steps have no response."""

    def __init__(self, rules: LogRules, directory: Path, files: Files) -> None:
        self.rules, self.directory, self.files = rules, directory, files
        self.names: dict[str, Any] = {}
        self.topics: dict[str, list[Partition]] = {}
        self.next_producer_id = 4000

    def perform(self, step: dict[str, Any]) -> Answer | None:
        if step["op"] == "let":
            self.names[step["name"]] = step["value"]
        if step["op"] == "bind_now":
            self.names[step["bind"]] = now_ms()
        perform = getattr(self, "on_" + step.get("api", "nothing"), None)
        if not step["op"].startswith("request") or perform is None:
            return None
        answer: Answer | None = perform(resolve(step["body"], self.names), step["version"])
        if answer is not None:
            self.names |= {name: at_path(answer, path) for name, path in step.get("bind", {}).items()}
        return answer

    def on_CreateTopics(self, body: Answer, version: int) -> Answer:
        for topic in body["topics"]:
            name = topic["name"]
            config = LogConfig.of({each["name"]: each["value"] for each in topic.get("configs", [])}, self.rules)
            self.topics[name] = [
                Partition(f"{name}-{n}", config, self.directory / f"{name}-{n}", self.files)
                for n in range(topic["num_partitions"])
            ]
        return {"topics": [{"topic_id": topic["name"]} for topic in body["topics"]]}

    def on_InitProducerId(self, body: Answer, version: int) -> Answer:
        self.next_producer_id += 1
        return {"producer_id": self.next_producer_id, "producer_epoch": 0}

    def on_DeleteRecords(self, body: Answer, version: int) -> None:
        for topic in body["topics"]:
            for each in topic["partitions"]:
                log = self.topics[topic["name"]][each["partition_index"]]
                log.log_start_offset = log.log_end_offset if each["offset"] == -1 else each["offset"]

    def on_Produce(self, body: Answer, version: int) -> Answer | None:
        if version < 3 and self.rules.version >= (4,):
            return None
        built = [notation.build(each["records"]) for topic in body["topics"] for each in topic["partitions"]]
        sent = [data for data in built if data is not None]
        if len(sent) < len(built):
            return None
        whole = self.whole_request(sent, body.get("transactional_id"))
        responses: list[Answer] = []
        for topic in body["topics"]:
            rows = []
            for each in topic["partitions"]:
                data = notation.build(each["records"]) or b""
                answer = whole or self.one_partition(topic, each["index"], data, body["acks"], version)
                row = {"index": each["index"], **answer}
                rows.append({key: value for key, value in row.items() if SINCE.get(key, 0) <= version})
            key = "topic_id" if version >= 13 else "name"
            responses.append({key: topic[key], "partitions": rows})
        return {"responses": responses} if body["acks"] else None

    def whole_request(self, sent: list[bytes], transactional_id: str | None) -> Answer | None:
        try:
            if any(is_transactional(data) for data in sent) and transactional_id is None:
                return answer_of(NO_TRANSACTIONAL_ID)
        except KafkaError as error:
            return answer_of(error.code, error_message=error.message)
        return None

    def one_partition(self, topic: Answer, index: int, data: bytes, acks: int, version: int) -> Answer:
        partitions = self.topics.get(topic.get("name") or topic["topic_id"], [])
        if index >= len(partitions):
            return answer_of(UNKNOWN_TOPIC)
        if acks not in (-1, 0, 1):
            try:
                check_produced(data, version)
                check_first_header(data)
            except KafkaError as error:
                return answer_of(error.code)
            return answer_of(BAD_ACKS)
        return partitions[index].append(data, version)

    def on_ListOffsets(self, body: Answer, version: int) -> Answer | None:
        """Return the log end offset."""
        asked = [(topic["name"], each) for topic in body["topics"] for each in topic["partitions"]]
        if len(asked) != 1 or asked[0][1]["timestamp"] != -1 or version != 1:
            return None
        name, partition = asked[0]
        index = partition["partition_index"]
        row = {"partition_index": index, "error_code": 0, "timestamp": -1}
        return {"topics": [{"name": name, "partitions": [row | {"offset": self.topics[name][index].log_end_offset}]}]}

    def on_Fetch(self, body: Answer, version: int) -> Answer | None:
        """Return all records from offset 0 on, as stored in the log."""
        asked = [(topic["topic"], each) for topic in body["topics"] if "topic" in topic for each in topic["partitions"]]
        if len(asked) != 1 or version < 10 or asked[0][1]["fetch_offset"] or body.get("isolation_level"):
            return None
        name, partition = asked[0]
        log = self.topics[name][partition["partition"]]
        data = b"".join(log.stored)
        if len(data) > partition["partition_max_bytes"]:
            return None
        return {"responses": [{"partitions": [{"records": notation.parse(data)}]}]}


def records_alone(answer: Answer) -> Answer:
    return {"responses": [{"partitions": [{"records": at_path(answer, "responses.0.partitions.0.records")}]}]}


SCENARIOS = [
    pytest.param(load(name).steps[release], release, id=f"{release}/{name}")
    for name in names()
    if name.startswith(("produce_", "legacy_"))
    if not name.endswith(
        ("nowhere", "internal_topics", "errors_every_version", "fetch_bytes", "mixed", *NOT_ABOUT_RECORDS)
    )
    for release in sorted(RULES.keys() & load(name).steps.keys())
    if name.startswith("produce_") or release == "2.8"
]


@pytest.fixture
def files() -> Iterator[Files]:
    files = Files(durable=False)
    yield files
    files.close()


@pytest.mark.parametrize(("steps", "release"), SCENARIOS)
def test_results_equal_those_of_kafka(steps: list[Step], release: str, tmp_path: Path, files: Files) -> None:
    imitation = Imitation(RULES[release], tmp_path, files)
    matcher = Matcher({})
    problems = []
    compared = 0
    for number, step in enumerate(steps, start=1):
        answer = imitation.perform(step)
        if answer is None or "case" not in step or "connection" in step["expect"]:
            continue
        expected = resolve(step["expect"], imitation.names)
        if step["api"] == "Fetch":
            expected = records_alone(expected)
        compared += 1
        found = matcher.differences(expected, answer, in_order=step["api"] == "Fetch")
        problems += [f"step {number}, {step['case']!r}: {difference}" for difference in found]
    assert problems == []
    assert compared
