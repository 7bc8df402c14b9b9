"""The options of a `kafkalog` reader: parsed according to option_table.py and checked for contradictions.

Options that start with "kafka." configure the client of a live broker.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from .option_table import FOLLOW, READ
from .option_types import INT32, INT64, BadOption, GivenOptions, NotAllowed, local_path
from .topic_pattern import BadPattern, compiled

TopicPartition = tuple[str, int]

LATEST = -1
EARLIEST = -2
STRATEGIES = ("assign", "subscribe", "subscribePattern")

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Topics that brokers mark as internal in Metadata (Topic.INTERNAL_TOPICS)."""
_NOT_TOPICS = frozenset({"__cluster_metadata"})
"""Logs in log.dirs that are not topics: the metadata log of the KRaft controllers."""


class Topics(NamedTuple):
    """The partitions to read: topics by name, topics whose name matches `pattern`, or `assigned` partitions.

    At most one of the three is set. If none is, all topics are read except Kafka's internal ones.
    """

    names: tuple[str, ...] | None = None
    pattern: str | None = None
    assigned: tuple[TopicPartition, ...] | None = None

    def contain(self, topic: str, partition: int) -> bool:
        """Return whether to read the partition. Internal topics are read only if they are named."""
        if self.assigned is not None:
            return (topic, partition) in self.assigned
        if self.names is not None:
            return topic in self.names
        if topic in INTERNAL_TOPICS or topic in _NOT_TOPICS:
            return False
        return self.pattern is None or compiled(self.pattern).search(topic) is not None


class Limit(NamedTuple):
    """Where reading starts or ends: LATEST or EARLIEST, offsets per partition, or timestamps."""

    offset: int | None = None
    offsets: Mapping[TopicPartition, int] | None = None
    timestamp_ms: int | None = None
    timestamps_ms: Mapping[TopicPartition, int] | None = None


class ReadOptions(NamedTuple):
    """The validated options of a reader. Sizes are in bytes, times in milliseconds."""

    paths: tuple[str, ...]
    client: Mapping[str, str]
    """Client properties for a live broker, without the prefix "kafka."; empty when reading directories."""
    topics: Topics
    starting: Limit
    ending: Limit
    no_match: Literal["error", "latest"]
    """What to do if no record is at or after the starting timestamp."""
    isolation_level: str
    up_to: str
    min_partitions: int | None
    max_bytes_per_task: int
    max_records_per_partition: int | None
    include_headers: bool
    include_batch: bool
    include_control: bool
    push_filters: bool
    mode: str
    bad_records_path: str | None
    fail_on_data_loss: bool
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int

    @property
    def committed(self) -> bool:
        return self.isolation_level == "read_committed"

    @property
    def live(self) -> bool:
        """Whether to read from a broker rather than from directories."""
        return bool(self.client)


