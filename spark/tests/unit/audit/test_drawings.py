"""Axes have round tick values, and marks are at the right positions."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet_spark.audit.drawings import (
    LEFT,
    RIGHT,
    WIDTH,
    Plot,
    duration,
    linear,
    logarithmic,
    moment,
    number,
    size,
    sizes,
    times,
)


@given(st.integers(0, 10**15), st.integers(0, 10**15))
def test_linear_axis_has_few_ticks_within_its_range(low: int, span: int) -> None:
    axis = linear(low, low + span, "x")
    assert len(axis.ticks) <= 7
    assert all(axis.low * (1 - 1e-6) <= tick.value <= axis.high * (1 + 1e-6) for tick in axis.ticks)


@given(st.floats(0, 1e15))
def test_size_axis_begins_at_0(high: float) -> None:
    axis = linear(0, high, "x")
    assert axis.ticks[0].value == 0
    assert 1 <= len(axis.ticks) <= 7
    assert axis.low < axis.high


@given(st.integers(0, 1 << 62), st.integers(0, 1 << 50))
def test_time_axis_has_few_ticks_within_its_range(low: int, span: int) -> None:
    axis = times(low, low + span)
    assert len(axis.ticks) <= 7
    assert all(axis.low <= tick.value * (1 + 1e-12) and tick.value <= axis.high * (1 + 1e-12) for tick in axis.ticks)


def test_ticks_of_time_are_round() -> None:
    axis = times(1_700_000_003_000, 1_700_000_043_000)
    assert [tick.text for tick in axis.ticks] == [
        "2023-11-14 22:13:30",
        "22:13:40",
        "22:13:50",
        "22:14",
    ]


def test_ticks_of_sizes_are_round() -> None:
    assert [tick.text for tick in sizes(900_000, "b").ticks][:3] == ["0 B", "200 KiB", "400 KiB"]


def test_logarithmic_axis_has_ticks_at_powers_of_ten() -> None:
    axis = logarithmic(5000, "y", duration)
    assert [tick.text for tick in axis.ticks] == ["0 ms", "1 ms", "10 ms", "100 ms", "1 s"]
    assert axis.share(0) == 0
    assert axis.share(5000) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (number(1234), "1,234"),
        (number(5_600_000), "5.6 M"),
        (number(0.25), "0.25"),
        (number(1156.4), "1,156"),
        (size(1536), "1.5 KiB"),
        (size(2 << 40), "2 TiB"),
        (duration(90_000), "1.5 min"),
        (duration(5), "5 ms"),
        (moment(0), "1970-01-01 00:00:00"),
        (moment(1e18), "1,000,000,000,000,000,000 ms"),
    ],
)
def test_numbers_are_short(text: str, expected: str) -> None:
    assert text == expected


def test_marks_are_within_the_axes_and_text_is_escaped() -> None:
    plot = Plot(linear(0, 10, "<x>"), linear(0, 1, 'a "y"'), "<&>")
    plot.box(5, 10, 0, 1, "data", "<b>")
    plot.steps([(0, 5, 0.5)], "late")
    root = ElementTree.fromstring(plot.svg())
    box = root.find("rect")
    assert box is not None
    x, width = float(box.get("x", "")), float(box.get("width", ""))
    assert x == pytest.approx((LEFT + WIDTH - RIGHT) / 2, abs=0.1)
    assert x + width == pytest.approx(WIDTH - RIGHT, abs=0.2)
    assert box[0].text == "<b>"
    path = root.find("path")
    assert path is not None
    assert re.match(r"M76\.0 \d", path.get("d", ""))
    assert root.get("aria-label") == "<&>"


def test_small_marks_are_visible() -> None:
    plot = Plot(linear(0, 1e9, "x"), linear(0, 1, "y"), "")
    plot.box(5, 5, 0, 0, "data")
    box = ElementTree.fromstring(plot.svg()).find("rect")
    assert box is not None
    assert (box.get("width"), box.get("height")) == ("2.0", "2.0")
