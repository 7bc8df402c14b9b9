r"""Regular expressions in the syntax of java.util.regex, for properties that contain patterns.

A pattern is translated to the syntax of `re`. Most constructs are the same; these are translated:

    (?<name>...)   \k<name>             named groups
    \Q...\E                             literal text
    .   $                               Java knows more line terminators than Python
    (?i)                                flags in the middle of a group apply to the rest of the group
    \h \H \v \V \R \z \Z \e \x{h...}    classes and characters that `re` lacks or names differently
    \p{Alpha} \P{Alpha}                 the classes of ASCII characters, and letters (\p{L})
    \12                                 a reference to group 1 and a digit, if there are fewer than 12 groups

Python cannot express intersections and unions of character classes, most Unicode classes, comments (?x) and \G.
Patterns with these are refused.

Source: java.util.regex.Pattern, Matcher.appendReplacement.
"""

import re
from collections.abc import Iterator
from typing import NoReturn

TERMINATORS = r"\n\r\x85\u2028\u2029"
_HORIZONTAL = r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
_VERTICAL = r"\n\x0b\f\r\x85\u2028\u2029"
_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0b\f\r",
}
_LETTERS = ("L", "IsL", "IsAlphabetic")
_SAME_ESCAPES = "dDsSwWbBAtnrfa"
_SETS = tuple("dDsSwWpPhHvVQ")
"""The escapes that stand for several characters, so that they cannot begin a range."""
_FLAGS = "ims"
_QUANTIFIER = re.compile(r"\{\d+(,\d*)?\}", re.ASCII)
_DIGITS = "0123456789"


class UnsupportedPattern(ValueError):
    """A pattern that is not valid in Java, or that Python cannot express."""


