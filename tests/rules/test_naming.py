"""Names and docstrings of modules, names of classes, and units in parameter names."""

import ast
import re
from pathlib import Path

from tests.source import MODULES, name_of, nodes_of, room_of, tree_of

from .every import for_every

EMPTY_WORDS = {"utils", "util", "helpers", "helper", "common", "misc", "base", "stuff", "tools"}
EMPTY_SUFFIXES = ("Manager", "Handler", "Impl", "Helper", "Util", "Utils")

by_name = for_every(MODULES, name_of)


@by_name
def test_modules_start_with_a_docstring(path: Path) -> None:
    text = ast.get_docstring(tree_of(path))
    assert text, "no docstring"
    assert text.split("\n")[0].rstrip().endswith((".", ":", "?"))


@by_name
def test_modules_and_classes_have_meaningful_names(path: Path) -> None:
    assert path.stem not in EMPTY_WORDS
    for node in nodes_of(path):
        if isinstance(node, ast.ClassDef):
            assert not node.name.endswith(EMPTY_SUFFIXES), node.name


@by_name
def test_names_of_durations_end_in_their_unit(path: Path) -> None:
    name = name_of(path)
    if room_of(name) == "testing" or name == "kafkalet.embedded" or name.startswith("kafkalet.control.routes"):
        return  # the callers of the test kit and of the API expect `timeout` in seconds, as in the standard library
    for node in nodes_of(path):
        if isinstance(node, ast.arg):
            assert not re.fullmatch(r"(\w*_)?(timeout|delay|interval|duration|max_wait)", node.arg), node.arg


@by_name
def test_source_does_not_mention_development_paths(path: Path) -> None:
    assert not re.search(r"/work/|/tmp/venv|(?<!/mnt/)\bshared/", path.read_text())


def test_every_source_directory_is_a_package() -> None:
    for directory in {path.parent for path in MODULES}:  # an old checkout may leave directories with bytecode only
        assert (directory / "__init__.py").exists(), directory
