"""Requests to a broker whose disk is full: each gets Kafka's error code and keeps its connection.

If the data is temporary, or only the metadata could not be saved, the request succeeds once there is space again. If
the data is kept, the log directory goes offline. In the tests with a real limit (a small tmpfs, or a limit on file
sizes), all acknowledged records must still be there after a restart.
"""

import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafkalet.protocol.errors import Code
from kafkalet_conformance.playing.connection import Connection
from kafkalet_conformance.playing.target import Target
from tests.unit.storage.failing_disk import FailingDisk
from tests.wire.brokers import Plain, Wire, batch, on_the_wire

GROUP = {"group_id": "g"}
PROTOCOLS = [{"name": "range", "metadata": b"".hex()}]


CONFIG = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    """A broker that keeps its data."""
    with on_the_wire(data_dir=tmp_path / "data", config=CONFIG) as wire:
        wire.produce(batch(b"first"))
        yield wire


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    """A broker whose data is temporary."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with on_the_wire(config=CONFIG) as wire:
        wire.produce(batch(b"first"))
        yield wire


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[FailingDisk]:
    with FailingDisk(tmp_path) as disk:
        yield disk


def one(answer: Plain, *path: str) -> int:
    """Return the error code at the end of a path through lists of one element."""
    found: Any = answer
    for name in path:
        found = found[name][0]
    code: int = found["error_code"]
    return code


class Case:
    """A request that writes: its body or how to prepare it, the path of its error code, and the code on a full disk."""

    def __init__(
        self,
        api: str,
        version: int,
        body: Plain | Callable[[Wire], Plain],
        path: tuple[str, ...],
        code: Code = Code.KAFKA_STORAGE_ERROR,
        then: Code = Code.NONE,
    ) -> None:
        self.api, self.version, self.body, self.path, self.code, self.then = api, version, body, path, code, then

    def prepared(self, wire: Wire) -> Plain:
        return self.body(wire) if callable(self.body) else self.body


def coordinators(wire: Wire) -> None:
    for key_type in (0, 1):
        wire.ask("FindCoordinator", 1, {"key": "g", "key_type": key_type})


def commit(wire: Wire) -> Plain:
    coordinators(wire)
    partition = {"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}
    return {**GROUP, "generation_id_or_member_epoch": -1, "topics": [{"name": "t", "partitions": [partition]}]}


def joined(wire: Wire) -> Plain:
    coordinators(wire)
    times = {"session_timeout_ms": 10000, "rebalance_timeout_ms": 10000}
    body = {**GROUP, **times, "member_id": "", "protocol_type": "consumer", "protocols": PROTOCOLS}
    answer = wire.ask("JoinGroup", 3, body)
    assert answer["error_code"] == 0
    return {**GROUP, "generation_id": answer["generation_id"], "member_id": answer["member_id"]}


def syncing(wire: Wire) -> Plain:
    member = joined(wire)
    return {**member, "assignments": [{"member_id": member["member_id"], "assignment": b"x".hex()}]}


def producing(wire: Wire) -> Plain:
    coordinators(wire)
    answer = wire.ask("InitProducerId", 1, {"transactional_id": "g", "transaction_timeout_ms": 60000})
    assert answer["error_code"] == 0
    producer = {"producer_id": answer["producer_id"], "producer_epoch": answer["producer_epoch"]}
    return {"transactional_id": "g", **producer}


def in_transaction(wire: Wire) -> Plain:
    producer = producing(wire)
    answer = wire.ask("AddPartitionsToTxn", 1, adding(producer))
    assert one(answer, "topics", "partitions") == 0
    return {**producer, "committed": True}


def adding(producer: Plain) -> Plain:
    return {**producer, "topics": [{"name": "t", "partitions": [0]}]}


def heartbeat(wire: Wire) -> Plain:
    coordinators(wire)
    return {
        "group_id": "new",
        "member_id": "m" * 22,
        "member_epoch": 0,
        "rebalance_timeout_ms": 10000,
        "subscribed_topic_names": ["t"],
        "topic_partitions": [],
    }


def committed(wire: Wire) -> None:
    assert one(wire.ask("OffsetCommit", 2, commit(wire)), "topics", "partitions") == 0


def deleting_group(wire: Wire) -> Plain:
    committed(wire)
    return {"groups_names": ["g"]}


def deleting_offsets(wire: Wire) -> Plain:
    committed(wire)
    return {**GROUP, "topics": [{"name": "t", "partitions": [{"partition_index": 0}]}]}


TOPIC_CONFIG = {"resource_type": 2, "resource_name": "t"}
METADATA_CASES = [
    Case("CreateTopics", 5, {"topics": [{"name": "new"}]}, ("topics",)),
    Case("DeleteTopics", 5, {"topic_names": ["t"]}, ("responses",)),
    Case("CreatePartitions", 1, {"topics": [{"name": "t", "count": 3, "assignments": None}]}, ("results",)),
    Case(
        "AlterConfigs",
        1,
        {"resources": [{**TOPIC_CONFIG, "configs": [{"name": "retention.ms", "value": "5"}]}]},
        ("responses",),
    ),
    Case(
        "IncrementalAlterConfigs",
        1,
        {"resources": [{**TOPIC_CONFIG, "configs": [{"name": "retention.ms", "config_operation": 0, "value": "5"}]}]},
        ("responses",),
    ),
    Case(
        "AlterClientQuotas",
        1,
        {
            "entries": [
                {
                    "entity": [{"entity_type": "client-id", "entity_name": "c"}],
                    "ops": [{"key": "producer_byte_rate", "value": 1e6, "remove": False}],
                }
            ]
        },
        ("entries",),
    ),
    Case("FindCoordinator", 1, {"key": "g", "key_type": 0}, (), Code.COORDINATOR_NOT_AVAILABLE),
    Case(
        "Metadata",
        4,
        {"topics": [{"name": "auto"}], "allow_auto_topic_creation": True},
        ("topics",),
        Code.UNKNOWN_TOPIC_OR_PARTITION,
    ),
    Case("InitProducerId", 1, {"transactional_id": None}, (), Code.COORDINATOR_LOAD_IN_PROGRESS),
]
LOG_CASES = [
    Case("Produce", 9, lambda wire: wire.produce_body(batch(b"x")), ("responses", "partitions")),
    Case(
        "InitProducerId",
        1,
        lambda wire: {**producing(wire), "transaction_timeout_ms": 60000},
        (),
        Code.NOT_COORDINATOR,
    ),
    Case("AddPartitionsToTxn", 1, lambda wire: adding(producing(wire)), ("topics", "partitions"), Code.NOT_COORDINATOR),
    Case("EndTxn", 1, in_transaction, (), Code.NOT_COORDINATOR),
    Case("OffsetCommit", 2, commit, ("topics", "partitions"), Code.NOT_COORDINATOR),
    Case("SyncGroup", 2, syncing, (), Code.NOT_COORDINATOR, Code.REBALANCE_IN_PROGRESS),
    Case("ConsumerGroupHeartbeat", 0, heartbeat, (), Code.NOT_COORDINATOR),
    Case("DeleteGroups", 1, deleting_group, ("results",), Code.NOT_COORDINATOR),
    Case("OffsetDelete", 0, deleting_offsets, (), Code.NOT_COORDINATOR),
]


@pytest.mark.parametrize("case", METADATA_CASES, ids=lambda case: f"{case.api}-{case.code.name}")
def test_request_whose_change_cannot_be_saved_fails_and_succeeds_later(
    case: Case, wire: Wire, disk: FailingDisk, caplog: pytest.LogCaptureFixture
) -> None:
    body = case.prepared(wire)
    disk.fail_on("kafkalet.json")
    fails_and_succeeds_later(case, body, wire, disk, caplog)


@pytest.mark.parametrize("case", LOG_CASES, ids=lambda case: f"{case.api}-{case.code.name}")
def test_request_whose_records_cannot_be_written_fails_and_succeeds_later(
    case: Case, temporary: Wire, disk: FailingDisk, caplog: pytest.LogCaptureFixture
) -> None:
    body = case.prepared(temporary)
    disk.fail_from(0)
    fails_and_succeeds_later(case, body, temporary, disk, caplog)


@pytest.mark.parametrize("case", LOG_CASES, ids=lambda case: f"{case.api}-{case.code.name}")
def test_request_whose_records_cannot_be_written_fails_for_good_if_the_data_is_kept(
    case: Case, wire: Wire, disk: FailingDisk, caplog: pytest.LogCaptureFixture
) -> None:
    body = case.prepared(wire)
    disk.fail_from(0)
    for _ in range(2):
        assert one(wire.ask(case.api, case.version, body), *case.path) == case.code
        disk.heal()
    assert "Traceback" not in caplog.text


def fails_and_succeeds_later(
    case: Case, body: Plain, wire: Wire, disk: FailingDisk, caplog: pytest.LogCaptureFixture
) -> None:
    assert one(wire.ask(case.api, case.version, body), *case.path) == case.code
    disk.heal()
    assert one(wire.ask(case.api, case.version, body), *case.path) in (case.then, Code.UNKNOWN_TOPIC_OR_PARTITION)
    assert "Traceback" not in caplog.text
    assert not [record for record in caplog.records if record.exc_info]


def topics(wire: Wire) -> set[str]:
    return {topic["name"] for topic in wire.ask("Metadata", 4, {"topics": None})["topics"]}


def test_topics_of_request_that_cannot_be_saved_are_all_rolled_back(
    wire: Wire, disk: FailingDisk, tmp_path: Path
) -> None:
    before = topics(wire)
    disk.fail_on("kafkalet.json")
    answer = wire.ask("CreateTopics", 5, {"topics": [{"name": "a"}, {"name": "b"}]})
    assert [topic["error_code"] for topic in answer["topics"]] == [Code.KAFKA_STORAGE_ERROR] * 2
    assert "kafkalet.json: No space left on device" in answer["topics"][0]["error_message"]
    disk.heal()
    assert topics(wire) == before
    assert not [path for path in (tmp_path / "data").iterdir() if path.name in ("a-0", "b-0")]


def test_topics_of_one_request_are_saved_once(wire: Wire, disk: FailingDisk) -> None:
    disk.fail_from(1 << 40)
    wire.ask("CreateTopics", 5, {"topics": [{"name": f"topic-{number}"} for number in range(10)]})
    assert disk.changes.count("replace kafkalet.json.tmp") == 1


def test_topic_whose_deletion_cannot_be_saved_stays(wire: Wire, disk: FailingDisk) -> None:
    disk.fail_on("kafkalet.json")
    assert one(wire.ask("DeleteTopics", 5, {"topic_names": ["t"]}), "responses") == Code.KAFKA_STORAGE_ERROR
    disk.heal()
    assert topics(wire) >= {"t"}
    assert wire.fetch()["high_watermark"] == 1


def test_config_change_that_cannot_be_saved_is_rolled_back(wire: Wire, disk: FailingDisk) -> None:
    disk.fail_on("kafkalet.json")
    configs = [{"name": "retention.ms", "config_operation": 0, "value": "5"}]
    body = {"resources": [{**TOPIC_CONFIG, "configs": configs}]}
    assert one(wire.ask("IncrementalAlterConfigs", 1, body), "responses") == Code.KAFKA_STORAGE_ERROR
    disk.heal()
    assert wire.cluster._server.metadata.topics["t"].config == {}
    assert (
        wire.cluster._server.call(lambda: wire.cluster._server.leadership.leader_of("t", 0).log.config.retention_ms) > 5
    )


def test_transaction_is_completed_after_its_end_could_not_be_written(temporary: Wire, disk: FailingDisk) -> None:
    wire = temporary
    body = in_transaction(wire)
    disk.fail_on("00000000000000000000.log")
    assert one(wire.ask("EndTxn", 1, body)) == Code.NOT_COORDINATOR
    disk.heal()
    assert one(wire.ask("EndTxn", 1, body)) == Code.NONE
    wire.until(lambda: wire.cluster.topic("t").log().last_stable_offset == 2)


def test_markers_are_written_once_there_is_space(temporary: Wire, disk: FailingDisk) -> None:
    wire = temporary
    body = in_transaction(wire)
    records = batch(b"x", producer_id=body["producer_id"], producer_epoch=0, base_sequence=0, is_transactional=True)
    assert wire.produce(records, transactional_id="g")["error_code"] == 0

    path = Path(wire.log().directory)
    disk.fail_on(path.name)
    assert one(wire.ask("EndTxn", 1, body)) == Code.NONE
    disk.heal()
    wire.until(lambda: wire.cluster.topic("t").log().last_stable_offset == 3)


# Real limits

BROKER = """
import resource, sys
import kafkalet
if sys.argv[2] != "0":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
with kafkalet.Broker(data_dir=sys.argv[1] or None, config={"offsets.topic.num.partitions": "1"}) as broker:
    print(broker.bootstrap_servers, flush=True)
    sys.stdin.read()
