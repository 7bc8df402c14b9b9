"""Where a cluster keeps its files: temporary or durable, and the metadata in it."""

import json
import os
from pathlib import Path

import pytest

from kafkalet.broker.cluster.metadata import NO_LEADER, MetadataImage, PartitionState, TopicState, new_topic_id
from kafkalet.broker.cluster.metadata_store import (
    FILE,
    MOST_MISSING_PARTITIONS,
    Folder,
    MetadataDamaged,
    MetadataStore,
    take_in_folders,
)


def image() -> MetadataImage:
    made = MetadataImage("a cluster")
    first, second = PartitionState(0, [1, 2]), PartitionState(1, [2, 1])
    second.leader, second.leader_epoch, second.partition_epoch, second.isr = 1, 4, 7, [1]
    made.add_topic(TopicState("t", new_topic_id(), [first, second], {"retention.ms": "5"}))
    made.broker_config = {None: {"max.connections": "10"}, 2: {"max.connections": "20"}}
    made.group_config = {"g": {"consumer.session.timeout.ms": "50000"}}
    made.client_metrics = {"m": {"metrics": "org.apache"}}
    made.client_quotas = {frozenset({("user", None), ("client-id", "c")}): {"producer_byte_rate": 1.5}}
    made.feature_levels, made.feature_changes = {"transaction.version": 1}, 3
    return made


def test_a_temporary_store_goes_away() -> None:
    store = MetadataStore(None)
    Path(store.path, "something").write_text("x")
    store.remove()
    assert not os.path.exists(store.path)


def test_two_temporary_homes_are_apart() -> None:
    first, second = MetadataStore(None), MetadataStore(None)
    assert first.path != second.path
    first.remove()
    second.remove()


def test_a_temporary_store_keeps_no_metadata() -> None:
    store = MetadataStore(None)
    store.save(image(), 1000)
    assert os.listdir(store.path) == []
    store.remove()


def test_a_durable_store_stays(tmp_path: Path) -> None:
    store = MetadataStore(str(tmp_path / "data"))
    store.remove()
    assert os.path.isdir(tmp_path / "data")


def test_a_new_store_remembers_nothing(tmp_path: Path) -> None:
    assert MetadataStore(str(tmp_path)).load() is None


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
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
        "feature_levels",
        "feature_changes",
    ):
        assert getattr(found, name) == getattr(saved, name)
    topic, before = found.topics["t"], saved.topics["t"]
    assert (topic.topic_id, topic.config) == (before.topic_id, before.config)
    for state, old in zip(topic.partitions, before.partitions, strict=True):
        assert {name: getattr(state, name) for name in PartitionState.__slots__} == {
            name: getattr(old, name) for name in PartitionState.__slots__
        }


def test_file_has_a_line_for_each_topic(tmp_path: Path) -> None:
    MetadataStore(str(tmp_path)).save(image(), 0)
    lines = (tmp_path / FILE).read_text().splitlines()
    topic = lines[lines.index('"topics": [') + 1]
    assert json.loads(topic)["name"] == "t"


def test_a_file_from_before_features_and_quotas_is_loaded(tmp_path: Path) -> None:
    store = MetadataStore(str(tmp_path))
    store.save(image(), 0)
    saved = json.loads((tmp_path / FILE).read_text())
    for name in ("group_config", "client_metrics", "client_quotas", "features"):
        del saved[name]
    (tmp_path / FILE).write_text(json.dumps(saved))
    loaded = store.load()
    assert loaded is not None
    assert (loaded[0].client_quotas, loaded[0].feature_levels, loaded[0].feature_changes) == ({}, {}, 0)


def test_one_broker_keeps_its_logs_in_the_data_directory_itself(tmp_path: Path) -> None:
    assert MetadataStore(str(tmp_path)).log_directory(1, brokers=1) == str(tmp_path)


def test_several_brokers_have_a_folder_each(tmp_path: Path) -> None:
    assert MetadataStore(str(tmp_path)).log_directory(2, brokers=3) == str(tmp_path / "broker-2")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", json.dumps({"format": 99})])
def test_a_damaged_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(MetadataDamaged, match=FILE):
        MetadataStore(str(tmp_path)).load()


# Folders

ID, OTHER = bytes(range(16)), bytes(range(1, 17))


def taken_in(image: MetadataImage, *folders: tuple[str, int, bytes | None]) -> dict[str, list[list[int]]]:
    """The replicas of each partition of each topic, after these folders of broker 1 were taken in."""
    take_in_folders(image, [Folder(1, *folder) for folder in folders])
    return {name: [state.replicas for state in topic.partitions] for name, topic in image.topics.items()}


def known_image() -> MetadataImage:
    image = MetadataImage("c")
    image.add_topic(TopicState("t", ID, [PartitionState(0, [1]), PartitionState(1, [1])], {}))
    return image


def test_topic_that_only_folders_tell_of_has_their_partitions() -> None:
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


def test_partition_without_replica_gets_the_one_whose_folder_is_found_later() -> None:
    image = MetadataImage("c")
    taken_in(image, ("t", 0, ID), ("t", 2, ID))
    take_in_folders(image, [Folder(2, "t", 1, ID)])
    assert [state.replicas for state in image.topics["t"].partitions] == [[1], [2], [1]]


@pytest.mark.parametrize("index", [20240101, 2147483647, MOST_MISSING_PARTITIONS + 1])
def test_number_far_above_all_others_is_no_partition(index: int, caplog: pytest.LogCaptureFixture) -> None:
    assert taken_in(MetadataImage("c"), ("backup", index, ID), ("t", 0, OTHER)) == {"t": [[1]]}
    assert f"ignoring folder 'backup-{index}': more than" in caplog.text


def test_partition_that_was_added_since_belongs_to_its_topic() -> None:
    assert taken_in(known_image(), ("t", 0, ID), ("t", 2, ID)) == {"t": [[1], [1], [1]]}


@pytest.mark.parametrize("topic_id", [OTHER, None])
def test_folder_of_another_topic_of_that_name_adds_no_partition(topic_id: bytes | None) -> None:
    assert taken_in(known_image(), ("t", 2, topic_id)) == {"t": [[1], [1]]}


def test_folder_with_the_id_of_another_topic_is_left_alone() -> None:
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
def test_metadata_that_cannot_be_read_names_its_file_in_one_line(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(MetadataDamaged, match=reason) as damaged:
        MetadataStore(str(tmp_path)).load()
    assert str(damaged.value).startswith(str(tmp_path / FILE))
    assert "\n" not in str(damaged.value)


def test_metadata_that_is_no_text_names_its_file(tmp_path: Path) -> None:
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
        (["client_quotas"], [[[["user", "u"]], {"a": "x"}]]),
    ],
)
def test_value_that_no_broker_writes_is_damage(tmp_path: Path, path: list[str | int], value: object) -> None:
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


def test_topic_that_is_there_twice_is_damage(tmp_path: Path) -> None:
    store = MetadataStore(str(tmp_path))
    store.save(image(), 1000)
    saved = json.loads((tmp_path / FILE).read_text())
    saved["topics"] *= 2
    (tmp_path / FILE).write_text(json.dumps(saved))
    with pytest.raises(MetadataDamaged, match="topic t is listed twice"):
        store.load()
