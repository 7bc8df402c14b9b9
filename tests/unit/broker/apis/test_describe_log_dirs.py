"""`kafkalet.broker.apis.describe_log_dirs`: the sizes of partitions and of the volume."""

import shutil
from pathlib import Path

import pytest

from kafkalet.protocol.api import Api
from kafkalet.protocol.records.build import build_batch, numbered

from .asking import asking

BATCH = build_batch(numbered([(1_600_000_000_000, None, b"x" * 100, ())]))


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 5])
def test_partition_size_is_the_size_of_its_log(version: int, tmp_path: Path) -> None:
    with asking(data_dir=tmp_path) as ask:
        ask.cluster.topic("t").create(2)
        ask.cluster.topic("u").create(1)
        ask.cluster.topic("t").append(BATCH, 1)
        answer = ask(Api.DESCRIBE_LOG_DIRS, version, topics=None)
        [directory] = answer["results"]
        assert (answer["error_code"], directory["error_code"], directory["log_dir"]) == (0, 0, str(tmp_path))
        sizes = {
            (topic["name"], partition["partition_index"]): partition["partition_size"]
            for topic in directory["topics"]
            for partition in topic["partitions"]
        }
        assert sizes == {("t", 0): 0, ("t", 1): len(BATCH), ("u", 0): 0}
        if version >= 4:
            assert directory["total_bytes"] >= directory["usable_bytes"] > 0


def test_response_contains_requested_partitions_of_this_broker_only() -> None:
    with asking(brokers=2) as ask:
        ask.cluster.topic("t").create(2)
        asked = [{"topic": "t", "partitions": [0, 1, 7]}, {"topic": "none", "partitions": [0]}]
        found = []
        for node in (1, 2):
            [directory] = ask(Api.DESCRIBE_LOG_DIRS, 4, node=node, topics=asked)["results"]
            found.append([(t["name"], [p["partition_index"] for p in t["partitions"]]) for t in directory["topics"]])
        assert found == [[("t", [0])], [("t", [1])]]


def test_unmeasurable_volume_has_unknown_size(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: str) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("shutil.disk_usage", fail)
    with asking() as ask:
        [directory] = ask(Api.DESCRIBE_LOG_DIRS, 4, topics=None)["results"]
        assert (directory["total_bytes"], directory["usable_bytes"]) == (-1, -1)


def test_volume_is_measured_on_systems_without_statvfs(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")
    monkeypatch.delattr("os.statvfs")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with asking() as ask:
        [directory] = ask(Api.DESCRIBE_LOG_DIRS, 4, topics=None)["results"]
        assert (directory["total_bytes"], directory["usable_bytes"]) == (usage.total, usage.free)
