"""The properties a topic may have, release by release: name, type, default, what is allowed.

One line a property, with the releases that know it. The order is the one in which Kafka 4.4 lists them.
"""

from typing import NamedTuple

from kafkalet.properties import Check, InvalidProperty, Property, PropertySet, Type, Value, at_least, between, one_of

MAX_LONG = (1 << 63) - 1
MAX_ARRAY = (1 << 31) - 9  # Java makes no larger one
HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS
WEEK_MS = 7 * DAY_MS

CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")

# The values of message.format.version: lines of releases, each with its last internal version where it has any.
FORMAT_VERSIONS = (
    "0.8.0 0.8.1 0.8.2 0.9.0 0.10.0-IV1 0.10.1-IV2 0.10.2-IV0 0.11.0-IV2 1.0-IV0 1.1-IV0 "
    "2.0-IV1 2.1-IV2 2.2-IV1 2.3-IV1 2.4-IV1 2.5-IV0 2.6-IV0 2.7-IV2 2.8-IV1 "
    "3.0-IV1 3.1-IV0 3.2-IV0 3.3-IV3 3.4-IV0 3.5-IV2 3.6-IV2 3.7-IV4 3.8-IV0 3.9-IV0"
)


def format_versions(version: tuple[int, ...]) -> dict[str, str]:
    """The lines of message.format.version that a release knows, each with its last internal version."""
    lines = {full.partition("-")[0]: full for full in FORMAT_VERSIONS.split()}
    return {line: full for line, full in lines.items() if _numbers(line)[: len(version)] <= version}


def default_format_version(version: tuple[int, ...]) -> str:
    """What message.format.version is by default: the release's own, and 3.0 from there on (KIP-724)."""
    return [*format_versions(min(version, (3, 0))).values()][-1]


def _numbers(line: str) -> tuple[int, ...]:
    return tuple(int(part) for part in line.split("."))


def format_version_check(version: tuple[int, ...]) -> Check:
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
    """What a broker without `remote.log.storage.system.enable` says."""
    if value is True:
        raise InvalidProperty(name, "true", "Tiered Storage functionality is disabled in the broker")


def check_gzip_level(name: str, value: Value) -> None:
    if value != -1 and value not in range(1, 10):
        raise InvalidProperty(name, str(value), "Value must be between 1 and 9 or equal to -1")


def check_throttled_replicas(name: str, value: Value) -> None:
    """A list of `partition:broker`, or `*` for all of them (KIP-73)."""
    assert isinstance(value, tuple)
    for entry in value if value != ("*",) and any(value) else ():
        partition, _, broker = entry.partition(":")
        if not (entry.isascii() and partition.isdecimal() and broker.isdecimal()):
            wanted = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
            reason = f"{name} must be the literal '*' or a list of replicas in the following format: {wanted}"
            raise InvalidProperty(name, f"[{', '.join(value)}]", reason)


def check_policies(name: str, value: Value) -> None:
    """`compact` and `delete`; KIP-1161 has words of its own for an empty one."""
    assert isinstance(value, tuple)
    if "" in value:
        text = f"Configuration '{name}' values must not be empty."
        raise InvalidProperty(name, ",".join(value), text, text)
    one_of("compact", "delete")(name, value)


class Row(NamedTuple):
    """A property and the releases that know it: from `since` on and before `until`."""

    property: Property
    since: tuple[int, ...] = (0,)
    until: tuple[int, ...] = (99,)


