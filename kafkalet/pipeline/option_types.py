"""What an option is, and the types of its value: text to values, for reading, writing and auditing alike.

Sizes in bytes, times in milliseconds. The tables of options are in option_table.py and, for those that only the command
line has, in commands/command_line.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

INT64 = range(-(1 << 63), 1 << 63)
INT32 = range(-(1 << 31), 1 << 31)

Parser = Callable[[str], Any]
"""Text to a value. Raises NotAllowed."""


class BadOption(ValueError):
    """An option that is not understood, or that contradicts another. The text names it."""


class NotAllowed(ValueError):
    """A value that an option does not take."""

    def __init__(self, allowed: str, value: str | int) -> None:
        super().__init__(allowed, value)
        self.allowed = allowed
        self.value = value


class Option(NamedTuple):
    """One row of a table of options: it drives parsing, the flag of the command line, --help and docs/pipeline.md."""

    name: str
    """As Spark's options are written (`startingOffsets`), or with dashes if only the command line has it."""
    takes: str
    """What stands for its value in --help; a switch takes nothing."""
    help: str
    """Without its backquotes, what --help says."""
    more: str = ""
    """What the documentation says beyond the help."""
    parse: Parser = str
    default: str | None = None
    """As a user would write it; None where the option has no effect unless it is given."""
    flag: bool = True
    """Whether the command line has it."""
    choices: tuple[str, ...] = ()
    repeatable: bool = False
    required: bool = False

    @property
    def flag_name(self) -> str:
        """`--starting-offsets` of startingOffsets."""
        return "--" + re.sub(r"(?=[A-Z])", "-", self.name).lower()

    @property
    def default_value(self) -> Any:
        return None if self.default is None else self.parse(self.default)


class GivenOptions:
    """Options as a user wrote them, read by a table. Names are case-insensitive.

    `refusal` words an error: it is called with the name of the option and what is wrong.
    """

    def __init__(
        self, texts: Mapping[str, str], table: Iterable[Option], refusal: Callable[[str, NotAllowed], str]
    ) -> None:
        self._texts = {name.lower(): text for name, text in texts.items()}
        self._table = {option.name: option for option in table}
        self._refusal = refusal

    def text(self, name: str) -> str | None:
        """What was written, if anything was."""
        return self._texts.get(self._table[name].name.lower())

    def __getitem__(self, name: str) -> Any:
        """The value, or the default. Raises BadOption."""
        option = self._table[name]
        text = self.text(name)
        if text is None:
            return option.default_value
        try:
            return option.parse(text)
        except NotAllowed as wrong:
            raise BadOption(self._refusal(option.name, wrong)) from None


def one_of(*choices: str, allowed: str | None = None) -> Parser:
    """One of the choices, in the letters of the choice whatever those of the text."""

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
    """A number as Java parses it: ASCII digits without blanks."""

    def parse(text: str) -> int:
        digits = text.strip() if strip else text
        if not re.fullmatch(r"[+-]?[0-9]+", digits) or int(digits) not in within:
            raise NotAllowed(f"a whole number of {within.start} to {within.stop - 1}", digits)
        if positive and int(digits) <= 0:
            raise NotAllowed("positive", int(digits))
        return int(digits)

    return parse


def whole_number(least: int | None = None) -> Parser:
    """A number as Python parses it."""

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
        raise NotAllowed("a share between 0 and 1", text)
    return found


def positive_size(text: str) -> int:
    if not (size := size_bytes(text, "t")):
        raise NotAllowed("a size in bytes, or like 64m", text)
    return size


def size_within(least: int, most: int | None = None) -> Parser:
    def parse(text: str) -> int:
        number = size_bytes(text, "g")
        if number is None:
            raise NotAllowed("a size in bytes, or as 64k, 16m, 1g", text)
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
    """A time that is not zero."""
    if not (found := duration_ms(text, "d")):
        raise NotAllowed("a time in milliseconds, or as 30s, 12h, 7d", text)
    return found


_SIZE = re.compile(r"(\d+)\s*([kmgt]?)i?b?", re.IGNORECASE)
_SHIFTS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_DURATION = re.compile(r"(\d+)\s*(ms|s|min|m|h|d)?", re.IGNORECASE)
_MILLISECONDS = {"ms": 1, "s": 1000, "min": 60_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def size_bytes(text: str, largest_unit: str) -> int | None:
    """Bytes of 5, 64k, "64 MiB", 2gb; None for what is no size, or has a larger unit (g or t)."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or _SHIFTS[unit := match[2].lower()] > _SHIFTS[largest_unit]:
        return None
    return int(match[1]) << _SHIFTS[unit]


def duration_ms(text: str, largest_unit: str) -> int | None:
    """Milliseconds of 250, 500ms, 30s, 15m or 15min; None for what is no time, or has a larger unit (h or d)."""
    match = _DURATION.fullmatch(text.strip())
    if match is None or _MILLISECONDS[unit := (match[2] or "ms").lower()] > _MILLISECONDS[largest_unit]:
        return None
    return int(match[1]) * _MILLISECONDS[unit]


def local_path(path: str) -> str:
    """The path that an address of a file names; any other text as it is."""
    return path.removeprefix("file://") if path.startswith("file:///") else path.removeprefix("file:")
