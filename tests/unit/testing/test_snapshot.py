"""Tests of snapshots, restores and resets of a cluster."""

import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kafkalet
from kafkalet.broker.cluster.cluster_image import ClusterImage
from kafkalet.protocol.api import Api
from kafkalet.storage.image import StoredFile
from kafkalet.testing.snapshot import Snapshot
from tests.unit.broker.apis.asking import Asking


@pytest.fixture
def kafka() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker(topics=["first"]) as broker:
        yield broker


def commit(kafka: kafkalet.Broker, group: str, offset: int) -> None:
    Asking(kafka)(Api.FIND_COORDINATOR, 3, key=group, key_type=0)
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    topics = [{"name": "t", "partitions": [partition]}]
    member: dict[str, Any] = {"generation_id_or_member_epoch": -1, "member_id": ""}
    answer = Asking(kafka)(Api.OFFSET_COMMIT, 8, group_id=group, **member, topics=topics)
    assert answer["topics"][0]["partitions"][0]["error_code"] == 0


def set_quota(kafka: kafkalet.Broker) -> None:
    entity = [{"entity_type": "client-id", "entity_name": "app"}]
    ops = [{"key": "producer_byte_rate", "value": 1000.0, "remove": False}]
    entries = [{"entity": entity, "ops": ops}]
    Asking(kafka)(Api.ALTER_CLIENT_QUOTAS, 1, entries=entries, validate_only=False)


def set_config(kafka: kafkalet.Broker, value: str) -> None:
    config = {"name": "message.max.bytes", "config_operation": 0, "value": value}
    resources = [{"resource_type": 4, "resource_name": "", "configs": [config]}]
    Asking(kafka)(Api.INCREMENTAL_ALTER_CONFIGS, 1, resources=resources, validate_only=False)


def contents(cluster: kafkalet.Cluster, *topics: str) -> list[Any]:
    return [(topic.records(), [log.offsets for log in topic.logs]) for topic in map(cluster.topic, topics)]


# Reset


def test_reset_leaves_only_the_first_topics(kafka: kafkalet.Broker) -> None:
    kafka.topic("first").send("a")
    kafka.topic("t").send("b")
    commit(kafka, "g", 1)
    set_quota(kafka)
    set_config(kafka, "1234")
    port = kafka.port
    kafka.reset()
    metadata = kafka._server.metadata
    assert (list(metadata.topics), metadata.client_quotas, kafka.port) == (["first"], {}, port)
    assert kafka.topic("first").records() == []
    assert kafka.group("g").state == "Dead"
    assert kafka._server.metadata.broker_config[None].get("message.max.bytes") is None
    kafka.topic("t").send("c")
    assert kafka.topic("t").values() == [b"c"]


def test_reset_keeps_cluster_id_and_continues_producer_ids(kafka: kafkalet.Broker) -> None:
    def producer_id() -> int:
        number: int = Asking(kafka)(Api.INIT_PRODUCER_ID, 4, transactional_id=None, transaction_timeout_ms=1)[
            "producer_id"
        ]
        return number

    cluster_id, before = kafka._server.metadata.cluster_id, producer_id()
    kafka.reset()
    assert kafka._server.metadata.cluster_id == cluster_id
    assert producer_id() > before


def test_reset_ends_an_open_transaction(kafka: kafkalet.Broker) -> None:
    kafka.topic("t").layout("open")
    kafka.reset()
    kafka.topic("t").send("x")
    assert kafka.topic("t").count("read_committed") == 1


def test_reset_releases_a_held_high_watermark(kafka: kafkalet.Broker) -> None:
    kafka.topic("first").hold_high_watermark()
    kafka.reset()
    kafka.topic("first").send("x")
    assert kafka.topic("first").count() == 1


def test_reset_starts_stopped_brokers() -> None:
    with kafkalet.Cluster(brokers=2) as cluster:
        addresses = cluster.bootstrap_servers
        cluster.hold_replication(1)
        cluster.broker(2).stop()
        cluster.reset()
        assert cluster.bootstrap_servers == addresses
        cluster.topic("t", 1, replication_factor=2).send("x")
        assert cluster.topic("t", 1, replication_factor=2).count() == 1


