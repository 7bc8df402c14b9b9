"""Tests of the tables of `kafkalet ctl`."""

import pytest

from kafkalet.commands.tables import cell, data_cell, table


def test_numbers_are_aligned_to_the_right() -> None:
    assert table(("NAME", "N"), [("a", 5), ("longer", 1000), ("b", None)]).splitlines() == [
        "NAME       N",
        "a          5",
        "longer  1000",
        "b          -",
    ]


def test_sizes_are_aligned_to_the_right() -> None:
    assert table(("SIZE", "N"), [("512 B", 5), ("1.5 KiB", 1000)]).splitlines() == [
        "   SIZE     N",
        "  512 B     5",
        "1.5 KiB  1000",
    ]


@pytest.mark.parametrize(
    ("value", "encoding", "text"),
    [
        (None, "text", None),
        ("-", "text", '"-"'),
        ("", "text", '""'),
        ("null", "text", "null"),
        ("/w==", "base64", "base64:/w=="),
        ("base64:/w==", "text", '"base64:/w=="'),
    ],
)
def test_text_value_is_distinguished_from_null_and_base64(value: str | None, encoding: str, text: str | None) -> None:
    assert data_cell(value, encoding) == text


def test_table_without_rows_is_its_header() -> None:
    assert table(("A", "B"), []) == "A  B"


def test_cell_is_one_line_of_limited_length() -> None:
    assert cell("a\nb\x00") == "a\\nb\\x00"
    assert cell("x" * 500) == "x" * 117 + "..."
    assert [cell(None), cell(True), cell([1, 2])] == ["-", "yes", "1,2"]
