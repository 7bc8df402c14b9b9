"""The table of the properties that a topic may have.

One row holds all that is known of a property: its name, type, default, documentation, what is allowed, the releases
that have it, and the attribute of LogConfig that it affects. The order is the one in which Kafka 4.4 lists them.
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
MAX_ARRAY = (1 << 31) - 9  # Java makes no larger one
HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS
WEEK_MS = 7 * DAY_MS

CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")

FORMAT_VERSION = "message.format.version"

# The values of message.format.version: lines of releases, each with its last internal version where it has any.
FORMAT_VERSIONS = (
    "0.8.0 0.8.1 0.8.2 0.9.0 0.10.0-IV1 0.10.1-IV2 0.10.2-IV0 0.11.0-IV2 1.0-IV0 1.1-IV0 "
    "2.0-IV1 2.1-IV2 2.2-IV1 2.3-IV1 2.4-IV1 2.5-IV0 2.6-IV0 2.7-IV2 2.8-IV1 "
    "3.0-IV1 3.1-IV0 3.2-IV0 3.3-IV3 3.4-IV0 3.5-IV2 3.6-IV2 3.7-IV4 3.8-IV0 3.9-IV0"
)


def format_versions(version: Version) -> dict[str, str]:
    """The lines of message.format.version that a release knows, each with its last internal version."""
    lines = {full.partition("-")[0]: full for full in FORMAT_VERSIONS.split()}
    return {line: full for line, full in lines.items() if _numbers(line)[: len(version)] <= version}


def default_format_version(version: Version) -> str:
    """What message.format.version is by default: the release's own, and 3.0 from there on (KIP-724)."""
    return [*format_versions(min(version, (3, 0))).values()][-1]


def _numbers(line: str) -> tuple[int, ...]:
    return tuple(int(part) for part in line.split("."))


def format_version_check(version: Version) -> Check:
    """`0.10.2`, `2.8`, `2.8-IV1`, and patch releases of them (`ApiVersion`, later `MetadataVersion`)."""
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
    """The part of a message.format.version that counts: `2.8` of `2.8.1`, `0.10.2-IV0` as it is."""
    return ".".join(format_version.split(".")[: 3 if format_version.startswith("0.") else 2])


def check_tiered_storage(name: str, value: Value) -> None:
    """false: the broker has no tiered storage (`remote.log.storage.system.enable`)."""
    if value is True:
        raise InvalidProperty(name, "true", "Tiered Storage functionality is disabled in the broker")


def check_gzip_level(name: str, value: Value) -> None:
    """1 to 9, or -1."""
    if value != -1 and value not in range(1, 10):
        raise InvalidProperty(name, str(value), "Value must be between 1 and 9 or equal to -1")


def check_throttled_replicas(name: str, value: Value) -> None:
    """A list of partition:broker, or `*` for all of them (KIP-73)."""
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
    if "" in value:  # KIP-1161 has words of its own for an empty one
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
    """A property that logs obey, in the attribute of LogConfig with its name unless `affects` gives another."""
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
    """A property that is accepted, kept and described, and has no effect here."""
    return Declaration(Property(name, type_, default, check), documentation, **options)