def test_reset_of_a_data_directory_removes_its_logs_but_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with kafkalet.Broker(data_dir=tmp_path) as kafka:
        kafka.topic("t").send("a")
        kafka.reset()
        assert list(kafka._server.metadata.topics) == []
    with kafkalet.Broker(data_dir=tmp_path) as kafka:
        assert list(kafka._server.metadata.topics) == []
    assert (tmp_path / "notes.txt").exists()


def test_reset_needs_a_running_broker() -> None:
    with pytest.raises(RuntimeError, match="this Broker is not running"):
        kafkalet.Broker().reset()


# Snapshots


def test_restored_contents_equal_those_of_the_snapshot(kafka: kafkalet.Broker) -> None:
    kafka.topic("t", 2).layout("aborted").layout("gap", partition=1).delete_records(2)
    kafka.topic("u").layout("open").layout("old_magic")
    before, snapshot = contents(kafka, "t", "u", "first"), kafka.snapshot()
    kafka.topic("t").send("later")
    kafka.topic("u").delete()
    kafka.topic("new").send("x")
    kafka.restore(snapshot)
    assert contents(kafka, "t", "u", "first") == before
    assert sorted(kafka._server.metadata.topics) == ["first", "t", "u"]


def test_snapshot_can_be_restored_often_and_elsewhere(kafka: kafkalet.Broker) -> None:
    kafka.topic("t").send("a")
    snapshot, before = kafka.snapshot(), contents(kafka, "t")
    for _ in range(3):
        kafka.topic("t").send("b")
        kafka.restore(snapshot)
        assert contents(kafka, "t") == before
    with kafkalet.Broker() as other:
        other.restore(snapshot)
        assert contents(other, "t") == before


def test_topic_missing_in_the_snapshot_is_not_created_again(kafka: kafkalet.Broker) -> None:
    kafka.topic("first").delete()
    snapshot = kafka.snapshot()
    kafka.reset()
    kafka.restore(snapshot)
    assert list(kafka._server.metadata.topics) == []


def test_groups_configs_and_quotas_are_restored(kafka: kafkalet.Broker) -> None:
    kafka.topic("t").send("a")
    commit(kafka, "g", 1)
    set_quota(kafka)
    set_config(kafka, "1234")
    quotas, snapshot = kafka._server.metadata.client_quotas, kafka.snapshot()
    kafka.reset()
    kafka.restore(snapshot)
    assert kafka.group("g").committed() == {("t", 0): 1}
    assert kafka._server.metadata.client_quotas == quotas
    assert kafka._server.metadata.broker_config[None]["message.max.bytes"] == "1234"


def test_open_transaction_can_be_continued_after_restore(kafka: kafkalet.Broker) -> None:
    topic = kafka.topic("t").layout("open", first=1, size=1, after=0)
    [producer] = [entry.producer_id for entry in topic.log().batches if entry.producer_id >= 0]
    kafka.restore(kafka.snapshot())
    assert topic.count("read_committed") == 1
    topics = [{"name": "t", "partition_indexes": [0]}]
    marker = {"producer_id": producer, "producer_epoch": 0, "transaction_result": True, "topics": topics}
    Asking(kafka)(Api.WRITE_TXN_MARKERS, 1, markers=[marker | {"coordinator_epoch": 0}])
    assert topic.count("read_committed") == 2


def test_replicas_and_leaders_are_restored() -> None:
    with kafkalet.Cluster(brokers=3) as cluster:
        cluster.topic("t").create(assignments=[[1, 2, 3], [2, 3, 1]])
        cluster.topic("t").send("a", partition=0)
        topic = cluster.topic("t")
        topic.send("b", partition=1)
        cluster.topic("t").move_leader(3)
        snapshot, before = cluster.snapshot(), topic.records()
        cluster.topic("t").move_leader(2)
        topic.send("c", partition=0)
        cluster.restore(snapshot)
        states = cluster._server.metadata.topics["t"].partitions
        assert [(state.leader, state.isr) for state in states] == [(3, [1, 2, 3]), (2, [2, 3, 1])]
        assert states[0].leader_epoch > 2
        assert topic.records() == before
        assert [node.partitions["t", 0].log.log_end_offset for node in cluster._server.nodes.values()] == [1] * 3


