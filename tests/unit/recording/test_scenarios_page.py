"""Tests of the page that lists the scenarios."""

from kafkalet_conformance.catalogue import AREAS, scenarios
from tools.recording import scenarios_page


def test_page_is_up_to_date() -> None:
    written = scenarios_page.FILE.read_text(encoding="utf-8")
    assert written == scenarios_page.page(), f"{scenarios_page.FILE} is out of date; run {scenarios_page.COMMAND}"


def test_page_has_one_row_for_each_area_and_scenario() -> None:
    rows = [line.split("`")[1] for line in scenarios_page.page().splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted([*AREAS, *scenarios()])
