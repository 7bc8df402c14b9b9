"""Regular expressions in RE2 syntax, matched in linear time (KIP-848, KIP-1152).

    compile_regex(expression)            return a function that checks whether a whole text matches
    await compile_in_turns(expression)   return a Regex, whose `select(texts)` is also a coroutine

An expression becomes a nondeterministic finite automaton (NFA). While texts are matched, the NFA is converted lazily to
a deterministic one (DFA); a limited number of its states is cached. So the matching time is linear in the length of the
expression and of the text. Python's `re`, which backtracks, can take exponential time.

The coroutines pause after a slice of work (a few milliseconds), so that the event loop can serve other clients.

Source: com.google.re2j, used by org.apache.kafka.coordinator.group.modern.consumer.TopicRegexResolver.
"""

from collections.abc import Callable, Generator, Iterable

from kafkalet.tasks.task import finish, pause

from .classes import WORD, Beyond, none_beyond
from .syntax import parse
from .tree import MOST_STATES, BadRegex, Kind, Node

__all__ = [
    "LONGEST_STRING",
    "LONGEST_TOPIC_NAME",
    "BadRegex",
    "Regex",
    "compile_in_turns",
    "compile_regex",
]

LONGEST_TOPIC_NAME = 249
LONGEST_STRING = 32_767
WORK_PER_SLICE = 5_000
MOST_STATES_KEPT = 50_000
"""When the total size of the DFA's cached state sets exceeds this, the cache is cleared."""

States = frozenset[int]


def compile_regex(expression: str, longest: int = LONGEST_STRING) -> Callable[[str], bool]:
    """Return a function that checks whether a whole text matches `expression`. Raises BadRegex if it is invalid.

    Texts longer than `longest` characters do not match. The smaller `longest` is, the more repetitions an expression
    may have.
    """
    return finish(compile_in_turns(expression, longest)).matches


async def compile_in_turns(expression: str, longest: int = LONGEST_STRING) -> "Regex":
    """Compile an expression. Raises BadRegex."""
    tree = await parse(expression, longest)
    if tree.states > MOST_STATES:
        raise BadRegex(f"with expanded repetitions it has more than {MOST_STATES} states, which is the limit")
    return Regex(expression, tree, longest)


