"""Short runs. `make anomalies` has longer ones, with clients in Java and Go."""

from pathlib import Path

import pytest

from .campaign import python_client, run
from .faults import lose_the_leaders

pytestmark = pytest.mark.slow

SECONDS = 8


def test_clients_see_no_anomaly_under_faults(tmp_path: Path) -> None:
    seed = 8  # the first producers, which write without transactions, are replaced after six seconds
    done = run([python_client("confluent"), python_client("aiokafka")], SECONDS, seed, directory=tmp_path)
    assert done.history.members
    assert done.history.committed
    assert done.faults
    assert done.anomalies == []


def test_unclean_elections_lose_acknowledged_records(tmp_path: Path) -> None:
    faults = (lose_the_leaders,)
    done = run([python_client("confluent")], SECONDS, 1, acks="1", possible=faults, directory=tmp_path)
    assert "lost" in {anomaly.kind for anomaly in done.anomalies}
