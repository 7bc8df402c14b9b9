"""The parser for regular expressions in RE2 syntax, which has no backreferences and no lookaround.

The result is a syntax tree. Capturing groups and lazy quantifiers have no effect, because only whole texts are matched.
Error messages are those of RE2/J. As in RE2/J, an expression may have any length and nest to any depth (but RE2/J
overflows the stack at a few thousand levels).

Source: com.google.re2j.Parser; the syntax is described at github.com/google/re2/wiki/Syntax.
"""

import re
from functools import cache

from kafkalet.tasks.task import pause

from . import classes
from .classes import Characters
from .tree import BEGIN, BOUNDARY, END, INSIDE, BadRegex, Node, choice, repetition, sequence, set_of

MOST_REPETITIONS = 1000
ITEMS_PER_SLICE = 500


class _Frame:
    """A group being parsed: its alternatives so far, the parts of the current alternative, and the outer flags."""

    __slots__ = ("choices", "outer_folds", "parts")

    def __init__(self, outer_folds: bool) -> None:
        self.outer_folds = outer_folds
        self.choices: list[Node] = []
        self.parts: list[Node] = []

    def node(self, longest: int) -> Node:
        last = sequence(self.parts, longest)
        return choice([*self.choices, last]) if self.choices else last


@cache
def _ascii_literal(code: int, folds: bool) -> Node:
    return set_of(classes.code_range(code, code, folds=folds))


_ANY = set_of(Characters(classes.EVERY, classes.all_beyond))
_SIMPLE = {"^": BEGIN, "$": END, ".": _ANY}
_PLACES = {"A": BEGIN, "z": END, "b": BOUNDARY, "B": INSIDE}
_PLAIN = re.compile(r"[-A-Za-z0-9_ ,;:/=@#%&<>'\"~!`]+")
"""Characters that stand for themselves outside of classes."""
_PLAIN_IN_CLASS = re.compile(r"(?:[A-Za-z0-9_.](?!-))+")
_REPEATS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_ESCAPES = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_OCTAL, _DIGITS, _HEX = "01234567", "0123456789", "0123456789abcdefABCDEF"
_ALNUM = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


async def parse(expression: str, longest: int) -> Node:
    """Parse an expression and return its tree. Raises BadRegex.

    The tree is valid for texts of at most `longest` characters. Slices between pauses take less than a millisecond.
    """
    return await _Parser(expression, longest).parse()


