"""report.html has no external references, escapes text, and has a limited size."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kafkalet_spark.audit import report
from kafkalet_spark.audit.comparing import Comparison
from kafkalet_spark.audit.report import STYLE, page
from kafkalet_spark.audit.transaction_history import RESULTS
from kafkalet_spark.audit.verdict import Verdict
from spark.tests.unit.logs.made import CONFIG, Made

from .audited import audited, batch, fill, flip, make, segments, write_log


def test_every_mark_has_a_colour() -> None:
    for kind in (*RESULTS, "data", "late"):
        assert f".{kind}{{fill:" in STYLE


def test_every_colour_is_defined_for_light_and_dark_mode() -> None:
    light, dark = STYLE.split("prefers-color-scheme:dark")
    names = set(re.findall(r"(--[a-z-]+):", light))
    assert names == set(re.findall(r"(--[a-z-]+):", dark))
    assert set(re.findall(r"var\((--[a-z-]+)\)", STYLE)) <= names


class Reader(HTMLParser):
    """Collects tags, and checks that they are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.references: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.references += [value or "" for name, value in attributes if name in ("href", "src", "xlink:href")]
        if tag not in ("meta", "line", "rect", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("meta", "line", "rect", "path"):
            return
        assert self.open.pop() == tag


def test_report_has_no_external_references(tmp_path: Path) -> None:
    text = page(audited(make(tmp_path).path))
    reader = Reader(text)
    assert reader.references == []
    assert not {"script", "link", "iframe", "img"} & set(reader.tags)
    assert not re.search(r"url\(|@import|https?:", text)


def test_the_verdict_comes_first(tmp_path: Path) -> None:
    made = make(tmp_path)
    assert "Everything agrees" in page(audited(made.path))[:5000]
    flip(segments(made)[0], 40)
    text = page(audited(made.path))
    assert "1 disagreement" in text[:5000]
    assert str(segments(made)[0]) in text
    assert "bad checksum" in text


def test_names_are_escaped(tmp_path: Path) -> None:
    made = Made(tmp_path / "data", CONFIG, topic="<script>&amp;")
    fill(made)
    made.close()
    (made.place / '"><img>').write_text("")
    text = page(audited(made.path))
    assert not {"script", "img"} & set(Reader(text).tags)
    assert "&lt;script&gt;&amp;amp;" in text
    assert "&quot;&gt;&lt;img&gt;" in text


def test_logs_with_findings_come_first(tmp_path: Path) -> None:
    write_log(tmp_path, (0, [batch(2 * at) for at in range(20)]), name="large-0")
    write_log(tmp_path, (0, [batch(0), batch(9)]), name="wrong-0")
    text = page(audited(tmp_path))
    assert text.index("<h2>wrong-0") < text.index("<h2>large-0")


def test_size_of_the_report_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for at in range(12):
        write_log(tmp_path, (0, [batch(0), batch(9)]), name=f"many-{at}")
    monkeypatch.setattr(report, "PICTURED", 2)
    monkeypatch.setattr(report, "LOGS", 5)
    monkeypatch.setattr(report, "FINDINGS", 3)
    text = page(audited(tmp_path))
    assert text.count("<figure>") == 2 * 3
    assert "9 more are not shown here" in text
    assert "7 more are not shown here" in text
    assert "Plots of 10 more logs are not shown here" in text


def test_comparison_with_a_broker_is_shown() -> None:
    assert "compared 7 lookups with b:1" in page(Verdict((), Comparison("b:1", 7, 0, (), ())))


def test_report_without_logs_is_a_page() -> None:
    assert "Everything agrees" in page(Verdict((), None))