"""


@contextmanager
def broker_at(directory: Path | None, file_size_limit: int = 0) -> Iterator[tuple[Connection, "subprocess.Popen[str]"]]:
    """Run a broker in a separate process and check that it stops cleanly, unless the caller has killed it."""
    with subprocess.Popen(
        [sys.executable, "-c", BROKER, str(directory or ""), str(file_size_limit)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            with closing(Target(process.stdout.readline().strip()).connect()) as connection:
                yield connection, process
            process.stdin.close()
            said = process.stderr.read()
            assert process.wait(20) in (0, -signal.SIGKILL)
            assert "Traceback" not in said, said
        finally:
            process.kill()


def fill(connection: Connection, topic: str = "t") -> list[bytes]:
    """Produce until the broker runs out of space, and return the acknowledged values."""
    acknowledged: list[bytes] = []
    for number in range(10_000):
        sent = [b"%05d " % number * 30] * 10
        answer = connection.ask("Produce", 9, Wire.produce_body(batch(*sent), topic=topic))
        code = one(answer, "responses", "partitions")
        if code == Code.KAFKA_STORAGE_ERROR:
            return acknowledged
        assert code == 0
        acknowledged += sent
    raise AssertionError("the disk did not become full")


def values(connection: Connection, topic: str = "t") -> list[bytes]:
    found: list[bytes] = []
    while True:
        answer = connection.ask("Fetch", 11, Wire.fetch_body(version=11, topic=topic, offset=len(found)))
        partition = answer["responses"][0]["partitions"][0]
        assert partition["error_code"] == 0
        if len(found) == partition["high_watermark"]:
            return found
        batches = partition["records"]
        found += [record["value"].encode() for batch in batches for record in batch.get("records", ())]


def code_of_fetch(connection: Connection) -> int:
    answer = connection.ask("Fetch", 11, Wire.fetch_body(version=11, topic="t"))
    code: int = answer["responses"][0]["partitions"][0]["error_code"]
    return code


def create(connection: Connection) -> None:
    assert one(connection.ask("CreateTopics", 5, {"topics": [{"name": "t"}]}), "topics") == 0


def test_temporary_log_at_file_size_limit_accepts_records_once_limit_is_lifted() -> None:
    with broker_at(None, 100_000) as (connection, process):
        create(connection)
        acknowledged = fill(connection)
        assert values(connection) == acknowledged
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, unlimited)
        more = Wire.produce_body(batch(b"more"))
        assert one(connection.ask("Produce", 9, more), "responses", "partitions") == 0
        acknowledged.append(b"more")
        assert values(connection) == acknowledged


@pytest.mark.parametrize("how", ["clean stop", "kill"])
def test_broker_stopped_at_file_size_limit_starts_again(tmp_path: Path, how: str) -> None:
    with broker_at(tmp_path, 100_000) as (connection, process):
        create(connection)
        acknowledged = fill(connection)
        if how == "kill":
            process.kill()
    with broker_at(tmp_path) as (connection, _):
        assert values(connection) == acknowledged


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """The path of a mounted file system of two megabytes."""
    path = tmp_path / "tiny"
    path.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here: {done.stderr.strip()}")
    yield path
    subprocess.run(["umount", str(path)], check=True)


@pytest.mark.skipif(not shutil.which("mount"), reason="there is no mount command")
def test_broker_on_full_file_system_keeps_records_and_recovers(tiny: Path) -> None:
    ballast = [tiny / "ballast", tiny / "more"]
    for file in ballast:
        file.write_bytes(bytes(300_000))
    data = tiny / "data"
    with broker_at(data) as (connection, _):
        create(connection)
        acknowledged = fill(connection)
        answer = connection.ask("FindCoordinator", 1, {"key": "g", "key_type": 0})
        assert one(answer) == Code.COORDINATOR_NOT_AVAILABLE
        assert one(connection.ask("CreateTopics", 5, {"topics": [{"name": "u"}]}), "topics") == 56
        assert code_of_fetch(connection) == Code.KAFKA_STORAGE_ERROR
    ballast.pop().unlink()
    with broker_at(data) as (connection, _):
        assert values(connection) == acknowledged
        assert one(connection.ask("FindCoordinator", 1, {"key": "g", "key_type": 0})) == Code.NONE
        acknowledged += fill(connection)
    ballast.pop().unlink()
    with broker_at(data) as (connection, _):
        assert values(connection) == acknowledged


@pytest.mark.skipif(not shutil.which("mount"), reason="there is no mount command")
def test_full_file_system_of_one_directory_does_not_concern_the_other(tiny: Path, tmp_path: Path) -> None:
    with on_the_wire(data_dir=[tmp_path / "large", tiny / "small"], config=CONFIG) as wire:
        wire.cluster.topic("u").create(2)  # t-0 and u-1 are in the first directory, u-0 in the second
        connection = wire.connection()
        acknowledged = fill(connection, "u")
        assert acknowledged
        answer = wire.ask("DescribeLogDirs", 4, {"topics": None})
        assert [result["error_code"] for result in answer["results"]] == [0, Code.KAFKA_STORAGE_ERROR]
        for index, topic in ((0, "t"), (1, "u")):
            assert wire.produce(batch(b"x"), topic=topic, index=index)["error_code"] == 0
        assert wire.fetch(topic="u")["error_code"] == Code.KAFKA_STORAGE_ERROR
