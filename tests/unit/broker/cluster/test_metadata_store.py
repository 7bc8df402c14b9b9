"""The data directory of a cluster, temporary or durable, and its metadata file."""

import json
import os
from pathlib import Path

import pytest

from kafkalet.broker.cluster.metadata import NO_LEADER, MetadataImage, PartitionState, TopicState, new_topic_id
from kafkalet.broker.cluster.metadata_store import (
    FILE,
    MOST_MISSING_PARTITIONS,
    PARTITIONS_PER_TEXT,
    Folder,
    MetadataDamaged,
    MetadataStore,
    add_found_logs,
)
from kafkalet.broker.security.acl import Acl, Operation, PatternType, Permission, ResourceType
from kafkalet.broker.security.scram_credentials import ScramMechanism, credential_of_password


def image() -> MetadataImage:
    made = MetadataImage("a cluster")
    first, second = PartitionState(0, [1, 2]), PartitionState(1, [2, 1])
    second.leader, second.leader_epoch, second.partition_epoch, second.isr = 1, 4, 7, [1]
    second.elr, second.last_known_elr = [2], [3]
    made.add_topic(TopicState("t", new_topic_id(), [first, second], {"retention.ms": "5"}))
    made.broker_config = {None: {"max.connections": "10"}, 2: {"max.connections": "20"}}
    made.group_config = {"g": {"consumer.session.timeout.ms": "50000"}}
    made.client_metrics = {"m": {"metrics": "org.apache"}}
    made.client_quotas = {frozenset({("user", None), ("client-id", "c")}): {"producer_byte_rate": 1.5}}
    made.acls.add(Acl(ResourceType.TOPIC, PatternType.PREFIXED, "t", "User:a", "*", Operation.READ, Permission.DENY))
    made.feature_levels, made.feature_changes = {"transaction.version": 1}, 3
    return made


def test_temporary_store_is_deleted() -> None:
    store = MetadataStore(None)
    Path(store.path, "something").write_text("x")
    store.remove()
    assert not os.path.exists(store.path)


def test_temporary_stores_have_different_directories() -> None:
    first, second = MetadataStore(None), MetadataStore(None)
    assert first.path != second.path
    first.remove()
    second.remove()


def test_temporary_store_writes_no_metadata() -> None:
    store = MetadataStore(None)
    store.save(image(), 1000)
    assert os.listdir(store.path) == []
    store.remove()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_metadata_with_secrets_can_only_be_read_by_the_owner(tmp_path: Path) -> None:
    def mode_with(made: MetadataImage) -> int:
        store.save(made, 0)
        return os.stat(store.file).st_mode & 0o777

    store = MetadataStore(str(tmp_path))
    with_properties, with_credentials = MetadataImage("a"), MetadataImage("a")
    with_properties.broker_config = {1: {"listener.name.sasl_ssl.ssl.key.password": "secret"}}
    kind = ScramMechanism.SCRAM_SHA_256
    with_credentials.scram_credentials["sam", kind] = credential_of_password(kind, "sam-secret")
    (tmp_path / f"{FILE}.tmp").touch(0o644)  # left by a crash
    assert mode_with(with_properties) == mode_with(with_credentials) == 0o600
    assert mode_with(MetadataImage("a")) & 0o600 == 0o600


def test_durable_store_is_not_deleted(tmp_path: Path) -> None:
    store = MetadataStore(str(tmp_path / "data"))
    store.remove()
    assert os.path.isdir(tmp_path / "data")


def test_new_store_loads_nothing(tmp_path: Path) -> None:
    assert MetadataStore(str(tmp_path)).load() is None


def test_saved_metadata_is_loaded(tmp_path: Path) -> None:
    saved = image()
    MetadataStore(str(tmp_path)).save(saved, 3000)
    loaded = MetadataStore(str(tmp_path)).load()
    assert loaded is not None
    found, next_producer_id = loaded
    assert next_producer_id == 3000
    assert found.cluster_id == "a cluster"
    for name in (
        "broker_config",
        "group_config",
        "client_metrics",
        "client_quotas",
        "acls",
        "feature_levels",
        "feature_changes",
    ):
        assert getattr(found, name) == getattr(saved, name)
    topic, before = found.topics["t"], saved.topics["t"]
    assert (topic.topic_id, topic.config) == (before.topic_id, before.config)
    for state, old in zip(topic.partitions, before.partitions, strict=True):
        saved_names = set(PartitionState.__slots__) - {"revision"}
        assert {name: getattr(state, name) for name in saved_names} == {
            name: getattr(old, name) for name in saved_names
        }


