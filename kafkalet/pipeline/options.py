"""The options of a reader of `kafkalog`: parsed from text and checked.

Options have the names and the meaning that they have in Spark's own Kafka source (KafkaSourceProvider). Names are
case-insensitive. docs/pipeline.md lists every option with what Spark does, and the few differences;
tests/pipeline/test_spark_parity.py runs the same options on both sources. kafkalog adds:

    isolationLevel       read_uncommitted (Kafka's default) or read_committed; also as kafka.isolation.level
    upTo                 logEnd (default) or highWatermark: where the log of a directory ends. The high watermark is the
                         one in the checkpoint file, which a running broker writes every few seconds
    maxBytesPerTask      the size of a split, "128m" by default
    includeHeaders       true by default, unlike in Spark's Kafka source
    includeBatch         the columns of the batch that a record came in
    includeControl       the markers of transactions as well, as rows with control=true
    pushFilters          true: conditions on topic, partition, offset and timestamp narrow what is read; for a DataFrame
                         of which one query is made (see source.py)
    mode                 FAILFAST (default), PERMISSIVE, DROPMALFORMED, as for Spark's readers of files
    badRecordsPath       a folder where tasks write a line of JSON for each piece that they could not read

All options that start with "kafka." configure the client of a live broker.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from .quantities import duration_ms, local_path, size_bytes
from .topic_pattern import BadPattern, compiled

TopicPartition = tuple[str, int]

LATEST = -1
EARLIEST = -2
MODES = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")
ISOLATION_LEVELS = ("read_uncommitted", "read_committed")
STRATEGIES = ("assign", "subscribe", "subscribepattern")
DEFAULT_TASK_BYTES = 128 << 20


INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Topics that brokers mark as internal in Metadata (Topic.INTERNAL_TOPICS)."""
_NOT_TOPICS = frozenset({"__cluster_metadata"})
"""Logs that lie in log.dirs and belong to no topic: the one of the KRaft controllers."""

_INT64 = range(-(1 << 63), 1 << 63)
_INT32 = range(-(1 << 31), 1 << 31)


class BadOption(ValueError):
    """An option that is not understood, or that contradicts another. The text names it."""


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
    isolation_level = _choice(texts, "isolationLevel", ISOLATION_LEVELS, client.pop("isolation.level", None))
    starting = _limit(texts, "starting", Limit(offset=LATEST if streaming else EARLIEST))
    ending = _limit(texts, "ending", Limit(offset=LATEST))
    _check_limits(texts, starting, ending, streaming)
    _check_without_effect(texts)
    if not streaming:
        _leave_out_triggers(texts)
    read = ReadOptions(
        paths=paths,
        client=client,
        topics=_topics(texts, needed=bool(client)),
        starting=starting,
        ending=ending,
        no_match="latest" if _choice(texts, _NO_MATCH, ("error", "latest")) == "latest" else "error",
        isolation_level=isolation_level,
        up_to=_choice(texts, "upTo", ("logEnd", "highWatermark")),
        min_partitions=_positive(texts, "minPartitions", _INT32),
        max_bytes_per_task=_size(texts, "maxBytesPerTask", DEFAULT_TASK_BYTES),
        max_records_per_partition=_positive(texts, "maxRecordsPerPartition"),
        include_headers=_flag(texts, "includeHeaders", True),
        include_batch=_flag(texts, "includeBatch", False),
        include_control=_flag(texts, "includeControl", False),
        push_filters=_flag(texts, "pushFilters", False),
        mode=_choice(texts, "mode", MODES),
        bad_records_path=texts.get("badrecordspath"),
        fail_on_data_loss=_flag(texts, "failOnDataLoss", True),
        max_offsets_per_trigger=_positive(texts, "maxOffsetsPerTrigger"),
        min_offsets_per_trigger=_number_or_none(texts, "minOffsetsPerTrigger"),
        max_trigger_delay_ms=_duration_ms(texts, "maxTriggerDelay", 15 * 60_000),
    )
    least, most = read.min_offsets_per_trigger, read.max_offsets_per_trigger
    if least is not None and most is not None and least > most:
        raise BadOption(f"minOffsetsPerTrigger ({least}) is higher than maxOffsetsPerTrigger ({most})")
    return read


def partitions_of(text: str, option: str) -> dict[TopicPartition, int]:
    """Return the numbers per partition of {"topic": {"0": 23, "1": -1}}."""
    found = _json(text, option)
    try:
        return {(topic, _partition(number)): _whole(at) for topic, ats in found.items() for number, at in ats.items()}
    except (AttributeError, TypeError, ValueError):
        raise BadOption(f'{option} must have the form {{"topic":{{"0":23,"1":-1}}}}, not {text!r}') from None