def compile_pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern. Raises UnsupportedPattern."""
    try:
        return re.compile(_Translation(text).translate(), re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise UnsupportedPattern(f"is not supported: {error}") from error


class _Translation:
    """The translation of one pattern."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._parts: list[str] = []
        self._groups = 0
        self._open: list[list[str]] = [[]]  # for each open group, the flags that were set in it
        self._flags = [""]  # for each open group, the flags that apply now

    def translate(self) -> str:
        """Return the pattern in the syntax of `re`. Raises UnsupportedPattern."""
        while self._place < len(self._text):
            self._parts.append(self._next())
        if len(self._open) > 1:
            self._refuse("Unclosed group")
        return "".join(self._parts) + ")" * len(self._open[0])

    def _refuse(self, reason: str) -> NoReturn:
        raise UnsupportedPattern(f"is not supported: {reason} near index {self._place}")

    def _take(self, count: int = 1) -> str:
        taken = self._text[self._place : self._place + count]
        self._place += count
        return taken

    def _next(self) -> str:
        character = self._take()
        if character == "\\":
            return self._escape(in_class=False)
        if character == "[":
            return self._class()
        if character == "(":
            return self._group()
        if character == ")":
            return self._end_of_group()
        if character == "|":  # flags that were set before apply to the other alternatives as well
            flags = self._open[-1]
            return ")" * len(flags) + "|" + "".join(flags)
        if character == ".":
            return "." if "s" in self._flags[-1] else f"[^{TERMINATORS}]"
        if character == "$" and "m" not in self._flags[-1]:
            return rf"(?=(?:\r\n|[{TERMINATORS}])?\Z)"
        if character == "{":
            quantifier = _QUANTIFIER.match(self._text, self._place - 1)
            if quantifier is None:
                self._refuse("Illegal repetition")
            self._place = quantifier.end()
            return quantifier[0]
        return character

    # Groups and flags

    def _group(self) -> str:
        rest = self._text[self._place : self._place + 3]
        if not rest.startswith("?"):
            self._groups += 1
            self._enter()
            return "("
        if rest.startswith(("?:", "?=", "?!", "?>")):
            self._enter()
            return "(" + self._take(2)
        if rest.startswith(("?<=", "?<!")):
            self._enter()
            return "(" + self._take(3)
        if rest.startswith("?<"):
            self._take(2)
            self._groups += 1
            self._enter()
            return f"(?P<{self._name()}>"
        return self._set_flags()

    def _name(self) -> str:
        """Take a name and the `>` after it."""
        end = self._text.find(">", self._place)
        name = self._text[self._place : end]
        if end < 0 or not re.fullmatch("[a-zA-Z][a-zA-Z0-9]*", name):
            self._refuse("capturing group name does not start with a Latin letter, or has no '>'")
        self._place = end + 1
        return name

    def _set_flags(self) -> str:
        found = re.compile(r"\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])").match(self._text, self._place)
        if found is None:
            self._refuse("Unknown inline modifier")
        on, off, end = found.groups(default="")
        if any(flag not in _FLAGS for flag in on + off):
            self._refuse(f"the modifier {found[0]}")
        self._place = found.end()
        before = self._flags[-1]
        after = "".join(flag for flag in _FLAGS if (flag in before or flag in on) and flag not in off)
        start = f"(?{on}{f'-{off}' if off else ''}:" if on or off else "(?:"
        if end == ":":
            self._enter()
            self._flags[-1] = after
            return start
        self._open[-1].append(start)
        self._flags[-1] = after
        return start

    def _enter(self) -> None:
        self._open.append([])
        self._flags.append(self._flags[-1])

    def _end_of_group(self) -> str:
        if len(self._open) == 1:
            self._refuse("Unmatched closing ')'")
        self._flags.pop()
        return ")" * len(self._open.pop()) + ")"

    # Escapes

    def _escape(self, *, in_class: bool) -> str:
        """Translate what follows a backslash."""
        if self._place == len(self._text):
            self._refuse("Unexpected internal error: a backslash at the end")
        character = self._take()
        if character == "Q":
            end = self._text.find("\\E", self._place)
            literal = self._text[self._place : len(self._text) if end < 0 else end]
            self._place = len(self._text) if end < 0 else end + 2
            return re.escape(literal)
        if character in "pP":
            return self._property(character == "P", in_class)
        if character in "xu0cehHvV":
            return self._character(character, in_class)
        if not in_class:
            outside = self._outside_class(character)
            if outside is not None:
                return outside
        elif character in "bBA":
            self._refuse(f"\\{character} in a character class")
        if character in _SAME_ESCAPES:
            return f"\\{character}"
        if character.isascii() and character.isalnum():
            self._refuse(f"Illegal/unsupported escape sequence \\{character}")
        return re.escape(character)

    def _outside_class(self, character: str) -> str | None:
        if character == "k":
            if self._take() != "<":
                self._refuse(r"\k is not followed by '<' for named capturing group")
            return f"(?P={self._name()})"
        if character in "123456789":
            number = int(character)
            while (digit := self._text[self._place : self._place + 1]) in _DIGITS and digit:
                if number * 10 + int(digit) > self._groups:
                    break
                number = number * 10 + int(self._take())
            return f"(?:\\{number})" if number <= self._groups else "(?!)"
        return {"z": r"\Z", "Z": rf"(?=(?:\r\n|[{TERMINATORS}])?\Z)", "R": rf"(?:\r\n|[{_VERTICAL}])"}.get(character)

    def _character(self, kind: str, in_class: bool) -> str:
        if kind in "hHvV":
            members = _HORIZONTAL if kind in "hH" else _VERTICAL
            if kind in "hv":
                return members if in_class else f"[{members}]"
            if in_class:
                self._refuse(f"\\{kind} in a character class")
            return f"[^{members}]"
        if kind == "e":
            return r"\x1b"
        if kind == "c":
            if self._place == len(self._text):
                self._refuse("Illegal control escape sequence")
            return re.escape(chr(ord(self._take()) ^ 64))
        syntax = {
            "x": r"([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\}",
            "u": r"([0-9a-fA-F]{4})",
            "0": r"([0-3][0-7]{2}|[0-7]{1,2})",
        }
        found = re.compile(syntax[kind]).match(self._text, self._place)
        if found is None:
            self._refuse(f"Illegal escape sequence \\{kind}")
        self._place = found.end()
        code = int(next(digits for digits in found.groups() if digits), 8 if kind == "0" else 16)
        if code > 0x10FFFF:
            self._refuse("Hexadecimal codepoint is too big")
        return re.escape(chr(code))

    def _property(self, negated: bool, in_class: bool) -> str:
        found = re.compile(r"\{(\w+)\}|([A-Z])").match(self._text, self._place)
        name = "" if found is None else found[1] or found[2]
        members = _CLASSES.get(name)
        if found is None or (members is None and name not in _LETTERS) or (in_class and (negated or members is None)):
            self._refuse(f"the class \\{'P' if negated else 'p'}{'' if found is None else found[0]}")
        self._place = found.end()
        if members is None:
            return r"(?u:[\W\d_])" if negated else r"(?u:[^\W\d_])"
        if in_class:
            return members
        return f"[^{members}]" if negated else f"[{members}]"

    def _class(self) -> str:
        """Translate a character class, after its opening bracket."""
        parts = ["["]
        if self._text.startswith("^", self._place):
            parts.append(self._take())
        is_first, can_begin_range, ends_range = True, False, False
        while True:
            if self._place == len(self._text):
                self._refuse("Unclosed character class")
            character = self._take()
            if character == "]" and not is_first:
                return "".join([*parts, "]"])
            is_first = False
            if character == "-" and can_begin_range and not self._text.startswith("]", self._place):
                parts.append("-")
                can_begin_range, ends_range = False, True
                continue
            is_single = character != "\\" or self._text[self._place : self._place + 1] not in _SETS
            parts.append(self._member(character))
            can_begin_range, ends_range = is_single and not ends_range, False

    def _member(self, character: str) -> str:
        """Translate one member of a character class."""
        if character == "\\":
            return self._escape(in_class=True)
        if character == "[":
            self._refuse("a character class in a character class")
        if character == "&" and self._text.startswith("&", self._place):
            self._refuse("an intersection of character classes")
        return f"\\{character}" if character in "]&|~-" else character


def matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield what Java's Matcher.find finds: after an empty match, it goes on behind the next character."""
    start = 0
    while start <= len(text) and (match := pattern.search(text, start)) is not None:
        yield match
        start = match.end() + (match.end() == match.start())


def expand_replacement(match: re.Match[str], replacement: str) -> str:
    r"""Return a replacement with the groups of a match: `$1`, `${name}`; `\` escapes the next character.

    Raises ValueError or IndexError where Java does.
    """
    parts: list[str] = []
    place = 0
    while place < len(replacement):
        character = replacement[place]
        place += 1
        if character == "\\":
            if place == len(replacement):
                raise ValueError("character to be escaped is missing")
            parts.append(replacement[place])
            place += 1
        elif character == "$":
            group, place = _group(replacement, place, match)
            parts.append(match[group] or "")
        else:
            parts.append(character)
    return "".join(parts)


def _group(replacement: str, place: int, match: re.Match[str]) -> tuple[int, int]:
    """Return the group that is referenced after a `$`, and the place after the reference."""
    rest = replacement[place:]
    if not rest:
        raise ValueError("Illegal group reference: group index is missing")
    if rest[0] == "{":
        named = re.match(r"\{([a-zA-Z][a-zA-Z0-9]*)\}", rest)
        if named is None or named[1] not in match.re.groupindex:
            raise ValueError(f"No group with name {rest.partition('}')[0]}}}")
        return match.re.groupindex[named[1]], place + named.end()
    if rest[0] not in _DIGITS:
        raise ValueError("Illegal group reference")
    number = int(rest[0])
    if number > match.re.groups:
        raise IndexError(f"No group {number}")
    place += 1
    while place < len(replacement) and replacement[place] in _DIGITS:
        longer = number * 10 + int(replacement[place])
        if longer > match.re.groups:
            break
        number = longer
        place += 1
    return number, place
