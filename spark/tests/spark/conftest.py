"""A Spark session shared by all tests, because starting a JVM takes seconds."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import kafkalet
from kafkalet_spark.session import missing, spark_session

from . import connector
from .history import History, history
from .settings import QUICK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session with two cores that retries failed tasks, as on a cluster."""
    if reason := missing():
        pytest.skip(reason)
    conf = {
        **QUICK,
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "1g",
        "spark.python.daemon.module": "spark.tests.spark.daemon",
    }
    with contextlib.suppress(connector.Unavailable):  # the connector's own tests report this
        conf["spark.jars"] = ",".join(map(str, connector.jars()))
    session = spark_session("local[2,3]", conf=conf)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> History:
    """A log directory that must not be changed by tests."""
    return history(tmp_path_factory.mktemp("history") / "data")


@pytest.fixture(scope="session")
def serving(written: History) -> Iterator[str]:
    """A broker with a copy of that directory, which must not be changed either."""
    copy = written.directory.with_name("served")
    shutil.copytree(written.directory, copy)
    with kafkalet.Broker(data_dir=copy, version="3.9") as broker:
        yield broker.bootstrap_servers
