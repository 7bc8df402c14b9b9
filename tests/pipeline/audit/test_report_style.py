"""The style knows light and dark, and every mark that is drawn."""

from __future__ import annotations

import re

from kafkalet.pipeline.audit.report_style import STYLE
from kafkalet.pipeline.audit.transactions import RESULTS


def test_every_mark_has_a_colour() -> None:
    for kind in (*RESULTS, "data", "late"):
        assert f".{kind}{{fill:" in STYLE


def test_every_colour_is_there_in_light_and_in_dark() -> None:
    light, dark = STYLE.split("prefers-color-scheme:dark")
    names = set(re.findall(r"(--[a-z-]+):", light))
    assert names == set(re.findall(r"(--[a-z-]+):", dark))
    assert set(re.findall(r"var\((--[a-z-]+)\)", STYLE)) <= names
