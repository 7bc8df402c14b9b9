"""One Spark session for all tests that need one: a JVM takes seconds to start."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kafkalet.pipeline.session import missing, spark_session

from . import connector
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
