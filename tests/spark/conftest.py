"""One Spark session for all tests that need one: a JVM takes seconds to start."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import kafkalet
from kafkalet.pipeline.session import missing, spark_session

from . import connector
from .history import History, history
from .settings import QUICK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two cores, and a task that fails is tried again, as on a cluster."""
    if reason := missing():
        pytest.skip(reason)
    conf = {
        **QUICK,
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "1g",
    }
    with contextlib.suppress(connector.Unavailable):  # its own tests say so
        conf["spark.jars"] = ",".join(map(str, connector.jars()))
    session = spark_session("local[2,3]", conf=conf)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> History:
    """A log directory that no test changes."""
    return history(tmp_path_factory.mktemp("history") / "data")


@pytest.fixture(scope="session")
def serving(written: History) -> Iterator[str]:
    """A broker of a copy of that directory, which no test changes either."""
    copy = written.directory.with_name("served")
    shutil.copytree(written.directory, copy)
    with kafkalet.Broker(data_dir=copy, kafka_version="3.9") as broker:
        yield broker.bootstrap_servers
