"""A stage gives the client its environment, and waits for what the client does."""

import os
import signal
import sys

import pytest

from kafkalet.testing.cluster import Cluster
from kafkalet_conformance.clients.command import Command
from kafkalet_conformance.clients.judges import consumed
from kafkalet_conformance.clients.results import Verdict
from kafkalet_conformance.clients.runner import Options, Runner
from kafkalet_conformance.clients.scenario import Role, Scenario
from kafkalet_conformance.clients.stage import Stage

from .judged import FAKE, ROOT


def stage_of(cluster: Cluster, **options: object) -> Stage:
    role = options.pop("role", Role.CONSUME)
    scenario = Scenario("test", "A claim.", ("KIP-1",), role, consumed(), lambda stage: None, **options)  # type: ignore[arg-type]
    return Stage(scenario, cluster, ["true"], {}, 10)


def test_environment_of_consumer_has_its_settings() -> None:
    with Cluster() as cluster:
        environment = stage_of(cluster, group="g", reset="latest", settings={"SESSION_TIMEOUT_MS": 7000}).environment
        assert environment["KAFKA_BOOTSTRAP_SERVERS"] == cluster.bootstrap_servers
    chosen = {name: environment[f"KAFKALET_{name}"] for name in ("ROLE", "GROUP", "RESET", "SESSION_TIMEOUT_MS")}
    assert chosen == {"ROLE": "consume", "GROUP": "g", "RESET": "latest", "SESSION_TIMEOUT_MS": "7000"}
    assert "KAFKALET_ACKS" not in environment


def test_environment_of_producer_has_its_settings() -> None:
    with Cluster() as cluster:
        environment = stage_of(cluster, role=Role.PRODUCE, acks="1").environment
    assert (environment["KAFKALET_ACKS"], environment["KAFKALET_IDEMPOTENCE"]) == ("1", "false")
    assert "KAFKALET_GROUP" not in environment


def test_scenario_waits_for_position_of_client() -> None:
    def play(stage: Stage) -> None:
        stage.create_topic()
        stage.send(5)
        stage.start()
        stage.wait_for_position(5)
        stage.send(5)

    scenario = Scenario("test", "A claim.", ("KIP-1",), Role.CONSUME, consumed(), play, count=10)
    result = Runner(Options([*FAKE, "none"], os.environ, directory=str(ROOT))).run_one(scenario)
    assert (result.verdict, len([line for line in result.log if line.startswith("record")])) == (Verdict.CORRECT, 10)


def test_scenario_that_is_aborted_while_its_client_starts_kills_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*arguments: object) -> Command:
        command = Command(*arguments)  # type: ignore[arg-type]
        stage.abort()  # as another thread, before the stage knows the command
        return command

    scenario = Scenario("s", "", (), Role.PRODUCE, consumed(), play=lambda stage: None)
    with Cluster() as cluster:
        stage = Stage(scenario, cluster, [sys.executable, "-c", "import time; time.sleep(600)"], os.environ, 600.0)
        monkeypatch.setattr("kafkalet_conformance.clients.stage.Command", started)
        stage.play()
    assert stage.status == -signal.SIGKILL
