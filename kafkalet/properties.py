"""Properties as Kafka has them: a dotted name, a type, a default, what is allowed.

A `PropertySet` turns texts (from a command line, a `server.properties` file, a request) into values. Texts are read as
Kafka's `ConfigDef` reads them: spaces around a value do not count, booleans ignore case, numbers are Java's int, long,
short and double with their bounds, lists are separated by commas. The refusals say what Kafka says, because clients
and their tests read these sentences.

A name that the set does not have is a matter for the caller: a warning for a broker's own properties, a refusal for a
topic's.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple, TypedDict

Version = tuple[int, ...]
Value = bool | int | float | str | tuple[str, ...] | None


class InvalidProperty(ValueError):
    """A value that a property cannot have. The text names the property, the value and what is allowed; `text` replaces
    it where Kafka's own differs from the usual form."""

    def __init__(self, name: str, value: str | None, reason: str, text: str | None = None) -> None:
        usual = f"Invalid value {'null' if value is None else value} for configuration {name}: {reason}"
        super().__init__(usual if text is None else text)
        self.name = name
        self.value = value
        self.reason = reason


class Type(Enum):
    """The type of a property; the number is DescribeConfigs' `config_type` (KIP-569)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9

    def parse(self, name: str, text: str) -> Value:
        """The value that `text` stands for; raises InvalidProperty."""
        text = text.strip(_TRIMMED)
        if self in _BOUNDS:
            return _integer(self, name, text)
        if self is Type.BOOLEAN:
            if text.lower() not in ("true", "false"):
                raise InvalidProperty(name, text, "Expected value to be either true or false")
            return text.lower() == "true"
        if self is Type.DOUBLE:
            return _double(name, text)
        if self is Type.LIST:
            return tuple(part.strip(_AROUND_COMMAS) for part in text.split(",")) if text else ()
        return text


_TRIMMED = "".join(map(chr, range(33)))  # String.trim
_AROUND_COMMAS = " \t\n\v\f\r"  # the pattern \\s

# Java's bounds of the whole numbers.
_BOUNDS = {Type.INT: 1 << 31, Type.SHORT: 1 << 15, Type.LONG: 1 << 63}
_MOST_DIGITS = 19


def whole_number(text: str, type_: Type = Type.INT) -> int | None:
    """The number that Integer.parseInt, or the parser of another type, reads from `text`; None where it fails.

    A text may have any length: Python's `int` would refuse one of more than 4,300 digits with a ValueError.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isdecimal():
        return None
    if len(digits) > _MOST_DIGITS:
        zeros = next((place for place, digit in enumerate(digits) if int(digit)), len(digits) - 1)
        digits = digits[zeros:]
    bound = _BOUNDS[type_]
    value = -int(digits[: _MOST_DIGITS + 1]) if text[0] == "-" else int(digits[: _MOST_DIGITS + 1])
    return value if -bound <= value < bound else None


def _integer(type_: Type, name: str, text: str) -> int:
    value = whole_number(text, type_)
    if value is None:
        raise InvalidProperty(name, text, f"Not a number of type {type_.name}")
    return value


# Texts, not compiled patterns: few brokers read a double, and all of them import this module.
_DOUBLE = r"[+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?)"
_HEX_DOUBLE = r"([+-]?0[xX](?:[\da-fA-F]+\.?[\da-fA-F]*|\.[\da-fA-F]+)[pP][+-]?\d+)[fFdD]?"


def _double(name: str, text: str) -> float:
    """As Java's Double.parseDouble reads it: `1.5f`, `.5`, `0x1p-3`, but neither `inf` nor `1_000`."""
    if re.fullmatch(_DOUBLE, text, re.ASCII):
        return float(text if text[-1] in "Ny" else text.rstrip("fFdD"))
    if found := re.fullmatch(_HEX_DOUBLE, text, re.ASCII):
        try:
            return float.fromhex(found[1])
        except OverflowError:
            return float("-inf" if text[0] == "-" else "inf")
    raise InvalidProperty(name, text, "Not a number of type DOUBLE")


