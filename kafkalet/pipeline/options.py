"""The options of a reader of `kafkalog`: read by the table (option_table.py), and checked against each other.

All options that start with "kafka." configure the client of a live broker.
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
"""Logs that lie in log.dirs and belong to no topic: the one of the KRaft controllers."""


class Topics(NamedTuple):
    """The partitions to read: those of `names`, those of topics that `pattern` is found in, or `assigned` ones.

    One of the three is set at most. With none, all topics that are not internal to Kafka.
    """

    names: tuple[str, ...] | None = None
    pattern: str | None = None
    assigned: tuple[TopicPartition, ...] | None = None

    def contain(self, topic: str, partition: int) -> bool:
        """Whether the partition is to be read. An internal topic is read if it is named."""
        if self.assigned is not None:
            return (topic, partition) in self.assigned
        if self.names is not None:
            return topic in self.names
        if topic in INTERNAL_TOPICS or topic in _NOT_TOPICS:
            return False
        return self.pattern is None or compiled(self.pattern).search(topic) is not None


class Limit(NamedTuple):
    """Where reading starts or ends: at one offset for all (LATEST, EARLIEST), at offsets, or by time."""

    offset: int | None = None
    offsets: Mapping[TopicPartition, int] | None = None
    timestamp_ms: int | None = None
    timestamps_ms: Mapping[TopicPartition, int] | None = None


class ReadOptions(NamedTuple):
    """The options of a reader, checked. Sizes in bytes, times in milliseconds."""

    paths: tuple[str, ...]
    client: Mapping[str, str]
    """Properties of the client of a live broker, without "kafka."; empty when directories are read."""
    topics: Topics
    starting: Limit
    ending: Limit
    no_match: Literal["error", "latest"]
    """What to do when no record is as young as the starting timestamp."""
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
        """Whether a broker is asked, and no directory read."""
        return bool(self.client)


def read_options(options: Mapping[str, str], *, streaming: bool | None = False) -> ReadOptions:
    """Return the options of `spark.read` or, with `streaming`, of `spark.readStream`. Raises BadOption.

    With None it is not known yet which of them reads, and what only one of them refuses is not checked.
    """
    texts = {key.lower(): value for key, value in options.items()}
    client = {key[len("kafka.") :]: value for key, value in texts.items() if key.startswith("kafka.")}
    _check_client(client)
    paths = _paths(texts)
    if "bootstrap.servers" in client:
        if paths:
            raise BadOption(
                "a directory and kafka.bootstrap.servers are both given: set one of them, to read logs or a live broker"
            )
    elif not paths:
        raise BadOption("nothing to read is given: use load(DIR), or the option kafka.bootstrap.servers")
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
    """Return the numbers per partition of {"topic": {"0": 23, "1": -1}}."""
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
    """A number as Jackson reads a Long: a fraction is cut off, text is refused."""
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
"""Properties of a consumer that KafkaSourceProvider.validateGeneralOptions refuses, and what to do instead."""


def _check_client(client: Mapping[str, str]) -> None:
    for name, advice in _REFUSED_CLIENT_OPTIONS.items():
        if name in client:
            raise BadOption(f"the option kafka.{name} is not supported: {advice}")


_WITHOUT_EFFECT = ("kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs")
"""Options of Spark's source that are checked and change nothing here: there is no group, no poll, one retry policy."""


def _paths(texts: Mapping[str, str]) -> tuple[str, ...]:
    """Of load("A"), of load(["A", "B"]) (which Spark hands on as JSON), and of the option `paths`."""
    text = texts.get("paths") or texts.get("path") or ""
    if text.startswith("["):
        return tuple(_json(text, "paths"))
    return tuple(local_path(part) for part in (text,) if part)


def _topics(given: GivenOptions, *, needed: bool) -> Topics:
    strategies = [name for name in STRATEGIES if given.text(name) is not None]
    if len(strategies) > 1 or (needed and not strategies):
        only = "only one" if strategies else "one"
        raise BadOption(f"{only} of the options subscribe, subscribePattern and assign must be given")
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
        raise BadOption(f"subscribePattern {text} is no pattern that can be searched for: {error}") from None
    return Topics(pattern=text)


def _assigned(text: str) -> Iterator[TopicPartition]:
    """The partitions of {"topic": [0, 1]}; there may be none."""
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
    """Where reading starts or ends. A global timestamp wins over timestamps per partition, and these over offsets."""
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
    """Ignore the options of a trigger, as Spark does in a batch; the two limits are compared all the same."""
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
    """What can be refused before anything is asked (KafkaSourceProvider.checkOffsetLimitValidity)."""
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
