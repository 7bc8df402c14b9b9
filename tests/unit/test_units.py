"""Tests of sizes, durations and times as text."""

import pytest

from kafkalet.units import counted, duration, named, size, utc


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (20_480, "20 KiB"),
        (1_048_575, "1.0 MiB"),
        (8_012_227, "7.6 MiB"),
        (5 << 30, "5.0 GiB"),
        (5 << 50, "5120 TiB"),
    ],
)
def test_size_has_a_unit_that_is_a_power_of_1024(value: int | None, text: str) -> None:
    assert size(value) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 s"),
        (61_000, "1 min 1 s"),
        (120_000, "2 min"),
        (7_260_000, "2 h 1 min"),
        (7_200_000, "2 h"),
        (90_000_000, "25 h"),
        (259_200_000, "3 d"),
        (262_800_000, "3 d 1 h"),
    ],
)
def test_duration_has_at_most_two_units(ms: float, text: str) -> None:
    assert duration(ms) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (1_738_324_800_123, "2025-01-31T12:00:00.123Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1 << 62, str(1 << 62)),
    ],
)
def test_time_is_iso_8601_in_utc(ms: int, text: str) -> None:
    assert utc(ms) == text


def test_noun_agrees_with_its_number() -> None:
    assert [counted(0, "file"), counted(1, "file"), counted(2000, "file")] == ["0 files", "1 file", "2,000 files"]
    assert counted(2, "batch", "batches") == "2 batches"


def test_items_have_their_noun() -> None:
    assert [named("broker", ids) for ids in ([], [1], [1, 2])] == ["no broker", "broker 1", "brokers 1, 2"]
