"""Where a cluster keeps its files: temporary or durable, and the metadata in it."""

import json
import os
from pathlib import Path

import pytest

from kafkalet.broker.home import FILE, Home, HomeDamaged
from kafkalet.broker.metadata import MetadataImage, PartitionState, TopicState, new_topic_id


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


def test_a_temporary_home_goes_away() -> None:
    home = Home(None)
    Path(home.path, "something").write_text("x")
    home.remove()
    assert not os.path.exists(home.path)


def test_two_temporary_homes_are_apart() -> None:
    first, second = Home(None), Home(None)
    assert first.path != second.path
    first.remove()
    second.remove()


def test_a_temporary_home_keeps_no_metadata() -> None:
    home = Home(None)
    home.save(image(), 1000)
    assert os.listdir(home.path) == []
    home.remove()


def test_a_durable_home_stays(tmp_path: Path) -> None:
    home = Home(str(tmp_path / "data"))
    home.remove()
    assert os.path.isdir(tmp_path / "data")


def test_a_new_home_remembers_nothing(tmp_path: Path) -> None:
    assert Home(str(tmp_path)).load() is None


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    saved = image()
    Home(str(tmp_path)).save(saved, 3000)
    loaded = Home(str(tmp_path)).load()
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


def test_a_file_from_before_features_and_quotas_is_loaded(tmp_path: Path) -> None:
    home = Home(str(tmp_path))
    home.save(image(), 0)
    saved = json.loads((tmp_path / FILE).read_text())
    for name in ("group_config", "client_metrics", "client_quotas", "features"):
        del saved[name]
    (tmp_path / FILE).write_text(json.dumps(saved))
    loaded = home.load()
    assert loaded is not None
    assert (loaded[0].client_quotas, loaded[0].feature_levels, loaded[0].feature_changes) == ({}, {}, 0)


def test_one_broker_keeps_its_logs_in_the_home_itself(tmp_path: Path) -> None:
    assert Home(str(tmp_path)).log_directory(1, brokers=1) == str(tmp_path)


def test_several_brokers_have_a_folder_each(tmp_path: Path) -> None:
    assert Home(str(tmp_path)).log_directory(2, brokers=3) == str(tmp_path / "broker-2")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", json.dumps({"format": 99})])
def test_a_damaged_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(HomeDamaged, match=FILE):
        Home(str(tmp_path)).load()
