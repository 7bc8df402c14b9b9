"""The figures of README.md and docs/index.md are those of docs/performance.md, and recorded responses are counted."""

import re
from pathlib import Path

import pytest

from kafkalet_conformance.catalog import scenarios
from kafkalet_conformance.transcripts import load
from tests.source import ROOT

from .snippets import DOCUMENTS
from .test_links import prose

FIGURE = re.compile(r"\d[\d,.]*(?: to \d[\d,.]*)? (?:ms|s|KiB|MiB|MB/s|requests/s)(?![\w/])")


def figures(text: str) -> set[str]:
    return set(FIGURE.findall(" ".join(text.split())))


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_figures_are_in_the_first_table_of_the_performance_page(name: str) -> None:
    table = prose(ROOT / "docs" / "performance.md").partition("## In short\n")[2].partition("\n## ")[0]
    shown = figures(prose(ROOT / name))
    assert shown
    assert shown <= figures(table)


def test_number_of_recorded_responses_is_true_in_every_document() -> None:
    recorded = sum(1 for name in scenarios() for _ in load(name).apis())
    found = {(file, number) for file in DOCUMENTS for number in responses(file)}
    assert {file.name for file, _ in found} >= {"README.md", "index.md", "compatibility.md"}
    assert {(file.name, number) for file, number in found if not 0.9 * recorded <= number <= recorded} == set()


def responses(file: Path) -> list[int]:
    """Return the numbers before `recorded responses` in a document."""
    text = " ".join(file.read_text(encoding="utf-8").split())
    return [int(number.replace(",", "")) for number in re.findall(r"(\d[\d,]*) recorded responses", text)]
