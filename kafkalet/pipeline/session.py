"""Spark sessions with the data source `kafkalog`.

`spark_session()` returns the active session, which may belong to `spark-submit`, or else starts Spark on this machine.
`register(spark)` adds the data source to an existing session. Neither overrides the user's settings.

Spark's workers must be able to import kafkalet. On this machine, they use the copy that this process uses. On a
cluster, they receive it as a zip file, unless the caller states that it is installed there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
"""Spark rejects Python sources with filter pushdown unless this setting is on. It is off by default."""

SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""The environment variable in which spark-submit passes the port of its JVM to the program."""
PACKAGE = Path(__file__).resolve().parent.parent


class SparkMissing(Exception):
    """Spark cannot run here. The message states what is missing and how to install it."""


def missing(*, with_java: bool = True) -> str | None:
    """Return the reason why Spark cannot run here, or None if it can. Java is located as Spark locates it. Without
    `with_java`, only Spark's Python packages have to be there."""
    import importlib.util

    for name in ("pyspark", "pyarrow", "numpy"):
        if importlib.util.find_spec(name) is None:
            return f"The pipeline requires {name}: pip install 'kafkalet[spark]'."
    if not with_java:
        return None
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None:
        return f"Spark requires Java {OLDEST_JAVA} or newer, but there is no `java` on the PATH."
    found = _java_release(java)
    if found is None:
        return f"Spark requires Java {OLDEST_JAVA} or newer, but {java} does not run."
    if found < OLDEST_JAVA:
        return f"Spark requires Java {OLDEST_JAVA} or newer, but {java} is Java {found}."
    return None


def spark_session(
    master: str | None = None,
    *,
    name: str = "kafkalet pipeline",
    conf: Mapping[str, str] | None = None,
    ship: bool = True,
) -> SparkSession:
    """Return the active Spark session, or start one, with the data source `kafkalog` registered.

    A new session runs on `master`, by default on the master of `spark-submit` or on all cores of this machine. `conf`
    contains Spark settings. If `ship` is true, the package is sent to the workers of a cluster.

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


def context_of(spark: SparkSession) -> SparkContext:
    """Return the Spark context of a session. Raises SparkMissing if the session is one of Spark Connect."""
    if type(spark).__module__.startswith("pyspark.sql.connect."):
        raise SparkMissing(
            "Loads, dumps and audits run RDDs, which Spark Connect does not support: use a session of the cluster "
            "itself, with `kafkalet pipeline ... --master URL` or spark-submit. The data source `kafkalog` works."
        )
    return spark.sparkContext


def packed() -> str:
    """Write the package to a zip file in a new temporary directory. Return its path."""
    path = os.path.join(tempfile.mkdtemp(prefix="kafkalet-"), "kafkalet.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sorted(PACKAGE.rglob("*.py")):
            archive.write(source, source.relative_to(PACKAGE.parent))
    return path


def _defaults(master: str) -> dict[str, str]:
    """Return the default settings of a new session. The user's settings override them."""
    settings = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "WARN"}
    if master.startswith("local"):
        settings |= {
            "spark.driver.host": "127.0.0.1",  # the host name may not resolve
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(dict.fromkeys([str(PACKAGE.parent), *_python_path()])),
        }
    return settings


def _python_path() -> list[str]:
    return [path for path in sys.path if path and os.path.isdir(path) and "site-packages" not in path]


@cache
def _java_release(java: str) -> int | None:
    """Return the major version of a `java` executable: 17 for version "17.0.15", 8 for "1.8.0_402"."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    except OSError:
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(version[1]) if version else None
