"""Kafka configuration properties: name, type, default and allowed values.

A `PropertySet` parses strings from a command line, a `server.properties` file or a request. They are parsed as in
Kafka's `ConfigDef`: surrounding whitespace is ignored, booleans are case-insensitive, numbers have the syntax and range
of Java's int, short, long and double, and list items are separated by commas. The error messages are Kafka's, because
clients and their tests may depend on them.

The caller decides how to handle unknown names: for example, with a warning for broker properties and with an error for
topic properties.
"""

import copyreg
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple, TypedDict

HIDDEN = "[hidden]"
"""Replaces a secret value in messages, as in Kafka (Password.HIDDEN)."""

Version = tuple[int, ...]
Value = bool | int | float | str | tuple[str, ...] | None


class InvalidProperty(ValueError):
    """The value of a property is not allowed.

    The message contains the property, the value and the reason, in Kafka's usual form. `text` replaces the message
    where Kafka's message does not have this form.
    """

    def __init__(self, name: str, value: str | None, reason: str, text: str | None = None) -> None:
        usual = f"Invalid value {'null' if value is None else value} for configuration {name}: {reason}"
        super().__init__(usual if text is None else text)
        self.name = name
        self.value = value
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the message and the attributes: a worker of pytest-xdist or multiprocessing sends errors this way."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class Type(Enum):
    """The type of a property. Its value is the `config_type` in DescribeConfigs responses (KIP-569)."""

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
        """Parse `text` as a value of this type. Raises InvalidProperty for the property `name`."""
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


_TRIMMED = "".join(map(chr, range(33)))  # as in Java's String.trim
_AROUND_COMMAS = " \t\n\v\f\r"  # the Java pattern \\s

# The ranges of Java's integer types: -bound to bound - 1.
_BOUNDS = {Type.INT: 1 << 31, Type.SHORT: 1 << 15, Type.LONG: 1 << 63}
_MOST_DIGITS = 19


def whole_number(text: str, type_: Type = Type.INT) -> int | None:
    """Parse `text` as Java's Integer.parseInt (or the parser of another type) does. Return None if it is invalid.

    `text` may have any length, whereas Python's `int` rejects more than 4,300 digits with a ValueError.
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


# The patterns are compiled on first use: all brokers import this module, but few of them parse a double.
_DOUBLE = r"[+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?)"
_HEX_DOUBLE = r"([+-]?0[xX](?:[\da-fA-F]+\.?[\da-fA-F]*|\.[\da-fA-F]+)[pP][+-]?\d+)[fFdD]?"


def _double(name: str, text: str) -> float:
    """Parse a number as Java's Double.parseDouble does: `1.5f` and `0x1p-3` are valid, `inf` and `1_000` are not."""
    if re.fullmatch(_DOUBLE, text, re.ASCII):
        return float(text if text[-1] in "Ny" else text.rstrip("fFdD"))
    if found := re.fullmatch(_HEX_DOUBLE, text, re.ASCII):
        try:
            return float.fromhex(found[1])
        except OverflowError:
            return float("-inf" if text[0] == "-" else "inf")
    raise InvalidProperty(name, text, "Not a number of type DOUBLE")


def as_text(value: Value) -> str:
    """Format a value as Java does."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _java_double(value)
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _java_double(value: float) -> str:
    """Format a double as Java's Double.toString does: `0.5`, `1.0E-4`, `1.7976931348623157E308`."""
    if value == 0 or 1e-3 <= abs(value) < 1e7 or value != value or abs(value) == float("inf"):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(value), str(value))
    mantissa, _, exponent = f"{value!r}".partition("e")
    if not exponent:  # Python switches to exponents at larger numbers than Java does
        digits = f"{value:.17e}"
        for precision in range(17):
            if float(digits := f"{value:.{precision}e}") == value:
                break
        mantissa, _, exponent = digits.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


Check = Callable[[str, Value], None]
"""A function that takes the name and value of a property and raises InvalidProperty if the value is not allowed."""


class Range:
    """Checks that a number is in the inclusive range from `low` to `high`. `str()` describes the range."""

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
    """Return a check for numbers of at least `low`."""
    return Range(low)


def between(low: float, high: float) -> Range:
    """Return a check for numbers from `low` to `high`, inclusive."""
    return Range(low, high)


