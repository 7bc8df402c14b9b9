"""Reading regular expressions as RE2 does: no references to what was matched before, no looking ahead or behind.

What comes out is a tree of nodes. Groups only group: nobody asks what they have matched, nor whether a repetition
prefers more or less. What cannot be read is refused in the words of RE2/J.

Source: com.google.re2j.Parser; the syntax is described at github.com/google/re2/wiki/Syntax.
"""

from enum import Enum
from typing import NamedTuple

from . import regex_classes as classes

MOST_REPETITIONS = 1000
DEEPEST = 250


class BadRegex(ValueError):
    """An expression that cannot be read. The text is RE2/J's description of why."""


class Kind(Enum):
    SET = "one of some characters"
    EMPTY = "nothing"
    BEGIN = "where the text begins"
    END = "where it ends"
    BOUNDARY = "where a word begins or ends"
    INSIDE = "where none does"
    SEQUENCE = "one after the other"
    CHOICE = "one or the other"
    REPEAT = "several times"


class Node(NamedTuple):
    """A part of an expression."""

    kind: Kind
    parts: tuple["Node", ...] = ()
    mask: int = 0  # of a set
    least: int = 0  # of a repetition
    most: int | None = None  # None: any number


class _Frame:
    """A group that is being read: what came since its last bar, the choices before, and the flags outside of it."""

    def __init__(self, outer_folds: bool) -> None:
        self.outer_folds = outer_folds
        self.choices: list[Node] = []
        self.sequence: list[Node] = []

    def node(self) -> Node:
        choices = [*self.choices, _joined(Kind.SEQUENCE, self.sequence)]
        return _joined(Kind.CHOICE, choices)


def _joined(kind: Kind, parts: list[Node]) -> Node:
    if not parts:
        return Node(Kind.EMPTY)
    return parts[0] if len(parts) == 1 else Node(kind, tuple(parts))


_SIMPLE = {"^": Node(Kind.BEGIN), "$": Node(Kind.END), ".": Node(Kind.SET, mask=classes.EVERY)}
_PLACES = {"A": Node(Kind.BEGIN), "z": Node(Kind.END), "b": Node(Kind.BOUNDARY), "B": Node(Kind.INSIDE)}
_REPEATS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_ESCAPES = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_OCTAL, _DIGITS, _HEX = "01234567", "0123456789", "0123456789abcdefABCDEF"
_ALNUM = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def parse(expression: str) -> Node:
    """The tree of an expression. Raises BadRegex."""
    return _Parser(expression).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.folds = False  # case does not count
        self.frames = [_Frame(False)]
        self.names: set[str] = set()

    @property
    def next(self) -> str:
        """The next character, "" at the end."""
        return self.text[self.at : self.at + 1]

    def take(self) -> str:
        self.at += 1
        return self.text[self.at - 1 : self.at]

    def parse(self) -> Node:
        repeated = False
        while self.at < len(self.text):
            repeated = self._item(repeated)
        if len(self.frames) > 1:
            raise BadRegex("missing closing )")
        return self.frames[0].node()

    def _item(self, repeated: bool) -> bool:
        """Read the next item; whether it was a repetition, after which none may follow."""
        character, frame = self.next, self.frames[-1]
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
            frame.choices.append(_joined(Kind.SEQUENCE, frame.sequence))
            frame.sequence = []
        elif character == ")":
            self._close()
        elif character == "[":
            frame.sequence.append(self._class())
        elif character == "\\":
            self._escaped()
        else:
            self.at += 1
            frame.sequence.append(_SIMPLE.get(character) or self._literal(ord(character)))
        return False

    def _literal(self, code: int) -> Node:
        mask = classes.one(code)
        return Node(Kind.SET, mask=classes.folded(mask, code, code) if self.folds else mask)

    # repetitions

    def _repeat(self, least: int, most: int | None, repeated: bool) -> None:
        if self.next == "?":  # rather less than more
            self.at += 1
        if repeated:
            raise BadRegex("invalid nested repetition operator")
        sequence = self.frames[-1].sequence
        if not sequence:
            raise BadRegex("missing argument to repetition operator")
        sequence[-1] = Node(Kind.REPEAT, (sequence[-1],), least=least, most=most)

    def _bounds(self) -> tuple[int, int | None] | None:
        """What `{2}`, `{2,}` and `{2,3}` say; None for a brace that stands for itself."""
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

    # groups

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
        if len(self.frames) > DEEPEST:
            raise BadRegex("expression nests too deeply")
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
        """`(?i)` for the rest of the group, `(?i:` for a group of its own; of the flags only `i` matters here."""
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
        self.frames[-1].sequence.append(frame.node())

    # escapes

    def _escaped(self) -> None:
        sequence, following = self.frames[-1].sequence, self.text[self.at + 1 : self.at + 2]
        if following in _PLACES and following:
            self.at += 2
            sequence.append(_PLACES[following])
        elif following == "Q":
            end = self.text.find("\\E", self.at + 2)
            quoted = self.text[self.at + 2 : end if end >= 0 else len(self.text)]
            self.at = end + 2 if end >= 0 else len(self.text)
            sequence += [self._literal(ord(character)) for character in quoted]
        elif (mask := self._escaped_class()) is not None:
            sequence.append(Node(Kind.SET, mask=mask))
        else:
            sequence.append(self._literal(self._escape()))

    def _escaped_class(self) -> int | None:
        """`\\d`, `\\pL`, `\\P{Greek}`: a class; None, and nothing read, for any other escape."""
        following = self.text[self.at + 1 : self.at + 2]
        if following in ("p", "P"):
            self.at += 2
            return self._unicode(negative=following == "P")
        if following and following in classes.PERL:
            self.at += 2
            return self._set(classes.PERL[following])
        return None

    def _unicode(self, *, negative: bool) -> int:
        name = self.take()
        if name == "{":
            end = self.text.find("}", self.at)
            name, self.at = (self.text[self.at : end], end + 1) if end >= 0 else ("", self.at)
        if name.startswith("^"):
            name, negative = name[1:], not negative
        mask = classes.unicode_class(name)
        if mask is None:
            raise BadRegex("invalid character class range")
        mask = self._set(mask)
        return classes.EVERY & ~mask if negative else mask

    def _set(self, mask: int) -> int:
        return classes.folded(mask) if self.folds else mask

    def _escape(self) -> int:
        """The code of one escaped character."""
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

    # classes

    def _class(self) -> Node:
        """`[a-z0-9_]`, `[^[:alpha:]\\d]`"""
        self.at += 1
        negative = self.next == "^"
        self.at += negative
        mask, first = 0, True
        while first or self.next != "]":
            first = False
            mask |= self._class_item()
        self.at += 1
        return Node(Kind.SET, mask=classes.EVERY & ~mask if negative else mask)

    def _class_item(self) -> int:
        if self.text.startswith("[:", self.at) and (end := self.text.find(":]", self.at)) >= 0:
            name, self.at = self.text[self.at : end + 2], end + 2
            if name not in classes.POSIX:
                raise BadRegex("invalid character class range")
            return self._set(classes.POSIX[name])
        if self.next == "\\" and (mask := self._escaped_class()) is not None:
            return mask
        low = high = self._class_character()
        if self.next == "-" and self.text[self.at + 1 : self.at + 2] != "]":
            self.at += 1
            high = self._class_character()
            if high < low:
                raise BadRegex("invalid character class range")
        mask = classes.between(low, high)
        return classes.folded(mask, low, high) if self.folds else mask

    def _class_character(self) -> int:
        if not self.next:
            raise BadRegex("missing closing ]")
        return self._escape() if self.next == "\\" else ord(self.take())
