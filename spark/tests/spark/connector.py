"""Spark's own Kafka connector, downloaded by Maven once, for comparisons and as another client of kafkalet.

It consists of four jars (the connector, its token provider, Kafka's clients, commons-pool), which must be passed to a
session at startup as `spark.jars`. They are cached in `~/.cache/kafkalet/spark-connector`, or in
`KAFKALET_CONNECTOR_CACHE`. The version is that of the installed Spark or, if Maven does not have it, the newest one.
"""

import functools
import os
import shutil
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

CACHE = Path(os.environ.get("KAFKALET_CONNECTOR_CACHE", "~/.cache/kafkalet/spark-connector")).expanduser()
TIMEOUT_S = 240

CONNECTOR = "spark-sql-kafka-0-10_2.13"
TOKEN_PROVIDER = "spark-token-provider-kafka-0-10_2.13"
LEFT_OUT = ("org.scala-lang", "org.scala-lang.modules", "org.apache.hadoop", "org.slf4j", "com.google.code.findbugs")
"""Groups of artifacts that are largely part of Spark's own jars."""
WANTED = (CONNECTOR, TOKEN_PROVIDER, "kafka-clients", "commons-pool2")


class Release(NamedTuple):
    """A version of the connector, and the versions of its dependencies that differ from its pom."""

    connector: str
    managed: tuple[tuple[str, str, str], ...] = ()


NEWEST_PUBLISHED = Release(
    "4.2.0", (("org.apache.spark", TOKEN_PROVIDER, "4.0.0"), ("org.apache.kafka", "kafka-clients", "3.9.2"))
)
"""Works with Spark 4.1 to 4.3. Its token provider of the same version was not published."""


class Unavailable(Exception):
    """The connector is not cached and cannot be downloaded. The message gives the reason, and the command to fetch
    it."""


@functools.cache
def jars() -> tuple[Path, ...]:
    """Return the connector's jars for the installed Spark, downloading them if necessary."""
    installed = version("pyspark")
    releases = list({release.connector: release for release in (Release(installed), NEWEST_PUBLISHED)}.values())
    for release in releases:
        if found := _kept(release):
            return found
    if not shutil.which("mvn"):
        raise Unavailable(f"Spark's Kafka connector is not in {CACHE}, and mvn is not there to fetch it: install maven")
    refusals = []
    for release in releases:
        if not (refusal := _fetch(release)):
            return _kept(release)
        refusals.append(refusal)
    raise Unavailable(refusals[-1])


def _kept(release: Release) -> tuple[Path, ...]:
    return tuple(sorted((CACHE / release.connector).glob("*.jar")))


def _fetch(release: Release) -> str:
    """Copy the jars into the cache with Maven. Return the error message, or an empty string."""
    CACHE.mkdir(parents=True, exist_ok=True)
    pom = CACHE / f"pom-{release.connector}.xml"
    pom.write_text(_pom(release))
    kept = CACHE / release.connector
    goal = ["dependency:copy-dependencies", f"-DincludeArtifactIds={','.join(WANTED)}", "-DoutputDirectory="]
    command = ["mvn", "-B", "-q", "-f", str(pom), *goal]
    result = f"Spark's Kafka connector {release.connector} could not be fetched by {' '.join(command)}{kept}: "
    with tempfile.TemporaryDirectory(dir=CACHE) as work:
        command[-1] += f"{work}/jars"
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            return f"{result}no answer within {TIMEOUT_S} s"
        if done.returncode:
            _, _, error = done.stdout.partition("[ERROR] ")
            return result + (error.partition("\n")[0] or f"status {done.returncode}")
        if not kept.exists():
            Path(work, "jars").rename(kept)
    return ""


def _pom(release: Release) -> str:
    managed = "".join(_dependency(*each) for each in release.managed)
    without = "".join(
        f"<exclusion><groupId>{group}</groupId><artifactId>*</artifactId></exclusion>" for group in LEFT_OUT
    )
    wanted = _dependency("org.apache.spark", CONNECTOR, release.connector, f"<exclusions>{without}</exclusions>")
    # Spark's parent pom also names a mirror, which may be unreachable: replace it by an empty directory.
    mirror = f"<id>gcs-maven-central-mirror</id><url>{(CACHE / 'empty').as_uri()}</url>"
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>kafkalet</groupId><artifactId>connector</artifactId>"
        "<version>1</version><packaging>pom</packaging>"
        f"<repositories><repository>{mirror}</repository></repositories>"
        f"<dependencyManagement><dependencies>{managed}</dependencies></dependencyManagement>"
        f"<dependencies>{wanted}</dependencies></project>"
    )


def _dependency(group: str, artifact: str, release: str, more: str = "") -> str:
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{release}</version>"
        f"{more}</dependency>"
    )
