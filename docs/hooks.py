"""Steps of `make docs` that MkDocs does not have.

A line `<!-- output of: kafkalet serve --help -->` is replaced by the output of that command, and a line
`<!-- contents of: CHANGELOG.md -->` by a file in the root of the repository. Names of properties and
options in tables may break after a dot, a comma or a word, so that tables fit on narrow screens.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_MODULES = {"kafkalet": "kafkalet", "kafkalet-spark": "kafkalet_spark.jobs"}
"""The commands whose output is put into pages."""
_CELL = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)
_CODE = re.compile(r"<code>([^<]*)</code>")
_MARK = re.compile(r"^<!-- (output|contents) of: (.+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the marks of a page."""
    return _MARK.sub(lambda mark: _output(mark[2]) if mark[1] == "output" else _contents(mark[2]), markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Allow line breaks in the code of table cells."""
    return _CELL.sub(lambda cell: _CODE.sub(_with_breaks, cell[0]), html)


def _with_breaks(code: re.Match[str]) -> str:
    return "<code>" + re.sub(r"(?<=[.,])(?=\w)|(?<=[a-z])(?=[A-Z])", "<wbr>", code[1]) + "</code>"


def _output(command: str) -> str:
    name, *arguments = command.split()
    done = subprocess.run(
        [sys.executable, "-m", _MODULES[name], *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=os.environ
        | {"COLUMNS": "88", "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("conformance", "spark"))},
    )
    return f"```text\n{done.stdout.rstrip()}\n```"


def _contents(name: str) -> str:
    """The text of a file, with its links to docs/ as this directory sees them."""
    return (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
