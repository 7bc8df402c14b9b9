"""The examples do what they say, and the files for a container are what its tools can read."""

import os
import re
import shutil
import subprocess
import sys

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


def test_the_image_is_built_of_what_is_there() -> None:
    text = (ROOT / "Dockerfile").read_text()
    for line in re.findall(r"^COPY (.*)$", text, re.MULTILINE):
        *sources, _ = line.split()
        assert all((ROOT / source).exists() for source in sources)
    assert re.findall(r"^(FROM|ENTRYPOINT|USER) ", text, re.MULTILINE) == ["FROM", "USER", "ENTRYPOINT"]


def test_the_image_starts_a_command_that_exists() -> None:
    [entry] = re.findall(r"^ENTRYPOINT (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert "python -m kafkalet serve --listen 0.0.0.0:9092 --advertise" in entry
    helped = subprocess.run(
        [sys.executable, "-m", "kafkalet", "serve", "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    for option in (*re.findall(r"--[a-z-]+", entry), "--topic", "--data-dir"):
        assert option in helped.stdout


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
