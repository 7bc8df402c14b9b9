"""`tools.reference.scenarios`: the list of scenarios."""

from kafkalet_conformance.catalog import AREAS, scenarios
from tools.reference.scenarios import ranges, text


def test_list_has_one_row_for_each_area_and_scenario() -> None:
    rows = [line.split("`")[1] for line in text().splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted([*AREAS, *scenarios()])


def test_neighboring_releases_are_a_range() -> None:
    assert ranges(["2.8", "3.8", "3.9", "4.0", "4.4"], ["2.8", "3.8", "3.9", "4.0", "4.3", "4.4"]) == ["2.8-4.0", "4.4"]
