"""Let Apache Kafka clean random topics, and keep the files and responses from before and after each cleaning.

The cleaner is held back by min.cleanable.dirty.ratio=1 while the topics are filled. Logs with both cleanup policies are
released one after the other, because the order of compaction and deletion is defined only for the log that is being
cleaned.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from kafkalet.formats import parse_offsets
from kafkalet_conformance.playing.target import Target
from tests.oracle.apache_kafka import ApacheKafka
from tests.recorded.cleaning.rounds import Case, Round, entries, read_files
from tests.wire.behavior.client import Client

from .random_topics import RandomTopic

CONFIG = {
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.dedupe.buffer.size": str(2 << 20),
    "log.cleaner.delete.retention.ms": "0",
    "log.retention.check.interval.ms": "3600000",
    "transaction.state.log.num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.max.timeout.ms": "900000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "3600000",
}
SETTLED_S = 1.5
SETTLED_ALONE_S = 0.7
TIMEOUT_S = 60.0
RETRIABLE = {3, 5, 6, 14, 15, 16, 47, 51}
TOPIC, SET, DELETE = 2, 0, 1


def cleaned_by_kafka(release: str, topics: list[RandomTopic]) -> list[Case]:
    """Start Apache Kafka, fill the topics, and return the results of its cleaner."""
    with ApacheKafka(release, config=CONFIG) as kafka:
        client = Client(Target(kafka.bootstrap_servers))
        try:
            runs = [_Run(topic, client, kafka.directory / "data", release) for topic in topics]
            for number in range(len(topics[0].rounds)):
                _round(runs, number)
            return [run.case for run in runs]
        finally:
            client.close()


def _round(runs: list[_Run], number: int) -> None:
    for run in runs:
        run.hold()
    _settle(runs, SETTLED_ALONE_S)
    for run in runs:
        run.fill(number)
    _settle(runs, SETTLED_S)
    for run in runs:
        run.keep_before()
    for run in runs:
        if run.topic.is_deleting:
            run.release()
            _settle([run], SETTLED_ALONE_S)
            run.until_ms = _now_ms()
            run.hold()
            _settle([run], 0.2)
    for run in runs:
        if not run.topic.is_deleting:
            run.release()
    _settle(runs, SETTLED_S)
    for run in runs:
        run.keep_after(number)


def _settle(runs: list[_Run], seconds: float) -> None:
    """Wait until the files of the topics have not changed for some time."""
    deadline, since, before = time.monotonic() + TIMEOUT_S, time.monotonic(), None
    while time.monotonic() - since < seconds:
        assert time.monotonic() < deadline, "the cleaner does not come to rest"
        now = [run.state() for run in runs]
        if now != before:
            since, before = time.monotonic(), now
        time.sleep(0.05)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class _Producer:
    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.sequence = 0
        self.in_transaction = False


class _Run:
    """A topic on a running broker."""

    def __init__(self, topic: RandomTopic, client: Client, data: Path, release: str) -> None:
        self.topic, self.client, self.data = topic, client, data
        self.directory = data / f"{topic.name}-0"
        self.case = Case(topic.name, topic.seed, release, [])
        self.config = dict(topic.config)
        self.producers: dict[str, _Producer] = {}
        self.started_ms = _now_ms()
        self.until_ms = 0
        self.before: dict[str, Any] = {}
        made = {"name": topic.name, "num_partitions": 1, "replication_factor": 1}
        made["configs"] = [{"name": key, "value": value} for key, value in topic.config.items()]
        [answer] = client.ask("CreateTopics", 5, {"topics": [made]})["topics"]
        assert answer["error_code"] == 0, answer
        self._retried("ListOffsets", 4, client.listing(topic.name, -1, 0), _listed)

    # Configuration

    def hold(self) -> None:
        self._alter({key: self.config.get(key) for key in self.topic.cleaning})

    def release(self) -> None:
        self.until_ms = 0
        self._alter(self.topic.cleaning)

    def _alter(self, changes: dict[str, str | None]) -> None:
        entries = [
            {"name": key, "config_operation": DELETE if value is None else SET, "value": value}
            for key, value in changes.items()
        ]
        resource = {"resource_type": TOPIC, "resource_name": self.topic.name, "configs": entries}
        answer = self.client.ask("IncrementalAlterConfigs", 1, {"resources": [resource], "validate_only": False})
        assert answer["responses"][0]["error_code"] == 0, answer

    # Filling

    def fill(self, number: int) -> None:
        for step in self.topic.rounds[number]:
            match step["op"]:
                case "produce":
                    self._produce(step)
                case "end":
                    self._end(step["producer"], step["commit"])
                case "init":
                    self._init(step["producer"])
                case "delete_records":
                    self._delete_records(step["fraction"])
                case "format":
                    self.config["message.format.version"] = step["version"]
                    self._alter({"message.format.version": step["version"]})
                    time.sleep(0.5)

    def _produce(self, step: dict[str, Any]) -> None:
        producer, now_ms = step["producer"], _now_ms() if step["records"][0]["at"] >= 0 else self.started_ms
        records = [
            {"ts": now_ms - 5000 + each["at"] % 1000 if each["at"] >= 0 else self.started_ms + each["at"],
             "key": each["key"], "value": each["value"], "headers": each.get("headers", [])}
            for each in step["records"]
        ]  # fmt: skip
        batch: dict[str, Any] = {"magic": 2, "codec": step["codec"], "records": records}
        body: dict[str, Any] = {}
        if producer:
            state = self._producer(producer)
            batch |= state.fields | {"base_sequence": state.sequence}
            state.sequence += len(records)
            if producer[0] == "x":
                self._begin(producer)
                batch["transactional"] = True
                body["transactional_id"] = self._transactional_id(producer)
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            answer = self.client.produce(self.topic.name, batch, version=7, **body)
            if answer["error_code"] == 0:
                return
            assert answer["error_code"] in RETRIABLE, (answer, step)
            assert time.monotonic() < deadline, (answer, step)
            time.sleep(0.02)

    def _transactional_id(self, producer: str) -> str | None:
        return f"{self.topic.name}-{producer}" if producer[0] == "x" else None

    def _producer(self, name: str) -> _Producer:
        if name not in self.producers:
            self._init(name)
        return self.producers[name]

    def _init(self, name: str) -> None:
        was_open = name in self.producers and self.producers[name].in_transaction
        end = self._end_offset()
        if name[0] == "x":
            asked = {"key": self._transactional_id(name), "key_type": 1}
            self._retried("FindCoordinator", 2, asked, lambda said: said["error_code"])
        body = {"transactional_id": self._transactional_id(name), "transaction_timeout_ms": 900_000}
        answer = self._retried("InitProducerId", 2, body, lambda said: said["error_code"])
        state = self.producers[name] = _Producer()
        state.fields = {key: answer[key] for key in ("producer_id", "producer_epoch")}
        if was_open:
            self._wait_for_marker(end)

    def _begin(self, name: str) -> None:
        state = self.producers[name]
        if not state.in_transaction:
            topics = [{"name": self.topic.name, "partitions": [0]}]
            body = {"transactional_id": self._transactional_id(name), "topics": topics} | state.fields
            self._retried("AddPartitionsToTxn", 2, body, lambda said: said["topics"][0]["partitions"][0]["error_code"])
            state.in_transaction = True

    def _end(self, name: str, commit: bool) -> None:
        state = self.producers[name]
        end = self._end_offset()
        body = {"transactional_id": self._transactional_id(name), "committed": commit} | state.fields
        self._retried("EndTxn", 2, body, lambda said: said["error_code"])
        state.in_transaction = False
        self._wait_for_marker(end)

    def _wait_for_marker(self, end: int) -> None:
        """Wait until the log has grown: the EndTxn response comes before the marker is written."""
        deadline = time.monotonic() + TIMEOUT_S
        while self._end_offset() == end:
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def _delete_records(self, fraction: float) -> None:
        start, end = self._start_offset(), self._end_offset()
        answer = self.client.delete_records(self.topic.name, start + int((end - start) * fraction))
        assert answer["error_code"] == 0, answer

    def _retried(self, api: str, version: int, body: dict[str, Any], code: Any) -> dict[str, Any]:
        answer = self.client.until(api, version, body, lambda said: code(said) not in RETRIABLE)
        assert code(answer) == 0, (api, answer)
        return answer

    def _end_offset(self) -> int:
        return self.client.offset(self.topic.name, -1, 4).offset

    def _start_offset(self) -> int:
        return self.client.offset(self.topic.name, -2, 4).offset

    # Keeping

    def state(self) -> Any:
        """Return everything that cleaning this topic changes."""
        names = sorted(each.name for each in self.directory.iterdir() if not each.name.endswith(".snapshot"))
        sizes = []
        for name in names:
            try:
                sizes.append((self.directory / name).stat().st_ino)
            except FileNotFoundError:
                sizes.append(-1)
        return names, sizes, self._dirty()

    def _dirty(self) -> int | None:
        path = self.data / "cleaner-offset-checkpoint"
        try:
            return parse_offsets(path.read_bytes()).get((self.topic.name, 0))
        except FileNotFoundError:
            return None

    def keep_before(self) -> None:
        end = self._end_offset()
        self.before = {
            "log_start_offset": self._start_offset(),
            "high_watermark": end,
            "dirty": self._dirty(),
            "before": read_files(self.directory),
        }

    def keep_after(self, number: int) -> None:
        done = Round(
            **self.before,
            config=self.config | self.topic.cleaning,
            until_ms=self.until_ms or _now_ms(),
            after=read_files(self.directory),
            dirty_after=self._dirty(),
            answers={},
        )
        done.answers = self._answers(done)
        self.case.rounds.append(done)

    def _answers(self, done: Round) -> dict[str, Any]:
        """Look up offsets by time and fetch all records, at both isolation levels."""
        name, ask = self.topic.name, self.client
        start = self._start_offset()
        answers: dict[str, Any] = {
            "start": start,
            "end": self._end_offset(),
            "stable": ask.offset(name, -1, 4, isolation_level=1).offset,
            "times": {},
        }
        batches = [batch for batch in entries(done.after) if batch.get("max_ts", batch.get("ts", -1)) > 0]
        times = sorted({batch["max_ts"] for batch in batches if "max_ts" in batch})
        for at in times[:: max(len(times) // 6, 1)]:
            for timestamp in (at, at + 1):
                found = ask.offset(name, timestamp, 4)
                answers["times"][str(timestamp)] = [found.error_code, found.offset, found.timestamp]
        for level in (0, 1):
            answers[f"fetched {level}"] = self._fetch(start, answers["end"], level)
        return answers

    def _fetch(self, start: int, end: int, level: int) -> list[Any]:
        """Return each response of a consumer that reads from start to end: its batches and aborted transactions."""
        found = []
        at = start
        while at < end:
            body = {
                "replica_id": -1, "max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "isolation_level": level,
                "topics": [{"topic": self.topic.name, "partitions": [
                    {"partition": 0, "fetch_offset": at, "partition_max_bytes": 1500}]}],
            }  # fmt: skip
            [said] = self.client.ask("Fetch", 4, body)["responses"][0]["partitions"]
            assert said["error_code"] == 0, said
            batches = [each for each in said["records"] or [] if "partial_bytes" not in each]
            aborted = [[each["producer_id"], each["first_offset"]] for each in said["aborted_transactions"] or []]
            if not batches:
                break
            ranges = [offsets_of(batch) for batch in batches]
            found.append([at, [list(each) for each in ranges], sorted(aborted)])
            at = ranges[-1][1] + 1
        return found


def offsets_of(batch: dict[str, Any]) -> tuple[int, int, int]:
    """Return the first offset, the last offset and the number of records of an entry."""
    if "base_offset" in batch:
        base: int = batch["base_offset"]
        return base, base + batch["last_offset_delta"], len(batch["records"])
    return batch["offset"], batch["offset"], len(batch.get("inner", [batch]))


def _listed(said: dict[str, Any]) -> int:
    code: int = said["topics"][0]["partitions"][0]["error_code"]
    return code