def as_text(value: Value) -> str:
    """A value as Java writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _java_double(value)
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _java_double(value: float) -> str:
    """`0.5`, `1.0E-4`, `1.7976931348623157E308` (Double.toString)."""
    if value == 0 or 1e-3 <= abs(value) < 1e7 or value != value or abs(value) == float("inf"):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(value), str(value))
    mantissa, _, exponent = f"{value!r}".partition("e")
    if not exponent:  # Python goes on without an exponent for longer than Java does
        digits = f"{value:.17e}"
        for precision in range(17):
            if float(digits := f"{value:.{precision}e}") == value:
                break
        mantissa, _, exponent = digits.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


Check = Callable[[str, Value], None]
"""Looks at the value of the property of that name; raises InvalidProperty when it is not allowed."""


class Range:
    """A check of numbers: from `low` to `high`, both allowed. Its text says what is allowed."""

    def __init__(self, low: float, high: float = float("inf")) -> None:
        self.low = low
        self.high = high

    def __call__(self, name: str, value: Value) -> None:
        assert isinstance(value, (int, float))
        if value < self.low:
            raise InvalidProperty(name, as_text(value), f"Value must be at least {self.low}")
        if value > self.high:
            raise InvalidProperty(name, as_text(value), f"Value must be no more than {self.high}")

    def __str__(self) -> str:
        return f"at least {self.low}" if self.high == float("inf") else f"{self.low} to {self.high}"


def at_least(low: float) -> Range:
    """Numbers from `low` up."""
    return Range(low)


def between(low: float, high: float) -> Range:
    """Numbers from `low` to `high`, both allowed."""
    return Range(low, high)


class Words:
    """A check of words: one of `allowed`, written exactly so; or a list of nothing but them."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed

    def __call__(self, name: str, value: Value) -> None:
        for word in value if isinstance(value, tuple) else (value,):
            if word not in self.allowed:
                raise InvalidProperty(name, str(word), f"String must be one of: {', '.join(self.allowed)}")

    def __str__(self) -> str:
        return ", ".join(self.allowed)


def one_of(*allowed: str) -> Words:
    """One of these words, written exactly so; or a list of nothing but them."""
    return Words(*allowed)


class Property(NamedTuple):
    """One property. `default` is the text Kafka shows for it, None where there is none."""

    name: str
    type: Type
    default: str | None
    check: Check | None = None

    def parse(self, text: str) -> Value:
        """The value that `text` stands for; raises InvalidProperty."""
        value = self.type.parse(self.name, text)
        if self.check is not None:
            self.check(self.name, value)
        return value

    def default_value(self) -> Value:
        return None if self.default is None else self.type.parse(self.name, self.default)


NO_EFFECT = "Known to Kafka; accepted and kept, without effect here."


