"""Tests of routes: declarations, and how a request finds its route."""

import pytest

from kafkalet.control.route import Call, Routes, find
from kafkalet.control.routes import areas
from kafkalet.control.shapes import Field, Malformed, Text

ROUTES = Routes("letters", "Letters.")
NAME = Field("name", Text(), "The name.")


@ROUTES.get("/v1/letters", response=None)
def list_letters(call: Call) -> None:
    """Return all letters. In order."""


@ROUTES.get("/v1/letters/{name}", NAME, response=None)
def get_letter(call: Call) -> None:
    """Return a letter."""


@ROUTES.post("/v1/letters/{name}", NAME)
def send_letter(call: Call) -> None:
    """Send a letter."""


@ROUTES.get("/v1/letters/last", response=None)
def get_last_letter(call: Call) -> None:
    """Return the last letter."""


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


def test_unsupported_method_is_answered_with_allowed_methods() -> None:
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


def test_every_route_is_the_one_that_its_path_finds() -> None:
    routes = [route for area in areas() for route in area]
    for route in routes:
        path = route.template.replace("{", "").replace("}", "")
        assert find(routes, route.method, path).route is route
