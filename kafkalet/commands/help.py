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
    return f"usage: {usage}\n\n{filled(text)}\n\n{before_options}\n\n{option_lines(options)}\n"


def filled(text: str) -> str:
    """Fill the paragraphs of a text. Those with an indented line, and the usage, stay as they are."""
    width = _width()
    return "\n\n".join(
        each if each.startswith((" ", "usage:")) or "\n " in each else fill(each, width, break_on_hyphens=False)
        for each in text.split("\n\n")
    )


def option_lines(options: Iterable[Option], column: int = COLUMN) -> str:
    """Return the lines that describe options: name and value on the left, the description on the right."""
    lines = []
    for option in options:
        names = ", ".join((*option.aliases, option.name))
        lines += _two_columns(f"{names} {option.value}".rstrip(), option.help, column)
    return "\n".join(lines)


def command_lines(commands: Iterable[tuple[str, str]]) -> str:
    """Return the lines that describe commands, which are pairs of a name and a description."""
    return "\n".join(line for name, text in commands for line in _two_columns(name, text, 14))


def _two_columns(left: str, right: str, column: int) -> list[str]:
    first, *rest = wrap(right, _width() - column, break_on_hyphens=False)
    start = [f"  {left}", f"{'':{column}}{first}"] if len(left) > column - 4 else [f"  {left:{column - 2}}{first}"]
    return [*start, *(f"{'':{column}}{line}" for line in rest)]


def _width() -> int:
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns))
