"""The examples do what they say, and the files for a container are what its tools can read."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.source import ROOT

pytestmark = pytest.mark.slow

FLIGHTS = 6000  # the first week of January
BYTECODE = {name: os.environ[name] for name in ("PYTHONPYCACHEPREFIX",) if name in os.environ}
"""Where bytecode is kept. Otherwise the example compiles the package, and leaves the bytecode beside it."""


@pytest.fixture(scope="module")
def printed() -> str:
    """What the example on flights prints of a week."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", ROOT / "examples" / "flights.py", str(FLIGHTS)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=ROOT,
        env={"PATH": "", "PYTHONPATH": str(ROOT), **BYTECODE},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_flights_are_all_produced(printed: str) -> None:
    assert re.search(rf"^produced {FLIGHTS:,} flights", printed, re.MULTILINE)


def test_the_ends_of_the_partitions_are_as_many_as_flights(printed: str) -> None:
    [ends] = re.findall(r"^end +\[(.*)\]", printed, re.MULTILINE)
    assert sum(map(int, ends.split(","))) == FLIGHTS


def test_a_flight_is_found_by_its_time_and_none_after_the_last(printed: str) -> None:
    assert re.search(r"^2013-01-01 12:00  EWR  offset +\d+ at 01 Jan 12:00$", printed, re.MULTILINE)
    assert len(re.findall(r"^2013-10-01 12:00  \w{3}  no flight$", printed, re.MULTILINE)) == 3


def test_both_isolation_levels_read_every_flight(printed: str) -> None:
    for isolation in ("read_uncommitted", "read_committed"):
        assert re.search(rf"^{isolation} +{FLIGHTS:,} flights", printed, re.MULTILINE)


# The container


def dockerfile() -> str:
    return (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "")


def test_the_image_is_built_of_files_that_exist_and_are_not_ignored() -> None:
    kept = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE)
    copied = re.findall(r"^COPY (?!--)(.*)$", dockerfile(), re.MULTILINE)
    sources = [source for line in copied for source in line.split()[:-1]]
    assert set(sources) == set(kept)
    assert [source for source in sources if not (ROOT / source).exists()] == []


def test_the_broker_of_the_image_does_not_run_as_root() -> None:
    """A number is what Kubernetes can check."""
    [user] = re.findall(r"^USER (.*)$", dockerfile(), re.MULTILINE)
    assert int(user) > 0
    assert f"useradd --uid {user} " in dockerfile()


def test_the_image_starts_a_command_that_exists() -> None:
    [entry] = re.findall(r"^ENTRYPOINT (\[.*\])$", dockerfile(), re.MULTILINE)
    [*shell, script, name] = json.loads(entry)
    assert (shell, name) == (["/bin/bash", "-c"], "kafkalet")
    assert "exec kafkalet serve --listen 0.0.0.0:9092 --advertise " in script
    helped = subprocess.run(
        [sys.executable, "-m", "kafkalet", "serve", "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    for option in (*re.findall(r"--[a-z-]+", script), "--topic", "--data-dir"):
        assert option in helped.stdout


def test_the_health_check_of_the_image_starts_no_python() -> None:
    [check] = re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", dockerfile(), re.MULTILINE)
    assert json.loads(check) == ["test", "-s", "/tmp/ready"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_entry_point_writes_the_ready_line_to_stdout_and_for_the_health_check(tmp_path: Path) -> None:
    """`kafkalet` is a stand-in here that prints its arguments; bash becomes it, so that it gets the signals."""
    [entry] = re.findall(r"^ENTRYPOINT (\[.*\])$", dockerfile(), re.MULTILINE)
    kafkalet = tmp_path / "kafkalet"
    kafkalet.write_text('#!/bin/sh\necho "$$" "$@"\n')
    kafkalet.chmod(0o755)
    ready = tmp_path / "ready"
    ready.write_text("of an earlier start")
    command = [part.replace("/tmp/ready", str(ready)) for part in json.loads(entry)]
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "KAFKALET_ADVERTISE": "host:1"}
    with subprocess.Popen([*command, "--topic", "a b"], stdout=subprocess.PIPE, text=True, env=environment) as process:
        printed, _ = process.communicate(timeout=30)
    assert printed == f"{process.pid} serve --listen 0.0.0.0:9092 --advertise host:1 --topic a b\n"
    assert ready.read_text() == printed


def test_compose_reads_its_file() -> None:
    """Where Compose is not installed, the file is at least indented with spaces and names what the image takes."""
    path = ROOT / "docker-compose.yml"
    text = path.read_text()
    assert "\t" not in text
    assert re.findall(r"^(\w+):$", text, re.MULTILINE) == ["services", "volumes"]
    assert "KAFKALET_ADVERTISE" in text
    docker = shutil.which("docker")
    if docker and subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode == 0:
        subprocess.run([docker, "compose", "-f", path, "config", "--quiet"], check=True)
