"""Share groups in directories of kafkalet are continued by Apache Kafka 4.4, and vice versa (`make oracle`).

Both brokers open the same directory and have the same random conversation. Everything that members are answered and
that is stored in the end is compared.
"""

import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import kafkalet
from kafkalet.cli import main
from tests.oracle.apache_kafka import missing

from .observing import Answers, differences
from .sharing import CONFIG, Sharing, observe_sharing
from .test_export import OpenedKafka

pytestmark = pytest.mark.oracle

RELEASE = "4.4"
STEPS = 120


class ContinuedKafka(OpenedKafka):
    def __init__(self, data: Path, brokers: int) -> None:
        super().__init__(data, RELEASE, brokers)
        self.config = {**self.config, **config_of(brokers)}


def config_of(brokers: int) -> dict[str, str]:
    return CONFIG | {"share.coordinator.state.topic.replication.factor": str(brokers)}


def opened_here(directory: Path, brokers: int) -> kafkalet.Cluster:
    return kafkalet.Cluster(brokers, data_dir=directory, version=RELEASE, config=config_of(brokers))


@contextmanager
def continued(bootstrap: str, seed: int, brokers: int) -> Iterator[Answers]:
    """Yield what the groups are at first, what happens to them then, and what they are in the end.

    Within the context, the members are connected. Those of a single broker hold records; in a cluster, whether a
    release is replicated while the brokers stop would be a matter of chance.
    """
    first = observe_sharing(bootstrap)
    sharing = Sharing(bootstrap, seed)
    try:
        transcript = sharing.run(STEPS)
        if brokers > 1:
            sharing.end_sessions()
        assert ", 3)" in str(transcript), "nothing was delivered three times"
        yield {"first": first, "transcript": transcript, "last": observe_sharing(bootstrap)}
    finally:
        sharing.close()


def exported(source: Path, data: Path) -> None:
    assert main(["export", "--data-dir", str(source), "--to", str(data), "--kafka-version", RELEASE]) == 0


@pytest.mark.parametrize(("brokers", "end"), [(1, signal.SIGTERM), (1, signal.SIGKILL), (3, signal.SIGTERM)])
def test_share_groups_continue_in_an_exported_directory_and_vice_versa(
    tmp_path: Path, brokers: int, end: signal.Signals
) -> None:
    if reason := missing(RELEASE):
        pytest.skip(reason)
    source, data, copy = tmp_path / "source", tmp_path / "data", tmp_path / "copy"
    with opened_here(source, brokers) as cluster:
        sharing = Sharing(cluster.bootstrap_servers, 1)
        sharing.create(brokers)
        sharing.run(STEPS)
    sharing.close()
    exported(source, data)
    with opened_here(source, brokers) as cluster, continued(cluster.bootstrap_servers, 2, brokers) as here:
        pass
    with ContinuedKafka(data, brokers) as kafka, continued(kafka.bootstrap_servers, 2, brokers) as there:
        kafka.end_broker(end)
    assert "\n".join(differences(here, there)) == ""
    shutil.copytree(data, copy)
    with opened_here(copy, brokers) as cluster, continued(cluster.bootstrap_servers, 3, brokers) as here:
        pass
    with ContinuedKafka(data, brokers) as kafka, continued(kafka.bootstrap_servers, 3, brokers) as there:
        pass
    assert "\n".join(differences(here, there)) == ""