# fmt: off
_ROWS = (
    acting("compression.type", STRING, "producer",
        "The codec of stored batches; producer keeps the one they came in.", one_of(*CODECS)),
    kept("errors.deadletterqueue.group.enable", BOOLEAN, "false",
        "Whether the topic may be a dead letter queue of share groups.", since=(4, 4)),
    kept("remote.copy.lag.bytes", LONG, "-1", "How much a log may hold before it is copied to tiered storage.",
        at_least(-1), since=(4, 4)),
    kept("remote.log.delete.on.disable", BOOLEAN, "false",
        "Whether tiered data goes when tiered storage is switched off.", since=(3, 9)),
    kept("leader.replication.throttled.replicas", LIST, "",
        "Leaders that are slowed down, as partition:broker, or *.", check_throttled_replicas, since=(0, 10, 1)),
    kept("remote.storage.enable", BOOLEAN, "false", "Switches tiered storage on; true is refused.",
        check_tiered_storage, since=(3, 6)),
    acting("message.downconversion.enable", BOOLEAN, "true",
        "Whether old consumers get records in the format they know.", since=(2, 0), until=(4, 0)),
    acting("min.insync.replicas", INT, "1",
        "How many replicas have to be in sync for a produce request with acks=all.", at_least(1)),
    acting("segment.jitter.ms", LONG, "0",
        "By how much at most a segment is closed earlier than segment.ms says, by chance.", at_least(0)),
    kept("remote.log.copy.disable", BOOLEAN, "false", "Stops copying to tiered storage.", since=(3, 9)),
    kept("local.retention.ms", LONG, "-2", "How long data stays on local disk under tiered storage.", at_least(-2),
        since=(3, 6)),
    acting("cleanup.policy", LIST, "delete",
        "What becomes of old records: delete drops old segments. compact keeps them, because compaction does not "
        "run here, and refuses records without a key.", check_policies,
        before={(4, 2): {"check": one_of("compact", "delete")}}),
    acting("flush.ms", LONG, str(MAX_LONG),
        "After what time a log is forced to the disk; looked at every log.flush.scheduler.interval.ms.", at_least(0)),
    kept("follower.replication.throttled.replicas", LIST, "",
        "Followers that are slowed down, as partition:broker, or *.", check_throttled_replicas, since=(0, 10, 1)),
    acting("compression.lz4.level", INT, "9", "The lz4 level for batches that the broker compresses, 1 to 17.",
        between(1, 17), since=(3, 8)),
    acting("segment.bytes", INT, "1073741824", "The size at which a segment is closed and a new one begun.",
        at_least(1 << 20), before={(4, 0): {"check": at_least(14)}}),
    acting("retention.ms", LONG, str(WEEK_MS),
        "How old records may become before their segments are dropped; -1 for no limit.", at_least(-1)),
    acting("compression.gzip.level", INT, "-1",
        "The gzip level for batches that the broker compresses, 1 to 9; -1 for the codec's own.", check_gzip_level,
        since=(3, 8)),
    kept("remote.copy.lag.ms", LONG, "0", "How old a segment may be before it is copied to tiered storage.",
        at_least(-1), since=(4, 4)),
    acting("flush.messages", LONG, str(MAX_LONG), "After how many records a log is forced to the disk.", at_least(1),
        before={(3, 0): {"check": at_least(0)}}),
    acting("compression.zstd.level", INT, "3", "The zstd level for batches that the broker compresses.",
        between(-(1 << 17), 22), since=(3, 8)),
    acting("message.format.version", STRING, "3.0-IV1",
        "The release whose record format is stored; without effect from 3.0 on.", affects="record_version",
        since=(0, 10, 0), until=(4, 0)),
    acting("max.compaction.lag.ms", LONG, str(MAX_LONG),
        "The age at which a compacted topic closes a segment, if segment.ms is longer.", at_least(1), since=(2, 3)),
    acting("file.delete.delay.ms", LONG, "60000", "How long the files of a dropped segment stay on disk.",
        at_least(0)),
    acting("max.message.bytes", INT, "1048588", "The largest batch that is accepted, as it is sent, with its header.",
        at_least(0)),
    kept("min.compaction.lag.ms", LONG, "0", "How long a record is safe from compaction.", at_least(0),
        since=(0, 10, 1)),
    acting("message.timestamp.type", STRING, "CreateTime",
        "Whose time records have: CreateTime the producer's, LogAppendTime the broker's.",
        one_of("CreateTime", "LogAppendTime"), since=(0, 10, 0)),
    kept("local.retention.bytes", LONG, "-2", "How much stays on local disk under tiered storage.", at_least(-2),
        since=(3, 6)),
    kept("preallocate", BOOLEAN, "false", "Whether a new segment takes its disk space at once."),
    acting("index.interval.bytes", INT, "4096", "How many bytes of records lie between two entries of an index.",
        at_least(0)),
    kept("min.cleanable.dirty.ratio", DOUBLE, "0.5", "Which part of a log has to be new before it is compacted.",
        between(0, 1)),
    acting("unclean.leader.election.enable", BOOLEAN, "false",
        "Whether a replica that is not in sync may lead when no other can."),
    acting("retention.bytes", LONG, "-1",
        "How large a partition may grow before its oldest segments are dropped; -1 for no limit."),
    kept("delete.retention.ms", LONG, str(DAY_MS), "How long compaction keeps the deletion of a key.", at_least(0)),
    acting("message.timestamp.after.max.ms", LONG, str(HOUR_MS),
        "How far in the future a producer's timestamp may lie.", at_least(0), since=(3, 6),
        before={(4, 0): {"default": str(MAX_LONG)}}),
    acting("max.decompressed.message.bytes", INT, str(MAX_ARRAY),
        "The largest record of a compressed batch that is accepted, once decompressed.", between(1, MAX_ARRAY),
        since=(4, 4)),
    acting("message.timestamp.before.max.ms", LONG, str(MAX_LONG),
        "How far in the past a producer's timestamp may lie.", at_least(0), since=(3, 6)),
    acting("segment.ms", LONG, str(WEEK_MS),
        "The age, by its records, at which a segment is closed and a new one begun.", at_least(1)),
    acting("message.timestamp.difference.max.ms", LONG, str(MAX_LONG),
        "How far from now a producer's timestamp may lie, on either side.", at_least(0),
        affects="message_timestamp_before_max_ms message_timestamp_after_max_ms", since=(0, 10, 0), until=(4, 0)),
    acting("segment.index.bytes", INT, "10485760", "The size an index may have; a full one closes its segment.",
        at_least(4), before={(3, 0): {"check": at_least(0)}}),
    # Kafka's own tests need segments smaller than segment.bytes allows.
    acting("internal.segment.bytes", INT, None, "segment.bytes without its lower bound, for tests.",
        affects="segment_bytes", since=(4, 1), is_hidden=True),
)
# fmt: on

TOPIC_PROPERTIES: Mapping[str, Declaration] = {row.name: row for row in _ROWS}


@cache
def topic_properties(version: Version) -> PropertySet:
    """The properties a topic may have in the release of that version number, with their defaults."""
    declared = (row.in_release(version) for row in _ROWS)
    return PropertySet(_with_formats_of(version, known) for known in declared if known is not None)


def _with_formats_of(version: Version, known: Property) -> Property:
    """message.format.version differs in every release: each knows its own format and those of all releases before."""
    if known.name != FORMAT_VERSION:
        return known
    return known._replace(default=default_format_version(version), check=format_version_check(version))
