"""Spelling is American, and the lines of documents have one width."""

import re
from pathlib import Path

import pytest

from tests.source import MODULES, ROOT

from .snippets import DOCUMENTS

BRITISH = re.compile(
    r"[Bb]ehaviou(?=r)|[Cc]atalogu(?=e)|[Cc]olou(?=r)|[Hh]onou(?=r)|[Ll]icenc(?=e)|[Nn]eighbou(?=r)|[Rr]ecognis(?=e)"
)
WIDTH = 132
"""The longest line of prose. Tables, headings, code and images are not wrapped."""
CHECKED = [*MODULES, *sorted((ROOT / "tests").rglob("*.py")), *DOCUMENTS]


def test_spelling_is_american() -> None:
    found = {path.relative_to(ROOT).as_posix() for path in CHECKED if BRITISH.search(path.read_text(encoding="utf-8"))}
    assert found == set()


def long_lines(text: str) -> list[str]:
    """Return the lines of prose that are too long."""
    generated = re.sub(r"^<!-- generated: .*?^<!-- end -->$", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = re.sub(r"^ *```.*?^ *```$", "", generated, flags=re.MULTILINE | re.DOTALL).splitlines()
    return [line for line in lines if len(line) > WIDTH and not line.lstrip().startswith(("|", "#", "<", "!["))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_prose_is_wrapped(document: Path) -> None:
    assert long_lines(document.read_text(encoding="utf-8")) == []


def test_long_line_of_prose_is_found() -> None:
    assert long_lines(f"{'word ' * 30}\n| {'cell ' * 30} |\n```text\n{'code ' * 30}\n```\n") == [("word " * 30)]
