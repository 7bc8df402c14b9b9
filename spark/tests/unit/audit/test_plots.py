"""The plots of a log, with a limited number of marks."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from kafkalet_spark.audit.plots import MOST_SPANS, Picture, pictures
from kafkalet_spark.audit.series import POINTS
from spark.tests.unit.logs.made import Made

from .audited import audited, batch, make, marker, only, sent, write_log


def drawn(path: Path) -> dict[str, Picture]:
    return {picture.title: picture for picture in pictures(only(audited(path)))}


def marks(picture: Picture, kind: str = "rect") -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(picture.svg).iter(kind))


def test_log_with_all_kinds_of_data_has_all_plots(tmp_path: Path) -> None:
    titles = list(drawn(make(tmp_path).path))
    assert titles == ["Offsets over time", "Throughput", "Lateness", "Transactions", "Most frequent keys"]


def test_empty_plots_are_omitted(tmp_path: Path) -> None:
    assert list(drawn(write_log(tmp_path, (0, [batch(0)])))) == [
        "Offsets over time",
        "Throughput",
        "Most frequent keys",
    ]
    assert list(drawn(write_log(tmp_path, (0, []), name="empty-0"))) == []


def test_log_append_time_has_a_lag_plot(tmp_path: Path) -> None:
    def write(made: Made) -> None:
        made.append_time(1, 50)

    assert "Lag from event to append" in drawn(make(tmp_path, write).path)


def test_transactions_are_spans_of_three_kinds(tmp_path: Path) -> None:
    spans = marks(drawn(make(tmp_path).path)["Transactions"])
    kinds = [span.get("class") for span in spans]
    assert (kinds.count("committed"), kinds.count("aborted"), kinds.count("open")) == (3, 9, 1)


def test_longest_and_open_transactions_are_drawn_among_many(tmp_path: Path) -> None:
    batches = [sent(0, 1, 0, open_=True)]
    for at in range(400):
        batches += [sent(2 + 3 * at, 2, 2 * at, open_=True), marker(4 + 3 * at, 2, commit=True)]
    picture = drawn(write_log(tmp_path, (0, batches)))["Transactions"]
    spans = marks(picture)
    assert len(spans) == MOST_SPANS
    assert sum(span.get("class") == "open" for span in spans) == 1
    assert "300 of 401" in picture.explanation


@pytest.mark.slow
def test_long_log_has_a_limited_number_of_marks(tmp_path: Path) -> None:
    directory = write_log(tmp_path, (0, [batch(2 * at) for at in range(3000)]))
    pictures_of = drawn(directory)
    assert 100 < len(marks(pictures_of["Offsets over time"])) <= POINTS
    assert sum(len(picture.svg) for picture in pictures_of.values()) < 300_000


def test_keys_are_shown_as_shares_of_all_records(tmp_path: Path) -> None:
    picture = drawn(make(tmp_path).path)["Most frequent keys"]
    (bar,) = marks(picture)
    assert bar[0].text is not None
    assert bar[0].text.startswith("key: ")
    assert "100 %" in bar[0].text
