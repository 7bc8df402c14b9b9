"""What Spark needs is said in one sentence; what workers need is sent to them."""

import subprocess
import sys
from pathlib import Path

import pytest

from kafkalet.pipeline import session


def java(directory: Path, answer: str) -> str:
    """A Java that says so, as JAVA_HOME."""
    program = directory / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{answer}' >&2\n")
    program.chmod(0o755)
    return str(directory)


@pytest.mark.parametrize("version", ['openjdk version "17.0.15" 2025-04-15', 'java version "21"'])
def test_a_java_that_is_new_enough_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, version))
    assert session.missing() is None


@pytest.mark.parametrize(
    ("version", "release"), [('openjdk version "11.0.2"', "11"), ('java version "1.8.0_402"', "8")]
)
def test_an_old_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, release: str) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, version))
    assert session.missing() == f"Spark requires Java 17 or newer, but {tmp_path}/bin/java is Java {release}."


def test_no_java_is_said_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert session.missing() == "Spark requires Java 17 or newer, but there is no `java` on the PATH."


def test_a_java_that_does_not_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert session.missing() == f"Spark requires Java 17 or newer, but {tmp_path}/bin/java does not run."


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "pyarrow" else object())
    assert session.missing() == "The pipeline requires pyarrow: pip install 'kafkalet[spark]'."


def test_no_session_is_started_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "missing", lambda: "No.")
    with pytest.raises(session.SparkMissing, match=r"^No\.$"):
        session.spark_session()


def test_the_package_can_be_imported_from_what_is_sent_to_workers() -> None:
    packed = session.packed()
    script = "import sys; sys.path.insert(0, sys.argv[1]); import kafkalet.pipeline.reader as m; print(m.__file__)"
    found = subprocess.run([sys.executable, "-c", script, packed], capture_output=True, text=True, check=True, cwd="/")
    assert found.stdout.startswith(packed)
