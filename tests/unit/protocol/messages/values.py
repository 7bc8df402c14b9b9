"""Hypothesis strategies for any struct in any version, derived from the declaration."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from hypothesis import strategies as st

from kafkalet.protocol.api import Api
from kafkalet.protocol.fields import Field
from kafkalet.protocol.messages import request_type, response_type
from kafkalet.protocol.schema import Request, Response, Struct

TEXT = st.text(st.characters(codec="utf-8"), max_size=6)


def _whole(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


WIRE: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int8": _whole(8),
    "int16": _whole(16),
    "uint16": st.integers(0, 0xFFFF),
    "int32": _whole(32),
    "uint32": st.integers(0, 0xFFFFFFFF),
    "int64": _whole(64),
    "float64": st.floats(allow_nan=False, allow_infinity=False),
    "uuid": st.binary(min_size=16, max_size=16),
    "string": TEXT,
    "bytes": st.binary(max_size=6),
    "records": st.binary(max_size=6),
}


def message_versions() -> Iterator[tuple[type[Request] | type[Response], int]]:
    """Iterate over all versions of all requests and responses."""
    for api in Api:
        if api.client_facing:
            for version in range(api.versions.low, api.versions.high + 1):
                yield request_type(api), version
                yield response_type(api), version


@cache
def structs(cls: type[Struct], version: int) -> st.SearchStrategy[Any]:
    """Generate instances of `cls` with arbitrary values for the fields of `version` and defaults for the others."""
    return st.builds(cls, **{field.name: values(field, version) for field in cls.FIELDS if version in field.versions})


def values(field: Field, version: int) -> st.SearchStrategy[Any]:
    struct: Any = field.struct
    one = structs(struct, version) if struct else WIRE[field.wire.name if field.wire else ""]
    value: st.SearchStrategy[Any] = st.lists(one, max_size=3) if field.array else one
    absent_is_none = field.tag is not None and field.default is None
    return st.none() | value if version in field.nullable or absent_is_none else value
