"""The options of a broker are documented: each one in the docstring of kafkalet.Cluster and in docs/testing.md."""

import inspect
import re

import kafkalet
from tests.source import ROOT

OPTIONS = {name: option for name, option in inspect.signature(kafkalet.Cluster).parameters.items() if name != "unknown"}


def test_table_has_every_option_with_its_default() -> None:
    text = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    table = text.partition("| option | type | default |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \| .+? \| `(.+?)` \| .+ \|$", table, re.MULTILINE)
    assert rows == [(name, repr(option.default)) for name, option in OPTIONS.items()]


def test_docstring_describes_every_option() -> None:
    bullets = [line for line in (inspect.getdoc(kafkalet.Cluster) or "").splitlines() if line.startswith("* ")]
    described = [name for line in bullets for name in re.findall(r"`(\w+)` \(", line.partition("): ")[0] + ")")]
    assert described == list(OPTIONS)
