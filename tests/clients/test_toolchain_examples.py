"""The examples in Java, Go and Node are test suites; `make clients` runs each as described on its page.

They run in a copy, because Maven, Go and npm write files next to the sources.
"""

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.source import ROOT

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


def copied(language: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "examples" / language, tmp_path / language))


def test_java_example_passes(tmp_path: Path, path: str) -> None:
    maven = tool("mvn", "apt-get install maven")
    folder = copied("java", tmp_path)
    run(maven, "-q", "-B", "test", cwd=folder, env=os.environ | {"PATH": path})
    [report] = (folder / "target" / "surefire-reports").glob("TEST-*.xml")
    assert 'tests="1" errors="0" skipped="0" failures="0"' in report.read_text()


def test_go_example_passes(tmp_path: Path, path: str) -> None:
    go = tool("go", "https://go.dev/dl, or apt-get install golang-go")
    folder = copied("go", tmp_path)
    run(go, "mod", "tidy", cwd=folder)
    assert "--- PASS: TestOrderIsPublished" in run(
        go, "test", "-v", "./...", cwd=folder, env=os.environ | {"PATH": path}
    )


def test_node_example_passes(tmp_path: Path, path: str) -> None:
    npm = tool("npm", "apt-get install npm")
    folder = copied("node", tmp_path)
    run(npm, "install", "--no-package-lock", "--no-audit", "--no-fund", cwd=folder)
    assert "# pass 1" in run(npm, "test", cwd=folder, env=os.environ | {"PATH": path})
