"""Decodes a request strictly: everything that the protocol forbids is a complaint, even if brokers accept it.

The decoder walks through the declared fields of the message (`FIELDS`) and shares no code with the broker's decoder. It
checks the header, each length, null and Boolean value, the tagged fields, the records (batches.py), reserved and
enumerated values (values.py), and that no bytes follow the request.
"""

from __future__ import annotations

from functools import cache
from struct import Struct as Layout
from typing import Any, NamedTuple

from kafkalet.protocol.api import BY_KEY, Api
from kafkalet.protocol.fields import Field
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.schema import Message
from kafkalet.units import counted

from .batches import BatchSummary, check_records
from .finding import Claim, Complaint, Severity
from .reading import LENGTH, Path, Reading, Unreadable
from .values import CHECKS, STRUCT_CHECKS, Check, StructCheck, check_produce

_GUIDE = "Kafka protocol guide"

API_KEY = Claim("api-key", "The API key of a request is one of Kafka's client APIs.", "ApiKeys")
VERSION = Claim("version", "The version of a request is one that Kafka has released.", "ApiKeys, ApiMessageType")
NEW_VERSION = Claim(
    "version", "The first ApiVersions request may have a newer version than the broker knows.", "KIP-511", Severity.NOTE
)
NULL = Claim("null", "Only nullable fields are null.", "Kafka protocol guide; message JSON `nullableVersions`")
BOOLEAN = Claim("boolean", "A Boolean is 0 or 1.", _GUIDE)
TRAILING = Claim("trailing-bytes", "A request ends after its last field.", "Kafka protocol guide; RequestUtils")
TAG_ORDER = Claim("tag-order", "Tagged fields are sorted by tag, and each tag occurs once.", "KIP-482")
TAG_SIZE = Claim("tag-size", "The size of a tagged field is the size of its value.", "KIP-482")
UNKNOWN_TAG = Claim("unknown-tag", "Clients send only tags that the version defines.", "KIP-482", Severity.NOTE)
DEFAULT_TAG = Claim(
    "default-tag", "A tagged field with its default value is omitted.", "KIP-482; MessageDataGenerator", Severity.NOTE
)
LONG_STRING = Claim("length", "A string has at most 32,767 bytes.", "Kafka protocol guide; MessageGenerator")

_MOST_STRING_BYTES = 32_767


class StrictRequest(NamedTuple):
    """The result of strict decoding."""

    complaints: list[Complaint]
    is_decoded: bool
    """Whether the request was understood up to its end."""
    batches: list[BatchSummary]
    """The batches of a Produce request."""


def check_request(frame: bytes) -> StrictRequest:
    """Decode a request, without its size field, and return the complaints in the order of their positions."""
    walk = _Walk(frame)
    try:
        is_decoded = walk.request()
    except Unreadable:
        is_decoded = False
    walk.complaints.sort(key=lambda complaint: complaint.position)
    return StrictRequest(walk.complaints, is_decoded, walk.batches)


def check_embedded(data: bytes, message: type[Message]) -> list[Complaint]:
    """Check a message that is embedded in a request and begins with its version. Positions are those in `data`.

    An unknown version is read as the newest known version, because newer versions only add fields at the end.
    """
    walk = _Walk(data)
    try:
        version = walk.signed(2, (None, "version"))
        walk.version = min(max(version, 0), message.VERSIONS.high)
        if version < 0:
            walk.complain(VERSION, 0, (None, "version"), f"the version is {version}")
        walk.struct(_plan(Api.JOIN_GROUP, message, walk.version, "embedded"), None)
        if walk.position < walk.end and version <= message.VERSIONS.high:
            text = f"{counted(walk.end - walk.position, 'byte')} after the last field of version {version}"
            walk.complain(TRAILING, walk.position, (None, "end"), text)
    except Unreadable:
        pass
    return walk.complaints


class _Step(NamedTuple):
    """A field in one version."""

    field: Field
    layout: Layout | None
    """The layout of a fixed-size value."""
    is_nullable: bool
    plan: _Plan | None
    """The fields of a nested struct."""
    checks: tuple[Check, ...]


class _Plan(NamedTuple):
    """The fields of a struct in one version."""

    inline: list[_Step]
    tagged: dict[int, _Step]
    checks: tuple[StructCheck, ...]


