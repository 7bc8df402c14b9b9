"""One request with its response, as recorded by the journal. Messages are decoded on access.

Messages are returned as plain data: a dict for each struct, with the fields of the version that was used and Kafka's
names for them, as declared in kafkalet.protocol.messages. Topic ids and other UUIDs are strings as Kafka prints them.
Records are a dict with their size and, if they were kept, their batches. Credentials are omitted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from struct import Struct as Layout
from typing import Any, NamedTuple

from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.formats import uuid_text
from kafkalet.protocol.api import BY_KEY, Api
from kafkalet.protocol.errors import Code, DecodeError, KafkaError, ProtocolError, name_of
from kafkalet.protocol.fields import Field
from kafkalet.protocol.frame import RequestHeader
from kafkalet.protocol.messages import request_type, response_type
from kafkalet.protocol.records.batch import batches
from kafkalet.protocol.schema import Request, Response, Struct

from .splitting import client_id

Kept = bytes | bytearray
KeptResponse = bytes | list[bytes | int] | str | None
"""The message of a response; its parts, with sizes in place of those that were not kept; the reason for closing the
connection; or None if the request is in progress, or if the client expects no response.
"""

_SECRET_NAME = re.compile(r"pass(?:word|phrase)|secret|jaas|credential|token|key$|certificate")
SECRET = ("auth_bytes", "salted_password", "salt", "hmac")
_UNSUPPORTED = Code.UNSUPPORTED_VERSION.to_bytes(2, "big")
_HEAD_BYTES = 17  # of a batch: never all zero


class ConnectionFacts:
    """A connection in the journal. Times are values of `elapsed_s`."""

    __slots__ = (
        *("broker", "client_id", "close_reason", "closed_s", "header_id", "listener", "metadata", "number", "opened_s"),
        *("peer", "read_header"),
    )

    def __init__(
        self,
        number: int,
        client_id: str,
        peer: tuple[str, int],
        broker: int,
        listener: str,
        opened_s: float,
        metadata: MetadataImage,
    ) -> None:
        self.number = number
        self.peer = peer
        self.broker = broker
        self.listener = listener
        self.opened_s = opened_s
        """The time of the first request."""
        self.metadata = metadata
        self.client_id = client_id
        name = client_id.encode()
        self.header_id = len(name).to_bytes(2, "big") + name
        """The client id as it is usually sent in the header of a request."""
        self.read_header = Layout(f">ih6x{len(self.header_id)}s").unpack_from
        """Reads the size, the API key and the client id of a request, beginning at its size field."""
        self.closed_s: float | None = None
        self.close_reason = ""
        """Why the connection was closed; "" if the client closed it normally."""

    def of(self, frame: Kept) -> ConnectionFacts:
        """Return the same facts with the client id of a request."""
        if frame.startswith(self.header_id, 8):
            return self
        name = client_id(frame)
        if name == self.client_id:
            return self
        other = ConnectionFacts(self.number, name, self.peer, self.broker, self.listener, self.opened_s, self.metadata)
        other.closed_s, other.close_reason = self.closed_s, self.close_reason
        return other


class Exchange(NamedTuple):
    """A request and its response."""

    began_s: float
    ended_s: float | None
    """The time of the response; None while the request waits."""
    connection: ConnectionFacts
    frame: Kept
    """The request without its size field, or the beginning of a large one."""
    frame_bytes: int
    """The size of the complete request."""
    answer: KeptResponse
    has_waited: bool
    fault: int = 0
    """The number of the fault that has fired on the request; 0 if there is none."""

    def __repr__(self) -> str:  # the bytes may contain passwords
        return f"<{self.api} v{self.version} of {self.client_id!r}, {self.frame_bytes} bytes>"

    @property
    def client_id(self) -> str:
        """The client id; "" if the client sent none."""
        return self.connection.client_id

    @property
    def api(self) -> str:
        """The name of the API, or `API n` if no API has the key n."""
        api = self.known_api
        return f"API {self.api_key}" if api is None else api.title

    @property
    def api_key(self) -> int:
        return int.from_bytes(self.frame[:2], "big", signed=True)

    @property
    def known_api(self) -> Api | None:
        return BY_KEY.get(self.api_key)

    @property
    def version(self) -> int:
        return int.from_bytes(self.frame[2:4], "big", signed=True)

    @property
    def correlation_id(self) -> int:
        return int.from_bytes(self.frame[4:8], "big", signed=True)

    @property
    def is_waiting(self) -> bool:
        return self.ended_s is None

    @property
    def closed(self) -> str | None:
        """The reason if the broker closed the connection instead of sending a response, else None."""
        return self.answer if isinstance(self.answer, str) else None

    def request(self) -> Request | None:
        """Decode the request. Return None if it is malformed or unknown, or if it was not kept."""
        api = self.known_api
        if api is None or not api.client_facing or self.version not in api.versions:
            return None
        data, is_short = self.frame, len(self.frame) < self.frame_bytes
        if is_short:
            if api is not Api.PRODUCE:
                return None
            data = bytes(self.frame) + bytes(self.frame_bytes - len(self.frame))
        try:
            _, start = RequestHeader.decode(data)
            request = request_type(api).decode(data, self.version, start)
        except ProtocolError:
            return None
        if is_short:
            _remove_padding(request)
        return request

    def response(self) -> Response | None:
        """Decode the response. Return None if there is none, or if it was not kept."""
        answer, api = self.answer, self.known_api
        if answer is None or isinstance(answer, str) or api is None:
            return None
        parts = [answer] if isinstance(answer, bytes) else answer
        if api is not Api.FETCH and not all(isinstance(part, bytes) for part in parts):
            return None
        data = b"".join(part if isinstance(part, bytes) else bytes(part) for part in parts)
        try:
            response = response_type(api).decode(data, self.response_version)
        except DecodeError:
            return None
        if len(parts) > 1 or not isinstance(parts[0], bytes):
            _replace_dropped_records(response)
        return response

    @property
    def response_version(self) -> int:
        """The version of the response: the version of the request, unless it was refused with UNSUPPORTED_VERSION."""
        answer = self.answer
        is_refused = self.known_api is Api.API_VERSIONS and isinstance(answer, bytes) and answer[:2] == _UNSUPPORTED
        return 0 if is_refused else self.version

    def text(self, now_s: float) -> str:
        """Format the exchange on one line, like the request log."""
        from .request_text import NO_RESPONSE, fault_text, question, request_text, response_text, sender_text, time_text

        metadata = self.connection.metadata
        if len(self.frame) == self.frame_bytes:
            asked = question(self.frame, metadata)
        else:
            request = self.request()
            what = f"({self.frame_bytes} B)" if request is None else request_text(request, metadata)
            asked = f"{sender_text(self.client_id, self.api, self.version)} {what}"
        if self.ended_s is None:
            return f"{asked} -> waiting for {(now_s - self.began_s) * 1000:.0f} ms{fault_text(self.fault)}"
        response = self.response()
        if isinstance(self.answer, str):
            said = self.answer
        elif self.answer is None:
            said = NO_RESPONSE
        elif response is None:
            said = "(not kept)"
        else:
            said = response_text(response, metadata)
        return f"{asked} -> {said}{fault_text(self.fault)} {time_text(self.ended_s - self.began_s, self.has_waited)}"

    def errors(self) -> list[str]:
        """Return the names of the errors in the response, each one once."""
        response = self.response()
        if response is None:
            return []
        return list(dict.fromkeys(name_of(code) for code in _codes(response) if code))

    def topics(self) -> set[str]:
        """Return the names of the topics in the request and the response.

        Deleted topics are represented by their ids.
        """
        metadata = self.connection.metadata
        return {
            name
            for message in (self.request(), self.response())
            if message is not None
            for name in _topics(message, "", metadata)
        }


def _remove_padding(request: Request) -> None:
    """Remove the zeros that stand for the omitted part of a Produce request."""
    from .request_text import NotKept

    for topic in request.topic_data:  # type: ignore[attr-defined]
        while topic.partition_data and not topic.partition_data[-1].records:
            del topic.partition_data[-1]
        for partition in topic.partition_data:
            partition.records = NotKept(len(partition.records or b""))


def _replace_dropped_records(response: Response) -> None:
    """Replace the records that were not kept, which are zeros, in a Fetch response."""
    from .request_text import NotKept

    for topic in getattr(response, "responses", ()):
        for partition in topic.partitions:
            records = partition.records
            if records and not any(records[:_HEAD_BYTES]):
                partition.records = NotKept(len(records))


# Plain data


def plain(struct: Struct, version: int) -> dict[str, Any]:
    """Return a message as plain data, with the fields of a version."""
    found = {
        field.name: _plain(getattr(struct, field.name), field, version)
        for field in struct.FIELDS
        if version in field.versions
    }
    if "value" in found and is_secret_property(found.get("name")):
        found["value"] = None
    return found


@lru_cache(1024)
def is_secret_property(name: object) -> bool:
    """Return whether the value of a property is secret: it is a password, or has a name like one."""
    if not isinstance(name, str):
        return False
    from kafkalet.broker.config.catalog import known_property
    from kafkalet.broker.config.release import Release

    known = known_property(name, Release.of().version)
    return known.is_sensitive if known is not None else _SECRET_NAME.search(name.lower()) is not None


def _plain(value: Any, field: Field, version: int) -> Any:
    if value is None:
        return None
    if field.array:
        return [_element(element, field, version) for element in value]
    return _element(value, field, version)


def _element(value: Any, field: Field, version: int) -> Any:
    if field.struct is not None:
        return None if value is None else plain(value, version)
    kind = "" if field.wire is None else field.wire.name
    if field.name in SECRET:
        return None
    if kind == "uuid":
        return uuid_text(value)
    if kind == "records":
        return _records(value)
    return bytes(value) if kind == "bytes" else value


def _records(value: Any) -> dict[str, Any]:
    from .request_text import NotKept

    data: dict[str, Any] = {"size_bytes": len(value)}
    if isinstance(value, NotKept):
        return data
    found: list[dict[str, Any]] = []
    try:
        for batch in batches(value):
            one = {"base_offset": batch.base_offset, "records": batch.count}
            if batch.has_producer_id:
                one |= {"producer_id": batch.producer_id, "producer_epoch": batch.producer_epoch}
                one |= {"base_sequence": batch.base_sequence}
            found.append(one)
    except KafkaError as error:
        data["error"] = error.message
    return data | {"batches": found}


def _codes(struct: Struct) -> Iterator[int]:
    for field in struct.FIELDS:
        value = getattr(struct, field.name)
        if field.name.endswith("error_code"):
            yield value
        elif field.struct is not None and value is not None:
            for element in value if field.array else (value,):
                yield from _codes(element)


def _topics(struct: Struct, within: str, metadata: MetadataImage) -> Iterator[str]:
    """Yield the topics that a struct names. `within` is the name of the list that contains the struct."""
    is_topic = "topic" in within or within == "responses"
    for field in struct.FIELDS:
        value = getattr(struct, field.name)
        if value is None:
            continue
        if field.struct is not None:
            for element in value if field.array else (value,):
                yield from _topics(element, field.name, metadata)
        elif field.array:
            if "topic" in field.name and field.wire is not None and field.wire.name == "string":
                yield from value
        elif field.name == "topic_id":
            known = metadata.topic_by_id(value)
            if known is not None:
                yield known.name
        elif value and (field.name in ("topic", "topic_name") or (field.name == "name" and is_topic)):
            yield value
