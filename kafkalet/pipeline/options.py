"""What a reader of `kafkalog` was asked for: the options as text, made into values and checked.

Options have the names and the meaning they have in Spark's own Kafka source (KafkaSourceProvider), where there is
such an option; names are told apart without regard to case. What is new here:

    isolationLevel       read_uncommitted (as in Kafka, the default) or read_committed; also as kafka.isolation.level
    upTo                 logEnd (default) or highWatermark: where a directory ends that a broker left behind or still
                         writes; the high watermark is the one that the broker wrote down last, some seconds old
    maxBytesPerTask      the size of a split, "128m" by default
    includeHeaders       true by default, unlike in Spark's Kafka source
    includeBatch         the columns of the batch that a record came in
    includeControl       the markers of transactions as well, as rows with control=true
    pushFilters          true: conditions on topic, partition, offset and timestamp narrow what is read; for a DataFrame
                         of which one query is made (see source.py)
    mode                 FAILFAST (default), PERMISSIVE, DROPMALFORMED, as Spark's readers of files
    badRecordsPath       a folder where tasks leave a line of JSON for each piece that they could not read

All that starts with "kafka." is for the client of a live broker.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from .quantities import duration_ms, local_path, size_bytes

TopicPartition = tuple[str, int]

LATEST = -1
EARLIEST = -2
MODES = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")
ISOLATION_LEVELS = ("read_uncommitted", "read_committed")
STRATEGIES = ("assign", "subscribe", "subscribepattern")
DEFAULT_TASK_BYTES = 128 << 20


class BadOption(ValueError):
    """An option that cannot be understood, or that contradicts another. The text names it."""


class Topics(NamedTuple):
    """Which partitions are read: those of `names`, those whose topic matches `pattern` wholly, or those of `assigned`.

    With none of them, all topics that are not internal to Kafka.
    """

    names: tuple[str, ...] = ()
    pattern: str = ""
    assigned: tuple[TopicPartition, ...] = ()

    def contain(self, topic: str, partition: int) -> bool:
        """Whether the partition is among those asked for."""
        if self.assigned:
            return (topic, partition) in self.assigned
        if self.names:
            return topic in self.names
        if self.pattern:
            return re.fullmatch(self.pattern, topic) is not None
        return not topic.startswith("__")


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


def read_options(options: Mapping[str, str], *, streaming: bool = False) -> ReadOptions:
    """The options of `spark.read` or, `streaming`, of `spark.readStream`. Raises BadOption."""
    texts = {key.lower(): value for key, value in options.items()}
    client = {key[len("kafka.") :]: value for key, value in texts.items() if key.startswith("kafka.")}
    paths = _paths(texts)
    if "bootstrap.servers" in client:
        if paths:
            raise BadOption("a directory and kafka.bootstrap.servers exclude each other: say which of them to read")
    elif not paths:
        raise BadOption("say what to read: load(DIR), or the option kafka.bootstrap.servers")
    else:
        client = {key: value for key, value in client.items() if key == "isolation.level"}
    isolation_level = _choice(texts, "isolationLevel", ISOLATION_LEVELS, client.pop("isolation.level", None))
    starting = _limit(texts, "starting", Limit(offset=LATEST if streaming else EARLIEST))
    ending = _limit(texts, "ending", Limit(offset=LATEST))
    _check_limits(texts, starting, ending, streaming)
    read = ReadOptions(
        paths=paths,
        client=client,
        topics=_topics(texts, needed=bool(client)),
        starting=starting,
        ending=ending,
        no_match="latest" if _choice(texts, _NO_MATCH, ("error", "latest")) == "latest" else "error",
        isolation_level=isolation_level,
        up_to=_choice(texts, "upTo", ("logEnd", "highWatermark")),
        min_partitions=_positive(texts, "minPartitions"),
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
        min_offsets_per_trigger=_positive(texts, "minOffsetsPerTrigger"),
        max_trigger_delay_ms=_duration_ms(texts, "maxTriggerDelay", 15 * 60_000),
    )
    least, most = read.min_offsets_per_trigger, read.max_offsets_per_trigger
    if least is not None and most is not None and least > most:
        raise BadOption(f"minOffsetsPerTrigger ({least}) is higher than maxOffsetsPerTrigger ({most})")
    return read


def partitions_of(text: str, option: str) -> dict[TopicPartition, int]:
    """The numbers per partition of {"topic": {"0": 23, "1": -1}}."""
    found = _json(text, option)
    try:
        return {(topic, int(number)): int(at) for topic, ats in found.items() for number, at in ats.items()}
    except (AttributeError, TypeError, ValueError):
        raise BadOption(f'{option} is not of the form {{"topic":{{"0":23,"1":-1}}}}: {text}') from None


def _paths(texts: Mapping[str, str]) -> tuple[str, ...]:
    """Of load("A"), of load(["A", "B"]) (which Spark hands on as JSON), and of the option `paths`."""
    text = texts.get("paths") or texts.get("path") or ""
    if text.startswith("["):
        return tuple(_json(text, "paths"))
    return tuple(local_path(part) for part in (text,) if part)


def _topics(texts: Mapping[str, str], *, needed: bool) -> Topics:
    given = [name for name in STRATEGIES if name in texts]
    if len(given) > 1 or (needed and not given):
        only = "Only one" if given else "One"
        raise BadOption(f"{only} of these options has to be given: assign, subscribe, subscribePattern")
    if not given:
        return Topics()
    text = texts[given[0]].strip()
    if given == ["assign"]:
        assigned = _json(text, "assign")
        try:
            wanted = tuple((topic, int(number)) for topic, numbers in assigned.items() for number in numbers)
        except (AttributeError, TypeError, ValueError):
            raise BadOption(f'assign is not of the form {{"topic":[0,1]}}: {text}') from None
        if wanted:
            return Topics(assigned=wanted)
    elif given == ["subscribe"]:
        if names := tuple(name.strip() for name in text.split(",") if name.strip()):
            return Topics(names=names)
    elif text:
        try:
            re.compile(text)
        except re.error as error:
            raise BadOption(f"subscribePattern {text} is not a pattern: {error}") from None
        return Topics(pattern=text)
    raise BadOption(f"{given[0]} names no topic: {text!r}")


_NO_MATCH = "startingOffsetsByTimestampStrategy"


def _limit(texts: Mapping[str, str], end: str, default: Limit) -> Limit:
    """A global timestamp goes before timestamps per partition, and these before offsets, as in Spark."""
    if (text := texts.get(f"{end}timestamp")) is not None:
        return Limit(timestamp_ms=_number(text, f"{end}Timestamp"))
    if (text := texts.get(f"{end}offsetsbytimestamp")) is not None:
        return Limit(timestamps_ms=partitions_of(text, f"{end}OffsetsByTimestamp"))
    text = texts.get(f"{end}offsets", "").strip()
    if not text:
        return default
    if text.lower() in ("latest", "earliest"):
        return Limit(offset=LATEST if text.lower() == "latest" else EARLIEST)
    return Limit(offsets=partitions_of(text, f"{end}Offsets"))


def _check_limits(texts: Mapping[str, str], starting: Limit, ending: Limit, streaming: bool) -> None:
    if streaming:
        for name in ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"):
            if name.lower() in texts:
                raise BadOption(f"{name} has no meaning for a stream")
        return
    if starting.offset == LATEST or LATEST in (starting.offsets or {}).values():
        raise BadOption("startingOffsets cannot be latest for a batch")
    if ending.offset == EARLIEST or EARLIEST in (ending.offsets or {}).values():
        raise BadOption("endingOffsets cannot be earliest for a batch")


def _choice(texts: Mapping[str, str], option: str, choices: tuple[str, ...], fallback: str | None = None) -> str:
    text = texts.get(option.lower(), fallback or choices[0])
    for choice in choices:
        if text.strip().lower() == choice.lower():
            return choice
    raise BadOption(f"{option} is one of {', '.join(choices)}, not {text}")


def _flag(texts: Mapping[str, str], option: str, default: bool) -> bool:
    text = texts.get(option.lower(), str(default)).strip().lower()
    if text not in ("true", "false"):
        raise BadOption(f"{option} is true or false, not {text}")
    return text == "true"


def _positive(texts: Mapping[str, str], option: str) -> int | None:
    text = texts.get(option.lower())
    if text is None:
        return None
    number = _number(text, option)
    if number <= 0:
        raise BadOption(f"{option} must be positive, not {number}")
    return number


def _number(text: str, option: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadOption(f"{option} is a whole number, not {text}") from None


def _size(texts: Mapping[str, str], option: str, default: int) -> int:
    text = texts.get(option.lower())
    if text is None:
        return default
    if not (size := size_bytes(text, "t")):
        raise BadOption(f"{option} is a size in bytes, or as 64m, not {text}")
    return size


def _duration_ms(texts: Mapping[str, str], option: str, default: int) -> int:
    text = texts.get(option.lower())
    if text is None:
        return default
    if (found := duration_ms(text, "h")) is None:
        raise BadOption(f"{option} is a time as 500ms, 30s or 15m, not {text}")
    return found


def _json(text: str, option: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadOption(f"{option} is not JSON: {error}: {text}") from None
