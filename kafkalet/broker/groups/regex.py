"""Which names of topics a regular expression stands for (RE2 syntax, KIP-848).

An expression becomes a nondeterministic automaton, and that, step by step as names are tried, a deterministic one. So
no expression can make a name take longer than a walk along it, whatever it repeats; Python's own `re` promises that
as little as other engines that go back and try again.

Source: com.google.re2j, used by org.apache.kafka.coordinator.group.modern.consumer.TopicRegexResolver.
"""

from collections.abc import Callable
from functools import lru_cache

from .regex_classes import WORD
from .regex_syntax import BadRegex, Kind, Node, parse

MOST_STATES = 10_000
MOST_STEPS_KEPT = 5_000

States = frozenset[int]

__all__ = ["BadRegex", "compile_regex"]


@lru_cache(maxsize=64)
def compile_regex(expression: str) -> Callable[[str], bool]:
    """Whether a name as a whole is what the expression says. Raises BadRegex for one that cannot be read."""
    return _Automaton(parse(expression)).matches


class _Automaton:
    """States are numbers. A set leads on with a character of its, a place only where it is one, others at once."""

    def __init__(self, tree: Node) -> None:
        self._sets: dict[int, tuple[int, int]] = {}  # state -> characters, next state
        self._places: dict[int, tuple[Kind, int]] = {}  # state -> what has to be there, next state
        self._moves: dict[int, list[int]] = {}
        self._steps: dict[tuple[States, bool | None, str], States] = {}
        self._states = 1
        self._end = 0
        self._start = self._build(tree, self._end)

    def matches(self, name: str) -> bool:
        states: States = frozenset([self._start])
        before: bool | None = None
        for character in name:
            key = states, before, character
            known = self._steps.get(key)
            if known is None:
                known = self._steps[key] = self._step(*key)
                if len(self._steps) > MOST_STEPS_KEPT:
                    self._steps.clear()
            states, before = known, _is_word(character)
            if not states:
                return False
        return self._end in self._closure(states, before, None)

    def _step(self, states: States, before: bool | None, character: str) -> States:
        code = ord(character)
        if code > 127:
            return frozenset()
        reached = self._closure(states, before, _is_word(character))
        return frozenset(
            self._sets[state][1] for state in reached if state in self._sets and self._sets[state][0] >> code & 1
        )

    def _closure(self, states: States, before: bool | None, after: bool | None) -> set[int]:
        """All states that are reached without a character. `before` and `after`: whether there are characters of
        words; None where the text begins or ends."""
        holds = {
            Kind.BEGIN: before is None,
            Kind.END: after is None,
            Kind.BOUNDARY: bool(before) != bool(after),
            Kind.INSIDE: bool(before) == bool(after),
        }
        reached, open_ = set(states), list(states)
        while open_:
            state = open_.pop()
            following = self._moves.get(state, [])
            if state in self._places and holds[self._places[state][0]]:
                following = [self._places[state][1]]
            for each in following:
                if each not in reached:
                    reached.add(each)
                    open_.append(each)
        return reached

    # building, from the end to the beginning: each part is given what follows it, and gives where it starts

    def _build(self, node: Node, end: int) -> int:
        match node.kind:
            case Kind.EMPTY:
                return end
            case Kind.SET:
                state = self._new()
                self._sets[state] = node.mask, end
                return state
            case Kind.SEQUENCE:
                for part in reversed(node.parts):
                    end = self._build(part, end)
                return end
            case Kind.CHOICE:
                state = self._new()
                self._moves[state] = [self._build(part, end) for part in node.parts]
                return state
            case Kind.REPEAT:
                return self._repeat(node, end)
            case place:
                state = self._new()
                self._places[state] = place, end
                return state

    def _repeat(self, node: Node, end: int) -> int:
        [part] = node.parts
        if node.most is None:
            loop = self._new()
            self._moves[loop] = [self._build(part, loop), end]
            start = loop
        else:
            start = end
            for _ in range(node.most - node.least):
                choice = self._new()
                self._moves[choice] = [self._build(part, start), end]
                start = choice
        for _ in range(node.least):
            start = self._build(part, start)
        return start

    def _new(self) -> int:
        self._states += 1
        if self._states > MOST_STATES:
            raise BadRegex("invalid repeat count")
        return self._states - 1


def _is_word(character: str) -> bool:
    code = ord(character)
    return code < 128 and bool(WORD >> code & 1)