def _partition(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]+", text) or int(text) not in _INT32:
        raise ValueError(text)
    return int(text)


def _whole(value: object) -> int:
    """A number as Jackson reads a Long: a fraction is cut off, text is refused."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(value)
    if int(value) not in _INT64:
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


def _check_without_effect(texts: Mapping[str, str]) -> None:
    """Check the options of Spark's source that change nothing here: there is no group, no poll and one retry policy."""
    for option in ("kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs"):
        if (text := texts.get(option.lower())) is not None:
            _number(text, option)


def _paths(texts: Mapping[str, str]) -> tuple[str, ...]:
    """Of load("A"), of load(["A", "B"]) (which Spark hands on as JSON), and of the option `paths`."""
    text = texts.get("paths") or texts.get("path") or ""
    if text.startswith("["):
        return tuple(_json(text, "paths"))
    return tuple(local_path(part) for part in (text,) if part)


def _topics(texts: Mapping[str, str], *, needed: bool) -> Topics:
    given = [name for name in STRATEGIES if name in texts]
    if len(given) > 1 or (needed and not given):
        only = "only one" if given else "one"
        raise BadOption(f"{only} of the options subscribe, subscribePattern and assign must be given")
    if not given:
        return Topics()
    text = texts[given[0]].strip()
    if given == ["assign"]:
        return Topics(assigned=tuple(_assigned(text)))
    if given == ["subscribe"]:
        names = tuple(name.strip() for name in text.split(",") if name.strip())
        if not names:
            raise BadOption(f"the option subscribe names no topic: {texts['subscribe']!r}")
        return Topics(names=names)
    if not text:
        raise BadOption(f"the option subscribePattern is empty: {texts['subscribepattern']!r}")
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
                if (partition := _whole(number)) not in _INT32:
                    raise ValueError(number)
                yield topic, partition
    except (AttributeError, TypeError, ValueError):
        raise BadOption(f'assign must have the form {{"topic":[0,1]}}, not {text!r}') from None


_NO_MATCH = "startingOffsetsByTimestampStrategy"


def _limit(texts: Mapping[str, str], end: str, default: Limit) -> Limit:
    """Where reading starts or ends. A global timestamp wins over timestamps per partition, and these over offsets."""
    if (text := texts.get(f"{end}timestamp")) is not None:
        return Limit(timestamp_ms=_number(text.strip(), f"{end}Timestamp"))
    if (text := texts.get(f"{end}offsetsbytimestamp")) is not None:
        return Limit(timestamps_ms=partitions_of(text, f"{end}OffsetsByTimestamp"))
    if (text := texts.get(f"{end}offsets")) is None:
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


def _choice(texts: Mapping[str, str], option: str, choices: tuple[str, ...], fallback: str | None = None) -> str:
    text = texts.get(option.lower(), fallback or choices[0])
    for choice in choices:
        if text.strip().lower() == choice.lower():
            return choice
    raise BadOption(f"{option} must be one of {', '.join(choices)}, not {text!r}")


def _flag(texts: Mapping[str, str], option: str, default: bool) -> bool:
    text = texts.get(option.lower(), str(default)).strip().lower()
    if text not in ("true", "false"):
        raise BadOption(f"{option} must be true or false, not {text!r}")
    return text == "true"


def _number_or_none(texts: Mapping[str, str], option: str, allowed: range = _INT64) -> int | None:
    text = texts.get(option.lower())
    return None if text is None else _number(text, option, allowed)


def _positive(texts: Mapping[str, str], option: str, allowed: range = _INT64) -> int | None:
    number = _number_or_none(texts, option, allowed)
    if number is not None and number <= 0:
        raise BadOption(f"{option} must be positive, not {number}")
    return number


def _number(text: str, option: str, allowed: range = _INT64) -> int:
    """A number as Java parses it: ASCII digits without blanks."""
    if not re.fullmatch(r"[+-]?[0-9]+", text) or int(text) not in allowed:
        raise BadOption(f"{option} must be a whole number of {allowed.start} to {allowed.stop - 1}, not {text!r}")
    return int(text)


def _size(texts: Mapping[str, str], option: str, default: int) -> int:
    text = texts.get(option.lower())
    if text is None:
        return default
    if not (size := size_bytes(text, "t")):
        raise BadOption(f"{option} must be a size in bytes, or like 64m, not {text!r}")
    return size


def _duration_ms(texts: Mapping[str, str], option: str, default: int) -> int:
    text = texts.get(option.lower())
    if text is None:
        return default
    if (found := duration_ms(text, "h")) is None:
        raise BadOption(f"{option} must be a time like 500ms, 30s or 15m, not {text!r}")
    return found


def _json(text: str, option: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        raise BadOption(f"{option} is not JSON: {error}: {text!r}") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
