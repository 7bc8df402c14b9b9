"""The text of a request and its response in the request log.

Produce, Fetch and ListOffsets have their own formats. All other messages are formatted from their declarations: topics
with partitions and offsets, names and numbers that differ from the default, and error names. Property values and
possible secrets are left out, and only the length of byte fields is shown. Strings from clients are escaped and
truncated; long lists are truncated.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from kafkalet.broker.cluster.metadata import MetadataImage
from kafkalet.broker.quoting import shown
from kafkalet.clock import elapsed_s
from kafkalet.formats import uuid_text
from kafkalet.protocol.api import BY_KEY, Api
from kafkalet.protocol.errors import DecodeError, EncodeError, KafkaError, ProtocolError, name_of
from kafkalet.protocol.fields import Field
from kafkalet.protocol.frame import RequestHeader
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.messages.api_versions import ApiVersionsResponse
from kafkalet.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkalet.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkalet.protocol.records.batch import LENGTH_AT, LOG_OVERHEAD, Batch, batches
from kafkalet.protocol.schema import Request, Response, Struct
from kafkalet.storage.files import FileRange

_LOG = logging.getLogger("kafkalet.requests")

NO_RESPONSE = "no response"
LEFT = "the connection was closed before the response"

MAX_CHARS = 100
"""Strings are truncated after this number of characters."""
MAX_ITEMS = 5
"""Lists are truncated after this number of elements."""
MAX_BATCHES = 1000
"""Maximum number of batches counted in a response."""
MAX_DECODED_BYTES = 1 << 20
"""Larger requests, except Produce, are not formatted, because they would be decoded in the event loop."""


class NotKept:
    """Takes the place of records that the journal has not kept."""

    __slots__ = ("_size",)

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size


class LoggedRequest:
    """A request that is being served."""

    __slots__ = ("_began_s", "_metadata", "_question", "connection", "fault", "has_waited")

    def __init__(self, connection: int, frame: bytes | bytearray, metadata: MetadataImage) -> None:
        self.connection = connection
        self.has_waited = False
        self.fault = 0
        """The number of the fault that has fired on the request; 0 if there is none."""
        self._metadata = metadata
        self._question: str | None = question(frame, metadata)
        """The text of the request; None once it has been logged."""
        self._began_s = elapsed_s()

    def answer(self, answer: Response | None) -> None:
        """Log the request with its response."""
        if self._question is not None:
            self._log(NO_RESPONSE if answer is None else response_text(answer, self._metadata))

    def fail(self, problem: Exception) -> None:
        """Log the request with the reason for closing the connection."""
        self._log(refusal_text(problem))

    def leave(self) -> None:
        """Log the request as one whose connection was closed before the response."""
        self._log(LEFT)

    def _log(self, said: str) -> None:
        if self._question is not None:
            took = time_text(elapsed_s() - self._began_s, self.has_waited)
            _LOG.debug("conn=%d %s -> %s%s %s", self.connection, self._question, said, fault_text(self.fault), took)
            self._question = None


# Requests and responses


def time_text(took_s: float, has_waited: bool) -> str:
    """Format the time from the request to the response."""
    return f"in {took_s * 1000:.1f} ms{' (waited)' if has_waited else ''}"


def fault_text(number: int) -> str:
    """Return a mark for a request on which a fault has fired; 0 means none."""
    return f" (fault {number})" if number else ""


def refusal_text(problem: Exception) -> str:
    """Format the reason for closing a connection instead of responding to a request."""
    if isinstance(problem, ProtocolError) and not isinstance(problem, EncodeError):
        return f"connection closed: {shown(problem, MAX_CHARS)}"
    return f"connection closed: a bug, {type(problem).__name__}: {shown(problem, MAX_CHARS)}"


def question(frame: bytes | bytearray, metadata: MetadataImage) -> str:
    """Return the client id, the API and the text of the request."""
    try:
        header, start = RequestHeader.decode(frame)
    except DecodeError as problem:
        api = BY_KEY.get(int.from_bytes(frame[:2], "big"))
        name = (
            f"{api} v{int.from_bytes(frame[2:4], 'big', signed=True)}, " if api is not None and len(frame) > 3 else ""
        )
        return f"{name}a request of {len(frame)} bytes ({shown(problem, MAX_CHARS)})"
    who = sender_text(header.client_id or "", str(header.api), header.version)
    if len(frame) > MAX_DECODED_BYTES and header.api is not Api.PRODUCE:
        return f"{who} ({len(frame)} B)"
    if not header.api.client_facing or header.version not in header.api.versions:
        return who
    try:
        request = request_type(header.api).decode(frame, header.version, start)
    except DecodeError:
        return f"{who} (malformed)"
    what = request_text(request, metadata)
    return f"{who} {what}" if what else who


def sender_text(client_id: str, api: str, version: int) -> str:
    """Format the client, the API and its version."""
    return f"client={_value_text(client_id)} {api} v{version}"


def request_text(request: Request, metadata: MetadataImage) -> str:
    """Format the message of a request."""
    return _safely(lambda: _request(request, metadata))


def response_text(answer: Response, metadata: MetadataImage) -> str:
    """Format a response."""
    return _safely(lambda: _answer(answer, metadata))


def _request(request: Request, metadata: MetadataImage) -> str:
    if isinstance(request, ProduceRequest):
        return _produce(request, metadata)
    if isinstance(request, FetchRequest):
        return _fetch(request, metadata)
    if isinstance(request, ListOffsetsRequest):
        return _list_offsets(request)
    return describe(request, metadata)


def _answer(answer: Response, metadata: MetadataImage) -> str:
    if isinstance(answer, ProduceResponse):
        return _produced(answer, metadata)
    if isinstance(answer, FetchResponse):
        return _fetched(answer, metadata)
    if isinstance(answer, ListOffsetsResponse):
        return _listed_offsets(answer)
    if isinstance(answer, ApiVersionsResponse):
        return name_of(answer.error_code) if answer.error_code else f"{len(answer.api_keys)} APIs"
    return describe(answer, metadata) or "ok"


def _safely(text: Callable[[], str]) -> str:
    """Return the text, or the error if formatting fails: logging must not close a connection."""
    try:
        return text()
    except Exception as problem:  # noqa: BLE001 - serving the request continues
        return f"(not shown: {type(problem).__name__}: {shown(problem, MAX_CHARS)})"


# Produce


def _produce(request: ProduceRequest, metadata: MetadataImage) -> str:
    parts = [
        f"{_topic(topic, metadata)}-{partition.index} {_sent(partition.records)}"
        for topic in request.topic_data
        for partition in topic.partition_data
    ]
    words = [_listed(parts, ", ")]
    if request.acks != -1:
        words.append(f"acks={request.acks}")
    if request.transactional_id is not None:
        words.append(f"transactional_id={_value_text(request.transactional_id)}")
    return " ".join(words)


def _sent(records: Any) -> str:
    if records is None:
        return "no records"
    if isinstance(records, NotKept):
        return f"{len(records)} B"
    found: list[Batch] = []
    try:
        found.extend(batches(records))
    except KafkaError as error:
        return f"{len(records)} B ({error.message})"
    text = f"{_batches(len(found))} "
    if all(batch.count >= 0 for batch in found):
        number = sum(batch.count for batch in found)
        text += f"{number} {'record' if number == 1 else 'records'} "
    text += f"{len(records)} B"
    if found and found[0].has_producer_id:
        first = found[0]
        text += f" producer={first.producer_id}/{first.producer_epoch} sequence={first.base_sequence}"
    return text


def _produced(answer: ProduceResponse, metadata: MetadataImage) -> str:
    parts = []
    for topic in answer.responses:
        for partition in topic.partition_responses:
            said = f"offset {partition.base_offset}"
            if partition.error_code:
                said = name_of(partition.error_code)
                if partition.error_message:
                    said += f" ({shown(partition.error_message, MAX_CHARS)})"
            parts.append(_Label(f"{_topic(topic, metadata)}-{partition.index}", said, partition.error_code != 0))
    return _summary(parts, answer.throttle_time_ms)


# Fetch


def _fetch(request: FetchRequest, metadata: MetadataImage) -> str:
    parts = [
        f"{_topic(topic, metadata)}-{partition.partition}@{partition.fetch_offset}"
        for topic in request.topics
        for partition in topic.partitions
    ]
    words = [_listed(parts, " ")] if parts else []
    if request.session_epoch > 0:
        words.append(f"session={request.session_id}/{request.session_epoch}")
        if not parts:
            words.append("as before")
    replica_id = request.replica_id if request.replica_state is None else request.replica_state.replica_id
    if replica_id >= 0:
        words.append(f"replica={replica_id}")
    if request.isolation_level == 1:
        words.append("read_committed")
    return " ".join(words)


def _fetched(answer: FetchResponse, metadata: MetadataImage) -> str:
    if answer.error_code:
        return name_of(answer.error_code)
    parts = []
    for topic in answer.responses:
        for partition in topic.partitions:
            said = name_of(partition.error_code) if partition.error_code else _received(partition.records)
            if not partition.error_code:
                said += f" hw={partition.high_watermark}"
                if partition.last_stable_offset >= 0:
                    said += f" lso={partition.last_stable_offset}"
                if partition.aborted_transactions:
                    said += f" aborted={len(partition.aborted_transactions)}"
            if partition.preferred_read_replica >= 0:
                said += f" preferred_read_replica={partition.preferred_read_replica}"
            if partition.diverging_epoch is not None:
                said += f" diverging_epoch={partition.diverging_epoch.epoch}"
            name = f"{_topic(topic, metadata)}-{partition.partition_index}"
            parts.append(_Label(name, said, partition.error_code != 0))
    return _summary(parts, answer.throttle_time_ms) if parts else "nothing new"


def _received(records: Any) -> str:
    if not records:
        return "nothing"
    if isinstance(records, NotKept):
        return f"{len(records)} B"
    number = sum(1 for _ in islice(_sizes(records), MAX_BATCHES))
    more = "+" if number == MAX_BATCHES else ""
    return f"{_batches(number, more)} {len(records)} B"


def _sizes(records: Any) -> Iterator[int]:
    """Iterate over the sizes of the complete batches in a response. The records may be a file range."""
    position = 0
    while len(records) - position >= LOG_OVERHEAD:
        if isinstance(records, FileRange):
            head = records.slice(position, LOG_OVERHEAD).read()
        else:
            head = bytes(records[position : position + LOG_OVERHEAD])
        size = LOG_OVERHEAD + int.from_bytes(head[LENGTH_AT:LOG_OVERHEAD], "big")
        position += size
        if position <= len(records):
            yield size


def _batches(number: int, more: str = "") -> str:
    return f"{number}{more} {'batch' if number == 1 else 'batches'}"


# ListOffsets

_PLACES = {-1: "latest", -2: "earliest", -3: "max_timestamp", -4: "earliest_local", -5: "latest_tiered"}


def _list_offsets(request: ListOffsetsRequest) -> str:
    parts = [
        f"{_value_text(topic.name)}-{partition.partition_index}@{_PLACES.get(partition.timestamp, partition.timestamp)}"
        for topic in request.topics
        for partition in topic.partitions
    ]
    return _listed(parts, " ") + (" read_committed" if request.isolation_level == 1 else "")


def _listed_offsets(answer: ListOffsetsResponse) -> str:
    parts = []
    for topic in answer.topics:
        for partition in topic.partitions:
            if partition.error_code:
                said = name_of(partition.error_code)
            elif partition.old_style_offsets:
                said = f"offsets {_listed(list(map(str, partition.old_style_offsets)), ' ')}"
            elif partition.offset < 0:
                said = "not found"
            else:
                said = f"offset {partition.offset}"
                if partition.timestamp >= 0:
                    said += f" timestamp {partition.timestamp}"
            name = f"{_value_text(topic.name)}-{partition.partition_index}"
            parts.append(_Label(name, said, partition.error_code != 0))
    return _summary(parts, answer.throttle_time_ms)


# Any other message

_NAMES = (
    *("name", "topic", "topic_name", "topic_id", "group_id", "key", "transactional_id", "member_id", "resource_name"),
    *("feature", "log_dir", "path", "user", "entity_name", "partition_index", "index", "partition", "partition_id"),
    *("node_id", "broker_id", "replica_id", "producer_id", "api_key"),
)
"""Fields that can name an element of a list; the first field that is present is used."""
_PARTITIONS = ("partitions", "partition_indexes", "partition_responses", "results_by_partition", "partition_result")
_OFFSETS = ("committed_offset", "offset", "end_offset", "low_watermark")
_DETAILS = ("group_state", "transaction_state", "count", "num_partitions", "max_version_level")
"""Fields that are shown for each element."""
_TOPICS = ("topics", "responses", "results_by_topic_v3_and_below")
"""Lists that are shown without their name."""
_OLD = "v3_and_below_"
"""Fields of AddPartitionsToTxn before it had batches (KIP-890)."""
_LEFT_OUT = ("cluster_id", "controller_id", "client_software_version")
_FEW = 3


class _Label(NamedTuple):
    """The text for one element of a list."""

    name: str
    said: str
    has_failed: bool

    def __str__(self) -> str:
        return self.name + self.said if self.said.startswith("@") else f"{self.name} {self.said}".strip()


def describe(struct: Struct, metadata: MetadataImage) -> str:
    """Format the fields of a message that differ from their defaults, on one line."""
    return " ".join(filter(None, (_field(struct, field, metadata) for field in struct.FIELDS)))


def _field(struct: Struct, field: Field, metadata: MetadataImage) -> str:
    name, value = field.name.removeprefix(_OLD), getattr(struct, field.name)
    if name.endswith("error_code"):
        return name_of(value) if value else ""
    if name == "topics" and value is None:
        return "all topics"
    if not _is_shown_field(struct, field, value):
        return ""
    if field.struct is not None and field.array:
        labels = [label for element in value for label in _labels(element, metadata)]
        text = _listed(labels, ", " if any(" " in str(label) for label in labels) else " ")
        return text if name in _TOPICS else f"{name}=[{text}]"
    if field.struct is not None:
        return f"{name}=({describe(value, metadata)})"
    if field.array:
        return f"{name}=[{_listed(list(map(_value_text, value)), ' ')}]"
    return name if value is True else f"{name}={_value(field, value, metadata)}"


def _is_shown_field(struct: Struct, field: Field, value: Any) -> bool:
    if value is None or value is False or value in ("", []) or value == field.default or field.name in _LEFT_OUT:
        return False
    if field.name == "error_message":
        return bool(getattr(struct, "error_code", 1))  # Kafka sets it to "NONE" in some responses
    return field.name != "throttle_time_ms" or value > 0


def _labels(element: Struct, metadata: MetadataImage) -> list[_Label]:
    """Format an element of a list. A topic is formatted as its partitions if they have details."""
    fields = {field.name: field for field in element.FIELDS}
    name = next((each for each in _NAMES if each in fields and getattr(element, each) not in (None, "")), None)
    label = "" if name is None else _value(fields[name], getattr(element, name), metadata)
    details = list(_details(element, fields))
    failed = any(getattr(element, each) for each in fields if each.endswith("error_code"))
    inner: list[_Label] = []
    for field in element.FIELDS:
        value = getattr(element, field.name)
        if not field.array or not value:
            continue
        if field.name in _PARTITIONS:
            found = _partitions(label, value, metadata)
            if len(found) <= _FEW or any(part.said for part in found):
                return found
            details.insert(0, f"({len(found)} partitions)")
        elif field.struct is not None:
            inner += [part for each in value for part in _labels(each, metadata)]
    if inner:
        label += f"({_listed(inner, ' ')})"
    return [_Label(label, " ".join(details), failed or any(part.has_failed for part in inner))]


def _partitions(topic: str, partitions: Sequence[Any], metadata: MetadataImage) -> list[_Label]:
    if not isinstance(partitions[0], Struct):
        return [_Label(f"{topic}-{each}", "", False) for each in partitions]
    return [label._replace(name=f"{topic}-{label.name}") for each in partitions for label in _labels(each, metadata)]


def _details(element: Struct, fields: dict[str, Field]) -> Iterator[str]:
    for name in fields:
        value = getattr(element, name)
        if name in _OFFSETS:
            yield f"@{value if value >= 0 else 'none'}"
        elif name.endswith("error_code"):
            if value:
                yield name_of(value)
        elif name == "error_message":
            if value and getattr(element, "error_code", 1):
                yield f"({shown(value, MAX_CHARS)})"
        elif name in _DETAILS and value not in (None, ""):
            yield f"{name}={_value_text(value)}"
    host = getattr(element, "host", None)
    if host and "port" in fields:
        yield f"at {_value_text(host)}:{getattr(element, 'port', '')}"


def _value(field: Field, value: Any, metadata: MetadataImage) -> str:
    kind = field.wire.name if field.wire is not None else ""
    if kind in ("bytes", "records"):
        return f"{len(value)} B"
    if kind == "uuid":
        topic = metadata.topic_by_id(value)
        return _value_text(topic.name) if topic is not None else uuid_text(value)
    return _value_text(value)


# Words


def _topic(topic: Any, metadata: MetadataImage) -> str:
    """Return the name of a topic, even if the client refers to it by its id."""
    name = getattr(topic, "name", None) or getattr(topic, "topic", None)
    if name:
        return _value_text(name)
    known = metadata.topic_by_id(topic.topic_id)
    return uuid_text(topic.topic_id) if known is None else _value_text(known.name)


def _summary(parts: Sequence[_Label], throttle_ms: int) -> str:
    """Format the results of partitions. A single partition is not named."""
    text = parts[0].said if len(parts) == 1 else _listed(parts, ", ")
    return f"{text} throttle_time_ms={throttle_ms}" if throttle_ms else text


def _listed(items: Sequence[str | _Label], separator: str) -> str:
    """Format the first elements of a list and the number of remaining ones. Failed elements come first."""
    shown = items
    if len(items) > MAX_ITEMS:
        shown = sorted(items, key=lambda item: not (isinstance(item, _Label) and item.has_failed))[:MAX_ITEMS]
    left = len(items) - len(shown)
    return separator.join(map(str, shown)) + (f"{separator}... {left} more" if left else "")


def _value_text(value: Any) -> str:
    """Format a value on one line. Strings that are empty or have special characters are quoted; long ones are cut."""
    if not isinstance(value, str):
        return str(value)
    is_plain = value.isprintable() and value != "" and not {" ", ",", "'", '"'} & set(value)
    text = value[:MAX_CHARS]
    return (text if is_plain else repr(text)) + ("..." if len(value) > MAX_CHARS else "")
