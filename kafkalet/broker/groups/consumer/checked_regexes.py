"""Whether regular expressions that clients subscribe with can be read."""

from collections.abc import Generator

from kafkalet.broker.regex.automaton import LONGEST_TOPIC_NAME, BadRegex, compiling, finished, in_turns
from kafkalet.protocol.errors import Code, KafkaError

LONG_EXPRESSION = 1000
"""An expression of more characters takes more than a millisecond to read."""
MOST_CHECKED = 16


class CheckedRegexes:
    """The expressions that clients of a broker came with last, and what is wrong with them.

    A long expression takes some ten milliseconds to read; a handler reads it in turns (`read`), and the group, which
    decides at once, then finds it here.
    """

    def __init__(self) -> None:
        self._problems: dict[str, BadRegex | None] = {}

    def check(self, expression: str) -> None:
        """Raise INVALID_REGULAR_EXPRESSION for an expression that RE2 cannot read."""
        if expression not in self._problems:
            self._remember(expression, finished(_reading(expression)))
        problem = self._problems[expression]
        if problem is not None:
            raise KafkaError(
                Code.INVALID_REGULAR_EXPRESSION,
                f"SubscribedTopicRegex `{expression}` is not a valid regular expression: {problem}.",
            ) from problem

    async def read(self, expression: str) -> None:
        """Have what `check` needs to know ready."""
        if expression not in self._problems:
            self._remember(expression, await in_turns(_reading(expression)))

    def _remember(self, expression: str, problem: BadRegex | None) -> None:
        if len(self._problems) >= MOST_CHECKED:
            del self._problems[next(iter(self._problems))]
        self._problems[expression] = problem


def _reading(expression: str) -> Generator[None, None, BadRegex | None]:
    try:
        yield from compiling(expression, LONGEST_TOPIC_NAME)
    except BadRegex as problem:
        return problem
    return None
