"""`tools.reference.scenarios`: the list of scenarios."""

from kafkalet_conformance.catalog import AREAS, scenarios
from tools.reference.scenarios import text


def test_list_has_one_row_for_each_area_and_scenario() -> None:
    rows = [line.split("`")[1] for line in text().splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted([*AREAS, *scenarios()])
