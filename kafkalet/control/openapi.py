"""The OpenAPI 3.1 document, generated from the declarations of the routes."""

from collections.abc import Iterable, Sequence

from kafkalet.version import VERSION

from .failures import ERROR
from .route import JSON, Route, Routes
from .shapes import Field, Json, Object, Shape

DESCRIPTION = """\
Controls the brokers of a `kafkalet serve --control HOST:PORT` process.

Names follow Kafka. Times are milliseconds since 1970 (UTC). Names of durations end with the unit. Keys and values of
records are strings; their encoding is `text` (UTF-8) or `base64`. Requests with unknown fields or parameters are
refused; responses may get more fields in later releases.
"""


def document(areas: Sequence[Routes]) -> Json:
    """Return the OpenAPI document of these routes."""
    paths: dict[str, Json] = {}
    objects: dict[str, Object] = {}
    for area in areas:
        for route in area:
            paths.setdefault(route.template, {})[route.method.lower()] = _operation(route)
            for shape in (route.body, route.response):
                _collect(shape, objects)
    _collect(ERROR, objects)
    return {
        "openapi": "3.1.0",
        "info": {"title": "kafkalet control API", "version": VERSION, "description": DESCRIPTION},
        "servers": [{"url": "/"}],
        "security": [{}, {"token": []}],
        "tags": [{"name": area.tag, "description": area.description} for area in areas],
        "paths": paths,
        "components": {
            "schemas": {name: objects[name].definition() for name in sorted(objects)},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "The value of --control-token."}
            },
            "responses": {
                "Error": {
                    "description": "The request failed.",
                    "content": {JSON: {"schema": ERROR.schema()}},
                }
            },
        },
    }


def _collect(shape: Shape | None, objects: dict[str, Object]) -> None:
    for each in shape.objects() if shape is not None else ():
        known = objects.setdefault(each.name, each)
        if known.definition() != each.definition():
            raise ValueError(f"two objects have the name {each.name}")


def _operation(route: Route) -> Json:
    operation: dict[str, Json] = {
        "operationId": route.name,
        "tags": [route.tag],
        "summary": route.summary,
        "description": route.description,
        "responses": {str(route.status): _response(route), **_errors(route)},
    }
    parameters = [*_parameters("path", route.path.values()), *_parameters("query", route.query.values())]
    if parameters:
        operation["parameters"] = parameters
    if route.consumes != JSON:
        operation["requestBody"] = {"required": True, "content": {route.consumes: {}}}
    elif route.body is not None:
        required = not (isinstance(route.body, Object) and not any(f.is_required for f in route.body.fields.values()))
        operation["requestBody"] = {"required": required, "content": {JSON: {"schema": route.body.schema()}}}
    return operation


def _parameters(place: str, fields: Iterable[Field]) -> list[Json]:
    found = []
    for field in fields:
        schema = field.schema()
        schema.pop("description")
        found.append(
            {
                "name": field.name,
                "in": place,
                "required": field.is_required,
                "description": field.description,
                "schema": schema,
                **({"style": "form", "explode": False} if schema.get("type") == "array" else {}),
            }
        )
    return found


def _response(route: Route) -> Json:
    if route.produces != JSON:
        return {"description": "Success.", "content": {route.produces: {}}}
    if route.response is None:
        return {"description": "Success, without a body."}
    return {"description": "Success.", "content": {JSON: {"schema": route.response.schema()}}}


def _errors(route: Route) -> dict[str, Json]:
    reference = {"$ref": "#/components/responses/Error"}
    timeout = {"408": {**reference, "description": "The wait timed out."}} if route.waits else {}
    return {**timeout, "default": reference}