class Regex:
    """A compiled regular expression. The automaton is built when the first text is matched."""

    def __init__(self, expression: str, tree: Node, longest: int) -> None:
        self.expression = expression
        self._tree = tree
        self._longest = longest
        self._start: _Reached | None = None

    def most_work(self, text: str) -> int:
        """Return the maximum number of states visited to match `text`. A million take a few tenths of a second."""
        return (self._tree.states + 1) * (len(text) + 1)

    def matches(self, text: str) -> bool:
        """Return whether the whole text matches."""
        return bool(finish(self.select([text])))

    async def select(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that match as a whole."""
        if self._start is None:
            automaton = _Automaton()
            start = await automaton.build(self._tree)
            self._start = _Reached(automaton, frozenset([start]), None)
        automaton, start_of_text = self._start.automaton, self._start
        found = []
        for text in texts:
            automaton.work += 1 + len(text) // 16
            reached = start_of_text
            for character in text if len(text) <= self._longest else "":
                reached = reached[character]
                if automaton.work > WORK_PER_SLICE:
                    automaton.work = 0
                    await pause()
                if not reached.states:
                    break
            if len(text) <= self._longest and reached.is_end():
                found.append(text)
            if automaton.states_kept > MOST_STATES_KEPT:
                automaton.forget()
                start_of_text.clear()
        return found


class _Reached(dict[str, "_Reached"]):
    """A state of the DFA: a set of NFA states, and whether the last character was a word character.

    `before` is None at the beginning of the text. The dictionary maps the next character to the next state, which is
    computed on first use.
    """

    __slots__ = ("_is_end", "automaton", "before", "states")

    def __init__(self, automaton: "_Automaton", states: States, before: bool | None) -> None:
        super().__init__()
        self.automaton = automaton
        self.states = states
        self.before = before
        self._is_end: bool | None = None

    def __missing__(self, character: str) -> "_Reached":
        states = self.automaton.step(self.states, self.before, character)
        reached = self[character] = self.automaton.reached(states, _is_word(character))
        return reached

    def is_end(self) -> bool:
        """Return whether a text that ends in this state matches."""
        if self._is_end is None:
            self._is_end = _END in self.automaton.closure(self.states, self.before, None)
        return self._is_end


_END = 0


class _Automaton:
    """The NFA. States are numbers. A state either consumes one character from its set, or is a zero-width assertion, or
    has epsilon transitions to any number of states."""

    def __init__(self) -> None:
        self.work = 0
        self.states_kept = 0
        self._known: dict[tuple[States, bool | None], _Reached] = {}
        self._kinds: list[Kind | None] = [None]  # a set, an assertion, or None for epsilon transitions
        self._masks = [0]  # the ASCII characters of a set
        self._beyond: list[Beyond] = [none_beyond]  # the other characters of a set
        self._following: list[tuple[int, ...]] = [()]

    def reached(self, states: States, before: bool) -> _Reached:
        known = self._known.get((states, before))
        if known is None:
            known = self._known[states, before] = _Reached(self, states, before)
            self.states_kept += len(states) + 8
        return known

    def forget(self) -> None:
        """Clear the cached states of the DFA."""
        for known in self._known.values():
            known.clear()
        self._known.clear()
        self.states_kept = 0

    def step(self, states: States, before: bool | None, character: str) -> States:
        """Return the NFA states that are reached by consuming `character`."""
        code = ord(character)
        reached = self.closure(states, before, _is_word(character))
        following = self._following
        if code < 128:
            bit = 1 << code
            masks = self._masks
            return frozenset([following[state][0] for state in reached if masks[state] & bit])
        beyond = self._beyond
        return frozenset([following[state][0] for state in reached if beyond[state](code)])

    def closure(self, states: States, before: bool | None, after: bool | None) -> set[int]:
        """Return all states that can be reached without consuming a character.

        `before` and `after` tell whether the neighboring characters are word characters; they are None at the ends of
        the text.
        """
        holds = {
            Kind.SET: False,
            Kind.BEGIN: before is None,
            Kind.END: after is None,
            Kind.BOUNDARY: bool(before) != bool(after),
            Kind.INSIDE: bool(before) == bool(after),
        }
        kinds, following = self._kinds, self._following
        reached, open_ = set(states), list(states)
        while open_:
            state = open_.pop()
            kind = kinds[state]
            if kind is None or holds[kind]:
                more = [each for each in following[state] if each not in reached]
                reached.update(more)
                open_ += more
        self.work += len(reached)
        return reached

    # The automaton is built from end to start: each part gets the state that follows it, and returns its start state.

    async def build(self, tree: Node) -> int:
        """Build the automaton and return the start state.

        This uses a stack instead of recursion, because expressions may nest to any depth.
        """
        open_ = [self._part(tree, _END)]
        start: int | None = None
        built = 0
        while open_:
            try:
                node, end = open_[-1].send(start) if start is not None else next(open_[-1])
            except StopIteration as done:
                open_.pop()
                start = done.value
            else:
                open_.append(self._part(node, end))
                start = None
            if len(self._masks) > built + WORK_PER_SLICE // 4:
                built = len(self._masks)
                await pause()
        assert start is not None
        return start

    def _part(self, node: Node, end: int) -> Generator[tuple[Node, int], int, int]:
        """Build one part. For each part inside it, yield (part, following state) and receive its start state."""
        if node.kind is Kind.EMPTY:
            return end
        if node.kind is Kind.SEQUENCE:
            for part in reversed(node.parts):
                end = self._set(part, end) if part.kind is Kind.SET else (yield part, end)
            return end
        if node.kind is Kind.CHOICE:
            starts: list[int] = []
            for part in node.parts:
                start = self._set(part, end) if part.kind is Kind.SET else (yield part, end)
                starts.append(start)
            return self._new(tuple(starts))
        if node.kind is Kind.REPEAT:
            return (yield from self._repetition(node, end))
        if node.kind is Kind.SET:
            return self._set(node, end)
        if node.kind is Kind.NEVER:
            return self._new(())
        return self._new((end,), node.kind)

    def _repetition(self, node: Node, end: int) -> Generator[tuple[Node, int], int, int]:
        [part] = node.parts
        least = node.least
        if node.most is None:
            loop = self._new(())
            start = yield part, loop
            self._following[loop] = (start, end)
            if least == 0:
                start = loop
            least -= 1
        else:
            start = end
            for _ in range(node.most - node.least):
                start = self._new(((yield part, start), end))
        for _ in range(least):
            start = yield part, start
        return start

    def _set(self, node: Node, end: int) -> int:
        assert node.characters is not None
        state = self._new((end,), Kind.SET)
        self._masks[state], self._beyond[state] = node.characters
        return state

    def _new(self, following: tuple[int, ...], kind: Kind | None = None) -> int:
        self._masks.append(0)
        self._beyond.append(none_beyond)
        self._kinds.append(kind)
        self._following.append(following)
        return len(self._masks) - 1


def _is_word(character: str) -> bool:
    code = ord(character)
    return code < 128 and bool(WORD >> code & 1)
