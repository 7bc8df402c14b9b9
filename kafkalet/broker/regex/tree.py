"""The tree of a regular expression, made simpler while it is built, so that a repetition of a repetition stays small.

Only texts up to a longest one are ever matched (a topic has at most 249 characters). Therefore

* a part whose shortest match is longer than that matches nothing at all,
* `x{n,m}` is `x{n,}` if m is more than can be told apart, and n is bounded likewise,
* what matches without a character may be repeated once, or, if it always does, not at all: `(){1000}` is ``,
  `(a*){5}` is `a*`,
* a repetition of a repetition is one: `(a{1,30}){1,30}` is `a{1,900}`.

RE2/J writes every repetition out and ends with an OutOfMemoryError where that is too much.
"""

from enum import Enum

from .classes import Characters


class BadRegex(ValueError):
    """An expression that is not taken. The text is RE2/J's description of why, where RE2/J does not take it either."""


class Kind(Enum):
    SET = "one of some characters"
    EMPTY = "nothing"
    NEVER = "no text at all"
    BEGIN = "where the text begins"
    END = "where the text ends"
    BOUNDARY = "where a word begins or ends"
    INSIDE = "where no word begins or ends"
    SEQUENCE = "one part after the other"
    CHOICE = "one part or the other"
    REPEAT = "a part several times"


MOST_STATES = 60_000
"""How large an automaton may become: more than any expression needs that repeats nothing, for a string has at most
32,767 bytes. Kafka has no bound, and ends with an OutOfMemoryError at some millions."""


class Node:
    """A part of an expression."""

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
        """Of a set."""
        self.least, self.most = least, most
        """Of a repetition; None is any number."""
        self.min_length = min_length
        self.is_zero_width = is_zero_width
        """It never takes a character."""
        self.is_nullable = is_nullable
        """It matches without a character wherever it is tried."""
        self.states = min(states, MOST_STATES + 1)
        """How many states it has in an automaton."""


EMPTY = Node(Kind.EMPTY, is_zero_width=True, is_nullable=True, states=0)
NEVER = Node(Kind.NEVER)
BEGIN, END, BOUNDARY, INSIDE = (
    Node(kind, is_zero_width=True) for kind in (Kind.BEGIN, Kind.END, Kind.BOUNDARY, Kind.INSIDE)
)


def set_of(characters: Characters) -> Node:
    return Node(Kind.SET, characters=characters, min_length=1)


def sequence(parts: list[Node], longest: int) -> Node:
    """One part after the other."""
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
    """One of the parts."""
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
    """Whether `(x{a,b}){c,d}` is `x{ac,bd}`: k times a to b and k + 1 times a to b meet, for all k from c on."""
    if least == most or inner.least <= 1:
        return True
    return least > 0 if inner.most is None else least * (inner.most - inner.least) + 1 >= inner.least


def repetition(part: Node, least: int, most: int | None, longest: int) -> Node:
    """A part `least` to `most` times; without an end if `most` is None."""
    if most == 0 or part is EMPTY:
        return EMPTY
    if part is NEVER:
        return NEVER if least else EMPTY
    if part.is_zero_width:  # to be at a place twice says no more than to be there once
        return part if least or part.is_nullable else choice([part, EMPTY])
    if part.is_nullable:
        least = 0
    if least * part.min_length > longest:
        return NEVER
    # Among more repetitions than characters, some take no character; one such more or less makes no difference.
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
