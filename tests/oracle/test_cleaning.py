"""kafkalet cleans random logs as Apache Kafka does (`make oracle`).

CLEANING_SEED=700 CLEANING_COUNT=60 .venv/bin/python -m pytest -m oracle tests/oracle/test_cleaning.py
.venv/bin/python -m tests.oracle.test_cleaning 3.9        records the cases that tests/recorded replays
"""

import os
import sys
from pathlib import Path

import pytest

from tests.recorded.cleaning.replay import compare
from tests.recorded.cleaning.rounds import save

from .apache_kafka import missing
from .cleaning.kafka import cleaned_by_kafka
from .cleaning.random_topics import random_topics

pytestmark = pytest.mark.oracle

RECORDED_SEED, RECORDED = 1, 30


@pytest.mark.parametrize("release", ["2.8", "3.9", "4.4"])
def test_random_logs_are_cleaned_as_apache_kafka_cleans_them(release: str, tmp_path: Path) -> None:
    if reason := missing(release):
        pytest.skip(reason)
    seed = int(os.environ.get("CLEANING_SEED", "1000"))
    count = int(os.environ.get("CLEANING_COUNT", "20"))
    cases = cleaned_by_kafka(release, list(random_topics(release, seed, count)))
    assert [line for case in cases for line in compare(case, tmp_path)] == []


if __name__ == "__main__":
    for name in sys.argv[1:]:
        save(name, cleaned_by_kafka(name, list(random_topics(name, RECORDED_SEED, RECORDED))))
