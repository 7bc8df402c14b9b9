"""Random histories compared with Apache Kafka."""

from pathlib import Path

import pytest

import kafkalet
from kafkalet_conformance.between.comparing import Comparer
from kafkalet_conformance.between.histories import GROUPS
from kafkalet_conformance.playing.target import Target
from tools.recording.recorded_properties import broker_properties

from .apache_kafka import ApacheKafka, missing

SEED = 1
QUIET = {"log.initial.task.delay.ms": "100000000", "log.retention.check.interval.ms": "100000000"}


@pytest.mark.oracle
@pytest.mark.parametrize("release", ["3.9", "4.4"])
def test_histories_get_the_responses_of_apache_kafka(release: str, tmp_path: Path) -> None:
    """Every reproducible difference is written to a file."""
    if reason := missing(release):
        pytest.skip(reason)
    config = broker_properties(release)
    with (
        ApacheKafka(release, config=config) as kafka,
        kafkalet.Broker(version=release, config=config | QUIET) as broker,
    ):
        first, second = Target(kafka.bootstrap_servers), Target(broker.bootstrap_servers)
        done = Comparer(first, second, release, tmp_path, seed=SEED).run(list(GROUPS), 5, 600)
    assert not [each for each in done.disagreements if each.is_stable], f"scenarios are in {tmp_path}"
