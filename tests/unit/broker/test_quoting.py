import ast
from pathlib import Path

import pytest

import kafkalet.broker
from kafkalet.broker.quoting import LONGEST, quoted

BROKER = Path(kafkalet.broker.__file__).parent
LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
CLIENT_TEXTS = {"group_id", "member_id", "transactional_id", "instance_id", "client_id", "topic", "expression"}
"""Names of what clients choose freely, in the code that logs it."""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("orders", "'orders'"),
        ("a\nERROR broken", r"'a\nERROR broken'"),
        ("\x1b[31m", r"'\x1b[31m'"),
        ("g" * LONGEST, repr("g" * LONGEST)),
        ("g" * 30_000, repr("g" * LONGEST) + "... (30000 characters)"),
        (None, "'None'"),
    ],
)
def test_quoted_texts(text: object, line: str) -> None:
    assert quoted(text) == line


def logged(tree: ast.AST) -> list[ast.expr]:
    """The arguments of all calls that log."""
    return [
        argument
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in LEVELS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id.lower().strip("_") == "log"
        for argument in node.args[1:]
    ]


def test_what_clients_choose_is_quoted_in_log_lines() -> None:
    arguments = [(path, argument) for path in BROKER.rglob("*.py") for argument in logged(ast.parse(path.read_text()))]
    assert len(arguments) > 50
    for path, argument in arguments:
        name = argument.attr if isinstance(argument, ast.Attribute) else getattr(argument, "id", "")
        assert name not in CLIENT_TEXTS, f"{path}:{argument.lineno} logs {name} without quoted()"
