"""The syntax tree of a regular expression, simplified while it is built, so that nested repetitions stay small.

Only texts up to a maximum length are matched (a topic name has at most 249 characters). Therefore

* a part whose shortest match is longer than that never matches,
* `x{n,m}` becomes `x{n,}` if m is too large to make a difference, and n is limited in the same way,
* a part that can match the empty text needs no minimum count, and one that is always empty is not repeated at all:
  `(){1000}` becomes the empty expression, `(a*){5}` becomes `a*`,
* nested repetitions are merged: `(a{1,30}){1,30}` becomes `a{1,900}`.

RE2/J expands all repetitions and fails with an OutOfMemoryError if there are too many of them.
"""

from enum import Enum

from .classes import Characters


class BadRegex(ValueError):
    """The expression is not supported. The message is RE2/J's if RE2/J rejects the expression, too."""


class Kind(Enum):
    SET = "a character of a set"
    EMPTY = "the empty text"
    NEVER = "no text at all"
    BEGIN = "the beginning of the text"
    END = "the end of the text"
    BOUNDARY = "a word boundary"
    INSIDE = "not a word boundary"
    SEQUENCE = "a sequence of parts"
    CHOICE = "one of several parts"
    REPEAT = "a repeated part"


MOST_STATES = 60_000
"""The maximum number of NFA states. An expression without repetitions cannot exceed it, because a string has at most
32,767 bytes. Kafka has no limit and fails with an OutOfMemoryError at a few million states."""


class Node:
    """A node of the syntax tree."""

    __slots__ = ("characters", "is_nullable", "is_zero_width", "kind", "least", "min_length", "most", "parts", "states")

    def __init__(
        self,
        kind: Kind,
        parts: tuple["Node", ...] = (),
        *,
        characters: Characters | None = None,
        least: int = 0,
        most: int | None = None,
        min_length: int = 0,
        is_zero_width: bool = False,
        is_nullable: bool = False,
        states: int = 1,
    ) -> None:
        self.kind = kind
        self.parts = parts
        self.characters = characters
        """The characters of a SET."""
        self.least, self.most = least, most
        """The bounds of a REPEAT; most is None if there is no upper bound."""
        self.min_length = min_length
        self.is_zero_width = is_zero_width
        """Whether the node never consumes a character."""
        self.is_nullable = is_nullable
        """Whether the node can match the empty text at every position."""
        self.states = min(states, MOST_STATES + 1)
        """The number of NFA states that the node needs."""


EMPTY = Node(Kind.EMPTY, is_zero_width=True, is_nullable=True, states=0)
NEVER = Node(Kind.NEVER)
BEGIN, END, BOUNDARY, INSIDE = (
    Node(kind, is_zero_width=True) for kind in (Kind.BEGIN, Kind.END, Kind.BOUNDARY, Kind.INSIDE)
)


def set_of(characters: Characters) -> Node:
    return Node(Kind.SET, characters=characters, min_length=1)


def sequence(parts: list[Node], longest: int) -> Node:
    """Return a node for a sequence of parts."""
    parts = [part for part in parts if part is not EMPTY]
    if not parts:
        return EMPTY
    if len(parts) == 1:
        return parts[0]
    min_length = sum(part.min_length for part in parts)
    if min_length > longest or any(part is NEVER for part in parts):
        return NEVER
    return Node(
        Kind.SEQUENCE,
        tuple(parts),
        min_length=min_length,
        is_zero_width=all(part.is_zero_width for part in parts),
        is_nullable=all(part.is_nullable for part in parts),
        states=sum(part.states for part in parts),
    )


def choice(parts: list[Node]) -> Node:
    """Return a node for an alternation of parts."""
    parts = [part for part in dict.fromkeys(parts) if part is not NEVER]
    if not parts:
        return NEVER
    if len(parts) == 1:
        return parts[0]
    return Node(
        Kind.CHOICE,
        tuple(parts),
        min_length=min(part.min_length for part in parts),
        is_zero_width=all(part.is_zero_width for part in parts),
        is_nullable=any(part.is_nullable for part in parts),
        states=sum(part.states for part in parts) + 1,
    )


def _leaves_no_gap(inner: Node, least: int, most: int | None) -> bool:
    """Return whether `(x{a,b}){c,d}` equals `x{ac,bd}`: for k >= c, the ranges [ka, kb] and [(k+1)a, (k+1)b] meet."""
    if least == most or inner.least <= 1:
        return True
    return least > 0 if inner.most is None else least * (inner.most - inner.least) + 1 >= inner.least


def repetition(part: Node, least: int, most: int | None, longest: int) -> Node:
    """Return a node for a part repeated `least` to `most` times; `most` is None for no upper bound."""
    if most == 0 or part is EMPTY:
        return EMPTY
    if part is NEVER:
        return NEVER if least else EMPTY
    if part.is_zero_width:  # repeating a zero-width assertion makes no difference
        return part if least or part.is_nullable else choice([part, EMPTY])
    if part.is_nullable:
        least = 0
    if least * part.min_length > longest:
        return NEVER
    # With more repetitions than characters, some match the empty text. Their number does not matter.
    least = min(least, longest + 1)
    if part.kind is Kind.REPEAT and _leaves_no_gap(part, least, most):
        least, most = part.least * least, None if most is None or part.most is None else part.most * most
        [part] = part.parts
        least = min(least, longest + 1)
    if most is not None and (most > longest or (most + 1) * part.min_length > longest):
        most = None
    if (least, most) == (1, 1):
        return part
    copies = max(least, 1) if most is None else most
    return Node(
        Kind.REPEAT,
        (part,),
        least=least,
        most=most,
        min_length=least * part.min_length,
        is_nullable=least == 0 or part.is_nullable,
        states=copies * part.states + (2 if most is None else most - least),
    )
