"""Tests of the tables of `kafkalet ctl`."""

from kafkalet.commands.tables import cell, table


def test_numbers_are_aligned_to_the_right() -> None:
    assert table(("NAME", "N"), [("a", 5), ("longer", 1000), ("b", None)]).splitlines() == [
        "NAME       N",
        "a          5",
        "longer  1000",
        "b          -",
    ]


def test_table_without_rows_is_its_header() -> None:
    assert table(("A", "B"), []) == "A  B"


def test_cell_is_one_line_of_limited_length() -> None:
    assert cell("a\nb\x00") == "a\\nb\\x00"
    assert cell("x" * 500) == "x" * 117 + "..."
    assert [cell(None), cell(True), cell([1, 2])] == ["-", "yes", "1,2"]
