"""Names: a module is a noun of one idea and opens with what it is."""

import ast
import re
from pathlib import Path

from tests.source import MODULES, SOURCE, name_of, tree_of

from .every import for_every

EMPTY_WORDS = {"utils", "util", "helpers", "helper", "common", "misc", "base", "stuff", "tools"}
EMPTY_SUFFIXES = ("Manager", "Handler", "Impl", "Helper", "Util", "Utils")

by_name = for_every(MODULES, name_of)


@by_name
def test_modules_open_with_what_they_are(path: Path) -> None:
    text = ast.get_docstring(tree_of(path))
    assert text, "no docstring"
    assert text.split("\n")[0].rstrip().endswith((".", ":", "?"))


@by_name
def test_modules_and_classes_have_names_that_say_something(path: Path) -> None:
    assert path.stem not in EMPTY_WORDS
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ClassDef):
            assert not node.name.endswith(EMPTY_SUFFIXES), node.name


@by_name
def test_durations_and_sizes_carry_their_unit(path: Path) -> None:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.arg):
            assert not re.fullmatch(r"(\w*_)?(timeout|delay|interval|duration|max_wait)", node.arg), node.arg


@by_name
def test_nothing_speaks_of_where_it_was_written(path: Path) -> None:
    assert not re.search(r"/work/|/tmp/venv|\bshared/", path.read_text())


def test_every_directory_of_the_package_is_one() -> None:
    for directory in {path.parent for path in SOURCE.rglob("*.py")}:  # an old checkout may leave bytecode of others
        assert (directory / "__init__.py").exists(), directory
