"""Tests of the page that lists the scenarios."""

from pathlib import Path

import pytest

from kafkalet.conformance.catalogue import AREAS, scenarios
from kafkalet.conformance.recording import scenarios_page


def test_page_is_up_to_date() -> None:
    written = scenarios_page.FILE.read_text(encoding="utf-8")
    assert written == scenarios_page.page(), f"{scenarios_page.FILE} is out of date; run {scenarios_page.COMMAND}"


def test_page_has_one_row_for_each_area_and_scenario() -> None:
    rows = [line.split("`")[1] for line in scenarios_page.page().splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted([*AREAS, *scenarios()])


def test_page_is_not_written_outside_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "docs" / "page.md"
    monkeypatch.setattr(scenarios_page, "FILE", page)
    scenarios_page.write()
    assert not page.exists()
