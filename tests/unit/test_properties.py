"""Property values are parsed as in Kafka, with Kafka's error messages."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.properties import (
    InvalidProperty,
    Property,
    PropertySet,
    Type,
    at_least,
    between,
    one_of,
    read_properties,
    whole_number,
)
from kafkalet.storage.config import UnknownProperty


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (Type.BOOLEAN, " TRUE ", True),
        (Type.BOOLEAN, "False", False),
        (Type.INT, "+5", 5),
        (Type.INT, "\u0663", 3),
        (Type.INT, " -2147483648", -(1 << 31)),
        (Type.LONG, "9223372036854775807", (1 << 63) - 1),
        (Type.SHORT, "32767", 32767),
        (Type.INT, "0" * 5000 + "7", 7),
        (Type.LONG, "-" + "0" * 5000, 0),
        (Type.INT, "\u0660" * 30 + "\u0663", 3),
        (Type.DOUBLE, "0x1p99999", float("inf")),
        (Type.DOUBLE, "-0x1p99999", float("-inf")),
        (Type.DOUBLE, "1e-1", 0.1),
        (Type.DOUBLE, "1d", 1.0),
        (Type.DOUBLE, "+.5F", 0.5),
        (Type.DOUBLE, "2.", 2.0),
        (Type.DOUBLE, "0x1.8p1", 3.0),
        (Type.DOUBLE, "-Infinity", float("-inf")),
        (Type.LIST, "delete , compact", ("delete", "compact")),
        (Type.LIST, "", ()),
        (Type.STRING, " gzip ", "gzip"),
    ],
)
def test_values_are_parsed_as_in_kafka(type_: Type, text: str, value: object) -> None:
    assert type_.parse("p", text) == value


@pytest.mark.parametrize(
    ("type_", "text", "reason"),
    [
        (Type.BOOLEAN, "yes", "Expected value to be either true or false"),
        (Type.BOOLEAN, "", "Expected value to be either true or false"),
        (Type.INT, "2147483648", "Not a number of type INT"),
        (Type.INT, "1.5", "Not a number of type INT"),
        (Type.INT, "", "Not a number of type INT"),
        (Type.INT, "1_000", "Not a number of type INT"),
        (Type.INT, "x", "Not a number of type INT"),
        (Type.SHORT, "32768", "Not a number of type SHORT"),
        (Type.INT, "9" * 5000, "Not a number of type INT"),
        (Type.LONG, "-" + "9" * 5000, "Not a number of type LONG"),
        (Type.LONG, "1" + "0" * 20, "Not a number of type LONG"),
        (Type.INT, "+", "Not a number of type INT"),
        (Type.INT, "\u00a05", "Not a number of type INT"),
        (Type.LONG, "9223372036854775808", "Not a number of type LONG"),
        (Type.DOUBLE, "x", "Not a number of type DOUBLE"),
        (Type.DOUBLE, "", "Not a number of type DOUBLE"),
        (Type.DOUBLE, "1_0", "Not a number of type DOUBLE"),
        (Type.DOUBLE, "inf", "Not a number of type DOUBLE"),
        (Type.DOUBLE, "0x10", "Not a number of type DOUBLE"),
        (Type.DOUBLE, "\u0661", "Not a number of type DOUBLE"),
    ],
)
def test_value_of_wrong_type_is_refused(type_: Type, text: str, reason: str) -> None:
    with pytest.raises(InvalidProperty) as refused:
        type_.parse("some.name", text)
    assert str(refused.value) == f"Invalid value {text} for configuration some.name: {reason}"


@pytest.mark.parametrize(
    ("property_", "text", "message"),
    [
        (
            Property("a", Type.INT, "1", at_least(1)),
            "0",
            "Invalid value 0 for configuration a: Value must be at least 1",
        ),
        (
            Property("a", Type.INT, "1", between(1, 17)),
            " 18 ",
            "Invalid value 18 for configuration a: Value must be no more than 17",
        ),
        (
            Property("a", Type.STRING, "x", one_of("x", "y")),
            "X",
            "Invalid value X for configuration a: String must be one of: x, y",
        ),
        (
            Property("a", Type.LIST, "x", one_of("x", "y")),
            "x,z",
            "Invalid value z for configuration a: String must be one of: x, y",
        ),
    ],
)
def test_error_names_property_value_and_allowed_values(property_: Property, text: str, message: str) -> None:
    with pytest.raises(InvalidProperty) as refused:
        property_.parse(text)
    assert str(refused.value) == message


def test_bounds_of_a_range_are_allowed() -> None:
    assert Property("a", Type.INT, "1", between(1, 3)).parse("1") == 1
    assert Property("a", Type.INT, "1", between(1, 3)).parse("3") == 3


def test_property_set_parses_known_names_and_returns_unknown_ones() -> None:
    properties = PropertySet([Property("a", Type.INT, "1"), Property("b", Type.STRING, None)])
    assert properties.parse({"b": "x", "c": "?"}) == {"b": "x"}
    assert properties.unknown({"b": "x", "c": "?"}) == ["c"]
    assert [property_.name for property_ in properties] == ["a", "b"]
    assert properties["a"].default_value() == 1
    assert properties["b"].default_value() is None


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("a=1\nb = 2\n", {"a": "1", "b": "2"}),
        ("# comment\n! comment\n\n  a.b.c:x y  ", {"a.b.c": "x y  "}),
        ("a one two", {"a": "one two"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("a=1\na=2", {"a": "2"}),
        ("hosts=one,\\\n    two,\\\n    three\nb=1", {"hosts": "one,two,three", "b": "1"}),
        ("a=b=c", {"a": "b=c"}),
        ("a\\=b=c", {"a=b": "c"}),
        ("path=C\\:\\\\x\\ty", {"path": "C:\\x\ty"}),
        ("a=\\u00e4b", {"a": "äb"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a = # no comment", {"a": "# no comment"}),
        ("a=1\r\nb=2\r\n", {"a": "1", "b": "2"}),
    ],
)
def test_properties_file_is_parsed_as_in_java(text: str, properties: dict[str, str]) -> None:
    assert read_properties(text) == properties


@given(st.text())
def test_any_text_is_parsed_or_raises_value_error(text: str) -> None:
    try:
        read_properties(text)
    except ValueError:
        assert "\\u" in text


@pytest.mark.parametrize(("text", "number"), [("+1", 1), ("-1", -1), ("0" * 5000 + "1", 1), ("\u0661", 1)])
def test_integers_are_parsed_as_in_java(text: str, number: int) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize("text", ["", "+", " 1", "1 ", "1.0", "2147483648", "9" * 5000, "--1"])
def test_text_that_java_rejects_is_not_an_integer(text: str) -> None:
    assert whole_number(text) is None


def test_double_in_error_is_formatted_as_in_java() -> None:
    with pytest.raises(InvalidProperty, match="Invalid value Infinity for configuration ratio"):
        Property("ratio", Type.DOUBLE, "0.5", between(0, 1)).parse("9" * 5000)


@pytest.mark.parametrize("text", ["a=\\u12", "a=\\u", "a=\\uzzzz", "a=\\u+041"])
def test_malformed_unicode_escape_in_a_file_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="needs four hexadecimal digits"):
        read_properties(text)


def test_escaped_surrogate_pair_is_one_character() -> None:
    assert read_properties("a=\\ud83d\\ude00") == {"a": "\U0001f600"}


def test_refused_value_can_be_pickled_with_its_attributes() -> None:
    """Otherwise, a process pool breaks when a call in a worker raises the error."""
    for error in (InvalidProperty("ratio", "2", "too large"), UnknownProperty("retention.mss", "5")):
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
