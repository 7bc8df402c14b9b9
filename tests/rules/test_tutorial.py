"""The tutorial works as printed: its files are written and its commands run in order, with the output that it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.source import ROOT

from .snippets import PLUGIN, snippets

pytestmark = pytest.mark.slow

BLOCKS = snippets(ROOT / "docs" / "tutorial.md")


def written(language: str) -> str | None:
    """Return the name of the file that a block is written to."""
    found = re.fullmatch(r'python title="(\w+\.py)"', language)
    return found[1] if found else None


def save(name: str, text: str, directory: Path) -> None:
    """Write a file of the tutorial. Tests are added to the file, and other code replaces it."""
    file = directory / name
    before = file.read_text() + "\n\n" if name.startswith("test_") and file.exists() else ""
    file.write_text(before + text)


def run(command: str, directory: Path) -> str:
    """Run pytest as the tutorial does, and return what it prints."""
    name, *arguments = command.split()
    assert name == "pytest"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *PLUGIN, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=directory,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    return done.stdout


def comparable(line: str) -> str:
    """Return a line without the time it took, and without the frame around a summary."""
    return re.sub(r" in \d+\.\d+s.*", "", line.strip("= "))


def test_tutorial_shows_what_its_commands_print(tmp_path: Path) -> None:
    printed = ""
    shown = 0
    for block in BLOCKS:
        if name := written(block.language):
            save(name, block.text, tmp_path)
        elif block.text.startswith("pytest"):
            printed = run(block.text, tmp_path)
        elif block.language == "text":
            lines = [comparable(line) for line in printed.splitlines()]
            missing = [line for line in map(comparable, block.text.splitlines()) if line not in (*lines, "...")]
            assert missing == [], f"{block.name}\n{printed}"
            shown += 1
    assert shown == 6


def test_tutorial_has_ten_tests() -> None:
    assert sum(block.text.count("def test_") for block in BLOCKS) == 10