def read_options(options: Mapping[str, str], *, streaming: bool | None = False) -> ReadOptions:
    """Parse the options of `spark.read` or, with `streaming`, of `spark.readStream`. Raises BadOption.

    If `streaming` is None, it is not yet known which of them will read, and checks that apply to only one are skipped.
    """
    texts = {key.lower(): value for key, value in options.items()}
    client = {key[len("kafka.") :]: value for key, value in texts.items() if key.startswith("kafka.")}
    _check_client(client)
    paths = _paths(texts)
    if "bootstrap.servers" in client:
        if paths:
            raise BadOption(
                "both a directory and kafka.bootstrap.servers are set: use only one, to read logs or a live broker"
            )
    elif not paths:
        raise BadOption("no input is set: use load(DIR) or the option kafka.bootstrap.servers")
    else:
        client = {key: value for key, value in client.items() if key == "isolation.level"}
    if level := client.pop("isolation.level", None):
        texts.setdefault("isolationlevel", level)
    if not streaming:
        _leave_out_triggers(texts)
    given = GivenOptions(texts, READ + FOLLOW, _refusal)
    isolation_level = given["isolationLevel"]
    starting = _limit(given, "starting", Limit(offset=LATEST if streaming else EARLIEST))
    ending = _limit(given, "ending", Limit(offset=LATEST))
    _check_limits(texts, starting, ending, streaming)
    for option in _WITHOUT_EFFECT:
        given[option]
    read = ReadOptions(
        paths=paths,
        client=client,
        topics=_topics(given, needed=bool(client)),
        starting=starting,
        ending=ending,
        no_match=given["startingOffsetsByTimestampStrategy"],
        isolation_level=isolation_level,
        up_to=given["upTo"],
        min_partitions=given["minPartitions"],
        max_bytes_per_task=given["maxBytesPerTask"],
        max_records_per_partition=given["maxRecordsPerPartition"],
        include_headers=given["includeHeaders"],
        include_batch=given["includeBatch"],
        include_control=given["includeControl"],
        push_filters=given["pushFilters"],
        mode=given["mode"],
        bad_records_path=given["badRecordsPath"],
        fail_on_data_loss=given["failOnDataLoss"],
        max_offsets_per_trigger=given["maxOffsetsPerTrigger"],
        min_offsets_per_trigger=given["minOffsetsPerTrigger"],
        max_trigger_delay_ms=given["maxTriggerDelay"],
    )
    least, most = read.min_offsets_per_trigger, read.max_offsets_per_trigger
    if least is not None and most is not None and least > most:
        raise BadOption(f"minOffsetsPerTrigger ({least}) is higher than maxOffsetsPerTrigger ({most})")
    return read


def _refusal(option: str, wrong: NotAllowed) -> str:
    return f"{option} must be {wrong.allowed}, not {wrong.value!r}"


def partitions_of(text: str, option: str) -> dict[TopicPartition, int]:
    """Parse numbers per partition from JSON such as {"topic": {"0": 23, "1": -1}}. Raises BadOption."""
    found = _json(text, option)
    try:
        return {(topic, _partition(number)): _whole(at) for topic, ats in found.items() for number, at in ats.items()}
    except (AttributeError, TypeError, ValueError):
        raise BadOption(f'{option} must have the form {{"topic":{{"0":23,"1":-1}}}}, not {text!r}') from None


def _partition(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]+", text) or int(text) not in INT32:
        raise ValueError(text)
    return int(text)


def _whole(value: object) -> int:
    """Convert a JSON number as Jackson reads a Long: fractions are truncated, and strings are rejected."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(value)
    if int(value) not in INT64:
        raise ValueError(value)
    return int(value)


_REFUSED_CLIENT_OPTIONS = {
    "auto.offset.reset": "set startingOffsets to say where to begin",
    "key.deserializer": "keys are binary; convert them with DataFrame operations",
    "value.deserializer": "values are binary; convert them with DataFrame operations",
    "enable.auto.commit": "no offsets are committed to Kafka; a stream keeps its offsets in the checkpoint",
    "interceptor.classes": "records are read as they are",
}
"""Consumer properties that KafkaSourceProvider.validateGeneralOptions rejects, and what to use instead."""


def _check_client(client: Mapping[str, str]) -> None:
    for name, advice in _REFUSED_CLIENT_OPTIONS.items():
        if name in client:
            raise BadOption(f"the option kafka.{name} is not supported: {advice}")


_WITHOUT_EFFECT = ("kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs")
"""Options of Spark's source that are validated but have no effect here."""


