"""The table of topic properties.

Each row has the name of a property, its type, default, documentation and check, the releases that have it, and the
attribute of LogConfig that it affects. The order is that of Kafka 4.4.
"""

from collections.abc import Mapping
from functools import cache
from typing import Unpack

from kafkalet.properties import (
    Check,
    Declaration,
    InvalidProperty,
    Options,
    Property,
    PropertySet,
    Type,
    Value,
    Version,
    at_least,
    between,
    one_of,
)

BOOLEAN, INT, LONG, DOUBLE, LIST, STRING = Type.BOOLEAN, Type.INT, Type.LONG, Type.DOUBLE, Type.LIST, Type.STRING

MAX_LONG = (1 << 63) - 1
MAX_ARRAY = (1 << 31) - 9  # the largest array in Java
HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS
WEEK_MS = 7 * DAY_MS

CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")

FORMAT_VERSION = "message.format.version"

# The values of message.format.version: release lines, each with its last internal version if it has any.
FORMAT_VERSIONS = (
    "0.8.0 0.8.1 0.8.2 0.9.0 0.10.0-IV1 0.10.1-IV2 0.10.2-IV0 0.11.0-IV2 1.0-IV0 1.1-IV0 "
    "2.0-IV1 2.1-IV2 2.2-IV1 2.3-IV1 2.4-IV1 2.5-IV0 2.6-IV0 2.7-IV2 2.8-IV1 "
    "3.0-IV1 3.1-IV0 3.2-IV0 3.3-IV3 3.4-IV0 3.5-IV2 3.6-IV2 3.7-IV4 3.8-IV0 3.9-IV0"
)


def format_versions(version: Version) -> dict[str, str]:
    """Return the values of message.format.version in a release: line to line with the last internal version."""
    lines = {full.partition("-")[0]: full for full in FORMAT_VERSIONS.split()}
    return {line: full for line, full in lines.items() if _numbers(line)[: len(version)] <= version}


def default_format_version(version: Version) -> str:
    """Return the default of message.format.version: the release's own line, but at most 3.0 (KIP-724)."""
    return [*format_versions(min(version, (3, 0))).values()][-1]


def _numbers(line: str) -> tuple[int, ...]:
    return tuple(int(part) for part in line.split("."))


def format_version_check(version: Version) -> Check:
    """`0.10.2`, `2.8`, `2.8-IV1`, or a patch release of them (`ApiVersion`, later `MetadataVersion`)."""
    known = set[str]()
    for line, last in format_versions(version).items():
        known.add(line)
        if internal := last.partition("-IV")[2]:
            known |= {f"{line}-IV{number}" for number in range(int(internal) + 1)}

    def check(name: str, value: Value) -> None:
        if format_line(str(value)) not in known:
            quoted = f"`{value}`" if version < (3, 3) else value
            raise InvalidProperty(name, str(value), f"Version {quoted} is not a valid version")

    return check


def format_line(format_version: str) -> str:
    """Return the significant part of a message.format.version: `2.8` of `2.8.1`; `0.10.2-IV0` is unchanged."""
    return ".".join(format_version.split(".")[: 3 if format_version.startswith("0.") else 2])


def check_tiered_storage(name: str, value: Value) -> None:
    """Only false: the broker has no tiered storage (`remote.log.storage.system.enable`)."""
    if value is True:
        raise InvalidProperty(name, "true", "Tiered Storage functionality is disabled in the broker")


def check_gzip_level(name: str, value: Value) -> None:
    """1 to 9, or -1."""
    if value != -1 and value not in range(1, 10):
        raise InvalidProperty(name, str(value), "Value must be between 1 and 9 or equal to -1")


def check_throttled_replicas(name: str, value: Value) -> None:
    """A list of partition:broker, or `*` for all replicas (KIP-73)."""
    assert isinstance(value, tuple)
    for entry in value if value != ("*",) and any(value) else ():
        partition, _, broker = entry.partition(":")
        if not (entry.isascii() and partition.isdecimal() and broker.isdecimal()):
            wanted = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
            reason = f"{name} must be the literal '*' or a list of replicas in the following format: {wanted}"
            raise InvalidProperty(name, f"[{', '.join(value)}]", reason)


