"""Options and the parsers of their values, shared by reading, writing and auditing.

Sizes are in bytes, times in milliseconds. The option tables are in option_table.py and, for options that exist only on
the command line, in commands/command_line.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

INT64 = range(-(1 << 63), 1 << 63)
INT32 = range(-(1 << 31), 1 << 31)

Parser = Callable[[str], Any]
"""Parses the text of an option. Raises NotAllowed."""


class BadOption(ValueError):
    """An option is unknown or invalid, or contradicts another option. The message names the option."""


class NotAllowed(ValueError):
    """An option does not accept the value."""

    def __init__(self, allowed: str, value: str | int) -> None:
        super().__init__(allowed, value)
        self.allowed = allowed
        self.value = value


class Option(NamedTuple):
    """One row of an option table. It defines parsing, the command-line flag, --help and the row in docs/pipeline.md."""

    name: str
    """In Spark's notation (`startingOffsets`), or with dashes if the option exists only on the command line."""
    takes: str
    """The placeholder for the value in --help; empty for a switch."""
    help: str
    """The text for --help, which omits the backquotes."""
    more: str = ""
    """Additional text that appears only in the documentation."""
    parse: Parser = str
    default: str | None = None
    """The default as a user would write it; None if the option has no effect unless set."""
    flag: bool = True
    """Whether the option is also a command-line flag."""
    choices: tuple[str, ...] = ()
    repeatable: bool = False
    required: bool = False

    @property
    def flag_name(self) -> str:
        """The name of the flag, such as `--starting-offsets` for startingOffsets."""
        return "--" + re.sub(r"(?=[A-Z])", "-", self.name).lower()

    @property
    def default_value(self) -> Any:
        return None if self.default is None else self.parse(self.default)


class GivenOptions:
    """The options that a user has set, parsed according to a table. Names are case-insensitive.

    `refusal` formats an error message from the name of the option and the NotAllowed error.
    """

    def __init__(
        self, texts: Mapping[str, str], table: Iterable[Option], refusal: Callable[[str, NotAllowed], str]
    ) -> None:
        self._texts = {name.lower(): text for name, text in texts.items()}
        self._table = {option.name: option for option in table}
        self._refusal = refusal

    def text(self, name: str) -> str | None:
        """Return an option as a string, or None if it is not set."""
        return self._texts.get(self._table[name].name.lower())

    def __getitem__(self, name: str) -> Any:
        """Return the value of an option, or its default. Raises BadOption."""
        option = self._table[name]
        text = self.text(name)
        if text is None:
            return option.default_value
        try:
            return option.parse(text)
        except NotAllowed as wrong:
            raise BadOption(self._refusal(option.name, wrong)) from None


def one_of(*choices: str, allowed: str | None = None) -> Parser:
    """Return a parser that accepts one of the choices, ignoring case, and returns the choice as it is spelled here."""

    def parse(text: str) -> str:
        for choice in choices:
            if text.strip().lower() == choice.lower():
                return choice
        raise NotAllowed(allowed or f"one of {', '.join(choices)}", text)

    return parse


def boolean(allowed: str = "true or false") -> Parser:
    parse = one_of("true", "false", allowed=allowed)
    return lambda text: parse(text) == "true"


def java_number(within: range = INT64, *, strip: bool = False, positive: bool = False) -> Parser:
    """Return a parser for integers that accepts what Java accepts: ASCII digits without spaces."""

    def parse(text: str) -> int:
        digits = text.strip() if strip else text
        if not re.fullmatch(r"[+-]?[0-9]+", digits) or int(digits) not in within:
            raise NotAllowed(f"a whole number from {within.start} to {within.stop - 1}", digits)
        if positive and int(digits) <= 0:
            raise NotAllowed("positive", int(digits))
        return int(digits)

    return parse


def whole_number(least: int | None = None) -> Parser:
    """Return a parser for integers that accepts what Python accepts."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise NotAllowed("a whole number", text) from None
        if least is not None and number < least:
            raise NotAllowed(f"at least {least}", number)
        return number

    return parse


def share(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise NotAllowed("a number between 0 and 1", text)
    return found


def positive_size(text: str) -> int:
    if not (size := size_bytes(text, "t")):
        raise NotAllowed("a size in bytes or with a unit, like 64m", text)
    return size


def size_within(least: int, most: int | None = None) -> Parser:
    def parse(text: str) -> int:
        number = size_bytes(text, "g")
        if number is None:
            raise NotAllowed("a size in bytes or with a unit, like 64k, 16m or 1g", text)
        if number < least or (most is not None and number > most):
            bounds = f"at least {least}" if most is None else f"between {least} and {most}"
            raise NotAllowed(f"{bounds} bytes", number)
        return number

    return parse


def delay_ms(text: str) -> int:
    if (found := duration_ms(text, "h")) is None:
        raise NotAllowed("a time like 500ms, 30s or 15m", text)
    return found


def span_ms(text: str) -> int:
    """Parse a duration other than zero."""
    if not (found := duration_ms(text, "d")):
        raise NotAllowed("a time in milliseconds or with a unit, like 30s, 12h or 7d", text)
    return found


_SIZE = re.compile(r"(\d+)\s*([kmgt]?)i?b?", re.IGNORECASE)
_SHIFTS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_DURATION = re.compile(r"(\d+)\s*(ms|s|min|m|h|d)?", re.IGNORECASE)
_MILLISECONDS = {"ms": 1, "s": 1000, "min": 60_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def size_bytes(text: str, largest_unit: str) -> int | None:
    """Parse a size such as 5, 64k, "64 MiB" or 2gb.

    Return None for other text and for units larger than `largest_unit` (g or t).
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None or _SHIFTS[unit := match[2].lower()] > _SHIFTS[largest_unit]:
        return None
    return int(match[1]) << _SHIFTS[unit]


def duration_ms(text: str, largest_unit: str) -> int | None:
    """Parse a duration such as 250, 500ms, 30s, 15m or 15min, and return milliseconds. Return None for other text and
    for units larger than `largest_unit` (h or d).
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None or _MILLISECONDS[unit := (match[2] or "ms").lower()] > _MILLISECONDS[largest_unit]:
        return None
    return int(match[1]) * _MILLISECONDS[unit]


def local_path(path: str) -> str:
    """Return the path of a file: URI; other text is returned unchanged."""
    return path.removeprefix("file://") if path.startswith("file:///") else path.removeprefix("file:")
