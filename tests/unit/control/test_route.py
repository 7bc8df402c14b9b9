"""Tests of routes: declarations, and how a request finds its route."""

from collections.abc import Sequence
from threading import Event
from typing import Annotated, Literal, cast

import pytest

from kafkalet.control.route import Call, Route, Routes, find
from kafkalet.control.routes import areas
from kafkalet.control.shapes import Integer, Json, ListOf, Malformed, Nullable, Object, Text
from kafkalet.testing.cluster import Cluster

ROUTES = Routes("letters", "Letters.")
Name = Annotated[str, "The name."]


@ROUTES.get("/v1/letters", response=None)
def list_letters(call: Call) -> None:
    """Return all letters. In order."""


@ROUTES.get("/v1/letters/{name}", response=None)
def get_letter(call: Call, name: Name, limit: Annotated[int | None, Integer(1, 9), "A limit."] = None) -> None:
    """Return a letter."""


@ROUTES.post("/v1/letters/{name}", "A letter.", name="NewLetter")
def send_letter(
    call: Call,
    name: Name,
    size: Annotated[Literal["a4", "a5"], "The size."],
    lines: Annotated[Sequence[str], "Text."] = (),
) -> Json:
    """Send a letter."""
    return [name, size, lines]


@ROUTES.get("/v1/letters/last", response=None)
def get_last_letter(call: Call) -> None:
    """Return the last letter."""


def route(name: str) -> Route:
    return next(each for each in ROUTES if each.name == name)


def test_parameter_of_a_get_that_is_not_in_the_path_is_in_the_query() -> None:
    found = route("getLetter")
    assert (list(found.path), list(found.query)) == (["name"], ["limit"])
    limit = found.query["limit"]
    assert isinstance(limit.shape, Nullable)
    assert isinstance(limit.shape.shape, Integer)
    assert (limit.description, limit.default, limit.shape.shape.most) == ("A limit.", None, 9)


def test_parameters_of_a_post_are_an_object() -> None:
    body = route("sendLetter").body
    assert isinstance(body, Object)
    assert (body.name, body.description, list(body.fields)) == ("NewLetter", "A letter.", ["size", "lines"])
    size, lines = (field.shape for field in body.fields.values())
    assert isinstance(size, Text)
    assert isinstance(lines, ListOf)
    assert (size.allowed, body.fields["size"].is_required, body.fields["lines"].default) == (("a4", "a5"), True, [])


def test_handler_is_called_with_the_values_of_a_request() -> None:
    call = Call(cast("Cluster", None), {"name": "x"}, {}, {"size": "a4", "lines": []}, Event())
    assert route("sendLetter").respond(call) == ["x", "a4", []]


def test_route_is_found_by_method_and_path() -> None:
    found = find(ROUTES, "POST", "/v1/letters/a")
    assert found.route is not None
    assert (found.route.name, found.path) == ("sendLetter", {"name": "a"})


def test_path_parameter_is_decoded_after_the_path_is_split() -> None:
    assert find(ROUTES, "GET", "/v1/letters/a%2Fb%20c").path == {"name": "a/b c"}


def test_literal_path_takes_precedence_over_a_parameter() -> None:
    found = find(ROUTES, "GET", "/v1/letters/last")
    assert found.route is not None
    assert found.route.handler is get_last_letter


def test_unsupported_method_returns_the_allowed_methods() -> None:
    assert find(ROUTES, "DELETE", "/v1/letters/a") == (None, {}, ["GET", "POST"])


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/letters/", "/v1/letters/a/b", "/v2/letters", "//v1/letters"])
def test_unknown_path_has_no_route(path: str) -> None:
    assert find(ROUTES, "GET", path) == (None, {}, [])


def test_path_that_is_not_utf8_is_malformed() -> None:
    with pytest.raises(Malformed, match="the path is not UTF-8 after percent-decoding"):
        find(ROUTES, "GET", "/v1/letters/%ff")


def test_summary_is_the_first_sentence_of_the_docstring() -> None:
    assert next(iter(ROUTES)).summary == "Return all letters"


# The routes of the API


def test_every_route_has_a_description_and_a_unique_name() -> None:
    routes = [route for area in areas() for route in area]
    names = [route.name for route in routes]
    assert len(names) == len(set(names))
    assert all(
        route.description.split("\n")[0].endswith((".", ":", ",")) or "\n" in route.description for route in routes
    )


def test_every_path_finds_its_own_route() -> None:
    routes = [route for area in areas() for route in area]
    for route in routes:
        path = route.template.replace("{", "").replace("}", "")
        assert find(routes, route.method, path).route is route