def check_policies(name: str, value: Value) -> None:
    """compact, delete."""
    assert isinstance(value, tuple)
    if "" in value:  # KIP-1161 has a separate message for empty values
        text = f"Configuration '{name}' values must not be empty."
        raise InvalidProperty(name, ",".join(value), text, text)
    one_of("compact", "delete")(name, value)


def acting(
    name: str,
    type_: Type,
    default: str | None,
    documentation: str,
    check: Check | None = None,
    **options: Unpack[Options],
) -> Declaration:
    """Declare a property that affects logs, in the LogConfig attribute of its name unless `affects` names another."""
    options.setdefault("affects", name.replace(".", "_"))
    return Declaration(Property(name, type_, default, check), documentation, **options)


def kept(
    name: str,
    type_: Type,
    default: str | None,
    documentation: str,
    check: Check | None = None,
    **options: Unpack[Options],
) -> Declaration:
    """Declare a property that is accepted, stored and described, but has no effect here."""
    return Declaration(Property(name, type_, default, check), documentation, **options)


# fmt: off
_ROWS = (
    acting("compression.type", STRING, "producer",
        "The codec of stored batches; producer keeps the producer's codec.", one_of(*CODECS)),
    kept("errors.deadletterqueue.group.enable", BOOLEAN, "false",
        "Whether the topic may be a dead letter queue of share groups.", since=(4, 4)),
    kept("remote.copy.lag.bytes", LONG, "-1", "The size at which a log is copied to tiered storage.",
        at_least(-1), since=(4, 4)),
    kept("remote.log.delete.on.disable", BOOLEAN, "false",
        "Whether tiered data is deleted when tiered storage is disabled.", since=(3, 9)),
    kept("leader.replication.throttled.replicas", LIST, "",
        "Replicas throttled on the leader, as partition:broker, or *.", check_throttled_replicas, since=(0, 10, 1)),
    kept("remote.storage.enable", BOOLEAN, "false", "Enables tiered storage; true is refused.",
        check_tiered_storage, since=(3, 6)),
    acting("message.downconversion.enable", BOOLEAN, "true",
        "Whether records are converted to the format of old consumers.", since=(2, 0), until=(4, 0)),
    acting("min.insync.replicas", INT, "1",
        "The number of in-sync replicas required for a produce request with acks=all.", at_least(1)),
    acting("segment.jitter.ms", LONG, "0",
        "The maximum random time by which a segment is rolled before segment.ms.", at_least(0)),
    kept("remote.log.copy.disable", BOOLEAN, "false", "Stops copying to tiered storage.", since=(3, 9)),
    kept("local.retention.ms", LONG, "-2", "How long data stays on local disk under tiered storage.", at_least(-2),
        since=(3, 6)),
    acting("cleanup.policy", LIST, "delete",
        "What happens to old segments: delete removes them; compact keeps them, because kafkalet does not compact "
        "logs, and refuses records without a key.", check_policies,
        before={(4, 2): {"check": one_of("compact", "delete")}}),
    acting("flush.ms", LONG, str(MAX_LONG),
        "The time after which a log is flushed; checked every log.flush.scheduler.interval.ms.", at_least(0)),
    kept("follower.replication.throttled.replicas", LIST, "",
        "Replicas throttled on the follower, as partition:broker, or *.", check_throttled_replicas, since=(0, 10, 1)),
    acting("compression.lz4.level", INT, "9", "The lz4 level for batches that the broker compresses, 1 to 17.",
        between(1, 17), since=(3, 8)),
    acting("segment.bytes", INT, "1073741824", "The size at which a new segment is rolled.",
        at_least(1 << 20), before={(4, 0): {"check": at_least(14)}}),
    acting("retention.ms", LONG, str(WEEK_MS),
        "The age at which segments are deleted; -1 for no limit.", at_least(-1)),
    acting("compression.gzip.level", INT, "-1",
        "The gzip level for batches that the broker compresses, 1 to 9; -1 for the codec's default.", check_gzip_level,
        since=(3, 8)),
    kept("remote.copy.lag.ms", LONG, "0", "The age at which a segment is copied to tiered storage.",
        at_least(-1), since=(4, 4)),
    acting("flush.messages", LONG, str(MAX_LONG), "The number of records after which a log is flushed.", at_least(1),
        before={(3, 0): {"check": at_least(0)}}),
    acting("compression.zstd.level", INT, "3", "The zstd level for batches that the broker compresses.",
        between(-(1 << 17), 22), since=(3, 8)),
    acting("message.format.version", STRING, "3.0-IV1",
        "The release whose record format is stored; no effect since 3.0.", affects="record_version",
        since=(0, 10, 0), until=(4, 0)),
    acting("max.compaction.lag.ms", LONG, str(MAX_LONG),
        "The age at which a compacted topic rolls a segment, if segment.ms is longer.", at_least(1), since=(2, 3)),
    acting("file.delete.delay.ms", LONG, "60000", "How long the files of a deleted segment stay on disk.",
        at_least(0)),
    acting("max.message.bytes", INT, "1048588", "The largest batch that is accepted, as sent, including its header.",
        at_least(0)),
    kept("min.compaction.lag.ms", LONG, "0", "How long a record is not compacted.", at_least(0),
        since=(0, 10, 1)),
    acting("message.timestamp.type", STRING, "CreateTime",
        "The timestamp of records: CreateTime is set by the producer, LogAppendTime by the broker.",
        one_of("CreateTime", "LogAppendTime"), since=(0, 10, 0)),
    kept("local.retention.bytes", LONG, "-2", "The size of the local log with tiered storage.", at_least(-2),
        since=(3, 6)),
    kept("preallocate", BOOLEAN, "false", "Whether the disk space of a new segment is preallocated."),
    acting("index.interval.bytes", INT, "4096", "The number of bytes of records between two index entries.",
        at_least(0)),
    kept("min.cleanable.dirty.ratio", DOUBLE, "0.5", "The minimum ratio of new records at which a log is compacted.",
        between(0, 1)),
    acting("unclean.leader.election.enable", BOOLEAN, "false",
        "Whether an out-of-sync replica may become leader if there is no other."),
    acting("retention.bytes", LONG, "-1",
        "The size of a partition above which its oldest segments are deleted; -1 for no limit."),
    kept("delete.retention.ms", LONG, str(DAY_MS), "How long compaction keeps tombstones.", at_least(0)),
    acting("message.timestamp.after.max.ms", LONG, str(HOUR_MS),
        "How far in the future a producer's timestamp may be.", at_least(0), since=(3, 6),
        before={(4, 0): {"default": str(MAX_LONG)}}),
    acting("max.decompressed.message.bytes", INT, str(MAX_ARRAY),
        "The largest record accepted in a compressed batch, after decompression.", between(1, MAX_ARRAY),
        since=(4, 4)),
    acting("message.timestamp.before.max.ms", LONG, str(MAX_LONG),
        "How far in the past a producer's timestamp may be.", at_least(0), since=(3, 6)),
    acting("segment.ms", LONG, str(WEEK_MS),
        "The age, by record timestamps, at which a new segment is rolled.", at_least(1)),
    acting("message.timestamp.difference.max.ms", LONG, str(MAX_LONG),
        "How far in the past or future a producer's timestamp may be.", at_least(0),
        affects="message_timestamp_before_max_ms message_timestamp_after_max_ms", since=(0, 10, 0), until=(4, 0)),
    acting("segment.index.bytes", INT, "10485760", "The maximum size of an index; a full index rolls the segment.",
        at_least(4), before={(3, 0): {"check": at_least(0)}}),
    # Kafka's own tests need segments smaller than segment.bytes allows.
    acting("internal.segment.bytes", INT, None, "segment.bytes without its lower bound, for tests.",
        affects="segment_bytes", since=(4, 1), is_hidden=True),
)
# fmt: on

TOPIC_PROPERTIES: Mapping[str, Declaration] = {row.name: row for row in _ROWS}


@cache
def topic_properties(version: Version) -> PropertySet:
    """Return the topic properties of a release, with their defaults."""
    declared = (row.in_release(version) for row in _ROWS)
    return PropertySet(_with_formats_of(version, known) for known in declared if known is not None)


def _with_formats_of(version: Version, known: Property) -> Property:
    """Give message.format.version the default and the values of this release."""
    if known.name != FORMAT_VERSION:
        return known
    return known._replace(default=default_format_version(version), check=format_version_check(version))
