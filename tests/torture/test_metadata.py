"""Topics after a crash of a broker: those that were acknowledged are there, and those that were deleted are not."""

import random
import shutil
from functools import partial
from pathlib import Path

from kafkalet.testing.cluster import Cluster

from .disk import Crash, RecordingDisk

SEED = 1
CRASHES = 30
CONFIG = {"auto.create.topics.enable": "false"}

State = dict[str, tuple[bytes, str | None]]
"""The id and the retention.ms of each topic."""


def _cluster(path: Path) -> tuple[Cluster, RecordingDisk]:
    cluster = Cluster(data_dir=path, config=CONFIG)
    disk = RecordingDisk(path)
    cluster._server.file_system = disk
    return cluster, disk


def _state(cluster: Cluster) -> State:
    topics = cluster._server.call(lambda: list(cluster._server.metadata.topics.values()))
    return {topic.name: (topic.topic_id, topic.config.get("retention.ms")) for topic in topics}


def _flush(cluster: Cluster, topic: str) -> None:
    cluster._server.leadership.leader_of(topic, 0).log.flush(also_empty=True)


def test_acknowledged_topics_survive_crashes(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    path = tmp_path / "recorded"
    path.mkdir()
    marks: list[tuple[int, State]] = []
    cluster, disk = _cluster(path)
    with cluster:
        marks.append((len(disk.record.calls), _state(cluster)))
        for _ in range(14):
            name = chance.choice("abc")
            if name not in _state(cluster):
                cluster.topic(name).create(
                    2, config={"retention.ms": str(chance.randrange(10**6))}, replication_factor=1
                )
                cluster._server.call(partial(_flush, cluster, name))
            else:
                cluster.topic(name).delete()
            marks.append((len(disk.record.calls), _state(cluster)))
    calls = marks[-1][0]
    for number in range(CRASHES):
        at = chance.choice(marks)[0] if number % 2 else chance.randint(marks[0][0], calls)
        power = number % 3 != 0
        crashed = tmp_path / "crashed"
        shutil.rmtree(crashed, ignore_errors=True)
        Crash(disk.record, at, power=power, chance=chance, kept=0.0).write_to(crashed)
        before = [state for calls, state in marks if calls <= at][-1]
        after = next((state for calls, state in marks if calls > at), before)
        again = Cluster(data_dir=crashed, config=CONFIG)
        with again:
            found = _state(again)
        where = f"seed {SEED}, crash {number} at call {at} of {calls} ({'loss of power' if power else 'kill'})"
        names = {name for name in before.keys() | after.keys() if before.get(name) == after.get(name)}
        assert {name: found.get(name) for name in names} == {name: before.get(name) for name in names}, where
        assert found.keys() <= before.keys() | after.keys(), where
