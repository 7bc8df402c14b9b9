"""The test suites of the clients in Java, Go and Node that start kafkalet, and of the examples that use them.

They run in a copy, because Maven, Go and npm write files next to the sources.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kafkalet.version import VERSION
from tests import single_file
from tests.descriptors import is_readable
from tests.source import ROOT
from tools import client_packages

from .toolchains import run, tool

pytestmark = pytest.mark.toolchain


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH in which `kafkalet` starts the version under test."""
    command = tmp_path / "commands" / "kafkalet"
    command.parent.mkdir()
    source = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom kafkalet.cli import main\nsys.exit(main())\n"
    command.write_text(f"#!{sys.executable}\n{source}")
    command.chmod(0o755)
    return f"{command.parent}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture
def environment(path: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "KAFKALET_COMMAND"} | {"PATH": path}


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A directory with copies of `clients` and `examples`, which refer to each other by relative paths."""
    for name in ("clients", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("node_modules", "target", "go.sum"))
    return tmp_path


REACTOR = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kafkalet</groupId>
  <artifactId>reactor</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <modules>
    <module>clients/java</module>
    <module>examples/java</module>
  </modules>
</project>
"""
"""Builds the client and the example together, so that the client need not be installed in the user's repository."""


def test_java_client_and_example_pass(copied: Path, environment: dict[str, str]) -> None:
    maven = tool("mvn", "apt-get install maven")
    (copied / "pom.xml").write_text(REACTOR)
    run(maven, "-q", "-B", "test", cwd=copied, env=environment)
    reports = [path.read_text() for path in copied.glob("*/java/target/surefire-reports/TEST-*.xml")]
    passed = [re.findall(r'tests="(\d+)" errors="0" skipped="0" failures="0"', report) for report in reports]
    assert sum(int(count) for counts in passed for count in counts) == (10 + 5 + 7 + 11 + 22) + (1 + 22)


def test_go_client_passes(copied: Path, environment: dict[str, str]) -> None:
    go = tool("go", "https://go.dev/dl, or apt-get install golang-go")
    folder = copied / "clients" / "go"
    run(go, "vet", "./...", cwd=folder, env=environment)
    assert run("gofmt", "-l", ".", cwd=folder) == ""
    assert run(go, "test", "-v", "./...", cwd=folder, env=environment).count("\n--- PASS: ") == 39


def test_go_example_passes(copied: Path, environment: dict[str, str]) -> None:
    go = tool("go", "https://go.dev/dl, or apt-get install golang-go")
    folder = copied / "examples" / "go"
    run(go, "mod", "tidy", cwd=folder)
    run(go, "vet", "./...", cwd=folder, env=environment)
    assert run("gofmt", "-l", ".", cwd=folder) == ""
    assert run(go, "test", "-v", "./...", cwd=folder, env=environment).count("--- PASS: ") == 23


def test_node_client_passes(copied: Path, environment: dict[str, str]) -> None:
    node = tool("node", "https://nodejs.org, or apt-get install nodejs")
    assert "# pass 41" in run(node, "--test", cwd=copied / "clients" / "node", env=environment)


def test_node_types_match(copied: Path, environment: dict[str, str]) -> None:
    npm = tool("npm", "apt-get install npm")
    folder = copied / "clients" / "node"
    packages = ("typescript@5", "@types/node@20")
    run(npm, "install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", *packages, cwd=folder)
    run("node_modules/.bin/tsc", "--project", ".", cwd=folder, env=environment)


def test_node_example_passes(copied: Path, environment: dict[str, str]) -> None:
    npm = tool("npm", "apt-get install npm")
    folder = copied / "examples" / "node"
    run(npm, "install", "--no-package-lock", "--no-audit", "--no-fund", cwd=folder)
    assert "# pass 19" in run(npm, "test", cwd=folder, env=environment)


@pytest.fixture
def packaged(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A directory with the installed Node package, and an environment without an installed kafkalet.

    An installed program `kafkalet` on PATH would be used first, so PATH contains only Python and what npm needs.
    """
    npm, node = tool("npm", "apt-get install npm"), tool("node", "https://nodejs.org, or apt-get install nodejs")
    commands = tmp_path / "commands"
    commands.mkdir()
    for name, target in (("npm", npm), ("npx", f"{npm[:-3]}npx"), ("node", node), ("sh", "/bin/sh")):
        (commands / name).symlink_to(target)
    (commands / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} -I "$@"\n')
    (commands / "python3").chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KAFKALET_")}
    environment["PATH"] = str(commands)
    package = client_packages.write("node", single_file.write(tmp_path), tmp_path)
    run("npm", "install", "--no-audit", "--no-fund", package, cwd=tmp_path, env=environment)
    return tmp_path, environment


def test_node_package_runs_without_installed_kafkalet(packaged: tuple[Path, dict[str, str]]) -> None:
    directory, environment = packaged
    assert run("npx", "kafkalet", "--version", cwd=directory, env=environment) == f"kafkalet {VERSION}\n"


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux waits for a process that is not a child")
def test_broker_of_npx_stops_at_sigterm(packaged: tuple[Path, dict[str, str]]) -> None:
    directory, environment = packaged
    command = ["npx", "kafkalet", "serve", "--listen", "127.0.0.1:0", "--ready-file", directory / "ready"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=directory, env=environment) as program:
        assert program.stdout is not None
        assert program.stdout.readline().startswith("kafkalet ready")
        broker = os.pidfd_open(int((directory / "ready").read_text().rpartition("pid=")[2]))
        program.terminate()
        ended = is_readable(broker, 30)
    os.close(broker)
    assert ended


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux waits for a process that is not a child")
def test_broker_of_killed_node_stops(copied: Path, environment: dict[str, str]) -> None:
    node = tool("node", "https://nodejs.org, or apt-get install nodejs")
    ready_file = copied / "ready"
    script = (
        "import { start } from './kafkalet.mjs'\n"
        f"await start({{ arguments: ['--ready-file', '{ready_file}'] }})\n"
        "console.log('started')\n"
        "setInterval(() => {}, 1000)\n"
    )
    with subprocess.Popen(
        [node, "--input-type=module", "-e", script],
        stdout=subprocess.PIPE,
        text=True,
        cwd=copied / "clients" / "node",
        env=environment,
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "started\n"
        broker = os.pidfd_open(int(ready_file.read_text().rpartition("pid=")[2]))
        program.kill()
    ended = is_readable(broker, 30)
    os.close(broker)
    assert ended
    assert not ready_file.exists()
