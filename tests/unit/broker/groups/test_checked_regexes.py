"""The cache of validated regular expressions."""

import pytest

from kafkalet.broker.groups.checked_regexes import MOST_CHECKED, CheckedRegexes
from kafkalet.protocol.errors import Code, KafkaError


def test_check_of_invalid_expression_raises_invalid_regular_expression() -> None:
    with pytest.raises(KafkaError, match=r"SubscribedTopicRegex `\(` is not a valid regular expression") as refused:
        CheckedRegexes().check("(")
    assert refused.value.code == Code.INVALID_REGULAR_EXPRESSION


def test_only_latest_expressions_are_cached() -> None:
    regexes = CheckedRegexes()
    for number in range(100):
        regexes.check(f"t{number}")
    with pytest.raises(KafkaError):
        regexes.check("(")
    assert len(regexes._problems) == MOST_CHECKED
