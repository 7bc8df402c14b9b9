"""Tests of shapes: they accept the same values as their JSON Schema, and explain why they refuse others."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalet.control.shapes import (
    AnyOf,
    Boolean,
    Field,
    Integer,
    ListOf,
    Malformed,
    MapOf,
    Nullable,
    Number,
    Object,
    Shape,
    Text,
    check_fields,
)

POINT = Object(
    "Point", "A point.", Field("x", Integer(0, 9), "The x."), Field("y", Nullable(Integer()), "The y.", None)
)


def refusal(shape: Shape, value: Any) -> str:
    with pytest.raises(Malformed) as error:
        shape.check(value, "it")
    return str(error.value)


@pytest.mark.parametrize(
    ("shape", "value", "message"),
    [
        (Text(), 1, "it must be a string, not 1"),
        (Text(), None, "it must be a string, not null"),
        (Text("gzip", "zstd"), "gzp", "it is 'gzp'; it must be gzip or zstd; did you mean gzip?"),
        (Text(least=1), "", "it is empty; it needs at least 1 character"),
        (Text(most=3), "abcd", "it has 4 characters; at most 3 are allowed"),
        (Text(), "\ud800", "it contains a lone surrogate, which UTF-8 cannot represent"),
        (Integer(), True, "it must be an integer, not true"),
        (Integer(), 1.5, "it must be an integer, not 1.5"),
        (Integer(0, 9), 10, "it is 10; it must be from 0 to 9"),
        (Integer(), 1 << 80, "it is a number of more than 64 bits; it must be from -9223372036854775808 to"),
        (Number(0, 1), "a", "it must be a number, not 'a'"),
        (Number(0, 1), 2, "it is 2; it must be from 0 to 1"),
        (Boolean(), 1, "it must be true or false, not 1"),
        (ListOf(Integer()), {}, "it must be a list, not an object"),
        (ListOf(Integer(), least=1), [], "it has 0 elements; it needs at least 1"),
        (ListOf(Integer(), least=1, most=2), [1, 2, 3], "it has 3 elements; it needs 1 to 2"),
        (ListOf(Integer()), [1, "2"], "it[1] must be an integer, not '2'"),
        (MapOf(Text()), [], "it must be an object, not a list"),
        (MapOf(Integer(), of_integers=True), {"a": 1}, "a name in it must be an integer from 0 to 2147483647, not 'a'"),
        (POINT, {"x": 1, "z": 2}, "it has an unknown field 'z'; the fields are x, y"),
        (POINT, {"x": 1, "yy": 2}, "it has an unknown field 'yy'; did you mean y?"),
        (POINT, {}, "it.x is missing: The x."),
        (POINT, {"x": -1}, "it.x is -1; it must be from 0 to 9"),
    ],
)
def test_refused_value_is_named_with_the_allowed_values(shape: Shape, value: Any, message: str) -> None:
    assert refusal(shape, value).startswith(message)


def test_absent_field_has_its_default() -> None:
    assert POINT.check({"x": 1}, "the body") == {"x": 1, "y": None}


def test_field_of_the_body_is_named_without_a_prefix() -> None:
    with pytest.raises(Malformed, match=r"^x is missing: The x\.$"):
        POINT.check({}, "the body")


def test_names_of_a_map_of_integers_become_integers() -> None:
    assert MapOf(Integer(), of_integers=True).check({"3": 4}, "it") == {3: 4}


def test_any_of_checks_the_shape_that_is_chosen() -> None:
    shape = AnyOf([POINT, ListOf(POINT)], lambda value: int(isinstance(value, list)))
    assert shape.check([{"x": 1}], "it") == [{"x": 1, "y": None}]
    assert refusal(shape, 5) == "it must be an object, not 5"


@pytest.mark.parametrize(
    ("shape", "text", "value"),
    [
        (Text(), "a b", "a b"),
        (Integer(), "-5", -5),
        (Number(0, 9), "1.5", 1.5),
        (Boolean(), "true", True),
        (Nullable(Integer()), "7", 7),
        (ListOf(Text()), "a, b,", ["a", "b"]),
    ],
)
def test_parameter_is_read_from_text(shape: Shape, text: str, value: Any) -> None:
    assert shape.read(text, "it") == value


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (Integer(), "1_0"),
        (Integer(), "٣"),
        (Integer(), "9" * 5000),
        (Integer(), ""),
        (Boolean(), "1"),
        (Number(0, 9), "nan"),
    ],
)
def test_malformed_parameter_is_refused(shape: Shape, text: str) -> None:
    with pytest.raises(Malformed):
        shape.read(text, "it")


def test_unknown_parameter_is_refused_with_the_closest_name() -> None:
    fields = {"limit": Field("limit", Integer(), "The limit.", 1)}
    assert check_fields(fields, {}, "parameter") == {"limit": 1}
    with pytest.raises(Malformed, match=r"unknown parameter 'limt'; did you mean limit\?"):
        check_fields(fields, {"limt": "1"}, "parameter")


SHAPES = [
    Text(),
    Text("a", "b"),
    Text(least=2),
    Text(most=2),
    Integer(),
    Integer(-1, 5),
    Number(0, 2.5),
    Boolean(),
    Nullable(Text("a")),
    Nullable(POINT),
    ListOf(Nullable(Integer(0, 3)), least=1, most=2),
    MapOf(Boolean()),
    MapOf(Integer(), of_integers=True),
    POINT,
    AnyOf([POINT, ListOf(POINT)], lambda value: int(isinstance(value, list))),
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 7)
    | st.floats(-1, 4)
    | st.sampled_from(["", "a", "b", "12", "x"])
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "y", "z", "1", "22"]), inner, max_size=3)
    ),
    max_leaves=4,
)


@given(st.sampled_from(SHAPES), VALUES)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_shape_accepts_what_its_json_schema_accepts(shape: Shape, value: Any) -> None:
    """Unknown fields are the only exception: a request with one is refused, but its schema allows later releases."""
    jsonschema = pytest.importorskip("jsonschema", reason="the extra `test` has jsonschema")
    components = {each.name: each.definition() | {"additionalProperties": False} for each in shape.objects()}
    document = {"components": {"schemas": components}, **shape.schema()}
    try:
        shape.check(value, "it")
    except Malformed:
        accepted = False
    else:
        accepted = True
    assert jsonschema.Draft202012Validator(document).is_valid(value) is accepted
