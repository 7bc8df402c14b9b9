"""No statement is followed by an identical one: such a statement is a leftover, and harmless only by chance. Scenarios
may send a request twice.
"""

import ast
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from tests.source import MODULES, name_of, nodes_of

from .every import for_every


def repeated(nodes: Iterable[ast.AST]) -> list[int]:
    """Return the lines of the statements that equal the statement before them."""
    blocks = [
        block
        for node in nodes
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
        if isinstance(block, list)
    ]
    return [
        b.lineno
        for block in blocks
        for a, b in pairwise(block)
        if extent(a) == extent(b) and ast.dump(a) == ast.dump(b)
    ]


def extent(statement: ast.stmt) -> tuple[int, int | None]:
    """Return the number of lines and the last column, which are the same for equal statements of a block."""
    return (statement.end_lineno or 0) - statement.lineno, statement.end_col_offset


def test_repeated_statements_are_found() -> None:
    source = (
        "def f():\n    g(1)\n    g(1)\n    g(2)\n    if a:\n        b = 1\n    else:\n        b = 2\n        b = 2\n"
    )
    assert repeated(ast.walk(ast.parse(source))) == [3, 9]


@for_every([path for path in MODULES if not name_of(path).startswith("tools.recording.scenarios.")], name_of)
def test_no_statement_is_repeated(path: Path) -> None:
    assert repeated(nodes_of(path)) == []
