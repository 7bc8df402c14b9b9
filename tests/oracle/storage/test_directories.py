"""Directories that Apache Kafka has written are served as Apache Kafka served them (`make oracle`).

tests/recorded/test_kafka_directories.py has smaller versions of these tests that do not need Apache Kafka.
"""

import pytest

import kafkalet
from tests.oracle.apache_kafka import missing
from tests.recorded.answers import ask_everything, differences, restore_formats, without_configuration

from .written import RELEASES, Written, written

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    if reason := missing(request.param):
        pytest.skip(reason)
    return written(request.param, tmp_path_factory.mktemp(f"kafka-{request.param}"))


@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_directory_is_served_as_by_its_writer(kafka: Written, end: str) -> None:
    directory, expected = (
        (kafka.killed, kafka.expected_when_killed) if end == "killed" else (kafka.stopped, kafka.expected_when_stopped)
    )
    with kafkalet.Broker(data_dir=directory, version=kafka.release, config=kafka.config) as broker:
        if kafka.release == "2.8":
            restore_formats(broker.bootstrap_servers)
        answers = ask_everything(broker.bootstrap_servers, kafka.release, kafka.first_ms, thorough=True)
    if kafka.release == "2.8":
        expected, answers = [without_configuration(each) for each in expected], without_configuration(answers)
    assert len(answers) > 4000
    assert differences(expected, answers) == []


def test_responses_of_apache_kafka_itself_are_compared(kafka: Written) -> None:
    """Kafka's responses hardly change when it is restarted, so the comparison can be strict."""
    before, after = kafka.expected_when_stopped
    assert before.keys() == after.keys()
    same = [question for question in before if before[question] == after[question]]
    assert len(same) > 0.9 * len(before)
