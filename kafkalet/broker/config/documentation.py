"""One sentence on each property that is acted on, for DescribeConfigs (KIP-569) and for whoever reads on.

Loaded when somebody asks for documentation, and not before.
"""

from kafkalet.properties import NO_EFFECT

from .broker_properties import BROKER_PROPERTIES, READ_AS_GIVEN, TOPIC_DEFAULTS
from .group_properties import properties_of_groups

NEWEST = (4, 4)
WITHOUT_EFFECT = " Kept, without effect here."
"""How the sentences end on properties of topics that no log looks at."""

TOPICS = {
    "cleanup.policy": "What becomes of old records: delete drops old segments. compact keeps them, because compaction "
    "does not run here, and refuses records without a key.",
    "compression.gzip.level": "The gzip level for batches that the broker compresses, 1 to 9; -1 for the codec's own.",
    "compression.lz4.level": "The lz4 level for batches that the broker compresses, 1 to 17.",
    "compression.type": "The codec of stored batches; producer keeps the one they came in.",
    "compression.zstd.level": "The zstd level for batches that the broker compresses.",
    "delete.retention.ms": "How long compaction keeps the deletion of a key." + WITHOUT_EFFECT,
    "errors.deadletterqueue.group.enable": "Whether the topic may be a dead letter queue of share groups."
    + WITHOUT_EFFECT,
    "file.delete.delay.ms": "How long the files of a dropped segment stay on disk.",
    "flush.messages": "After how many records a log is forced to the disk.",
    "flush.ms": "After what time a log is forced to the disk; looked at every log.flush.scheduler.interval.ms.",
    "follower.replication.throttled.replicas": "Followers that are slowed down, as partition:broker, or *."
    + WITHOUT_EFFECT,
    "index.interval.bytes": "How many bytes of records lie between two entries of an index.",
    "internal.segment.bytes": "segment.bytes without its lower bound, for tests.",
    "leader.replication.throttled.replicas": "Leaders that are slowed down, as partition:broker, or *."
    + WITHOUT_EFFECT,
    "local.retention.bytes": "How much stays on local disk under tiered storage." + WITHOUT_EFFECT,
    "local.retention.ms": "How long data stays on local disk under tiered storage." + WITHOUT_EFFECT,
    "max.compaction.lag.ms": "The age at which a compacted topic closes a segment, if segment.ms is longer.",
    "max.decompressed.message.bytes": "The largest record of a compressed batch that is accepted, once decompressed.",
    "max.message.bytes": "The largest batch that is accepted, as it is sent, with its header.",
    "message.downconversion.enable": "Whether old consumers get records in the format they know.",
    "message.format.version": "The release whose record format is stored; without effect from 3.0 on.",
    "message.timestamp.after.max.ms": "How far in the future a producer's timestamp may lie.",
    "message.timestamp.before.max.ms": "How far in the past a producer's timestamp may lie.",
    "message.timestamp.difference.max.ms": "How far from now a producer's timestamp may lie, on either side.",
    "message.timestamp.type": "Whose time records have: CreateTime the producer's, LogAppendTime the broker's.",
    "min.cleanable.dirty.ratio": "Which part of a log has to be new before it is compacted." + WITHOUT_EFFECT,
    "min.compaction.lag.ms": "How long a record is safe from compaction." + WITHOUT_EFFECT,
    "min.insync.replicas": "How many replicas have to be in sync for a produce request with acks=all.",
    "preallocate": "Whether a new segment takes its disk space at once." + WITHOUT_EFFECT,
    "remote.copy.lag.bytes": "How much a log may hold before it is copied to tiered storage." + WITHOUT_EFFECT,
    "remote.copy.lag.ms": "How old a segment may be before it is copied to tiered storage." + WITHOUT_EFFECT,
    "remote.log.copy.disable": "Stops copying to tiered storage." + WITHOUT_EFFECT,
    "remote.log.delete.on.disable": "Whether tiered data goes when tiered storage is switched off." + WITHOUT_EFFECT,
    "remote.storage.enable": "Switches tiered storage on; true is refused." + WITHOUT_EFFECT,
    "retention.bytes": "How large a partition may grow before its oldest segments are dropped; -1 for no limit.",
    "retention.ms": "How old records may become before their segments are dropped; -1 for no limit.",
    "segment.bytes": "The size at which a segment is closed and a new one begun.",
    "segment.index.bytes": "The size an index may have; a full one closes its segment.",
    "segment.jitter.ms": "By how much at most a segment is closed earlier than segment.ms says, by chance.",
    "segment.ms": "The age, by its records, at which a segment is closed and a new one begun.",
    "unclean.leader.election.enable": "Whether a replica that is not in sync may lead when no other can.",
}

GROUPS = {
    "consumer.assignment.interval.ms": "How long the group keeps an assignment before it computes another.",
    "consumer.heartbeat.interval.ms": "How often members of the group are told to send heartbeats.",
    "consumer.session.timeout.ms": "How long a member of the group may be silent.",
    "interval.ms": "How often clients push their metrics.",
    "match": "Which clients are meant, by regular expressions; all of them without any.",
    "metrics": "The metrics that are wanted, by the beginnings of their names; * for all.",
}
"""Properties of groups, and of subscriptions to metrics of clients."""


def documentation_of(name: str) -> str:
    """What a property of a topic, a broker, a group or a subscription is for."""
    if (known := TOPICS.get(name) or GROUPS.get(name)) is not None:
        return known
    if (row := BROKER_PROPERTIES.get(name) or READ_AS_GIVEN.get(name)) is not None:
        return row.sentence
    for default in TOPIC_DEFAULTS:
        if default.name == name:
            rest = WITHOUT_EFFECT if TOPICS[default.topic].endswith(WITHOUT_EFFECT) else ""
            return default.documentation or f"What {default.topic} is for a topic that does not say otherwise.{rest}"
    for property_ in properties_of_groups(NEWEST).values():
        if name in (property_.least, property_.most):
            bound = "The least" if name == property_.least else "The most"
            return f"{bound} that {property_.declared.name} of a group may be."
    return NO_EFFECT
