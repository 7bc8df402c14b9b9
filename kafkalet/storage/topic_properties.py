"""The table of topic properties.

Each row has the name of a property, its type, default, documentation and check, the releases that have it, and the
attribute of LogConfig that it affects. The rows are in the same order as in Kafka 4.4.
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
    """Return the values of message.format.version in a release: for each line, its last internal version."""
    lines = {full.partition("-")[0]: full for full in FORMAT_VERSIONS.split()}
    return {line: full for line, full in lines.items() if _numbers(line)[: len(version)] <= version}


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
    """Return the significant part of a message.format.version: `2.8` for `2.8.1`; `0.10.2-IV0` is unchanged."""
    return ".".join(format_version.split(".")[: 3 if format_version.startswith("0.") else 2])


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
    """Declare a property that affects logs. Its LogConfig attribute has the same name unless `affects` is given."""
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
    """Declare a property that is accepted, stored and described, but has no effect in kafkalet."""
    return Declaration(Property(name, type_, default, check), documentation, **options)


# fmt: off
_ROWS = (
    acting("compression.type", STRING, "producer",
        "Codec of stored batches. producer keeps the codec of the producer.", one_of(*CODECS)),
    acting("errors.deadletterqueue.group.enable", BOOLEAN, "false",
        "Allows share groups to use the topic as a dead letter queue.", since=(4, 4)),
    acting("remote.copy.lag.bytes", LONG, "-1",
        "Amount of data that is kept back before segments are copied to tiered storage.", at_least(-1), since=(4, 4)),
    acting("remote.log.delete.on.disable", BOOLEAN, "false",
        "Allows that tiered storage is disabled for the topic, which deletes the data there.", since=(3, 9)),
    acting("leader.replication.throttled.replicas", LIST, "",
        "Leader replicas with throttled replication, as a list of partition:broker, or * for all.",
        check_throttled_replicas, since=(0, 10, 1)),
    acting("remote.storage.enable", BOOLEAN, "false",
        "Enables tiered storage. This requires remote.log.storage.system.enable, and that the topic is not compacted.",
        since=(3, 3), before={(3, 6): {"is_internal": True}}),
    acting("message.downconversion.enable", BOOLEAN, "true",
        "Converts records to older message formats for old consumers.", since=(2, 0), until=(4, 0)),
    acting("min.insync.replicas", INT, "1",
        "Number of in-sync replicas that a produce request with acks=all requires.", at_least(1)),
    acting("segment.jitter.ms", LONG, "0",
        "Maximum random time by which a segment is rolled before segment.ms has passed.", at_least(0)),
    acting("remote.log.copy.disable", BOOLEAN, "false", "Stops copying segments to tiered storage.", since=(3, 9)),
    acting("local.retention.ms", LONG, "-2", "Retention time of data on the local disk with tiered storage.",
        at_least(-2), since=(3, 3), before={(3, 6): {"is_internal": True}}),
    acting("cleanup.policy", LIST, "delete",
        "Treatment of old records. delete removes expired segments. compact removes records whose key has a newer "
        "record, and refuses records without a key.", check_policies,
        before={(4, 2): {"check": one_of("compact", "delete")}}),
    acting("flush.ms", LONG, str(MAX_LONG),
        "Time after which a log is flushed to disk. Logs are checked every log.flush.scheduler.interval.ms.",
        at_least(0)),
    acting("follower.replication.throttled.replicas", LIST, "",
        "Follower replicas with throttled replication, as a list of partition:broker, or * for all.",
        check_throttled_replicas, since=(0, 10, 1)),
    acting("compression.lz4.level", INT, "9", "Compression level of batches that the broker compresses with lz4.",
        between(1, 17), since=(3, 8)),
    acting("segment.bytes", INT, "1073741824", "Size at which a segment is rolled, in bytes.",
        at_least(1 << 20), before={(4, 1): {"check": at_least(14)}}),
    acting("retention.ms", LONG, str(WEEK_MS),
        "Age of records at which their segments expire, or -1 for no limit.", at_least(-1)),
    acting("compression.gzip.level", INT, "-1",
        "Compression level of batches that the broker compresses with gzip, or -1 for the default level.",
        check_gzip_level, since=(3, 8)),
    acting("remote.copy.lag.ms", LONG, "0",
        "Time that is waited before segments are copied to tiered storage.", at_least(-1), since=(4, 4)),
    acting("flush.messages", LONG, str(MAX_LONG), "Number of records after which a log is flushed to disk.",
        at_least(1), before={(3, 0): {"check": at_least(0)}}),
    acting("compression.zstd.level", INT, "3", "Compression level of batches that the broker compresses with zstd.",
        between(-(1 << 17), 22), since=(3, 8)),
    acting("message.format.version", STRING, "3.0-IV1",
        "Kafka release whose message format is stored. It has no effect since 3.0.", affects="record_version",
        since=(0, 10, 0), until=(4, 0)),
    acting("max.compaction.lag.ms", LONG, str(MAX_LONG),
        "Age at which a record is compacted regardless of min.cleanable.dirty.ratio. A segment is rolled at this age, "
        "too, if segment.ms is longer.", at_least(1), since=(2, 3)),
    acting("file.delete.delay.ms", LONG, "60000",
        "Time between the removal of a segment from a log and the deletion of its files.", at_least(0)),
    acting("max.message.bytes", INT, "1048588",
        "Maximum size of a batch as it is sent, compressed and with its header.", at_least(0)),
    acting("min.compaction.lag.ms", LONG, "0", "Minimum age at which a record may be compacted.", at_least(0),
        since=(0, 10, 1)),
    acting("message.timestamp.type", STRING, "CreateTime",
        "Origin of record timestamps: the producer (CreateTime) or the broker (LogAppendTime).",
        one_of("CreateTime", "LogAppendTime"), since=(0, 10, 0)),
    acting("local.retention.bytes", LONG, "-2",
        "Amount of data per partition that stays on the local disk with tiered storage.", at_least(-2), since=(3, 3),
        before={(3, 6): {"is_internal": True}}),
    kept("preallocate", BOOLEAN, "false", "Allocates the disk space of a new segment in advance."),
    acting("index.interval.bytes", INT, "4096", "Bytes of records between two entries of an index.",
        at_least(0)),
    acting("min.cleanable.dirty.ratio", DOUBLE, "0.5",
        "Fraction of a log that must be dirty, which means not compacted, for compaction to run.", between(0, 1)),
    acting("unclean.leader.election.enable", BOOLEAN, "false",
        "Allows a replica that is not in sync to become the leader if no in-sync replica is available."),
    acting("retention.bytes", LONG, "-1",
        "Size of a partition above which its oldest segments are deleted, or -1 for no limit."),
    acting("delete.retention.ms", LONG, str(DAY_MS), "Time for which compaction keeps tombstones.",
        at_least(0)),
    acting("message.timestamp.after.max.ms", LONG, str(HOUR_MS),
        "Maximum time by which a producer's timestamp may be ahead of the broker's clock.", at_least(0), since=(3, 6),
        before={(4, 0): {"default": str(MAX_LONG)}}),
    acting("max.decompressed.message.bytes", INT, str(MAX_ARRAY),
        "Maximum size of a record in a compressed batch after decompression.", between(1, MAX_ARRAY), since=(4, 4)),
    acting("message.timestamp.before.max.ms", LONG, str(MAX_LONG),
        "Maximum time by which a producer's timestamp may be behind the broker's clock.", at_least(0), since=(3, 6)),
    acting("segment.ms", LONG, str(WEEK_MS),
        "Age at which a segment is rolled, measured by its records.", at_least(1)),
    acting("message.timestamp.difference.max.ms", LONG, str(MAX_LONG),
        "Maximum difference between a producer's timestamp and the broker's clock.", at_least(0),
        affects="message_timestamp_before_max_ms message_timestamp_after_max_ms", since=(0, 10, 0), until=(4, 0)),
    acting("segment.index.bytes", INT, "10485760",
        "Maximum size of an index. A segment is rolled when one of its indexes is full.", at_least(4),
        before={(3, 0): {"check": at_least(0)}}),
    # Kafka's tests need segments that are smaller than segment.bytes allows.
    acting("internal.segment.bytes", INT, None, "Same as segment.bytes, but without a lower bound. For tests.",
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
    """Set the default and the valid values of message.format.version for this release."""
    if known.name != FORMAT_VERSION:
        return known
    own_line = [*format_versions(min(version, (3, 0))).values()][-1]  # at most 3.0 (KIP-724)
    return known._replace(default=own_line, check=format_version_check(version))