def test_data_directory_contains_restored_contents(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=tmp_path) as kafka:
        kafka.topic("t").send("a")
        snapshot, before = kafka.snapshot(), contents(kafka, "t")
        kafka.topic("t").send("b")
        kafka.topic("u").send("b")
        kafka.restore(snapshot)
    with kafkalet.Broker(data_dir=tmp_path) as kafka:
        assert list(kafka._server.metadata.topics) == ["t"]
        assert contents(kafka, "t") == before


def test_taking_a_snapshot_changes_nothing(kafka: kafkalet.Broker) -> None:
    topic = kafka.topic("t").layout("committed")
    before = contents(kafka, "t")
    kafka.snapshot()
    assert contents(kafka, "t") == before
    topic.send("x")
    assert topic.count() == before[0][1][0].log_end_offset


def test_snapshot_needs_all_brokers() -> None:
    with kafkalet.Cluster(brokers=2) as cluster:
        cluster.broker(2).stop()
        with pytest.raises(RuntimeError, match="a snapshot needs all brokers of the cluster; stopped: 2"):
            cluster.snapshot()


def test_snapshot_of_other_brokers_is_refused(kafka: kafkalet.Broker) -> None:
    snapshot = kafka.snapshot()
    assert repr(snapshot).startswith("<snapshot of 1 broker, ")
    with kafkalet.Cluster(brokers=2) as cluster:
        topic = cluster.topic("t")
        topic.send("a")
        with pytest.raises(ValueError, match="the snapshot is of broker 1, but this cluster has brokers 1 to 2"):
            cluster.restore(snapshot)
        assert topic.count() == 1


def test_snapshot_with_configs_of_another_release_is_refused(kafka: kafkalet.Broker) -> None:
    kafka.topic("t", config={"errors.deadletterqueue.group.enable": True})
    with kafkalet.Broker(version="2.8") as old:
        topic = old.topic("u")
        topic.send("a")
        with pytest.raises(ValueError, match=r"cannot be restored here: kafkalet.json: .*errors.deadletter"):
            old.restore(kafka.snapshot())
        assert topic.count() == 1


def test_restore_takes_only_snapshots(kafka: kafkalet.Broker) -> None:
    with pytest.raises(
        TypeError, match=r"takes a Snapshot, not 'x.tar' .str.; .*\.Snapshot.load\(\) reads one from a file"
    ):
        kafka.restore("x.tar")  # type: ignore[arg-type]


# Files


def test_saved_snapshot_is_loaded_unchanged(tmp_path: Path) -> None:
    with kafkalet.Cluster(brokers=2) as cluster:
        cluster.topic("t", 2, replication_factor=2).layout("aborted")
        snapshot = cluster.snapshot()
    snapshot.save(tmp_path / "s.tar")
    assert Snapshot.load(tmp_path / "s.tar").image == snapshot.image
    assert [path.name for path in tmp_path.iterdir()] == ["s.tar"]


def test_unpacked_snapshot_is_a_data_directory(kafka: kafkalet.Broker, tmp_path: Path) -> None:
    kafka.topic("t").layout("aborted")
    before = contents(kafka, "t")
    kafka.snapshot().save(tmp_path / "s.tar")
    with tarfile.open(tmp_path / "s.tar") as archive:
        archive.extractall(tmp_path / "data", filter="data")
    with kafkalet.Broker(data_dir=tmp_path / "data") as other:
        assert contents(other, "t") == before


def test_snapshot_of_several_data_directories_is_loaded_unchanged(tmp_path: Path) -> None:
    with kafkalet.Broker(data_dir=[tmp_path / "a", tmp_path / "b"]) as broker:
        broker.topic("t").create(4)
        snapshot, before = broker.snapshot(), contents(broker, "t")
        snapshot.save(tmp_path / "s.tar")
        broker.topic("t").send("later")
        broker.restore(Snapshot.load(tmp_path / "s.tar"))
        assert contents(broker, "t") == before
    assert Snapshot.load(tmp_path / "s.tar").image == snapshot.image


def test_topic_whose_name_begins_with_a_dot_is_loaded(kafka: kafkalet.Broker, tmp_path: Path) -> None:
    kafka.topic("..t").send("a")
    kafka.snapshot().save(tmp_path / "s.tar")
    kafka.restore(Snapshot.load(tmp_path / "s.tar"))
    assert kafka.topic("..t").values() == [b"a"]


