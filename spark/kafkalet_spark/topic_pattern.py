"""Translate the Java regular expressions of `subscribePattern` to Python's `re`.

Spark compiles the pattern with java.util.regex.Pattern and searches for it anywhere in a topic name (ConsumerStrategy:
`findFirstIn`), so `a` also subscribes to `alarms`, and `^a$` only to `a`. The planning process of kafkalog has no JVM,
so the pattern is rewritten for Python's `re`. This module rewrites the constructs that differ: quotations
(`\\Q...\\E`), POSIX and Unicode classes (`\\p{Alpha}`), unions and intersections of classes (`[a-z&&[^aeiou]]`), named
groups, `\\z` and a few escapes. Constructs that Python interprets differently, or does not support, are rejected.

Topic names are ASCII, so a character class is represented by the set of its ASCII characters.
"""

from __future__ import annotations

import re
import string
from functools import cache

_ASCII = frozenset(map(chr, range(128)))
_WORD = frozenset(string.ascii_letters + string.digits + "_")
_CLASSES = {
    "d": frozenset(string.digits),
    "h": frozenset(" \t"),
    "s": frozenset(" \t\n\x0b\f\r"),
    "v": frozenset("\n\x0b\f\r"),
    "w": _WORD,
}
_GRAPH = frozenset(string.ascii_letters + string.digits + string.punctuation)
_PROPERTIES = {
    "Lower": frozenset(string.ascii_lowercase),
    "Upper": frozenset(string.ascii_uppercase),
    "ASCII": _ASCII,
    "Alpha": frozenset(string.ascii_letters),
    "Digit": frozenset(string.digits),
    "Alnum": frozenset(string.ascii_letters + string.digits),
    "Punct": frozenset(string.punctuation),
    "Graph": _GRAPH,
    "Print": _GRAPH | {" "},
    "Blank": _CLASSES["h"],
    "Cntrl": frozenset(map(chr, [*range(32), 127])),
    "XDigit": frozenset(string.hexdigits),
    "Space": _CLASSES["s"],
}
for _alias, _name in {
    "L": "Alpha", "Ll": "Lower", "Lu": "Upper", "N": "Digit", "Nd": "Digit", "IsAlphabetic": "Alpha",
    "IsLetter": "Alpha", "IsLowercase": "Lower", "IsUppercase": "Upper", "IsDigit": "Digit", "javaLowerCase": "Lower",
    "javaUpperCase": "Upper", "javaLetter": "Alpha", "javaDigit": "Digit", "javaLetterOrDigit": "Alnum",
}.items():  # fmt: skip
    _PROPERTIES[_alias] = _PROPERTIES[_name]
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_REPETITION = re.compile(r"\{\d+(,\d*)?\}")
_FLAGS = re.compile(r"\(\?([imsud]+)\)")


