"""Spark sessions with the data source `kafkalog`.

`spark_session()` returns the active session, which may belong to `spark-submit`, or else starts Spark on this machine.
`register(spark)` adds the data source to an existing session. Neither overrides the user's settings.

Spark's workers must be able to import kafkalet and kafkalet_spark. On this machine, they use the copies that this
process uses. On a cluster, they receive them as a zip file, unless the caller states that they are installed there.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kafkalet import version

from .requirements import SparkMissing, missing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
"""Spark rejects Python sources with filter pushdown unless this setting is on. It is off by default."""

SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""The environment variable in which spark-submit passes the port of its JVM to the program."""
PACKAGES = (Path(version.__file__).resolve().parent, Path(__file__).resolve().parent)


def spark_session(
    master: str | None = None,
    *,
    name: str = "kafkalet-spark",
    conf: Mapping[str, str] | None = None,
    ship: bool = True,
) -> SparkSession:
    """Return the active Spark session, or start one, with the data source `kafkalog` registered.

    A new session runs on `master`, by default on the master of `spark-submit` or on all cores of this machine. `conf`
    contains Spark settings. If `ship` is true, the packages are sent to the workers of a cluster.

    Raises SparkMissing if PySpark, PyArrow, NumPy or a suitable Java is missing.
    """
    if reason := missing():
        raise SparkMissing(reason)
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return register(running)
    if SUBMITTED in os.environ:
        # Until a JVM is running, SparkConf lacks the settings of spark-submit, even the master.
        SparkContext._ensure_initialized()
    settings = SparkConf()
    chosen = master or settings.get("spark.master", None) or "local[*]"
    settings.setMaster(chosen).setAppName(name)
    for key, value in _defaults(chosen).items():
        settings.setIfMissing(key, value)
    for key, value in (conf or {}).items():
        settings.set(key, value)
    if chosen.startswith("local"):
        # Only spark-submit applies spark.pyspark.python. Otherwise, workers need the Python of this process.
        os.environ.setdefault("PYSPARK_PYTHON", settings.get("spark.pyspark.python", None) or sys.executable)
    spark = SparkSession.builder.config(conf=settings).getOrCreate()
    if ship and not chosen.startswith("local"):
        spark.sparkContext.addPyFile(packed())
    return register(spark)


def register(spark: SparkSession) -> SparkSession:
    """Register the data source `kafkalog` with a session, and allow Spark to pass it filters. Return the session."""
    from .source import KafkaLog

    spark.dataSource.register(KafkaLog)
    spark.conf.set(PUSHDOWN, "true")
    return spark


def packed() -> str:
    """Write the packages to a zip file in a new temporary directory. Return its path."""
    path = os.path.join(tempfile.mkdtemp(prefix="kafkalet-"), "kafkalet.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            for source in sorted(package.rglob("*.py")):
                archive.write(source, source.relative_to(package.parent))
    return path


def _defaults(master: str) -> dict[str, str]:
    """Return the default settings of a new session. The user's settings override them."""
    settings = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "WARN"}
    if master.startswith("local"):
        parents = [str(package.parent) for package in PACKAGES]
        settings |= {
            "spark.driver.host": "127.0.0.1",  # the host name may not resolve
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(dict.fromkeys([*parents, *_python_path()])),
        }
    return settings


def _python_path() -> list[str]:
    return [path for path in sys.path if path and os.path.isdir(path) and "site-packages" not in path]
