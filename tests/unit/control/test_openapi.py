"""Tests of the OpenAPI document: it is valid, complete, and kafkalet/control/openapi.json is its copy.

After a change of a route, write the copy again: `.venv/bin/python -m tests.unit.control.test_openapi`
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any

import pytest

from kafkalet.control.openapi import document
from kafkalet.control.route import Routes
from kafkalet.control.routes import areas
from kafkalet.control.shapes import Field, Object, Text
from tests.source import ROOT

validator: ModuleType | None = None
with suppress(ImportError):  # outside the test, because it may import urllib3, which opens a socket
    import openapi_spec_validator as validator

COPY = ROOT / "kafkalet" / "control" / "openapi.json"


def text() -> str:
    return json.dumps(document(areas()), indent=2) + "\n"


def test_copy_in_the_documentation_is_up_to_date() -> None:
    assert COPY.read_text() == text(), "run .venv/bin/python -m tests.unit.control.test_openapi"


@pytest.mark.skipif(validator is None, reason="the extra `test` has openapi-spec-validator")
def test_document_is_valid() -> None:
    assert validator is not None
    validator.validate(document(areas()))


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def test_every_reference_has_a_target_and_every_schema_is_used() -> None:
    found = document(areas())
    schemas = {f"#/components/schemas/{name}" for name in found["components"]["schemas"]}
    assert set(references(found)) - {"#/components/responses/Error"} == schemas


def test_every_route_is_in_the_document() -> None:
    paths = document(areas())["paths"]
    for area in areas():
        for route in area:
            assert paths[route.template][route.method.lower()]["operationId"] == route.name


def test_body_whose_fields_all_have_defaults_is_optional() -> None:
    paths = document(areas())["paths"]
    assert paths["/v1/topics/{name}/wait"]["post"]["requestBody"]["required"] is False
    assert paths["/v1/topics"]["post"]["requestBody"]["required"] is True


def test_two_objects_of_one_name_are_refused() -> None:
    routes = Routes("a", "A.")
    routes.post("/a", body=Object("A", "A."), response=Object("A", "Another.", Field("a", Text(), "A.")))(
        lambda call: None
    )
    with pytest.raises(ValueError, match="two objects have the name A"):
        document([routes])


if __name__ == "__main__":
    COPY.write_text(text())
