"""Recording a broker that answers like a recorded release gives the recorded transcript."""

from collections.abc import Iterator

import pytest

import kafkalet
from kafkalet_conformance.building import ScenarioBuilder
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.transcripts import Step, load, without_comments
from tests.recorded.test_golden import WITH_ACLS
from tools.recording.definitions import Definition
from tools.recording.recorded_properties import broker_properties
from tools.recording.recorder import Unsteady, record
from tools.recording.scenarios import definitions


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with kafkalet.Broker(version="3.9", config=broker_properties("3.9")) as broker:
        yield Target(broker.bootstrap_servers)


@pytest.mark.parametrize("name", ["fetch_isolation", "lo_time_equal", "produce_bad_records", "txn_interleaved"])
def test_recorded_cases_equal_those_of_apache_kafka(name: str, target: Target) -> None:
    steps = record(definitions()[name], target, "3.9")
    assert cases(steps) == cases(load(name).steps["3.9"])


def test_recorded_tokens_equal_those_of_apache_kafka() -> None:
    config = broker_properties("3.9", tokens=True) | WITH_ACLS
    with kafkalet.Broker(version="3.9", config=config) as broker:
        target = Target(broker.bootstrap_servers, acl=True, tokens=True)
        steps = record(definitions()["tokens_described"], target, "3.9")
    assert cases(steps) == cases(load("tokens_described").steps["3.9"])


def cases(steps: list[Step]) -> list[Step]:
    return [without_comments(step) for step in steps if "case" in step]


def test_response_that_changes_is_not_recorded(target: Target) -> None:
    def write(ask: ScenarioBuilder) -> None:
        body = {"transactional_id": None, "transaction_timeout_ms": 1000}
        ask.request("a new producer id", "InitProducerId", 1, body)

    definition = Definition("changing", "transactions", "An example.", "detail", (), {}, ("3.9",), write)
    with pytest.raises(Unsteady, match="'a new producer id' was different the second time: producer_id: expected"):
        record(definition, target, "3.9")