def test_failed_save_leaves_no_file(kafka: kafkalet.Broker, tmp_path: Path) -> None:
    (tmp_path / "s.tar").mkdir()
    with pytest.raises(OSError):
        kafka.snapshot().save(tmp_path / "s.tar")
    assert [path.name for path in tmp_path.iterdir()] == ["s.tar"]


def test_file_cut_off_between_two_entries_is_refused(kafka: kafkalet.Broker, tmp_path: Path) -> None:
    kafka.topic("t", 2).send("a", partition=0)
    kafka.topic("t", 2).send("b", partition=1)
    kafka.snapshot().save(tmp_path / "s.tar")
    data = (tmp_path / "s.tar").read_bytes()
    with tarfile.open(tmp_path / "s.tar") as whole:
        ends = [entry.offset_data + (entry.size + 511) // 512 * 512 for entry in whole]
    assert len(ends) > 5
    for end in ends[:-1]:
        for rest in (b"", bytes(1024)):
            (tmp_path / "s.tar").write_bytes(data[:end] + rest)
            with pytest.raises(ValueError, match=r"s\.tar is not a snapshot: it is incomplete or damaged"):
                Snapshot.load(tmp_path / "s.tar")


def test_file_with_changed_contents_is_refused(kafka: kafkalet.Broker, tmp_path: Path) -> None:
    kafka.topic("t").send("a value")
    kafka.snapshot().save(tmp_path / "s.tar")
    data = (tmp_path / "s.tar").read_bytes()
    (tmp_path / "s.tar").write_bytes(data.replace(b"a value", b"another"))
    with pytest.raises(ValueError, match="it is incomplete or damaged"):
        Snapshot.load(tmp_path / "s.tar")


def entry_of(name: str, kind: bytes = tarfile.REGTYPE, **attributes: Any) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type = kind
    for each, value in attributes.items():
        setattr(entry, each, value)
    return entry


SPARSE = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.size": "9", "GNU.sparse.map": "0,0"}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (entry_of("x", tarfile.LNKTYPE, linkname="missing"), "it contains 'x', which is not a file"),
        (entry_of("x", tarfile.SYMTYPE, linkname="/etc/passwd"), "it contains 'x', which is not a file"),
        (entry_of("x", tarfile.DIRTYPE), "it contains 'x', which is not a file"),
        (entry_of("x", tarfile.FIFOTYPE), "it contains 'x', which is not a file"),
        (entry_of("x", pax_headers=SPARSE), "it contains 'x', which is not a file"),
        (entry_of("../x"), r"it contains '\.\./x', which is not a file of a data directory"),
        (entry_of("a/../x"), "it contains"),
        (entry_of("/x"), "it contains '/x'"),
        (entry_of("C:/x"), "it contains 'C:/x'"),
        (entry_of("a\\x"), "it contains"),
        (entry_of("a\nx"), "it contains"),
        (entry_of("x\n"), "it contains"),
    ],
)
def test_archive_with_a_file_that_no_data_directory_contains_is_refused(
    tmp_path: Path, entry: tarfile.TarInfo, reason: str
) -> None:
    with tarfile.open(tmp_path / "s.tar", "w", format=tarfile.PAX_FORMAT) as written:
        written.addfile(entry)
    with pytest.raises(ValueError, match=f"s.tar is not a snapshot: {reason}"):
        Snapshot.load(tmp_path / "s.tar")


@pytest.mark.parametrize(
    ("data", "reason"), [(b"{}", "kafkalet.json: 'format' is missing"), (b"x", "kafkalet.json: Expecting value")]
)
def test_snapshot_with_malformed_metadata_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    Snapshot(ClusterImage({"kafkalet.json": StoredFile(data)}, 1, 1)).save(tmp_path / "s.tar")
    with pytest.raises(ValueError, match=f"s.tar is not a snapshot: {reason}"):
        Snapshot.load(tmp_path / "s.tar")


def test_archive_of_another_program_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "s.tar", "w") as written:
        written.addfile(entry_of("x"))
    with pytest.raises(ValueError, match=r"s\.tar is not a snapshot: Snapshot\.save\(\) did not write it"):
        Snapshot.load(tmp_path / "s.tar")


def test_other_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.tar").write_text("no archive" * 100)
    with pytest.raises(ValueError, match=r"s\.tar is not a snapshot: "):
        Snapshot.load(tmp_path / "s.tar")
    with pytest.raises(FileNotFoundError):
        Snapshot.load(tmp_path / "missing.tar")
