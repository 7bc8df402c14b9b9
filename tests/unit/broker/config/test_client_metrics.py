"""`kafkalet.broker.config.client_metrics`: properties of client metrics subscriptions."""

import pytest

from kafkalet.broker.config.client_metrics import PROPERTIES, check, client_metrics_entries, patterns
from kafkalet.broker.config.entries import Source
from kafkalet.broker.config.release import Release
from kafkalet.protocol.errors import Code, KafkaError
from tests.effort import executed_lines
from tests.unit.broker.configuration import names_in_code

NOW, BEFORE = Release.of("4.4"), Release.of("3.9")


def code_of(texts: dict[str, str], release: Release = NOW) -> Code:
    try:
        check(texts, release)
    except KafkaError as error:
        return error.code
    return Code.NONE


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("interval.ms", "100", Code.NONE),
        ("interval.ms", "3600000", Code.NONE),
        ("interval.ms", "99", Code.INVALID_REQUEST),
        ("interval.ms", "3600001", Code.INVALID_REQUEST),
        ("interval.ms", "often", Code.INVALID_CONFIG),
        ("metrics", "*", Code.NONE),
        ("match", "client_id=a.*", Code.NONE),
        ("match", "client_id=[", Code.INVALID_CONFIG),
        ("match", "client_id", Code.INVALID_CONFIG),
        ("match", "name=a", Code.INVALID_CONFIG),
        ("match", "client_id=(?<!a)b", Code.INVALID_CONFIG),
        ("match", r"client_id=(a)\1", Code.INVALID_CONFIG),
        ("match", "client_id=a++", Code.INVALID_CONFIG),
        ("match", "client_id=a,", Code.INVALID_CONFIG),
        ("nope", "", Code.INVALID_REQUEST),
    ],
)
def test_properties_of_a_subscription_are_validated(name: str, value: str, code: Code) -> None:
    assert code_of({name: value}) is code


def test_properties_are_plain_text_before_4_0() -> None:
    assert code_of({"interval.ms": "often"}, BEFORE) is Code.UNKNOWN_SERVER_ERROR
    assert code_of({"match": ""}, BEFORE) is Code.INVALID_CONFIG
    assert code_of({"match": ""}) is Code.NONE
    assert [entry.name for entry in client_metrics_entries({"metrics": "a"}, BEFORE)] == ["metrics"]


def test_match_is_parsed_by_client_attribute() -> None:
    found = patterns(" client_id = a.* , client_software_name = librdkafka", NOW)
    assert {name: pattern.expression for name, pattern in found.items()} == {
        "client_id": "a.*",
        "client_software_name": "librdkafka",
    }
    assert not patterns("", NOW)


def test_pattern_that_needs_backtracking_is_refused_with_the_reason() -> None:
    with pytest.raises(KafkaError, match="not a valid RE2 expression: invalid escape sequence"):
        patterns(r"client_id=(a)\1", NOW)


def test_pattern_with_exponential_backtracking_matches_in_linear_time() -> None:
    [pattern] = patterns("client_id=(a+)+b", NOW).values()
    assert executed_lines(lambda: pattern.matches("a" * 200)) < 20_000
    assert pattern.matches("aaab")


def test_all_properties_are_returned_with_their_source() -> None:
    result = {entry.name: (entry.value, entry.source) for entry in client_metrics_entries({"interval.ms": "500"}, NOW)}
    assert result == {
        "interval.ms": ("500", Source.CLIENT_METRICS),
        "match": ("", Source.DEFAULT),
        "metrics": ("", Source.DEFAULT),
    }


@pytest.mark.slow
def test_every_property_is_read_by_name() -> None:
    assert [name for name in PROPERTIES if name not in names_in_code()] == []
