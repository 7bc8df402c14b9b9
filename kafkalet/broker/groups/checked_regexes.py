"""A cache of the subscription regular expressions that have already been validated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.tasks.task import finish

if TYPE_CHECKING:  # imported with the first expression
    from kafkalet.broker.regex.automaton import BadRegex

LONG_EXPRESSION = 1000
"""Compiling an expression with more characters takes longer than a millisecond."""
MOST_CHECKED = 16


class CheckedRegexes:
    """The regular expressions that a broker validated most recently, with an error for each invalid one.

    Compiling a long expression can take ten milliseconds or more. A request handler therefore compiles it step by step
    (`read`) before it calls the group, which then finds the result in this cache.
    """

    def __init__(self) -> None:
        self._problems: dict[str, BadRegex | None] = {}

    def check(self, expression: str) -> None:
        """Raise INVALID_REGULAR_EXPRESSION if RE2 would reject the expression."""
        finish(self.read(expression))
        problem = self._problems[expression]
        if problem is not None:
            raise KafkaError(
                Code.INVALID_REGULAR_EXPRESSION,
                f"SubscribedTopicRegex `{expression}` is not a valid regular expression: {problem}.",
            ) from problem

    async def read(self, expression: str) -> None:
        """Compile an expression step by step, so that `check` finds the result in the cache."""
        if expression in self._problems:
            return
        from kafkalet.broker.regex.automaton import LONGEST_TOPIC_NAME, BadRegex, compile_in_turns

        problem = None
        try:
            await compile_in_turns(expression, LONGEST_TOPIC_NAME)
        except BadRegex as found:
            problem = found
        if len(self._problems) >= MOST_CHECKED:
            del self._problems[next(iter(self._problems))]
        self._problems[expression] = problem
