"""Tests of replicas that are moved to another log directory, with a broker and requests to it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalet.clock import ManualClock
from kafkalet.protocol.api import Api
from kafkalet.protocol.records.build import build_batch, numbered
from tests.unit.broker.apis.asking import Asking, asking

NONE, KAFKA_STORAGE_ERROR = 0, 56
RATE = {"replica.alter.log.dirs.io.max.bytes.per.second": "1"}
BATCH = build_batch(numbered([(1_600_000_000_000, None, b"x" * 100, ())]))


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    return [tmp_path / "a", tmp_path / "b"]


@pytest.fixture
def ask(paths: list[Path]) -> Iterator[Asking]:
    """A broker with topic t, whose partition 0 is in a, and 1 in b."""
    with asking(data_dir=paths) as ask:
        ask.cluster.topic("t").create(2)
        yield ask


def alter(ask: Asking, path: Path, topic: str = "t", index: int = 0) -> int:
    wanted = [{"path": str(path), "topics": [{"name": topic, "partitions": [index]}]}]
    [topic_answer] = ask(Api.ALTER_REPLICA_LOG_DIRS, 2, dirs=wanted)["results"]
    code: int = topic_answer["partitions"][0]["error_code"]
    return code


def places(ask: Asking, topic: str = "t", index: int = 0) -> dict[str, tuple[bool, int]]:
    """Return where DescribeLogDirs finds a partition: by directory, whether it is a copy, and its lag."""
    wanted = [{"topic": topic, "partitions": [index]}]
    return {
        Path(result["log_dir"]).name: (partition["is_future_key"], partition["offset_lag"])
        for result in ask(Api.DESCRIBE_LOG_DIRS, 4, topics=wanted)["results"]
        for each in result["topics"]
        for partition in each["partitions"]
    }


def until_moved(ask: Asking, topic: str = "t", index: int = 0) -> None:
    node = ask.cluster._server.nodes[1]
    for _ in range(2000):
        if not ask.cluster._server.call(lambda: node.moving):
            return
        ask.cluster._server.call(lambda: None)
    raise AssertionError(f"{topic}-{index} was not moved")


def names(path: Path) -> list[str]:
    return sorted(found.name for found in path.iterdir() if found.name.startswith("t-"))


def throttled(ask: Asking) -> None:
    """Let moves stop after the first fetch."""
    resource = {"resource_type": 4, "resource_name": "1"}
    configs = [{"name": name, "config_operation": 0, "value": value} for name, value in RATE.items()]
    answer = ask(Api.INCREMENTAL_ALTER_CONFIGS, 1, validate_only=False, resources=[{**resource, "configs": configs}])
    assert answer["responses"][0]["error_code"] == NONE


def produce(ask: Asking, count: int = 1, size: int = 100) -> None:
    for _ in range(count):
        ask.cluster.topic("t").append(build_batch(numbered([(1_600_000_000_000, None, b"x" * size, ())])))


def state(ask: Asking) -> tuple[Any, ...]:
    log = ask.cluster.topic("t").log()
    return log.log_start_offset, log.last_stable_offset, log.high_watermark, log.log_end_offset


def test_replica_is_moved_with_its_offsets_and_records(ask: Asking, paths: list[Path]) -> None:
    produce(ask, 10)
    ask.cluster._server.call(lambda: ask.cluster._server.leadership.leader_of("t", 0).delete_records(3))
    before, records = state(ask), ask.cluster.topic("t").records(partition=0)
    assert alter(ask, paths[1]) == NONE
    until_moved(ask)
    assert places(ask) == {"b": (False, 0)}
    assert state(ask) == before == (3, 10, 10, 10)
    assert ask.cluster.topic("t").records(partition=0) == records
    produce(ask)
    assert state(ask) == (3, 11, 11, 11)
    assert names(paths[1]) == ["t-0", "t-1"]
    assert all(name.endswith("-delete") for name in names(paths[0]))


def test_moved_replica_is_found_after_a_restart(paths: list[Path]) -> None:
    with asking(data_dir=paths) as ask:
        ask.cluster.topic("t").create(2)
        produce(ask, 3)
        ask.cluster._server.call(lambda: ask.cluster._server.leadership.leader_of("t", 0).delete_records(2))
        alter(ask, paths[1])
        until_moved(ask)
    with asking(data_dir=paths) as ask:
        assert places(ask) == {"b": (False, 0)}
        assert state(ask) == (2, 3, 3, 3)


def test_copy_is_a_future_replica_with_a_lag(ask: Asking, paths: list[Path]) -> None:
    produce(ask, 3, 700_000)
    throttled(ask)
    assert alter(ask, paths[1]) == NONE
    node = ask.cluster._server.nodes[1]
    for _ in range(1000):
        if places(ask)["b"] != (True, 3):
            break
    assert places(ask) == {"a": (False, 0), "b": (True, 2)}
    produce(ask)
    assert places(ask) == {"a": (False, 0), "b": (True, 3)}
    assert [name[:4] for name in names(paths[1])] == ["t-0.", "t-1"]
    assert names(paths[1])[0].endswith("-future")
    assert alter(ask, paths[1]) == NONE  # it is being moved there already
    assert len(node.moving) == 1


def test_throttled_move_continues_when_the_rate_permits_it_or_is_removed(paths: list[Path]) -> None:
    clock = ManualClock()
    with asking(data_dir=paths, clock=clock) as ask:
        ask.cluster.topic("t").create(2)
        produce(ask, 4, 700_000)
        throttled(ask)
        alter(ask, paths[1])

        def lag() -> tuple[bool, int]:
            for _ in range(20):
                ask.cluster._server.call(lambda: None)
            return places(ask)["b"]

        assert lag() == (True, 3)
        clock.advance(seconds=10)
        assert lag() == (True, 3)
        clock.advance(seconds=2)
        assert lag() == (True, 2), "the first fetch no longer counts"
        resource = {"resource_type": 4, "resource_name": "1"}
        delete = [{"name": name, "config_operation": 1, "value": None} for name in RATE]
        ask(Api.INCREMENTAL_ALTER_CONFIGS, 1, validate_only=False, resources=[{**resource, "configs": delete}])
        clock.advance(seconds=1)
        until_moved(ask)
        assert places(ask) == {"b": (False, 0)}


def test_move_back_to_the_current_directory_deletes_the_copy(ask: Asking, paths: list[Path]) -> None:
    produce(ask, 3, 700_000)
    throttled(ask)
    alter(ask, paths[1])
    assert alter(ask, paths[0]) == NONE
    assert places(ask) == {"a": (False, 0)}
    assert names(paths[1]) == ["t-1"]


def test_deletion_of_a_topic_deletes_the_copy(ask: Asking, paths: list[Path]) -> None:
    produce(ask, 3, 700_000)
    throttled(ask)
    alter(ask, paths[1])
    ask.cluster.topic("t").delete()
    assert not ask.cluster._server.nodes[1].moving
    assert not [name for name in names(paths[1]) if name.endswith("-future")]


def test_interrupted_move_continues_after_a_restart(paths: list[Path]) -> None:
    with asking(data_dir=paths) as ask:
        ask.cluster.topic("t").create(2)
        produce(ask, 3, 700_000)
        throttled(ask)
        alter(ask, paths[1])
        for _ in range(1000):
            if places(ask)["b"] != (True, 3):
                break
        resource = {"resource_type": 4, "resource_name": "1"}
        delete = [{"name": name, "config_operation": 1, "value": None} for name in RATE]
        ask.cluster._server.call(lambda: ask.cluster._server.nodes[1].moves.stop())
        ask(Api.INCREMENTAL_ALTER_CONFIGS, 1, validate_only=False, resources=[{**resource, "configs": delete}])
    assert [name[-6:] for name in names(paths[1])] == ["future", "t-1"]
    with asking(data_dir=paths) as ask:
        until_moved(ask)
        assert places(ask) == {"b": (False, 0)}
        assert state(ask) == (0, 3, 3, 3)


def test_records_produced_meanwhile_are_moved_too(ask: Asking, paths: list[Path]) -> None:
    produce(ask, 20, 200_000)
    alter(ask, paths[1])
    produce(ask, 5)
    until_moved(ask)
    assert state(ask) == (0, 25, 25, 25)


def test_new_partition_is_created_in_the_directory_that_was_named(ask: Asking, paths: list[Path]) -> None:
    assert alter(ask, paths[1], "u") == 3
    ask.cluster.topic("u").create(1)
    assert places(ask, "u") == {"b": (False, 0)}


def test_failure_of_the_destination_ends_the_move(ask: Asking, paths: list[Path]) -> None:
    produce(ask, 3, 700_000)
    throttled(ask)
    alter(ask, paths[1])
    server = ask.cluster._server
    server.call(lambda: server.nodes[1].directories.fail(str(paths[1]), "broken"))
    assert places(ask) == {"a": (False, 0)}
    assert not server.nodes[1].moving
    produce(ask)
    assert state(ask)[3] == 4
    assert alter(ask, paths[1]) == KAFKA_STORAGE_ERROR
    assert alter(ask, paths[0], index=1) == KAFKA_STORAGE_ERROR
    assert alter(ask, paths[0]) == NONE


def test_failure_of_the_source_ends_the_move(ask: Asking, paths: list[Path]) -> None:
    produce(ask, 3, 700_000)
    throttled(ask)
    alter(ask, paths[1])
    server = ask.cluster._server
    server.call(lambda: server.nodes[1].directories.fail(str(paths[0]), "broken"))
    assert places(ask) == {}
    assert not server.nodes[1].moving


def test_nothing_is_moved_while_a_directory_is_offline(paths: list[Path], tmp_path: Path) -> None:
    with asking(data_dir=[*paths, tmp_path / "c"]) as ask:
        ask.cluster.topic("t").create(2)
        ask.cluster._server.call(lambda: ask.cluster._server.nodes[1].directories.fail(str(tmp_path / "c"), "broken"))
        assert alter(ask, paths[1]) == KAFKA_STORAGE_ERROR
