"""Missing requirements of Spark are reported in one sentence."""

from pathlib import Path
from typing import Any

import pytest

from kafkalet_spark.requirements import SparkMissing, context_of, missing


def java(directory: Path, answer: str) -> str:
    """Create a `java` that prints `answer`, and return its JAVA_HOME."""
    program = directory / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{answer}' >&2\n")
    program.chmod(0o755)
    return str(directory)


@pytest.mark.parametrize("version", ['openjdk version "17.0.15" 2025-04-15', 'java version "21"'])
def test_recent_java_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, version))
    assert missing() is None


@pytest.mark.parametrize(
    ("version", "release"), [('openjdk version "11.0.2"', "11"), ('java version "1.8.0_402"', "8")]
)
def test_old_java_is_reported_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, release: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, version))
    assert missing() == f"Spark requires Java 17 or newer, but {tmp_path}/bin/java is Java {release}."


def test_missing_java_is_reported_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert missing() == "Spark requires Java 17 or newer, but there is no `java` on the PATH."


def test_broken_java_is_reported_with_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert missing() == f"Spark requires Java 17 or newer, but {tmp_path}/bin/java does not run."


def test_missing_extra_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "pyarrow" else object())
    assert missing() == "The pipeline requires pyarrow: pip install kafkalet-spark."


def test_code_without_a_jvm_does_not_require_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert missing(with_java=False) is None


def test_session_of_spark_connect_is_refused_with_the_remedy() -> None:
    remote: Any = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(SparkMissing, match=r"Spark Connect does not support: use .* --master URL"):
        context_of(remote)
