"""Help texts in the width of the terminal. Imported when a help text is shown, because its modules take time."""

import shutil
from collections.abc import Iterable, Sequence
from textwrap import fill, wrap

from .command_line import Option

WIDEST = 100
NARROWEST = 60
COLUMN = 21
"""Where the descriptions of options begin."""


def help_page(usage: str, text: str, options: Sequence[Option], before_options: str = "Options:") -> str:
    """Return the help of a command. The paragraphs of `text` are filled."""
    described = filled(f"usage: {usage}\n\n{text}")
    return f"{described}\n\n{before_options}\n\n{option_lines(options)}\n"


def filled(text: str) -> str:
    """Fill the paragraphs of a text. Those with an indented line stay as they are, apart from the usage."""
    return "\n\n".join(map(_filled, text.split("\n\n")))


def _filled(paragraph: str) -> str:
    if paragraph.startswith("usage: "):
        return "\n".join(fill(line, _width(), subsequent_indent=f"{'':11}") for line in paragraph.split("\n"))
    is_table = paragraph.startswith(" ") or "\n " in paragraph
    return paragraph if is_table else fill(paragraph, _width(), break_on_hyphens=False)


def option_lines(options: Iterable[Option], column: int = COLUMN) -> str:
    """Return the lines that describe options: name and value on the left, the description on the right."""
    return definitions(
        ((f"{', '.join((*each.aliases, each.name))} {each.value}".rstrip(), each.help) for each in options), column
    )


def definitions(pairs: Iterable[tuple[str, str]], column: int) -> str:
    """Return the lines that describe names. The descriptions begin at a column."""
    return "\n".join(line for name, text in pairs for line in _two_columns(name, text, column))


def _two_columns(left: str, right: str, column: int) -> list[str]:
    column = min(column, _width() * 2 // 5)
    first, *rest = wrap(right, _width() - column, break_on_hyphens=False)
    start = [f"  {left}", f"{'':{column}}{first}"] if len(left) > column - 4 else [f"  {left:{column - 2}}{first}"]
    return [*start, *(f"{'':{column}}{line}" for line in rest)]


def _width() -> int:
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns))
