"""A read-only broker serves its directory, refuses changes at once, and leaves the directory as it was."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kafkalet
from kafkalet.broker.context import Context
from kafkalet.broker.network.error_responses import error_response
from kafkalet.broker.served import CHANGING, read_only_error
from kafkalet.clock import ManualClock
from kafkalet.protocol.api import Api
from kafkalet.protocol.fields import Field
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.schema import Struct
from kafkalet.storage.directory import DirectoryInUse
from tests.unit.storage.test_overlay import listing


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with a topic, a group, an aborted transaction and a compacted topic, closed cleanly."""
    path = tmp_path_factory.mktemp("read-only") / "data"
    with kafkalet.Broker(data_dir=path) as broker:
        broker.topic("orders", 2).send_batch(["one", "two", "three"], partition=0)
        broker.topic("keys", 1, {"cleanup.policy": "compact"}).send("x", key="a")
        with broker.open_transaction("committed") as committed:
            committed.send_offsets("billing", {("orders", 0): 1})
        with broker.open_transaction("aborted") as transaction:
            transaction.send("orders", "aborted", partition=1)
            transaction.abort()
    return path


@pytest.fixture(params=["clean", "killed"])
def data(written: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    path = Path(shutil.copytree(written, tmp_path / "data"))
    if request.param == "killed":
        (path / ".kafka_cleanshutdown").unlink()
    before = listing(path)
    yield path
    assert listing(path) == before


@pytest.mark.parametrize("api", sorted(CHANGING, key=str), ids=str)
def test_refusal_of_every_version_can_be_sent(api: Api) -> None:
    from importlib import import_module

    with kafkalet.Broker() as broker:
        refuse = getattr(import_module(f"kafkalet.broker.apis.{api.module}"), "refuse", error_response)
        for version in range(api.versions.low, api.versions.high + 1):
            context = Context(broker._server.brokers[1], None, ("127.0.0.1", 1), "PLAINTEXT")  # type: ignore[arg-type]
            context.api, context.version, context.client_id, context.correlation_id = api, version, "c", 1
            cls = request_type(api)
            request = cls(**_values(cls, version))
            answer = broker._server.call(lambda: refuse(request, context, read_only_error(api)))  # noqa: B023 - called at once
            encoded = answer.encode(version)
            assert int(read_only_error(api).code).to_bytes(2, "big") in encoded, version


def _values(cls: type[Struct], version: int) -> dict[str, Any]:
    """Return values for all fields that a request has in a version; lists have one element."""
    fields = (field for field in cls.FIELDS if version in field.versions)
    return {field.name: [_value(field, version)] if field.array else _value(field, version) for field in fields}


def _value(field: Field, version: int) -> Any:
    if field.struct is not None:
        return field.struct(**_values(field.struct, version))
    assert field.wire is not None
    return {"string": "t", "bytes": b"", "records": b"", "uuid": bytes(16), "bool": False}.get(field.wire.name, 1)


def test_records_and_offsets_are_served(data: Path) -> None:
    with kafkalet.Broker(data_dir=data, read_only=True) as broker:
        assert broker.topic("orders").values(partition=0) == [b"one", b"two", b"three"]
        assert broker.group("billing").committed() == {("orders", 0): 1}


def test_groups_work_and_are_discarded(data: Path) -> None:
    for _ in range(2):
        with kafkalet.Broker(data_dir=data, read_only=True) as broker:
            group = broker.group("billing")
            assert group.committed() == {("orders", 0): 1}
            group.seek(3, "orders", 0)
            broker.group("new").seek(2, "orders", 0)
            assert group.committed() == {("orders", 0): 3}
            assert broker.group("new").committed() == {("orders", 0): 2}


def test_expired_records_stay(data: Path) -> None:
    clock = ManualClock()
    with kafkalet.Broker(data_dir=data, read_only=True, clock=clock) as broker:
        broker.clock.advance(days=30)
        assert broker.topic("orders").values(partition=0) == [b"one", b"two", b"three"]
        assert broker.group("billing").committed() == {("orders", 0): 1}
        for run in (broker.run_cleaner, broker.run_retention):
            with pytest.raises(RuntimeError, match="read-only"):
                run()


def test_open_transaction_is_neither_aborted_nor_completed(tmp_path: Path) -> None:
    path, copy = tmp_path / "data", tmp_path / "copy"
    with kafkalet.Broker(data_dir=path) as broker:
        broker.topic("orders", 1)
        with broker.open_transaction("tx") as transaction:
            transaction.send("orders", "open")
            shutil.copytree(path, copy)
    before = listing(copy)
    with kafkalet.Broker(data_dir=copy, read_only=True, clock=ManualClock()) as broker:
        broker.clock.advance(hours=1)
        assert broker.transaction("tx").state == "Ongoing"
        assert broker.topic("orders").values() == [b"open"]
        assert broker.topic("orders").values("read_committed") == []
    assert listing(copy) == before


def test_snapshot_cannot_be_restored(data: Path) -> None:
    with kafkalet.Broker(data_dir=data, read_only=True) as broker:
        snapshot = broker.snapshot()
        with pytest.raises(RuntimeError, match="read-only"):
            broker.restore(snapshot)


def test_reset_brings_the_directory_back(data: Path) -> None:
    with kafkalet.Broker(data_dir=data, read_only=True) as broker:
        broker.group("billing").seek(3, "orders", 0)
        broker.reset()
        assert broker.group("billing").committed() == {("orders", 0): 1}
        assert broker.topic("orders").values(partition=0) == [b"one", b"two", b"three"]


def test_overlay_is_removed_at_exit(data: Path) -> None:
    with kafkalet.Broker(data_dir=data, read_only=True) as broker:
        temporary = broker._server.temporary_directory
        assert temporary is not None
        assert Path(temporary).is_dir()
    assert not Path(temporary).exists()


def test_two_brokers_can_read_a_directory(data: Path) -> None:
    with kafkalet.Broker(data_dir=data, read_only=True) as one, kafkalet.Broker(data_dir=data, read_only=True) as two:
        assert one.topic("orders").values(partition=0) == two.topic("orders").values(partition=0)


def test_directory_in_use_is_refused(written: Path, tmp_path: Path) -> None:
    path = shutil.copytree(written, tmp_path / "data")
    with kafkalet.Broker(data_dir=path), pytest.raises(DirectoryInUse, match="in use by another broker"):
        kafkalet.Broker(data_dir=path, read_only=True).__enter__()


def test_missing_directory_is_refused_and_not_created(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        kafkalet.Broker(data_dir=tmp_path / "missing", read_only=True).__enter__()
    assert not (tmp_path / "missing").exists()


def test_read_only_needs_a_directory_and_no_topics(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="read_only needs a data directory"):
        kafkalet.Broker(read_only=True)
    with pytest.raises(ValueError, match="read_only brokers create none"):
        kafkalet.Broker(data_dir=tmp_path, read_only=True, topics=["t"])


def test_confluent_kafka_reads_and_is_refused_at_once(data: Path) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    from confluent_kafka.admin import AdminClient, NewTopic

    with kafkalet.Broker(data_dir=data, read_only=True) as broker:
        address = {"bootstrap.servers": broker.bootstrap_servers}
        consumer = confluent_kafka.Consumer(address | {"group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["keys"])
        assert consumer.poll(30).value() == b"x"
        consumer.commit(asynchronous=False)
        consumer.close()
        assert broker.group("g").committed() == {("keys", 0): 1}
        errors = []
        producer = confluent_kafka.Producer(address)
        producer.produce("orders", "no", on_delivery=lambda error, _: errors.append(error.name()))
        assert producer.flush(30) == 0
        assert errors == ["POLICY_VIOLATION"]
        transactional = confluent_kafka.Producer(address | {"transactional.id": "t", "log_level": 0})
        with pytest.raises(confluent_kafka.KafkaException) as raised:
            transactional.init_transactions(30)
        assert raised.value.args[0].name() == "CLUSTER_AUTHORIZATION_FAILED"
        admin = AdminClient(address)
        [created] = admin.create_topics([NewTopic("new", 1, 1)]).values()
        with pytest.raises(confluent_kafka.KafkaException, match="read-only"):
            created.result(30)
        assert "new" not in broker._server.metadata.topics


def test_kafka_python_reads_and_is_refused_at_once(data: Path) -> None:
    kafka = pytest.importorskip("kafka")
    with kafkalet.Broker(data_dir=data, read_only=True) as broker:
        consumer = kafka.KafkaConsumer(
            "keys", bootstrap_servers=broker.bootstrap_servers, group_id="g", auto_offset_reset="earliest"
        )
        assert next(consumer).value == b"x"
        consumer.commit()
        consumer.close()
        producer = kafka.KafkaProducer(bootstrap_servers=broker.bootstrap_servers, enable_idempotence=False)
        with pytest.raises(kafka.errors.PolicyViolationError):
            producer.send("orders", b"no").get(30)
        producer.close()