class _Parser:
    def __init__(self, text: str, longest: int) -> None:
        self.text = text
        self.longest = longest
        self.at = 0
        self.folds = False  # case-insensitive
        self.frames = [_Frame(False)]
        self.names: set[str] = set()
        self.class_name_end = 0  # the position of the next ":]", found by the last search

    @property
    def next(self) -> str:
        """The next character; "" at the end."""
        return self.text[self.at : self.at + 1]

    def take(self) -> str:
        self.at += 1
        return self.text[self.at - 1 : self.at]

    async def parse(self) -> Node:
        repeated = False
        items = 0
        while self.at < len(self.text):
            if self.next == "[":
                characters = await self._class()
                self.frames[-1].parts.append(set_of(characters))
                repeated = False
            else:
                repeated = self._item(repeated)
            items += 1
            if items % ITEMS_PER_SLICE == 0:
                await pause()
        if len(self.frames) > 1:
            raise BadRegex("missing closing )")
        return self.frames[0].node(self.longest)

    def _item(self, repeated: bool) -> bool:
        """Parse the next item. Return whether it was a repetition, which must not be followed by another one."""
        character, frame = self.next, self.frames[-1]
        if plain := _PLAIN.match(self.text, self.at):
            self.at = plain.end()
            folds = self.folds
            frame.parts += [_ascii_literal(ord(each), folds) for each in plain[0]]
            return False
        if character in _REPEATS:
            self.at += 1
            self._repeat(*_REPEATS[character], repeated)
            return True
        if character == "{" and (bounds := self._bounds()) is not None:
            self._repeat(*bounds, repeated)
            return True
        if character == "(":
            self._open()
        elif character == "|":
            self.at += 1
            frame.choices.append(sequence(frame.parts, self.longest))
            frame.parts = []
        elif character == ")":
            self._close()
        elif character == "\\":
            self._escaped()
        else:
            self.at += 1
            frame.parts.append(_SIMPLE.get(character) or self._literal(ord(character)))
        return False

    def _literal(self, code: int) -> Node:
        if code < 128:
            return _ascii_literal(code, self.folds)
        return set_of(classes.code_range(code, code, folds=self.folds))

    # Repetitions

    def _repeat(self, least: int, most: int | None, repeated: bool) -> None:
        if self.next == "?":  # lazy
            self.at += 1
        if repeated:
            raise BadRegex("invalid nested repetition operator")
        parts = self.frames[-1].parts
        if not parts:
            raise BadRegex("missing argument to repetition operator")
        parts[-1] = repetition(parts[-1], least, most, self.longest)

    def _bounds(self) -> tuple[int, int | None] | None:
        """Parse `{2}`, `{2,}` or `{2,3}`. Return None for a literal brace."""
        start = self.at
        self.at += 1
        least = self._number()
        most: int | None = least
        if least is not None and self.next == ",":
            self.at += 1
            most = None if self.next == "}" else self._number()
            if most is None and self.next != "}":
                least = None
        if least is None or self.next != "}":
            self.at = start
            return None
        self.at += 1
        if least > MOST_REPETITIONS or (most is not None and (most > MOST_REPETITIONS or least > most)):
            raise BadRegex("invalid repeat count")
        return least, most

    def _number(self) -> int | None:
        start = self.at
        while self.next and self.next in _DIGITS:
            self.at += 1
        digits = self.text[start : self.at]
        if not digits or (len(digits) > 1 and digits[0] == "0"):
            return None
        return int(digits[:9])

    # Groups

    def _open(self) -> None:
        self.at += 1
        if self.next != "?":
            self._push()
        elif self.text.startswith(("?P<", "?<"), self.at):
            self._named()
        else:
            self.at += 1
            self._flags()

    def _push(self) -> None:
        self.frames.append(_Frame(self.folds))

    def _named(self) -> None:
        start = self.text.index("<", self.at) + 1
        end = self.text.find(">", start)
        name = self.text[start:end]
        if end < 0 or not name or not _ALNUM.issuperset(name.replace("_", "")):
            raise BadRegex("invalid named capture")
        if name in self.names:
            raise BadRegex("duplicate capture group name")
        self.names.add(name)
        self.at = end + 1
        self._push()

    def _flags(self) -> None:
        """Parse `(?i)`, for the rest of the group, or `(?i:`, which opens a group. Only the flag `i` has an effect."""
        folds, negative, seen = self.folds, False, False
        while (character := self.take()) and character in "imsU-:)":
            if character == "-":
                if negative:
                    break
                negative, seen = True, False
            elif character in ":)":
                if negative and not seen:
                    break
                if character == ":":
                    self._push()
                self.folds = folds
                return
            else:
                seen = True
                if character == "i":
                    folds = not negative
        raise BadRegex("invalid or unsupported Perl syntax")

    def _close(self) -> None:
        self.at += 1
        if len(self.frames) == 1:
            raise BadRegex("regexp/syntax: internal error")
        frame = self.frames.pop()
        self.folds = frame.outer_folds
        self.frames[-1].parts.append(frame.node(self.longest))

    # Escapes

    def _escaped(self) -> None:
        parts, following = self.frames[-1].parts, self.text[self.at + 1 : self.at + 2]
        if following in _PLACES and following:
            self.at += 2
            parts.append(_PLACES[following])
        elif following == "Q":
            end = self.text.find("\\E", self.at + 2)
            quoted = self.text[self.at + 2 : end if end >= 0 else len(self.text)]
            self.at = end + 2 if end >= 0 else len(self.text)
            parts += [self._literal(ord(character)) for character in quoted]
        elif (characters := self._escaped_class()) is not None:
            parts.append(set_of(characters))
        else:
            parts.append(self._literal(self._escape()))

    def _escaped_class(self) -> Characters | None:
        """Parse `\\d`, `\\pL` or `\\P{Greek}`. Return None, without consuming anything, for any other escape."""
        following = self.text[self.at + 1 : self.at + 2]
        if following in ("p", "P"):
            self.at += 2
            return self._unicode(negative=following == "P")
        mask = classes.PERL.get(following.lower())
        if mask is not None:
            self.at += 2
            return classes.ascii_class(mask, folds=self.folds, negative=following.isupper())
        return None

    def _unicode(self, *, negative: bool) -> Characters:
        name = self.take()
        if name == "{":
            end = self.text.find("}", self.at)
            name, self.at = (self.text[self.at : end], end + 1) if end >= 0 else ("", self.at)
        if name.startswith("^"):
            name, negative = name[1:], not negative
        if not classes.is_unicode_class(name):
            raise BadRegex("invalid character class range")
        characters = classes.unicode_class(name, folds=self.folds)
        return characters.negated() if negative else characters

    def _escape(self) -> int:
        """Parse an escaped character and return its code."""
        self.at += 1
        if not self.next:
            raise BadRegex("trailing backslash at end of expression")
        character = self.take()
        if character not in _ALNUM:
            return ord(character)
        if character in _ESCAPES:
            return _ESCAPES[character]
        if character == "0" or (character in _OCTAL and self.next and self.next in _OCTAL):
            digits = character
            while len(digits) < 3 and self.next and self.next in _OCTAL:
                digits += self.take()
            return int(digits, 8)
        if character == "x" and (code := self._hex()) is not None:
            return code
        raise BadRegex("invalid escape sequence")

    def _hex(self) -> int | None:
        if self.next == "{":
            end = self.text.find("}", self.at)
            digits, self.at = self.text[self.at + 1 : end], end + 1
            readable = end >= 0 and bool(digits) and set(digits) <= set(_HEX)
        else:
            digits, self.at = self.text[self.at : self.at + 2], self.at + 2
            readable = len(digits) == 2 and set(digits) <= set(_HEX)
        code = int(digits, 16) if readable else -1
        return code if 0 <= code <= 0x10FFFF else None

    # Classes

    async def _class(self) -> Characters:
        """Parse a class such as `[a-z0-9_]` or `[^[:alpha:]\\d]`."""
        self.at += 1
        negative = self.next == "^"
        self.at += negative
        items: list[Characters] = []
        first = True
        while first or self.next != "]":
            first = False
            if plain := _PLAIN_IN_CLASS.match(self.text, self.at):
                self.at = plain.end()
                items += [classes.code_range(ord(each), ord(each), folds=self.folds) for each in sorted(set(plain[0]))]
            else:
                items.append(self._class_item())
            if len(items) >= ITEMS_PER_SLICE:
                items = [classes.union(items)]
                await pause()
        self.at += 1
        characters = classes.union(items)
        return characters.negated() if negative else characters

    def _class_item(self) -> Characters:
        if self.text.startswith("[:", self.at) and (end := self._class_name_end()) >= 0:
            name, self.at = self.text[self.at : end + 2], end + 2
            if name not in classes.POSIX:
                raise BadRegex("invalid character class range")
            mask, negative = classes.POSIX[name]
            return classes.ascii_class(mask, folds=self.folds, negative=negative)
        if self.next == "\\" and (characters := self._escaped_class()) is not None:
            return characters
        low = high = self._class_character()
        if self.next == "-" and self.text[self.at + 1 : self.at + 2] != "]":
            self.at += 1
            high = self._class_character()
            if high < low:
                raise BadRegex("invalid character class range")
        return classes.code_range(low, high, folds=self.folds)

    def _class_name_end(self) -> int:
        """Return the position of the next ":]"; -1 if there is none. Cached, because a class may contain many "[:"."""
        if 0 <= self.class_name_end < self.at:
            self.class_name_end = self.text.find(":]", self.at)
        return self.class_name_end

    def _class_character(self) -> int:
        if not self.next:
            raise BadRegex("missing closing ]")
        return self._escape() if self.next == "\\" else ord(self.take())
