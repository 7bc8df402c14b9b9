"""The examples produce the expected output, and the container files are valid."""

import json
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
"""Where to keep bytecode; otherwise the example would compile the package and leave bytecode beside it."""


@pytest.fixture(scope="module")
def printed() -> str:
    """The output of examples/flights.py for one week of flights."""
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


def test_example_produces_all_flights(printed: str) -> None:
    assert re.search(rf"^produced {FLIGHTS:,} flights", printed, re.MULTILINE)


def test_example_end_offsets_add_up_to_number_of_flights(printed: str) -> None:
    [ends] = re.findall(r"^end +\[(.*)\]", printed, re.MULTILINE)
    assert sum(map(int, ends.split(","))) == FLIGHTS


def test_example_finds_flight_by_time_but_none_after_the_last(printed: str) -> None:
    assert re.search(r"^2013-01-01 12:00  EWR  offset +\d+ at 01 Jan 12:00$", printed, re.MULTILINE)
    assert len(re.findall(r"^2013-10-01 12:00  \w{3}  no flight$", printed, re.MULTILINE)) == 3


def test_example_reads_all_flights_under_both_isolation_levels(printed: str) -> None:
    for isolation in ("read_uncommitted", "read_committed"):
        assert re.search(rf"^{isolation} +{FLIGHTS:,} flights", printed, re.MULTILINE)


# The container


def dockerfile() -> str:
    return (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "")


def test_dockerfile_copies_existing_files_that_are_not_ignored() -> None:
    kept = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE)
    copied = re.findall(r"^COPY (?:--chown=\d+ )?(?!--)(.*)$", dockerfile(), re.MULTILINE)
    sources = [source for line in copied for source in line.split()[:-1]]
    assert {source.partition("/")[0] for source in sources} == set(kept)
    assert [source for source in sources if not (ROOT / source).exists()] == []


def test_broker_in_image_does_not_run_as_root() -> None:
    """Kubernetes (runAsNonRoot) can check a numeric user id only."""
    [user] = re.findall(r"^USER (.*)$", dockerfile(), re.MULTILINE)
    assert int(user) > 0
    assert f"useradd --uid {user} " in dockerfile()


def test_dockerfile_entrypoint_is_the_command_for_containers() -> None:
    [entry] = re.findall(r"^ENTRYPOINT (\[.*\])$", dockerfile(), re.MULTILINE)
    assert json.loads(entry) == ["kafkalet", "container"]


def test_scripts_of_the_image_are_executable() -> None:
    scripts = [path for path in (ROOT / "docker").rglob("*") if path.is_file()]
    assert scripts
    assert [path for path in scripts if not os.access(path, os.X_OK)] == []


def test_health_check_of_image_does_not_start_python() -> None:
    [check] = re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", dockerfile(), re.MULTILINE)
    assert json.loads(check) == ["test", "-s", "/tmp/ready"]


def test_compose_file_is_valid() -> None:
    """If Compose is not installed, check only the indentation and the keys of the file."""
    path = ROOT / "docker-compose.yml"
    text = path.read_text()
    assert "\t" not in text
    assert re.findall(r"^(\w+):$", text, re.MULTILINE) == ["services", "volumes"]
    assert "KAFKA_ADVERTISED_LISTENERS" in text
    docker = shutil.which("docker")
    if docker and subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode == 0:
        subprocess.run([docker, "compose", "-f", path, "config", "--quiet"], check=True)
