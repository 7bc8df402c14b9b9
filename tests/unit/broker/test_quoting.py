import ast
import re
from pathlib import Path

import pytest

import kafkalet.broker
import kafkalet.control
from kafkalet.broker.quoting import LONGEST, LONGEST_SENTENCE, quoted, shown

BROKER = Path(kafkalet.broker.__file__).parent
CONTROL = Path(kafkalet.control.__file__).parent
LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
NO_TEXT_OF_CLIENTS = {
    *("AUTHORIZERS[0]", "JWKS_URL", "SIGNED_HANDLERS[0]", "_HANDLER", "self.release.name", "task"),
    *("api", "asked", "code.name", "error.code.name", "error.strerror", "route", "took", "leaf.begins", "leaf.ends"),
    *("host", "listener.name", "self._listener", "self.name", "*context.peer[:2]", "*peer", "*self.peer"),
    *("directory.failure", "directory.path", "error.reason", "log.directory", "path", "self._path", "store.file"),
    *("to.path", "assignor", "log.name", "partition.log.name", "topic.name"),
    *("self.log.partition", "self.partition", "shard.log.partition"),
    "os.path.join(self.directory, snapshot.name)",
    *("counted(count, 'partition')", "f'; {hint}' if hint else ''", "fault_text(self.fault)"),
    # These consist of quoted texts:
    *("*names", "name", "reason", "said", "self._question", "self._transaction", "str(self)", "text"),
}
"""Expressions in log calls without strings that clients choose freely. The names of topics that exist are legal."""


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
def test_quoted_text_is_escaped_and_truncated(text: object, line: str) -> None:
    assert quoted(text) == line


@pytest.mark.parametrize(
    ("sentence", "line"),
    [
        ("topic 'a': no such group", "topic 'a': no such group"),
        ("a\nERROR broken \x1b[31m", r"a\nERROR broken \x1b[31m"),
        ("g" * 30_000, "g" * LONGEST_SENTENCE + "... (30000 characters)"),
        (ValueError("a\rb"), r"a\rb"),
    ],
)
def test_sentence_is_shown_on_one_line(sentence: object, line: str) -> None:
    assert shown(sentence) == line


def logged(tree: ast.AST) -> list[ast.expr]:
    """Return the arguments that calls insert into log lines as text."""
    found: list[ast.expr] = []
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id.lower().strip("_") == "log"):
            continue
        arguments = node.args[1:] if node.func.attr == "log" else node.args
        if isinstance(arguments[0], ast.Constant) and isinstance(arguments[0].value, str):
            fields = re.findall(r"%(?:\.\d)?([sdrf])", arguments[0].value)
            values = [each for argument in arguments[1:] for each in parts(argument)]
            found += [v for kind, v in zip(fields, values, strict=False) if kind in "sr"]
            found += values[len(fields) :]
        else:
            found.append(arguments[0])
    return found


def parts(argument: ast.expr) -> list[ast.expr]:
    """Return the elements of a tuple that is unpacked, or the argument itself."""
    if isinstance(argument, ast.Starred) and isinstance(argument.value, ast.Tuple):
        return argument.value.elts
    return [argument]


@pytest.mark.parametrize("path", sorted([*BROKER.rglob("*.py"), *CONTROL.rglob("*.py")]), ids=lambda path: path.stem)
def test_values_that_clients_choose_are_quoted_in_log_lines(path: Path) -> None:
    unquoted = [
        f"{path.name}:{argument.lineno} logs {ast.unparse(argument)}: use quoted() or shown()"
        for argument in logged(ast.parse(path.read_text(encoding="utf-8")))
        if not (isinstance(argument, ast.Call) and ast.unparse(argument.func) in ("explain", "quoted", "shown"))
        if not isinstance(argument, ast.Constant)
        if ast.unparse(argument) not in NO_TEXT_OF_CLIENTS
    ]
    assert unquoted == []