def _paths(texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths of load("A"), of load(["A", "B"]) (which Spark passes as JSON), or of the option `paths`."""
    text = texts.get("paths") or texts.get("path") or ""
    if text.startswith("["):
        return tuple(_json(text, "paths"))
    return tuple(local_path(part) for part in (text,) if part)


def _topics(given: GivenOptions, *, needed: bool) -> Topics:
    strategies = [name for name in STRATEGIES if given.text(name) is not None]
    if len(strategies) > 1 or (needed and not strategies):
        only = "only one" if strategies else "one"
        raise BadOption(f"{only} of the options subscribe, subscribePattern and assign must be set")
    if not strategies:
        return Topics()
    (strategy,) = strategies
    written: str = given[strategy]
    text = written.strip()
    if strategy == "assign":
        return Topics(assigned=tuple(_assigned(text)))
    if strategy == "subscribe":
        names = tuple(name.strip() for name in text.split(",") if name.strip())
        if not names:
            raise BadOption(f"the option subscribe names no topic: {written!r}")
        return Topics(names=names)
    if not text:
        raise BadOption(f"the option subscribePattern is empty: {written!r}")
    try:
        compiled(text)
    except BadPattern as error:
        raise BadOption(f"subscribePattern {text} is not a supported pattern: {error}") from None
    return Topics(pattern=text)


def _assigned(text: str) -> Iterator[TopicPartition]:
    """Yield the partitions in JSON such as {"topic": [0, 1]}; there may be none. Raises BadOption."""
    assigned = _json(text, "assign")
    try:
        for topic, numbers in assigned.items():
            if not isinstance(numbers, list):
                raise TypeError(numbers)
            for number in numbers:
                if (partition := _whole(number)) not in INT32:
                    raise ValueError(number)
                yield topic, partition
    except (AttributeError, TypeError, ValueError):
        raise BadOption(f'assign must have the form {{"topic":[0,1]}}, not {text!r}') from None


def _limit(given: GivenOptions, end: str, default: Limit) -> Limit:
    """Return where reading starts or ends. The precedence is: one timestamp, timestamps per partition, offsets."""
    if (timestamp_ms := given[f"{end}Timestamp"]) is not None:
        return Limit(timestamp_ms=timestamp_ms)
    if (text := given.text(f"{end}OffsetsByTimestamp")) is not None:
        return Limit(timestamps_ms=partitions_of(text, f"{end}OffsetsByTimestamp"))
    if (text := given.text(f"{end}Offsets")) is None:
        return default
    text = text.strip()
    if text.lower() in ("latest", "earliest"):
        return Limit(offset=LATEST if text.lower() == "latest" else EARLIEST)
    offsets = partitions_of(text, f"{end}Offsets")
    if wrong := [at for at in offsets.values() if at < EARLIEST]:
        raise BadOption(f"{end}Offsets has the offset {wrong[0]}: use 0 or more, -1 for latest or -2 for earliest")
    return Limit(offsets=offsets)


def _leave_out_triggers(texts: dict[str, str]) -> None:
    """Remove the trigger options, which a batch query ignores, as in Spark. If both limits are set, they are kept so
    that a contradiction between them is still detected."""
    if not {"minoffsetspertrigger", "maxoffsetspertrigger"} <= texts.keys():
        texts.pop("minoffsetspertrigger", None)
        texts.pop("maxoffsetspertrigger", None)
    texts.pop("maxtriggerdelay", None)


def _check_limits(texts: Mapping[str, str], starting: Limit, ending: Limit, streaming: bool | None) -> None:
    if streaming is None:
        return
    if streaming:
        for name in ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"):
            if name.lower() in texts:
                raise BadOption(f"the option {name} is not valid for a stream")
        return
    if starting.offset == LATEST or LATEST in (starting.offsets or {}).values():
        raise BadOption("startingOffsets cannot be latest for a batch")
    if ending.offset == EARLIEST or EARLIEST in (ending.offsets or {}).values():
        raise BadOption("endingOffsets cannot be earliest for a batch")
    _check_order("offset", starting.offsets, ending.offsets)
    _check_order("timestamp", starting.timestamps_ms, ending.timestamps_ms)


def _check_order(
    what: str, starts: Mapping[TopicPartition, int] | None, ends: Mapping[TopicPartition, int] | None
) -> None:
    """Reject an end before the start, without contacting a broker (KafkaSourceProvider.checkOffsetLimitValidity)."""
    if starts is None or ends is None:
        return
    if starts.keys() != ends.keys():
        raise BadOption(
            f"the starting and the ending {what}s must name the same partitions: "
            f"they name {sorted(starts)} and {sorted(ends)}"
        )
    for (topic, partition), start in starts.items():
        end = ends[topic, partition]
        if start > end >= 0:
            raise BadOption(f"the starting {what} {start} of {topic}-{partition} is after its ending {what} {end}")


def _json(text: str, option: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        raise BadOption(f"{option} is not JSON: {error}: {text!r}") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
