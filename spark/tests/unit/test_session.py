"""A session is started only if Spark can run, and the package is sent to workers."""

import subprocess
import sys

import pytest

from kafkalet_spark import session


def test_session_is_not_started_if_requirements_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "missing", lambda: "No.")
    with pytest.raises(session.SparkMissing, match=r"^No\.$"):
        session.spark_session()


def test_package_can_be_imported_from_the_zip_file_for_workers() -> None:
    packed = session.packed()
    script = "import sys; sys.path.insert(0, sys.argv[1]); import kafkalet_spark.reader as m; print(m.__file__)"
    found = subprocess.run([sys.executable, "-c", script, packed], capture_output=True, text=True, check=True, cwd="/")
    assert found.stdout.startswith(packed)
