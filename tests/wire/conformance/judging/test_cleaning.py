"""Cleaning up after a run."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

import kafkalet
from kafkalet_conformance.judging.cleaning import clean
from kafkalet_conformance.judging.judge import Options, judge
from kafkalet_conformance.playing.target import Target
from tools.recording.recorded_properties import broker_properties

INTERNAL = {"__consumer_offsets", "__transaction_state"}


@pytest.fixture
def target() -> Iterator[Target]:
    with kafkalet.Broker(version="4.4", config=broker_properties("4.4")) as broker:
        yield Target(broker.bootstrap_servers)


def asked(target: Target, api: str, version: int, **body: Any) -> dict[str, Any]:
    connection = target.connect()
    try:
        return connection.ask(api, version, body)
    finally:
        connection.close()


def topics(target: Target) -> set[str]:
    return {topic["name"] for topic in asked(target, "Metadata", 4, topics=None)["topics"]} - INTERNAL


def test_run_leaves_nothing_behind(target: Target) -> None:
    address = f"{target.host}:{target.port}"
    run = judge(
        Options(address, "4.4", only=("group_describe", "client_quotas", "consumer_group_life"), disposable=True)
    )
    assert len(run.results) == 3
    assert run.notes == ()
    assert topics(target) == set()
    assert asked(target, "ListGroups", 2)["groups"] == []
    assert asked(target, "DescribeClientQuotas", 1, components=[], strict=False)["entries"] == []


def test_only_names_with_the_unique_part_are_removed(target: Target) -> None:
    for name in ("t-cafe0001", "t-cafe0002", "precious"):
        asked(target, "CreateTopics", 5, topics=[{"name": name}])
    assert clean(target, {"cafe0001", "cafe0003"}, time.monotonic() + 10) == []
    assert topics(target) == {"t-cafe0002", "precious"}


def test_groups_with_members_are_removed(target: Target) -> None:
    joining = {"group_id": "g-cafe0001", "protocol_type": "x", "protocols": [{"name": "p", "metadata": ""}]}
    asked(target, "FindCoordinator", 1, key="g-cafe0001", key_type=0)
    asked(target, "JoinGroup", 3, session_timeout_ms=10000, rebalance_timeout_ms=10000, **joining)
    assert clean(target, {"cafe0001"}, time.monotonic() + 10) == []
    assert asked(target, "ListGroups", 2)["groups"] == []


def test_interrupted_run_cleans_up(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judge(Options(f"{target.host}:{target.port}", "4.4", only=("list_offsets_timestamps",)), interrupt)
    assert topics(target) == set()


def test_broker_that_is_gone_is_noted(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "port", 1)
    notes = clean(target, {"cafe0001"}, time.monotonic() + 10)
    assert len(notes) == 4
    assert notes[0].startswith("groups were not cleaned up: ConnectionRefusedError")