class Update(Enum):
    """Whether a property may change while a broker runs: what Kafka's documentation calls its update mode."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"  # on one broker, not on all of them at once
    CLUSTER_WIDE = "cluster-wide"  # on one broker, or on all of them


class Declaration(NamedTuple):
    """A row in a table of properties: one property, in which releases it exists, and what it does here."""

    declared: Property  # as the newest release has it
    documentation: str = ""  # one sentence
    affects: str = ""  # the attribute that holds its value; empty for a property that is accepted without effect
    update: Update = Update.READ_ONLY
    since: Version = (0,)
    until: Version = (99,)  # the first release without it
    before: Mapping[Version, Mapping[str, Any]] = {}
    """What differs before a release: `{(4, 0): {"default": "classic"}}`. The earliest release comes first."""
    is_hidden: bool = False  # accepted, never described

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def sentence(self) -> str:
        """The documentation, which says so when the property has no effect here."""
        if not self.documentation:
            return NO_EFFECT
        return self.documentation if self.affects else f"{self.documentation} Kept, without effect here."

    @property
    def is_dynamic(self) -> bool:
        """Whether it may change while a broker runs."""
        return self.update is not Update.READ_ONLY

    @property
    def is_per_broker(self) -> bool:
        """Whether it may not be set for all brokers at once."""
        return self.update is Update.PER_BROKER

    @property
    def is_sensitive(self) -> bool:
        """Whether its value is never shown."""
        return self.declared.type is Type.PASSWORD

    def in_release(self, version: Version) -> Property | None:
        """The property as that release has it, or None if the release does not have it."""
        if not self.since <= version < self.until:
            return None
        for until, different in self.before.items():
            if version < until:
                return self.declared._replace(**different)
        return self.declared


class Options(TypedDict, total=False):
    """What a row of a table may say beside the property and its documentation: the other fields of a Declaration."""

    affects: str
    update: Update
    since: Version
    until: Version
    before: Mapping[Version, Mapping[str, Any]]
    is_hidden: bool


class PropertySet:
    """Properties by name, in the order in which they were given."""

    def __init__(self, properties: Iterable[Property]) -> None:
        self._by_name = {property_.name: property_ for property_ in properties}

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Property:
        return self._by_name[name]

    def __iter__(self) -> Iterator[Property]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def get(self, name: str) -> Property | None:
        return self._by_name.get(name)

    def parse(self, texts: Mapping[str, str]) -> dict[str, Value]:
        """Values of all the properties of `texts` that this set has; raises InvalidProperty for the first bad one."""
        return {name: self._by_name[name].parse(text) for name, text in texts.items() if name in self._by_name}

    def unknown(self, texts: Iterable[str]) -> list[str]:
        """The names this set does not have, in their order."""
        return [name for name in texts if name not in self._by_name]


def read_properties(text: str) -> dict[str, str]:
    """The properties in the text of a `server.properties` file, in Java's format.

    A line is `name=value`, `name: value` or `name value`; `#` and `!` begin comments; a backslash at the end of a line
    continues it, elsewhere it takes the next character as it is (or as in \\t, \\n, \\u0041). A later line wins.
    ValueError for a \\u that four hexadecimal digits do not follow.
    """
    properties = {}
    for line in _logical_lines(text):
        name_end = next((at for at, char in _unescaped(line) if char in "=: \t\f"), len(line))
        value = line[name_end:].lstrip(" \t\f")
        if value[:1] in ("=", ":"):
            value = value[1:].lstrip(" \t\f")
        properties[_unescape(line[:name_end])] = _unescape(value)
    return properties


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments and blank ones, continued ones put together."""
    begun = ""
    for natural in text.splitlines():
        line = natural.lstrip(" \t\f")
        if not begun and (not line or line[0] in "#!"):
            continue
        begun += line
        if (len(begun) - len(begun.rstrip("\\"))) % 2:
            begun = begun[:-1]
        else:
            yield begun
            begun = ""
    if begun:
        yield begun


def _unescaped(line: str) -> Iterator[tuple[int, str]]:
    """The characters that no backslash stands before, with their places."""
    at = 0
    while at < len(line):
        if line[at] == "\\":
            at += 1
        else:
            yield at, line[at]
        at += 1


_FOUR_HEX_DIGITS = re.compile(r"[\da-fA-F]{4}", re.ASCII)


def _unescape(text: str) -> str:
    parts = text.split("\\")
    out = parts[0]
    rest = iter(parts[1:])
    for part in rest:
        if not part:  # two backslashes are one
            out += "\\" + next(rest, "")
        elif part[0] == "u":
            if not _FOUR_HEX_DIGITS.match(part, 1):
                raise ValueError(f"malformed \\uxxxx escape: \\{part[:5]}; four hexadecimal digits have to follow \\u")
            out += chr(int(part[1:5], 16)) + part[5:]
        else:
            out += {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(part[0], part[0]) + part[1:]
    return out.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # two escapes may make one character