class Words:
    """Checks that a string, or each item of a list, is one of the `allowed` words (case-sensitive)."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed

    def __call__(self, name: str, value: Value) -> None:
        for word in value if isinstance(value, tuple) else (value,):
            if word not in self.allowed:
                raise InvalidProperty(name, str(word), f"String must be one of: {', '.join(self.allowed)}")

    def __str__(self) -> str:
        return ", ".join(self.allowed)


def one_of(*allowed: str) -> Words:
    """Return a check for strings, or lists of strings, that allows only the given words (case-sensitive)."""
    return Words(*allowed)


class Property(NamedTuple):
    """A property. `default` is a string in Kafka's notation, or None if the property has no default."""

    name: str
    type: Type
    default: str | None
    check: Check | None = None
    is_internal: bool = False
    """Whether DescribeConfigs returns the property only if it is set (ConfigDef.defineInternal)."""

    def parse(self, text: str) -> Value:
        """Parse `text` and check the value. Raises InvalidProperty."""
        value = self.type.parse(self.name, text)
        if self.check is not None:
            self.check(self.name, value)
        return value

    def default_value(self) -> Value:
        return None if self.default is None else self.type.parse(self.name, self.default)


NO_EFFECT = "A property of Kafka that is accepted but has no effect in kafkalet."


class Update(Enum):
    """The update mode of a property, which tells whether and how it may be changed while a broker is running."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"  # only for individual brokers
    CLUSTER_WIDE = "cluster-wide"  # for individual brokers or the whole cluster


class Declaration(NamedTuple):
    """A row in a table of properties: the property, the releases that have it, and its effect in kafkalet."""

    declared: Property  # the property as it is in the newest release
    documentation: str = ""  # one sentence
    affects: str = ""  # the attribute that stores its value; empty if the property has no effect in kafkalet
    update: Update = Update.READ_ONLY
    since: Version = (0,)
    until: Version = (99,)  # the first release without it
    before: Mapping[Version, Mapping[str, Any]] = {}
    """Attributes that differ before a given release, earliest release first: `{(4, 0): {"default": "classic"}}`."""
    is_hidden: bool = False  # returned by DescribeConfigs only if it is set

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def sentence(self) -> str:
        """The documentation, with a note if the property has no effect in kafkalet."""
        if not self.documentation:
            return NO_EFFECT
        return self.documentation if self.affects else f"{self.documentation} It has no effect in kafkalet."

    @property
    def is_dynamic(self) -> bool:
        """Whether the property may be changed while a broker is running."""
        return self.update is not Update.READ_ONLY

    @property
    def is_per_broker(self) -> bool:
        """Whether the property can be changed only for individual brokers."""
        return self.update is Update.PER_BROKER

    @property
    def is_sensitive(self) -> bool:
        """Whether the value must not be shown."""
        return self.declared.type is Type.PASSWORD

    def in_release(self, version: Version) -> Property | None:
        """Return the property in a release, or None if the release does not have it."""
        if not self.since <= version < self.until:
            return None
        for until, different in self.before.items():
            if version < until:
                return self.declared._replace(**different)
        return self.declared


class Options(TypedDict, total=False):
    """The optional fields of a Declaration, as keyword arguments for a table row."""

    affects: str
    update: Update
    since: Version
    until: Version
    before: Mapping[Version, Mapping[str, Any]]
    is_hidden: bool


class PropertySet:
    """A collection of properties, keyed by name, in insertion order."""

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
        """Parse all properties in `texts` that are in this set. Raises InvalidProperty for the first invalid one."""
        return {name: self._by_name[name].parse(text) for name, text in texts.items() if name in self._by_name}

    def unknown(self, texts: Iterable[str]) -> list[str]:
        """Return the names that are not in this set, in their original order."""
        return [name for name in texts if name not in self._by_name]


def read_properties(text: str) -> dict[str, str]:
    """Parse the text of a `server.properties` file in Java's properties format.

    A line is `name=value`, `name: value` or `name value`, and `#` and `!` begin comments. A backslash at the end of a
    line continues it; elsewhere it escapes the next character (\\t, \\n, \\r, \\f and \\u0041 have their usual
    meaning).
    The last line for a name takes precedence. Raises ValueError if \\u is not followed by four hexadecimal digits.
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
    """Iterate over the lines. Continued lines are joined, and comments and blank lines are omitted."""
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
    """Iterate over the characters that are not escaped, with their indexes."""
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
        if not part:  # an escaped backslash
            out += "\\" + next(rest, "")
        elif part[0] == "u":
            if not _FOUR_HEX_DIGITS.match(part, 1):
                raise ValueError(f"malformed \\uxxxx escape: \\{part[:5]}; \\u needs four hexadecimal digits")
            out += chr(int(part[1:5], 16)) + part[5:]
        else:
            out += {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(part[0], part[0]) + part[1:]
    return out.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # combine escaped surrogate pairs
