"""What the pipeline requires of Spark: its packages, a suitable Java, and a session that can run RDDs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17


class SparkMissing(Exception):
    """Spark cannot run here. The message states what is missing and how to install it."""


def missing(*, with_java: bool = True) -> str | None:
    """Return the reason why Spark cannot run here, or None if it can. Java is located as Spark locates it. Without
    `with_java`, only Spark's Python packages have to be there."""
    import importlib.util

    for name in ("pyspark", "pyarrow", "numpy"):
        if importlib.util.find_spec(name) is None:
            return f"The pipeline requires {name}: pip install kafkalet-spark."
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


@cache
def _java_release(java: str) -> int | None:
    """Return the major version of a `java` executable: 17 for version "17.0.15", 8 for "1.8.0_402"."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    except OSError:
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(version[1]) if version else None


def context_of(spark: SparkSession) -> SparkContext:
    """Return the Spark context of a session. Raises SparkMissing if the session is one of Spark Connect."""
    if type(spark).__module__.startswith("pyspark.sql.connect."):
        raise SparkMissing(
            "Loads, dumps and audits run RDDs, which Spark Connect does not support: use a session of the cluster "
            "itself, with `kafkalet-spark ... --master URL` or spark-submit. The data source `kafkalog` works."
        )
    return spark.sparkContext