@cache
def _plan(api: Api, cls: type[Any], version: int, within: str = "") -> _Plan:
    inline: list[_Step] = []
    tagged: dict[int, _Step] = {}
    for field in cls.FIELDS:
        if version not in field.versions:
            continue
        path = f"{within}.{field.name}".removeprefix(".")
        wire = field.wire
        layout = Layout(">" + wire.code.replace("?", "b")) if wire is not None and wire.code else None
        nested = _plan(api, field.struct, version, path) if field.struct is not None else None
        checks = tuple(check for check in CHECKS.get((api, path), ()) if version in check.versions)
        step = _Step(field, layout, version in field.nullable, nested, checks)
        if field.tag is None:
            inline.append(step)
        else:
            tagged[field.tag] = step
    of_struct = tuple(check for check in STRUCT_CHECKS.get((api, within), ()) if version in check.versions)
    return _Plan(inline, tagged, of_struct)


class _Walk(Reading):
    """Walks through one request."""

    __slots__ = ("batches", "flexible", "version")

    def __init__(self, frame: bytes) -> None:
        super().__init__(frame)
        self.version = 0
        self.flexible = False
        self.batches: list[BatchSummary] = []

    def request(self) -> bool:
        """Check the whole request. Return whether it was understood."""
        key = self.signed(2, (None, "request_api_key"))
        self.version = version = self.signed(2, (None, "request_api_version"))
        self.signed(4, (None, "correlation_id"))
        api = BY_KEY.get(key)
        if api is None:
            self.complain(API_KEY, 0, (None, "request_api_key"), f"no API has the key {key}")
            return False
        is_known = version in api.versions
        if not is_known:
            is_new = api is Api.API_VERSIONS and version > api.versions.high
            text = f"{api} has versions {api.versions.low} to {api.versions.high}, not {version}"
            self.complain(NEW_VERSION if is_new else VERSION, 2, (None, "request_api_version"), text)
        self.flexible = version in api.flexible
        if api is not Api.CONTROLLED_SHUTDOWN or version > 0:  # the only API with request header version 0
            self.client_id()
            if self.flexible:
                self.tags({}, (None, "header"))
        if not api.client_facing:
            self.complain(API_KEY, 0, (None, "request_api_key"), f"only brokers and controllers use {api}")
        if not is_known or not api.client_facing:
            return False
        values = self.struct(_plan(api, request_type(api), version), None)
        if api is Api.PRODUCE:
            check_produce(self, values, self.batches)
        if self.position < self.end:
            rest = self.data[self.position :]
            shown = rest[:16].hex() + ("…" if len(rest) > 16 else "")
            text = f"{counted(len(rest), 'byte')} after the last field of {api} v{version}: {shown}"
            self.complain(TRAILING, self.position, (None, "end"), text)
        return True

    def client_id(self) -> None:
        path: Path = (None, "client_id")
        start = self.position
        size = self.signed(2, path)
        if size < -1:
            self.complain(LENGTH, start, path, f"the length is {size}; null has the length -1")
        elif size >= 0:
            self.text(size, path)

    def struct(self, plan: _Plan, within: Path) -> dict[str, Any]:
        """Check the fields of a struct. Return the values of those that are numbers, strings or null."""
        start = self.position
        values: dict[str, Any] = {}
        for step in plan.inline:
            values[step.field.name] = self.value(step, (within, step.field.name))
        if self.flexible:
            values |= self.tags(plan.tagged, within)
        for check in plan.checks:
            text = check.judge(values)
            if text:
                self.complain(check.claim, start, within or (None, "request"), text)
        return values

    def value(self, step: _Step, path: Path) -> Any:
        start = self.position
        field = step.field
        if field.array:
            value = self.array(step, path)
        elif step.plan is not None:
            value = self.nested(step, step.plan, path)
        else:
            value = self.single(step, path)
        for check in step.checks:
            if not check.is_valid(value):
                self.complain(check.claim, start, path, f"the value is {_shown(value)}; {check.text}")
        return value

    def single(self, step: _Step, path: Path, *, in_array: bool = False) -> Any:
        start = self.position
        if step.layout is not None:
            (value,) = step.layout.unpack(self.take(step.layout.size, path))
            wire = step.field.wire
            if wire is not None and wire.name == "bool" and value not in (0, 1):
                self.complain(BOOLEAN, start, path, f"the byte is {value & 255}; it must be 0 or 1")
            return value
        wire = step.field.wire
        assert wire is not None, "a field that is not a struct has a wire type"
        size = self.length(2 if wire.length == "h" else 4, path, step.is_nullable and not in_array)
        if size is None:
            return None
        if wire.name == "string":
            if size > _MOST_STRING_BYTES:
                self.complain(LONG_STRING, start, path, f"the string has {size} bytes")
            return self.text(size, path)
        if wire.name == "records":
            return self.records(size, path)
        return self.take(size, path)

    def length(self, size_bytes: int, path: Path, is_nullable: bool) -> int | None:
        """Read the length of a string, of bytes or of an array. Return None for null."""
        start = self.position
        size = self.unsigned_varint(path) - 1 if self.flexible else self.signed(size_bytes, path)
        if size >= 0:
            if size > self.end - self.position:
                raise self.missing(size, path)
            return size
        if size < -1:
            self.complain(LENGTH, start, path, f"the length is {size}; null has the length -1")
        if not is_nullable:
            self.complain(NULL, start, path, f"the field is null, which version {self.version} does not allow")
        return None

    def array(self, step: _Step, path: Path) -> int | None:
        """Check an array. Return the number of its elements."""
        count = self.length(4, path, step.is_nullable)
        if count is None:
            return None
        wire = step.field.wire
        if step.layout is not None and wire is not None and wire.name != "bool":
            self.take(count * step.layout.size, path)
        elif step.plan is not None:
            for index in range(count):
                self.struct(step.plan, (path, index))
        else:
            for index in range(count):
                self.single(step, (path, index), in_array=True)
        return count

    def nested(self, step: _Step, plan: _Plan, path: Path) -> Any:
        start = self.position
        if step.is_nullable:  # a byte before the struct says whether it is null (KIP-893)
            is_tagged = step.field.tag is not None
            presence = self.unsigned_varint(path) if is_tagged else self.signed(1, path)
            if presence == (0 if is_tagged else -1):
                return None
            if presence != 1:
                text = f"the byte before the struct is {presence}; it must be 1, or {0 if is_tagged else -1} for null"
                self.complain(NULL, start, path, text)
        return self.struct(plan, path)

    def records(self, size: int, path: Path) -> bytes:
        start = self.position
        data = self.take(size, path)
        self.batches += check_records(self, start, self.position, self.version, path)
        return data

    def tags(self, known: dict[int, _Step], within: Path) -> dict[str, Any]:
        """Check a section of tagged fields. Return the values of the known ones."""
        values: dict[str, Any] = {}
        last = -1
        for _ in range(self.unsigned_varint((within, "tags"))):
            start = self.position
            tag = self.unsigned_varint((within, "tags"))
            path: Path = (within, f"tag {tag}")
            if tag <= last:
                order = "occurs twice" if tag == last else f"follows the tag {last}"
                self.complain(TAG_ORDER, start, path, f"the tag {tag} {order}")
            last = max(last, tag)
            size = self.unsigned_varint(path)
            if size > self.end - self.position:
                raise self.missing(size, path)
            end = self.position + size
            step = known.get(tag)
            if step is None:
                text = f"version {self.version} does not define the tag {tag} ({counted(size, 'byte')})"
                self.complain(UNKNOWN_TAG, start, path, text)
                self.position = end
                continue
            self.tagged(step, (within, step.field.name), start, end, values)
        return values

    def tagged(self, step: _Step, path: Path, start: int, end: int, values: dict[str, Any]) -> None:
        outer_end, self.end = self.end, end
        try:
            value = values[step.field.name] = self.value(step, path)
        finally:
            self.end = outer_end
        if self.position != end:
            left = end - self.position
            self.complain(TAG_SIZE, start, path, f"{counted(left, 'byte')} after the value within the size of the tag")
            self.position = end
        default = step.field.default
        is_always_sent = step.plan is not None and step.is_nullable and not step.field.array
        if value == (len(default) if isinstance(default, list) else default) and not is_always_sent:
            self.complain(DEFAULT_TAG, start, path, f"the value {_shown(value)} is the default, which is not sent")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def header_of(frame: bytes) -> tuple[int, int, int, str | None]:
    """Return the API key, the version, the correlation id and the client id of a request; 0 and None if missing."""
    key, version = (int.from_bytes(frame[at : at + 2], "big", signed=True) for at in (0, 2))
    correlation_id = int.from_bytes(frame[4:8], "big", signed=True)
    if BY_KEY.get(key) is Api.CONTROLLED_SHUTDOWN and version == 0:
        return key, version, correlation_id, None
    size = int.from_bytes(frame[8:10], "big", signed=True) if len(frame) >= 10 else -1
    return key, version, correlation_id, None if size < 0 else frame[10 : 10 + size].decode(errors="replace")
