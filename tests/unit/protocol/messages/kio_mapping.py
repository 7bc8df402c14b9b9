"""Converts our structs to kio's and back, field by field, with kio's types for times, errors and UUIDs.

kio is an independent implementation of Kafka's message definitions, tested against Kafka's Java classes. If both
produce the same bytes, they are correct.
"""

import datetime
import uuid
from dataclasses import fields
from functools import cache
from importlib import import_module
from importlib.resources import files
from io import BytesIO
from typing import Any, get_args

from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from kafkalet.protocol.fields import Field
from kafkalet.protocol.schema import Request, Response, Struct

from .values import WIRE

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MILLISECOND = datetime.timedelta(milliseconds=1)
RENAMED = {  # in 4.4
    "generation_id_or_member_epoch": "generation_id",  # TxnOffsetCommit
    "acceptable_recovery_lag_legacy": "acceptable_recovery_lag",  # StreamsGroupHeartbeat
}

FITTING: dict[str, st.SearchStrategy[Any]] = {
    "error_code": st.sampled_from([code.value for code in ErrorCode]),
    "timedelta_i32": WIRE["int32"],
    "timedelta_i64": st.integers(-(10**13), 10**13),
    "datetime_i64": st.integers(0, 4_000_000_000_000),
}
"""Our wire types and the corresponding types of kio."""


class Pair:
    """One of our structs and the class of kio for a version of it."""

    def __init__(self, ours: type[Struct], theirs: type[Any], version: int) -> None:
        self.ours, self.theirs, self.version = ours, theirs, version
        by_name = {field.name: field for field in fields(theirs)}
        self.links = [Link(field, by_name, version) for field in ours.FIELDS if version in field.versions]
        assert len(self.links) == len(by_name), (ours, version, sorted(by_name))

    def strategy(self) -> st.SearchStrategy[Any]:
        return st.builds(self.ours, **{link.field.name: link.strategy() for link in self.links})

    def to_kio(self, struct: Any) -> Any:
        return self.theirs(**{link.name: link.to_kio(getattr(struct, link.field.name)) for link in self.links})

    def from_kio(self, entity: Any) -> Any:
        return self.ours(**{link.field.name: link.from_kio(getattr(entity, link.name)) for link in self.links})


class Link:
    """A field of our struct and of kio's class."""

    def __init__(self, field: Field, by_name: dict[str, Any], version: int) -> None:
        self.field = field
        self.nullable = version in field.nullable
        self.absent_is_none = field.tag is not None and field.default is None
        names = (field.name, field.name.removesuffix("_ms"), RENAMED.get(field.name))
        self.name = next(name for name in names if name in by_name)
        theirs = by_name[self.name]
        self.kind: str = theirs.metadata.get("kafka_type", "")
        self.default = theirs.default
        self.pair = Pair(field.struct, _struct_in(theirs.type), version) if field.struct else None
        self.nullable_time = self.kind == "datetime_i64" and type(None) in get_args(theirs.type)

    def strategy(self) -> st.SearchStrategy[Any]:
        one = self.pair.strategy() if self.pair else (WIRE | FITTING)[self.kind]
        if self.nullable_time:
            one |= st.just(-1)
        value: st.SearchStrategy[Any] = st.lists(one, max_size=2) if self.field.array else one
        if self.absent_is_none and self.pair:  # kio omits a struct whose values are the defaults
            value = value.filter(lambda struct: self.pair is None or self.pair.to_kio(struct) != self.default)
        return st.none() | value if self.nullable or self.absent_is_none else value

    def to_kio(self, value: Any) -> Any:
        if value is None:
            return self.default if self.absent_is_none and self.pair else None
        return tuple(map(self._one_to_kio, value)) if self.field.array else self._one_to_kio(value)

    def from_kio(self, value: Any) -> Any:
        if value is None and (self.nullable or self.absent_is_none):
            return None
        if self.absent_is_none and self.pair and value == self.default:
            return None
        return list(map(self._one_from_kio, value)) if self.field.array else self._one_from_kio(value)

    def _one_to_kio(self, value: Any) -> Any:
        if self.pair:
            return self.pair.to_kio(value)
        match self.kind:
            case "error_code":
                return ErrorCode(value)
            case "timedelta_i32" | "timedelta_i64":
                return value * MILLISECOND
            case "datetime_i64":
                return None if value == -1 else EPOCH + value * MILLISECOND
            case "uuid":
                return None if value == bytes(16) else uuid.UUID(bytes=value)
            case _:
                return value

    def _one_from_kio(self, value: Any) -> Any:
        if self.pair:
            return self.pair.from_kio(value)
        match self.kind:
            case "error_code":
                return value.value
            case "timedelta_i32" | "timedelta_i64":
                return value // MILLISECOND
            case "datetime_i64":
                return -1 if value is None else (value - EPOCH) // MILLISECOND
            case "uuid":
                return bytes(16) if value is None else value.bytes
            case _:
                return value


def _struct_in(annotation: Any) -> type[Any]:
    """Return the class X of `X`, `X | None`, `tuple[X, ...]` or `tuple[X, ...] | None`."""
    if hasattr(annotation, "__type__") and not get_args(annotation):
        return annotation  # type: ignore[no-any-return]
    return next(found for part in get_args(annotation) if (found := _struct_in(part)) is not None)


def kio_has(message: type[Request] | type[Response], version: int) -> bool:
    """Return whether kio has this version, without importing it."""
    return (files("kio.schema") / message.API.module / f"v{version}").is_dir()


@cache
def pair(message: type[Request] | type[Response], version: int) -> Pair:
    kind = "request" if issubclass(message, Request) else "response"
    module = import_module(f"kio.schema.{message.API.module}.v{version}.{kind}")
    return Pair(message, getattr(module, message.__name__), version)


def kio_encode(entity: Any) -> bytes:
    buffer = BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def kio_decode(cls: type[Any], data: bytes) -> Any:
    entity, _ = entity_reader(cls)(data, 0)
    return entity
