"""The runner starts one client for each scenario, and stops all of them when it has to."""

import os
import threading

import pytest

from kafkalet_conformance.clients.results import Verdict
from kafkalet_conformance.clients.runner import NotStarted, Options, Runner
from kafkalet_conformance.clients.scenario import Catalog, Role, Scenario
from kafkalet_conformance.clients.stage import Missed, Stage

from .judged import FAKE, ROOT


def scenario_of(play: object, **more: object) -> Scenario:
    catalog = Catalog(role=Role.PRODUCE, judge=lambda stage: ())
    catalog.scenario("A claim.", "KIP-1", name="test", **more)(play)  # type: ignore[arg-type]
    return catalog.scenarios["test"]


def runner(*command: str, timeout_s: float = 30.0) -> Runner:
    return Runner(Options(command, os.environ, timeout_s, directory=str(ROOT)))


def test_command_that_cannot_be_started_raises() -> None:
    with pytest.raises(NotStarted, match="/no/such/program: No such file"):
        runner("/no/such/program").run([scenario_of(lambda stage: stage.create_topic())], lambda result: None)


def test_scenario_with_mistake_is_not_judged() -> None:
    def play(stage: Stage) -> None:
        raise LookupError("a mistake")

    result = runner("true").run_one(scenario_of(play))
    assert result.verdict is Verdict.FAILED
    assert "a mistake" in result.findings[0].text


def test_fault_that_does_not_fire_means_not_run() -> None:
    result = runner("true").run_one(scenario_of(lambda stage: stage.fault("Produce", disconnect="before")))
    assert result.verdict is Verdict.NOT_RUN
    assert result.findings[0].text == "the client sent no Produce request of the kind that the scenario is about"
    assert result.findings[0].evidence[0].startswith("no request arrived in the meantime")


def test_client_that_ends_early_means_not_run() -> None:
    def play(stage: Stage) -> None:
        stage.start()
        stage.wait_for_request("Fetch")

    result = runner("true").run_one(scenario_of(play))
    assert (result.verdict, result.findings[0].text) == (
        Verdict.NOT_RUN,
        "the client ended before the scenario was complete",
    )


def test_event_that_client_misses_means_not_run() -> None:
    def play(stage: Stage) -> None:
        stage.start()
        raise Missed("the client uses no sessions")

    result = runner("true").run_one(scenario_of(play))
    assert (result.verdict, result.findings[0].text) == (Verdict.NOT_RUN, "the client uses no sessions")


def test_stop_kills_the_client() -> None:
    judged = runner(*FAKE, "hangs")
    started = threading.Event()

    def play(stage: Stage) -> None:
        stage.start()
        started.set()

    results = []
    thread = threading.Thread(target=lambda: results.append(judged.run_one(scenario_of(play))))
    thread.start()
    assert started.wait(10)
    judged.stop()
    thread.join(10)
    assert results[0].exit_status == -9


def test_rewritten_response_reaches_the_client() -> None:
    def change(response: object) -> None:
        response.responses[0].partition_responses[0].error_code = 9999  # type: ignore[attr-defined]

    def play(stage: Stage) -> None:
        stage.create_topic()
        stage.rewrite("Produce", change, times=1)

    seen: list[tuple[str, ...]] = []

    def judge(stage: Stage) -> tuple[()]:
        seen.extend(request.errors for request in stage.cluster.requests.filter("Produce"))
        return ()

    result = runner(*FAKE, "none").run_one(scenario_of(play, judge=judge))
    assert result.verdict is Verdict.CORRECT
    assert seen[:2] == [("error 9999",), ()]


def test_client_is_killed_while_scenario_waits() -> None:
    def play(stage: Stage) -> None:
        stage.create_topic()
        stage.start()
        stage.cluster.timeout = 600
        stage.wait_for_request("Produce")

    result = runner(*FAKE, "hangs", timeout_s=1).run_one(scenario_of(play))
    assert result.exit_status == -9


def test_client_is_not_started_after_stop() -> None:
    stopped = runner(*FAKE, "hangs")

    def play(stage: Stage) -> None:
        stopped.stop()

    result = stopped.run_one(scenario_of(play))
    assert (result.verdict, result.exit_status) == (Verdict.NOT_RUN, None)


@pytest.mark.parametrize(
    ("options", "internal"),
    [
        ({"role": Role.CONSUME, "group": "g"}, {"__consumer_offsets"}),
        ({"transactional_id": "t"}, {"__transaction_state"}),
        ({}, set()),
    ],
)
def test_internal_topics_exist_before_the_client_starts(options: dict[str, object], internal: set[str]) -> None:
    topics: set[str] = set()
    result = runner("true").run_one(
        scenario_of(lambda stage: topics.update(stage.cluster._server.metadata.topics), **options)
    )
    assert (result.exit_status, topics) == (0, internal)
