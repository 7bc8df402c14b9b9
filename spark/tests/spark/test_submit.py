"""`kafkalet_spark.submit`: the main file of spark-submit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafkalet_spark import submit

from .commands.filled import RECORDS, fill
from .settings import QUICK

pyspark = pytest.importorskip("pyspark", reason="pip install kafkalet-spark")


def test_directory_of_the_script_is_removed_from_sys_path(monkeypatch: pytest.MonkeyPatch) -> None:
    here = str(Path(submit.__file__).parent)
    monkeypatch.setattr(sys, "path", [here, "/elsewhere"])
    monkeypatch.setattr(sys, "argv", ["submit.py", "fill"])
    assert submit.main() == 2
    assert sys.path == ["/elsewhere", str(Path(submit.__file__).parents[2])]


def test_spark_submit_runs_a_command(tmp_path: Path) -> None:
    logs, out = fill(tmp_path / "data"), tmp_path / "out"
    (tmp_path / "events").mkdir()
    spark_submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    events = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(tmp_path / "events"),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }
    settings = [f"--conf={name}={value}" for name, value in {**QUICK, **events}.items()]
    command = [submit.__file__, "dump", str(logs), "--out", str(out), "--format", "jsonl"]
    done = subprocess.run(
        [spark_submit, "--master", "local[1]", *settings, *command],
        capture_output=True, text=True, timeout=300, env=environment, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # spark-submit copies its program's stderr to stdout.
    assert done.stdout.splitlines()[-1].startswith(f"dumped {RECORDS} records from 1 partition")
    (journal,) = (tmp_path / "events").iterdir()
    assert '"spark.master":"local[1]"' in journal.read_text()
    (file,) = out.glob("topic=a/partition=0/date=2023-11-14/*.jsonl")
    assert [json.loads(line)["value"] for line in file.read_text().splitlines()] == [str(n) for n in range(RECORDS)]