def _rows(version: tuple[int, ...]) -> list[Row]:
    boolean, integer, long, a_list, word = Type.BOOLEAN, Type.INT, Type.LONG, Type.LIST, Type.STRING
    zero, one = at_least(0), at_least(1)
    default_format, format_check = default_format_version(version), format_version_check(version)
    day, week, most = str(DAY_MS), str(WEEK_MS), str(MAX_LONG)
    return [
        Row(Property("compression.type", word, "producer", one_of(*CODECS))),
        Row(Property("errors.deadletterqueue.group.enable", boolean, "false"), since=(4, 4)),
        Row(Property("remote.copy.lag.bytes", long, "-1", at_least(-1)), since=(4, 4)),
        Row(Property("remote.log.delete.on.disable", boolean, "false"), since=(3, 9)),
        Row(Property("leader.replication.throttled.replicas", a_list, "", check_throttled_replicas), since=(0, 10, 1)),
        Row(Property("remote.storage.enable", boolean, "false", check_tiered_storage), since=(3, 6)),
        Row(Property("message.downconversion.enable", boolean, "true"), since=(2, 0), until=(4, 0)),
        Row(Property("min.insync.replicas", integer, "1", one)),
        Row(Property("segment.jitter.ms", long, "0", zero)),
        Row(Property("remote.log.copy.disable", boolean, "false"), since=(3, 9)),
        Row(Property("local.retention.ms", long, "-2", at_least(-2)), since=(3, 6)),
        Row(Property("cleanup.policy", a_list, "delete", one_of("compact", "delete")), until=(4, 2)),
        Row(Property("cleanup.policy", a_list, "delete", check_policies), since=(4, 2)),
        Row(Property("flush.ms", long, most, zero)),
        Row(
            Property("follower.replication.throttled.replicas", a_list, "", check_throttled_replicas), since=(0, 10, 1)
        ),
        Row(Property("compression.lz4.level", integer, "9", between(1, 17)), since=(3, 8)),
        # KIP-1030 raised the bound; before it was what the head of an old message takes.
        Row(Property("segment.bytes", integer, "1073741824", at_least(14)), until=(4, 0)),
        Row(Property("segment.bytes", integer, "1073741824", at_least(1 << 20)), since=(4, 0)),
        Row(Property("retention.ms", long, week, at_least(-1))),
        Row(Property("compression.gzip.level", integer, "-1", check_gzip_level), since=(3, 8)),
        Row(Property("remote.copy.lag.ms", long, "0", at_least(-1)), since=(4, 4)),
        Row(Property("flush.messages", long, most, zero), until=(3, 0)),
        Row(Property("flush.messages", long, most, one), since=(3, 0)),
        Row(Property("compression.zstd.level", integer, "3", between(-(1 << 17), 22)), since=(3, 8)),
        Row(Property("message.format.version", word, default_format, format_check), since=(0, 10, 0), until=(4, 0)),
        Row(Property("max.compaction.lag.ms", long, most, one), since=(2, 3)),
        Row(Property("file.delete.delay.ms", long, "60000", zero)),
        Row(Property("max.message.bytes", integer, "1048588", zero)),
        Row(Property("min.compaction.lag.ms", long, "0", zero), since=(0, 10, 1)),
        Row(Property("message.timestamp.type", word, "CreateTime", one_of("CreateTime", "LogAppendTime")), (0, 10, 0)),
        Row(Property("local.retention.bytes", long, "-2", at_least(-2)), since=(3, 6)),
        Row(Property("preallocate", boolean, "false")),
        Row(Property("index.interval.bytes", integer, "4096", zero)),
        Row(Property("min.cleanable.dirty.ratio", Type.DOUBLE, "0.5", between(0, 1))),
        Row(Property("unclean.leader.election.enable", boolean, "false")),
        Row(Property("retention.bytes", long, "-1")),
        Row(Property("delete.retention.ms", long, day, zero)),
        # An hour since KIP-1030.
        Row(Property("message.timestamp.after.max.ms", long, most, zero), since=(3, 6), until=(4, 0)),
        Row(Property("message.timestamp.after.max.ms", long, str(HOUR_MS), zero), since=(4, 0)),
        Row(Property("max.decompressed.message.bytes", integer, str(MAX_ARRAY), between(1, MAX_ARRAY)), since=(4, 4)),
        Row(Property("message.timestamp.before.max.ms", long, most, zero), since=(3, 6)),
        Row(Property("segment.ms", long, week, one)),
        Row(Property("message.timestamp.difference.max.ms", long, most, zero), since=(0, 10, 0), until=(4, 0)),
        Row(Property("segment.index.bytes", integer, "10485760", zero), until=(3, 0)),
        Row(Property("segment.index.bytes", integer, "10485760", at_least(4)), since=(3, 0)),
    ]


# Accepted, never described: Kafka's own tests need segments smaller than segment.bytes allows.
INTERNAL_SEGMENT_BYTES = Row(Property("internal.segment.bytes", Type.INT, None), since=(4, 1))

_TABLES: dict[tuple[int, ...], PropertySet] = {}


def topic_properties(version: tuple[int, ...]) -> PropertySet:
    """The properties a topic may have in the release of that version number, with their defaults."""
    if version not in _TABLES:
        rows = [*_rows(version), INTERNAL_SEGMENT_BYTES]
        _TABLES[version] = PropertySet(row.property for row in rows if row.since <= version < row.until)
    return _TABLES[version]