class BadPattern(ValueError):
    """The pattern is not valid in Java or cannot be expressed in Python's `re`. The message says where and why."""


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a `subscribePattern`; use its `search` on topic names. Raises BadPattern."""
    try:
        return re.compile(_Translation(pattern).whole(), re.ASCII)
    except re.error as error:
        raise BadPattern(str(error)) from None


class _Translation:
    """Translates one Java pattern in a single pass."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def whole(self) -> str:
        pieces = [self._leading_flags()]
        while self._at < len(self._pattern):
            pieces.append(self._piece())
        return "".join(pieces)

    def _leading_flags(self) -> str:
        """Translate flags at the beginning, such as `(?i)`. The flags `u` and `d` have no effect on topic names."""
        found = _FLAGS.match(self._pattern)
        if found is None:
            return ""
        self._at = found.end()
        flags = "".join(dict.fromkeys(flag for flag in found[1] if flag in "ims"))
        return f"(?{flags})" if flags else ""

    def _piece(self) -> str:
        character = self._next()
        if character == "\\":
            return self._escape()
        if character == "[":
            return _as_class(self._class())
        if character == "(":
            return self._group()
        if character == "{":
            found = _REPETITION.match(self._pattern, self._at - 1)
            if found is None:
                raise self._refused("illegal repetition")
            self._at = found.end()
            return found[0]
        return character

    def _group(self) -> str:
        if self._peek() != "?":
            return "("
        self._at += 1
        kind = self._next()
        if kind in ":=!>":
            return f"(?{kind}"
        if kind == "<":
            if self._peek() in ("=", "!"):
                return f"(?<{self._next()}"
            return "(?P<"
        if kind in "ims":
            start = self._at - 1
            while self._peek() in tuple("ims"):
                self._at += 1
            if self._next() == ":":
                return f"(?{self._pattern[start : self._at]}"
        raise self._refused("this kind of group is not supported")

    def _escape(self) -> str:
        """Translate an escape outside a character class, after the backslash."""
        character = self._next()
        if character == "Q":
            return re.escape(self._quotation())
        if character in "bBA" or (character.isdigit() and character != "0"):
            if character == "b" and self._peek() == "{":
                raise self._refused("this boundary is not supported")
            return "\\" + character
        if character == "z":
            return r"\Z"
        if character == "Z":
            return r"(?=\n?\Z)"
        if character == "k" and self._peek() == "<":
            self._at += 1
            return f"(?P={self._until('>')})"
        if character == "R":
            return r"(?:\r\n|[\n-\r])"
        return _as_class(self._escaped_set(character))

    def _escaped_set(self, character: str) -> frozenset[str]:
        """Return the characters that an escape matches, inside or outside a class."""
        if character in "pP":
            name = self._until("}") if self._peek() == "{" else self._next()
            name = name.removeprefix("{")
            found = _PROPERTIES.get(name) or _PROPERTIES.get(name.removeprefix("Is"))
            if found is None:
                raise self._refused(f"the property {name} is not supported")
            return found if character == "p" else _ASCII - found
        if character.lower() in _CLASSES:
            found = _CLASSES[character.lower()]
            return found if character.islower() else _ASCII - found
        return frozenset(self._escaped_character(character))

    def _escaped_character(self, character: str) -> str:
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character == "x" and self._peek() == "{":
            self._at += 1
            return self._coded(self._until("}"), 16)
        if character in "xu":
            width = 2 if character == "x" else 4
            digits = self._pattern[self._at : self._at + width]
            self._at += width
            return self._coded(digits if len(digits) == width else "", 16)
        if character == "0":
            found = re.compile("[0-3]?[0-7]{1,2}").match(self._pattern, self._at)
            if found is None:
                raise self._refused("illegal octal escape")
            self._at = found.end()
            return chr(int(found[0], 8))
        if character == "c":
            return chr(ord(self._next()) ^ 64)
        if character.isalnum():
            raise self._refused(f"illegal or unsupported escape \\{character}")
        return character

    def _coded(self, digits: str, base: int) -> str:
        try:
            return chr(int(digits, base))
        except (ValueError, OverflowError):
            raise self._refused("illegal hexadecimal escape") from None

    def _class(self) -> frozenset[str]:
        """Parse a class after its `[`: intersections (`&&`) of unions of ranges, escapes and nested classes."""
        negated = self._peek() == "^"
        self._at += negated
        found: frozenset[str] | None = None
        part: frozenset[str] | None = None
        while (character := self._next()) != "]" or (part is None and found is None):
            if character == "&" and self._peek() == "&":
                self._at += 1
                if part is not None:
                    found = part if found is None else found & part
                part = None
            elif character == "[":
                part = (part or frozenset()) | self._class()
            else:
                part = (part or frozenset()) | self._members(character)
        if part is not None:
            found = part if found is None else found & part
        found = found or frozenset()
        return _ASCII - found if negated else found

    def _members(self, character: str) -> frozenset[str]:
        """Parse one member of a class: a character, an escape, or a range that begins with either."""
        members = frozenset(character)
        if character == "\\":
            escape = self._next()
            members = frozenset(self._quotation()) if escape == "Q" else self._escaped_set(escape)
        if self._peek() != "-" or len(members) != 1 or self._peek(1) in ("]", "[", ""):
            return members
        self._at += 1
        last = self._next()
        lasts = self._escaped_set(self._next()) if last == "\\" else frozenset(last)
        if len(lasts) != 1:
            raise self._refused("illegal character range")
        first, last = *members, *lasts
        if first > last:
            raise self._refused("illegal character range")
        return frozenset(map(chr, range(ord(first), ord(last) + 1)))

    def _quotation(self) -> str:
        end = self._pattern.find("\\E", self._at)
        end = len(self._pattern) if end < 0 else end
        text = self._pattern[self._at : end]
        self._at = min(end + 2, len(self._pattern))
        return text

    def _until(self, mark: str) -> str:
        end = self._pattern.find(mark, self._at)
        if end < 0:
            raise self._refused(f"{mark} is missing")
        text = self._pattern[self._at : end]
        self._at = end + 1
        return text

    def _peek(self, ahead: int = 0) -> str:
        return self._pattern[self._at + ahead : self._at + ahead + 1]

    def _next(self) -> str:
        if self._at >= len(self._pattern):
            raise self._refused("the pattern ends too early")
        self._at += 1
        return self._pattern[self._at - 1]

    def _refused(self, reason: str) -> BadPattern:
        return BadPattern(f"{reason}, near index {max(self._at - 1, 0)}")


def _as_class(characters: frozenset[str]) -> str:
    """Format the characters as a class for Python's `re`."""
    if len(characters) == 1:
        return re.escape(*characters)
    return f"[{''.join(re.escape(each) for each in sorted(characters))}]" if characters else "(?!)"
