"""`tools.reference.api`: signatures and docstrings from the source."""

from pathlib import Path

import pytest

from tools.reference import api

SOURCE = '''
from typing import NamedTuple, overload

Text = str | bytes
"""A text."""

class Base:
    def kept(self, one: int, *, two: Text = "a rather long default", three: str = "another one, longer") -> None:
        """Keep it."""

    def _private(self) -> None:
        """Not shown."""

class Made(Base):
    """A class."""

    def __init__(self, size: int) -> None:
        self.size = size
        """The size."""
        self.other = 1

    @property
    def half(self) -> float:
        """Half of it."""

    @staticmethod
    def parse(text: str) -> "Made":
        """Parse it."""

    def silent(self) -> None: ...

class Pair(NamedTuple):
    """Two."""

    first: int
    second: int = 2
    """The second."""
'''


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kafkalet_sample.py").write_text(SOURCE)
    monkeypatch.setattr(api, "FOLDERS", {"kafkalet_sample": tmp_path})


def test_class_has_constructor_docstring_attributes_and_methods_with_inherited_ones() -> None:
    assert api.class_("kafkalet_sample.Made").splitlines() == [
        *("```py", "Made(size: int)", "```", "", "A class.", ""),
        *("- **`size`**: `int`  ", "  The size."),
        *("- **`half`**: `float`  ", "  Half of it.", ""),
        *("#### Made.parse", "", "```py", "@staticmethod", "parse(text: str) -> Made", "```", "", "Parse it.", ""),
        *("#### Made.kept", "", "```py", "kept("),
        *("    one: int,", "    *,", '    two: Text = "a rather long default",'),
        *('    three: str = "another one, longer",', ") -> None", "```", "", "Keep it."),
    ]


def test_options_choose_members() -> None:
    assert "#### Made.kept" not in api.class_("kafkalet_sample.Made", "own")
    assert (
        api.class_("kafkalet_sample.Made", "bare", "only", "half")
        == "A class.\n\n- **`half`**: `float`  \n  Half of it."
    )


def test_fields_of_a_tuple_are_listed_without_docstrings_too() -> None:
    text = api.class_("kafkalet_sample.Pair")
    assert "Pair(first: int, second: int = 2)" in text
    assert "- **`first`**: `int`\n- **`second`**: `int`  \n  The second." in text


def test_alias_shows_what_it_stands_for() -> None:
    assert api.alias("kafkalet_sample.Text") == "- **`Text`**: `str | bytes`  \n  A text."


def test_missing_definition_is_named() -> None:
    with pytest.raises(LookupError, match="kafkalet_sample defines no Nothing"):
        api.class_("kafkalet_sample.Nothing")
