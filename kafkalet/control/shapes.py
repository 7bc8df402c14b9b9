"""The shapes of JSON values: declared once, used to check requests and to describe them in the OpenAPI document.

A shape checks a value (`check`), reads it from a query string (`read`), makes it of a value of the test kit (`of`), and
describes itself as JSON Schema (`schema`). The first two raise Malformed, whose message names the field, its value and
what is allowed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

Json = Any
"""A value as json.loads returns it."""

MAX_SHOWN = 60
INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1
INT32_MAX = (1 << 31) - 1


class Malformed(Exception):
    """A request does not match the declaration of the route. The message says what is wrong and what is allowed."""


class Shape:
    """The shape of a JSON value."""

    def check(self, value: Json, where: str) -> Json:
        """Return the value, with defaults filled in. `where` names it in the message of Malformed."""
        raise NotImplementedError

    def read(self, text: str, where: str) -> Json:
        """Return the value of a query parameter."""
        return self.check(text, where)

    def of(self, value: Any, /) -> Json:
        """Return a value of the test kit as JSON."""
        return value

    def schema(self) -> dict[str, Json]:
        """Return the JSON Schema (2020-12) of the shape."""
        raise NotImplementedError

    def objects(self) -> Sequence[Object]:
        """Return the named objects that the schema refers to."""
        return ()


class Text(Shape):
    """A string: one of `allowed` if given, and `least` to `most` characters."""

    def __init__(self, *allowed: str, least: int = 0, most: int | None = None) -> None:
        self.allowed: Final = allowed
        self.least: Final = least
        self.most: Final = most

    def check(self, value: Json, where: str) -> str:
        if not isinstance(value, str):
            raise Malformed(f"{where} must be a string, not {shown(value)}")
        if self.allowed and value not in self.allowed:
            raise Malformed(
                f"{where} is {shown(value)}; it must be {_any_of(self.allowed)}{_hint(value, self.allowed)}"
            )
        if len(value) < self.least:
            raise Malformed(f"{where} is empty; it needs at least {self.least} character{'s' * (self.least > 1)}")
        if self.most is not None and len(value) > self.most:
            raise Malformed(f"{where} has {len(value)} characters; at most {self.most} are allowed")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Malformed(f"{where} contains a lone surrogate, which UTF-8 cannot represent") from None
        return value

    def schema(self) -> dict[str, Json]:
        least = {"minLength": self.least} if self.least else {}
        most = {} if self.most is None else {"maxLength": self.most}
        return {"type": "string", **({"enum": list(self.allowed)} if self.allowed else {}), **least, **most}


class Integer(Shape):
    """An integer from `least` to `most`, by default any int64."""

    def __init__(self, least: int = INT64_MIN, most: int = INT64_MAX) -> None:
        self.least: Final = least
        self.most: Final = most

    def check(self, value: Json, where: str) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # 1.0 is also an integer in JSON Schema
        if isinstance(value, bool) or not isinstance(value, int):
            raise Malformed(f"{where} must be an integer, not {shown(value)}")
        if not self.least <= value <= self.most:
            raise Malformed(f"{where} is {shown(value)}; it must be from {self.least} to {self.most}")
        return value

    def read(self, text: str, where: str) -> int:
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdecimal()) or len(digits) > 19:
            raise Malformed(f"{where} must be an integer from {self.least} to {self.most}, not {shown(text)}")
        return self.check(int(text), where)

    def schema(self) -> dict[str, Json]:
        least = {"minimum": self.least} if self.least != INT64_MIN else {}
        most = {"maximum": self.most} if self.most != INT64_MAX else {}
        return {"type": "integer", "format": "int64", **least, **most}


class Number(Shape):
    """A number from `least` to `most`."""

    def __init__(self, least: float, most: float) -> None:
        self.least: Final = least
        self.most: Final = most

    def check(self, value: Json, where: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Malformed(f"{where} must be a number, not {shown(value)}")
        if not self.least <= value <= self.most:
            raise Malformed(f"{where} is {shown(value)}; it must be from {self.least:g} to {self.most:g}")
        return float(value)

    def read(self, text: str, where: str) -> float:
        try:
            return self.check(float(text), where)
        except ValueError:
            raise Malformed(f"{where} must be a number, not {shown(text)}") from None

    def schema(self) -> dict[str, Json]:
        return {"type": "number", "minimum": self.least, "maximum": self.most}


class Boolean(Shape):
    """true or false."""

    def check(self, value: Json, where: str) -> bool:
        if not isinstance(value, bool):
            raise Malformed(f"{where} must be true or false, not {shown(value)}")
        return value

    def read(self, text: str, where: str) -> bool:
        if text not in ("true", "false"):
            raise Malformed(f"{where} must be true or false, not {shown(text)}")
        return text == "true"

    def schema(self) -> dict[str, Json]:
        return {"type": "boolean"}


class AnyJson(Shape):
    """Any JSON value."""

    def check(self, value: Json, where: str) -> Json:
        return value

    def schema(self) -> dict[str, Json]:
        return {}


class _Around(Shape):
    """A shape with another one inside."""

    def __init__(self, shape: Shape) -> None:
        self.shape: Final = shape

    def objects(self) -> Sequence[Object]:
        return self.shape.objects()


class Nullable(_Around):
    """A value or null."""

    def check(self, value: Json, where: str) -> Json:
        return None if value is None else self.shape.check(value, where)

    def read(self, text: str, where: str) -> Json:
        return self.shape.read(text, where)

    def of(self, value: Any, /) -> Json:
        return None if value is None else self.shape.of(value)

    def schema(self) -> dict[str, Json]:
        inner = self.shape.schema()
        if "type" not in inner:
            return {"anyOf": [inner, {"type": "null"}]}
        values = {"enum": [*inner["enum"], None]} if "enum" in inner else {}
        return inner | {"type": [inner["type"], "null"]} | values


class ListOf(_Around):
    """A list of `least` to `most` values. In a query, they are separated by commas."""

    def __init__(self, shape: Shape, least: int = 0, most: int | None = None) -> None:
        super().__init__(shape)
        self.least: Final = least
        self.most: Final = most

    def check(self, value: Json, where: str) -> list[Json]:
        if not isinstance(value, list):
            raise Malformed(f"{where} must be a list, not {shown(value)}")
        if len(value) < self.least or (self.most is not None and len(value) > self.most):
            limit = f"at least {self.least}" if self.most is None else f"{self.least} to {self.most}"
            raise Malformed(f"{where} has {len(value)} elements; it needs {limit}")
        return [self.shape.check(each, f"{where}[{index}]") for index, each in enumerate(value)]

    def read(self, text: str, where: str) -> list[Json]:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        return self.check([self.shape.read(part, where) for part in parts], where)

    def of(self, value: Any, /) -> list[Json]:
        return [self.shape.of(each) for each in (sorted(value) if isinstance(value, frozenset) else value)]

    def schema(self) -> dict[str, Json]:
        least = {"minItems": self.least} if self.least else {}
        most = {"maxItems": self.most} if self.most is not None else {}
        return {"type": "array", "items": self.shape.schema(), **least, **most}


class MapOf(_Around):
    """An object with arbitrary names, such as topics or partitions. With `of_integers`, names are numbers >= 0."""

    def __init__(self, shape: Shape, *, of_integers: bool = False) -> None:
        super().__init__(shape)
        self.of_integers: Final = of_integers

    def check(self, value: Json, where: str) -> dict[Any, Json]:
        if not isinstance(value, dict):
            raise Malformed(f"{where} must be an object, not {shown(value)}")
        key: Callable[[str], Any] = (
            self._integer(where) if self.of_integers else (lambda name: Text().check(name, where))
        )
        return {key(name): self.shape.check(each, f"{where}.{name[:MAX_SHOWN]}") for name, each in value.items()}

    def _integer(self, where: str) -> Callable[[str], int]:
        shape = Integer(0, INT32_MAX)
        return lambda name: shape.read(name, f"a name in {where}")

    def schema(self) -> dict[str, Json]:
        names = {"propertyNames": {"pattern": "^[0-9]{1,10}$"}} if self.of_integers else {}
        return {"type": "object", "additionalProperties": self.shape.schema(), **names}


class AnyOf(Shape):
    """One of several shapes. `choose` returns the index of the shape that a value is checked against."""

    def __init__(self, shapes: Sequence[Shape], choose: Callable[[Json], int]) -> None:
        self.shapes: Final = shapes
        self._choose = choose

    def check(self, value: Json, where: str) -> Json:
        return self.shapes[self._choose(value)].check(value, where)

    def schema(self) -> dict[str, Json]:
        return {"anyOf": [shape.schema() for shape in self.shapes]}

    def objects(self) -> Sequence[Object]:
        return [each for shape in self.shapes for each in shape.objects()]


class _Required:
    """Marks a field or a parameter without a default."""


REQUIRED: Final = _Required()


class Field:
    """A field of an object, or a parameter of a route: its name, shape, meaning and default."""

    __slots__ = ("default", "description", "name", "shape")

    def __init__(self, name: str, shape: Shape, description: str, default: Json | _Required = REQUIRED) -> None:
        self.name = name
        self.shape = shape
        self.description = description
        self.default = default

    @property
    def is_required(self) -> bool:
        return self.default is REQUIRED

    def schema(self) -> dict[str, Json]:
        default = {} if self.is_required or self.default is None else {"default": self.default}
        return self.shape.schema() | {"description": self.description} | default


class Object(Shape):
    """An object with named fields. Its schema is a component of the OpenAPI document, under its name.

    An absent field has its default. Unknown fields are refused in requests; later releases may add fields to
    responses.
    """

    def __init__(self, name: str, description: str, *fields: Field) -> None:
        self.name: Final = name
        self.description: Final = description
        self.fields: Final = {field.name: field for field in fields}

    def check(self, value: Json, where: str) -> dict[str, Json]:
        if not isinstance(value, dict):
            raise Malformed(f"{where} must be an object, not {shown(value)}")
        for name in value:
            if name not in self.fields:
                known = _hint(name, list(self.fields)) or f"; the fields are {', '.join(self.fields) or 'none'}"
                raise Malformed(f"{where} has an unknown field {shown(name)}{known}")
        checked = {}
        for name, field in self.fields.items():
            if name in value:
                checked[name] = field.shape.check(value[name], _field(where, name))
            elif field.is_required:
                raise Malformed(f"{_field(where, name)} is missing: {field.description}")
            else:
                checked[name] = field.default
        return checked

    def schema(self) -> dict[str, Json]:
        return {"$ref": f"#/components/schemas/{self.name}"}

    def of(self, value: Any, /, **given: Any) -> dict[str, Json]:
        """Return an object with the attributes of a value or the items of a tuple. `given` replaces attributes."""
        if type(value) is tuple:
            given = dict(zip(self.fields, value, strict=True))
        return {
            name: field.shape.of(given[name] if name in given else getattr(value, name))
            for name, field in self.fields.items()
        }

    def definition(self) -> dict[str, Json]:
        """Return the schema of the component."""
        required = [name for name, field in self.fields.items() if field.is_required]
        return {
            "type": "object",
            "description": self.description,
            "properties": {name: field.schema() for name, field in self.fields.items()},
            **({"required": required} if required else {}),
        }

    def objects(self) -> Sequence[Object]:
        return [self, *(each for field in self.fields.values() for each in field.shape.objects())]


def fields_of(function: Callable[..., object]) -> dict[str, Field]:
    """Return the parameters of a function but the first as fields.

    A parameter is `Annotated` with its description, and with a shape if there are limits that its type does not have.
    """
    hints = get_type_hints(function, include_extras=True)
    found = {}
    for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
        if name == "body":
            continue
        default = REQUIRED if parameter.default is parameter.empty else parameter.default
        found[name] = Field(
            name,
            shape_of(hints[name]),
            next(each for each in reversed(get_args(hints[name])) if isinstance(each, str)),
            list(default) if isinstance(default, tuple) else default,
        )
    return found


PLAIN: Final[Mapping[Any, Shape]] = {str: Text(), int: Integer(), bool: Boolean()}


def shape_of(kind: Any) -> Shape:
    """Return the shape of a type."""
    arguments = get_args(kind)
    if get_origin(kind) is Annotated:
        given = [each for each in arguments[1:] if isinstance(each, Shape)]
        shape = given[-1] if given else shape_of(arguments[0])
        return Nullable(shape) if given and NoneType in get_args(arguments[0]) else shape
    if NoneType in arguments:
        return Nullable(shape_of(arguments[0]))
    if get_origin(kind) is Literal:
        return Text(*arguments)
    if get_origin(kind) in (list, Sequence):
        return ListOf(shape_of(arguments[0]))
    if get_origin(kind) is dict:
        return MapOf(shape_of(arguments[1]))
    return PLAIN[kind]


def check_fields(fields: Mapping[str, Field], given: Mapping[str, str], what: str) -> dict[str, Json]:
    """Return the values of parameters by name, parsed from text."""
    for name in given:
        if name not in fields:
            known = _hint(name, list(fields)) or f"; this route has {', '.join(fields) or 'none'}"
            raise Malformed(f"unknown {what} {shown(name)}{known}")
    values = {}
    for name, field in fields.items():
        if name in given:
            values[name] = field.shape.read(given[name], f"{what} {name}")
        elif field.is_required:
            raise Malformed(f"{what} {name} is missing: {field.description}")
        else:
            values[name] = field.default
    return values


def shown(value: Json) -> str:
    """Format a value for a message, shortened."""
    kinds = {dict: "an object", list: "a list", bool: "", type(None): ""}
    if type(value) in kinds:
        return kinds[type(value)] or {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) >= 1 << 64:
        return "a number of more than 64 bits"
    text = repr(value).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _field(where: str, name: str) -> str:
    return name if where == "the body" else f"{where}.{name}"


def _any_of(allowed: Sequence[str]) -> str:
    return allowed[0] if len(allowed) == 1 else f"{', '.join(allowed[:-1])} or {allowed[-1]}"


def _hint(given: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(given[:MAX_SHOWN], known, 1)
    return f"; did you mean {close[0]}?" if close else ""