def test_file_has_one_line_per_topic(tmp_path: Path) -> None:
    MetadataStore(str(tmp_path)).save(image(), 0)
    lines = (tmp_path / FILE).read_text().splitlines()
    topic = lines[lines.index('"topics": [') + 1]
    assert json.loads(topic)["name"] == "t"


def test_file_without_features_and_quotas_is_loaded(tmp_path: Path) -> None:
    store = MetadataStore(str(tmp_path))
    store.save(image(), 0)
    saved = json.loads((tmp_path / FILE).read_text())
    for name in ("group_config", "client_metrics", "client_quotas", "features", "acls"):
        del saved[name]
    (tmp_path / FILE).write_text(json.dumps(saved))
    loaded = store.load()
    assert loaded is not None
    assert (loaded[0].client_quotas, loaded[0].feature_levels, loaded[0].feature_changes) == ({}, {}, 0)


def test_single_broker_uses_data_directory_for_logs(tmp_path: Path) -> None:
    assert MetadataStore(str(tmp_path)).log_directories(1, brokers=1) == [str(tmp_path)]


def test_several_brokers_have_separate_log_directories(tmp_path: Path) -> None:
    assert MetadataStore(str(tmp_path)).log_directories(2, brokers=3) == [str(tmp_path / "broker-2")]


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", json.dumps({"format": 99})])
def test_damaged_file_is_named_in_error(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(MetadataDamaged, match=FILE):
        MetadataStore(str(tmp_path)).load()


# Folders

ID, OTHER = bytes(range(16)), bytes(range(1, 17))


def taken_in(image: MetadataImage, *folders: tuple[str, int, bytes | None]) -> dict[str, list[list[int]]]:
    """Add folders of broker 1 to the metadata and return the replicas of each partition by topic."""
    add_found_logs(image, [Folder(1, *folder) for folder in folders])
    return {name: [state.replicas for state in topic.partitions] for name, topic in image.topics.items()}


def known_image() -> MetadataImage:
    image = MetadataImage("c")
    image.add_topic(TopicState("t", ID, [PartitionState(0, [1]), PartitionState(1, [1])], {}))
    return image


def test_unknown_topic_gets_partitions_of_its_folders() -> None:
    image = MetadataImage("c")
    assert taken_in(image, ("t", 0, ID), ("t", 1, ID), ("u", 0, None), ("u", 1, None)) == {
        "t": [[1], [1]],
        "u": [[1], [1]],
    }
    assert image.topics["t"].topic_id == ID


def test_partitions_between_folders_have_no_replica_and_no_leader() -> None:
    image = MetadataImage("c")
    assert taken_in(image, ("t", 0, ID), ("t", 3, ID)) == {"t": [[1], [], [], [1]]}
    assert [state.leader for state in image.topics["t"].partitions] == [1, NO_LEADER, NO_LEADER, 1]


def test_partition_without_replica_gets_one_found_later() -> None:
    image = MetadataImage("c")
    taken_in(image, ("t", 0, ID), ("t", 2, ID))
    add_found_logs(image, [Folder(2, "t", 1, ID)])
    assert [state.replicas for state in image.topics["t"].partitions] == [[1], [2], [1]]


@pytest.mark.parametrize("index", [20240101, 2147483647, MOST_MISSING_PARTITIONS + 1])
def test_folder_with_much_higher_number_is_ignored(index: int, caplog: pytest.LogCaptureFixture) -> None:
    assert taken_in(MetadataImage("c"), ("backup", index, ID), ("t", 0, OTHER)) == {"t": [[1]]}
    assert f"ignoring folder 'backup-{index}': more than" in caplog.text


def test_folder_of_added_partition_belongs_to_its_topic() -> None:
    assert taken_in(known_image(), ("t", 0, ID), ("t", 2, ID)) == {"t": [[1], [1], [1]]}


@pytest.mark.parametrize("topic_id", [OTHER, None])
def test_folder_of_other_topic_with_same_name_is_ignored(topic_id: bytes | None) -> None:
    assert taken_in(known_image(), ("t", 2, topic_id)) == {"t": [[1], [1]]}


def test_folder_with_id_of_other_topic_is_ignored() -> None:
    assert taken_in(known_image(), ("copy", 0, ID)) == {"t": [[1], [1]]}


# Damage


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("[]", "list indices"),
        ("[" * 100_000, "recursion|Stack overflow"),  # the second since Python 3.14
        ('{"format": 2}', "format 2 is not supported; this version reads only 1"),
        ('{"format": 1}', "'cluster_id' is missing"),
    ],
)
def test_unreadable_metadata_error_names_file_in_one_line(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(MetadataDamaged, match=reason) as damaged:
        MetadataStore(str(tmp_path)).load()
    assert str(damaged.value).startswith(str(tmp_path / FILE))
    assert "\n" not in str(damaged.value)


def test_metadata_that_is_not_utf_8_error_names_file(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"\xff\xfe{}")
    with pytest.raises(MetadataDamaged, match=FILE):
        MetadataStore(str(tmp_path)).load()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["topics", 0, "name"], "a/../../b"),
        (["topics", 0, "name"], 5),
        (["topics", 0, "id"], "zz"),
        (["topics", 0, "id"], "00"),
        (["topics", 0, "config"], {"retention.ms": 5}),
        (["topics", 0, "config"], []),
        (["topics", 0, "partitions", 0, "leader"], "1"),
        (["topics", 0, "partitions", 0, "leader_epoch"], 1 << 31),
        (["topics", 0, "partitions", 0, "leader_epoch"], 1.5),
        (["topics", 0, "partitions", 0, "replicas"], ["1"]),
        (["topics", 0, "partitions", 0, "replicas"], None),
        (["topics", 0, "partitions"], {"a": 1}),
        (["next_producer_id"], -1),
        (["cluster_id"], None),
        (["broker_config"], [["x", {}]]),
        (["features"], []),
        (["acls"], [[2, 3, "t", "User:a", "*", 3]]),
        (["acls", 0, 0], 99),
        (["acls", 0, 2], None),
        (["client_quotas"], [[[["user", "u"]], {"a": "x"}]]),
    ],
)
def test_invalid_value_is_reported_as_damage(tmp_path: Path, path: list[str | int], value: object) -> None:
    store = MetadataStore(str(tmp_path))
    store.save(image(), 1000)
    saved = json.loads((tmp_path / FILE).read_text())
    place = saved
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    (tmp_path / FILE).write_text(json.dumps(saved))
    with pytest.raises(MetadataDamaged, match=FILE):
        store.load()


