"""`kafkalet_spark.plan`: the output of --dry-run."""

import pytest

from kafkalet_spark.live.reading import LiveSplit
from kafkalet_spark.logs.splits import Piece, Split
from kafkalet_spark.origin import PartitionRange
from kafkalet_spark.plan import expected, megabytes, reading_text, readings, settings_text, table
from kafkalet_spark.progress import ExpectedWork

T0, T1 = PartitionRange("flights", 0, 0, 112_258), PartitionRange("flights", 1, 5, 10)
SPLITS = [
    Split("flights", 0, 0, 60_000, (Piece("/d/a.log", 0, 600, False), Piece("/d/b.log", 0, 100, True)), 12_000_000),
    Split("flights", 0, 60_000, 112_258, (Piece("/d/b.log", 100, 300, True),), 300_000),
]


def test_files_are_counted_once_and_bytes_by_split() -> None:
    found = readings([T0, T1], SPLITS)
    assert [(each.range, each.splits, each.files, each.size_bytes) for each in found] == [
        (T0, 2, 2, 12_300_000),
        (T1, 0, 0, 0),
    ]


def test_plan_for_a_broker_has_no_bytes() -> None:
    (found,) = readings([T1], [LiveSplit("flights", 1, 5, 10)])
    assert (found.splits, found.files, found.size_bytes) == (1, None, None)
    assert "-" in reading_text([found]).splitlines()[1].split()[-1]


def test_the_table_has_a_total() -> None:
    assert reading_text(readings([T0, T1], SPLITS)) == (
        "topic    partition  offsets       splits  files  bytes\n"
        "flights  0          0 to 112,258  2       2      12.3 MB\n"
        "flights  1          5 to 10       0       0      0 B\n"
        "total    2          112,263       2       2      12.3 MB\n"
    )


def test_expected_work_is_that_of_the_plan() -> None:
    assert expected(readings([T0, T1], SPLITS)) == ExpectedWork(112_263, 12_300_000, 2)


def test_settings_that_are_none_are_not_shown() -> None:
    assert settings_text({"out": "/dump", "compression": None, "run": 1}) == "out  /dump\nrun  1\n"
    assert settings_text({}) == ""


def test_table_without_rows_has_only_headings() -> None:
    assert table(["a", "bc"], []) == "a  bc\n"


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (12_345_678, "12.3 MB"), (5_000_000_000, "5.0 GB")]
)
def test_sizes_are_formatted_in_decimal_units(size: int, text: str) -> None:
    assert megabytes(size) == text
