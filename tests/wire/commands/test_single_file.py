"""kafkalet.pyz, made from the modules and the data of this clone."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.single_file import write

READY = re.compile(r"kafkalet ready bootstrap=\S+ control=(\S+)")


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("pyz"))


@pytest.fixture
def control(pyz: Path) -> Iterator[str]:
    """The URL of the control API of a broker that runs from the file alone."""
    command = [sys.executable, "-I", pyz, "serve", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=pyz.parent) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        ready = READY.match(line)
        assert ready, line
        yield ready[1]
        process.terminate()


def test_single_file_serves_the_web_page(control: str) -> None:
    with urlopen(control) as page:
        assert b"<title>kafkalet" in page.read()


def test_single_file_has_the_recorded_scenarios(pyz: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-I", pyz, "conform", "--list"], capture_output=True, text=True, cwd=pyz.parent, check=True
    )
    assert "delete_records" in run.stdout.split()


def test_single_file_has_the_commands_of_the_control_api(pyz: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-I", pyz, "ctl", "--help"], capture_output=True, text=True, cwd=pyz.parent, check=True
    )
    assert "topic create" in run.stdout


def test_exit_status_is_that_of_the_command(pyz: Path) -> None:
    run = subprocess.run([sys.executable, "-I", pyz, "serve", "--nope"], capture_output=True, check=False)
    assert run.returncode == 2