def test_duplicate_topic_is_reported_as_damage(tmp_path: Path) -> None:
    store = MetadataStore(str(tmp_path))
    store.save(image(), 1000)
    saved = json.loads((tmp_path / FILE).read_text())
    saved["topics"] *= 2
    (tmp_path / FILE).write_text(json.dumps(saved))
    with pytest.raises(MetadataDamaged, match="topic t is listed twice"):
        store.load()


def test_encoded_partitions_are_reused_until_they_change(tmp_path: Path) -> None:
    metadata = MetadataImage("cluster")
    states = [PartitionState(index, [1]) for index in range(2 * PARTITIONS_PER_TEXT + 3)]
    metadata.add_topic(TopicState("large", bytes(16), states, {}))
    metadata.add_topic(TopicState("small", bytes(15) + b"\1", [PartitionState(0, [1])], {"retention.ms": "1"}))
    store = MetadataStore(str(tmp_path))
    changes = [
        lambda: None,
        lambda: states[PARTITIONS_PER_TEXT].change_leader(-1),
        lambda: states[0].change_isr([2, 3]),
        lambda: states[1].note_leader_epoch(7),
        lambda: states.append(PartitionState(len(states), [2])),
        lambda: metadata.topics["small"].config.update({"retention.ms": "2"}),
        lambda: states.__delitem__(slice(PARTITIONS_PER_TEXT, None)),
        lambda: metadata.remove_topic("small"),
        lambda: metadata.add_topic(TopicState("small", bytes(15) + b"\2", [PartitionState(0, [5])], {})),
    ]
    for change in changes:
        change()
        store.save(metadata, 5)
        assert Path(store.file).read_bytes() == MetadataStore.encode(metadata, 5)


def test_earlier_metadata_does_not_replace_later(tmp_path: Path) -> None:
    metadata = MetadataImage("cluster")
    store = MetadataStore(str(tmp_path))
    write_earlier = store.writing(metadata, 1)
    store.save(metadata, 2)
    write_earlier()
    loaded = store.load()
    assert loaded is not None
    assert loaded[1] == 2
