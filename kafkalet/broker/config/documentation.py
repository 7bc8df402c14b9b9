"""One sentence on each property that is acted on, for DescribeConfigs (KIP-569) and for whoever reads on.

Loaded when somebody asks for documentation, and not before.
"""

from .broker_config import SYNONYMS
from .group_properties import properties_of_groups

NEWEST = (4, 4)
NO_EFFECT = "Known to Kafka; accepted and kept, without effect here."
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

BROKERS = {
    "auto.create.topics.enable": "Whether a Metadata request creates the topics that it names.",
    "broker.id": "The id of the first broker, as node.id; the others count on from there.",
    "broker.rack": "Where the broker stands; consumers of the same rack may read from it.",
    "connections.max.idle.ms": "After how much silence a connection is closed.",
    "controller.quota.window.num": "How many windows the quota of controller mutations looks back at.",
    "controller.quota.window.size.seconds": "How long a window of the quota of controller mutations is.",
    "default.replication.factor": "The replicas of a topic that is created without a number.",
    "delete.topic.enable": "Whether clients may delete topics.",
    "fetch.max.bytes": "The most bytes that an answer to a fetch holds.",
    "group.consumer.assignment.interval.ms": "How long a consumer group keeps an assignment before computing another.",
    "group.consumer.assignors": "The assignors of consumer groups; the first one is for groups that name none.",
    "group.consumer.heartbeat.interval.ms": "How often members of consumer groups are told to send heartbeats.",
    "group.consumer.max.size": "How many members a consumer group may have.",
    "group.consumer.migration.policy": "Whether groups may go from classic to consumer, and back.",
    "group.consumer.session.timeout.ms": "How long a member of a consumer group may be silent.",
    "group.coordinator.rebalance.protocols": "Whether consumer groups are served: with consumer in this list.",
    "group.initial.rebalance.delay.ms": "How long an empty classic group waits for further members; if it is not "
    "given, only for clients that are seen coming.",
    "group.max.session.timeout.ms": "The longest session timeout a member of a classic group may ask for.",
    "group.max.size": "How many members a classic group may have.",
    "group.min.session.timeout.ms": "The shortest session timeout a member of a classic group may ask for.",
    "log.flush.scheduler.interval.ms": "How often logs are looked at that flush.ms wants on disk, in a data directory "
    "that is kept; without it, never. Also what flush.ms is for a topic that does not say otherwise.",
    "log.initial.task.delay.ms": "How long after its start a broker first looks for segments to drop.",
    "log.retention.check.interval.ms": "How often a broker looks for segments to drop.",
    "max.connections": "How many connections may be open at once; further ones wait.",
    "max.connections.per.ip": "How many connections one address may have open at once; further ones are closed.",
    "max.connections.per.ip.overrides": "The same for single addresses, as host:number,host:number.",
    "max.incremental.fetch.session.cache.slots": "How many incremental fetch sessions are remembered.",
    "max.request.partition.size.limit": "The most partitions that an answer to DescribeTopicPartitions holds.",
    "node.id": "The id of the first broker; the others count on from there.",
    "num.partitions": "The partitions of a topic that is created without a number.",
    "offset.metadata.max.bytes": "How much text may be committed beside an offset.",
    "offsets.commit.timeout.ms": "How long a commit waits for the replicas of its topic.",
    "offsets.retention.check.interval.ms": "How often expired offsets are looked for.",
    "offsets.retention.minutes": "How long offsets are kept after their group has lost its last member.",
    "offsets.topic.num.partitions": "The partitions of __consumer_offsets, where groups keep their offsets.",
    "offsets.topic.replication.factor": "The replicas of __consumer_offsets; by default at most one for each broker.",
    "offsets.topic.segment.bytes": "The segment size of __consumer_offsets.",
    "producer.id.expiration.ms": "How long a producer is remembered after its last batch.",
    "quota.window.num": "How many windows the quotas of clients look back at.",
    "quota.window.size.seconds": "How long a window of the quotas of clients is.",
    "replica.high.watermark.checkpoint.interval.ms": "How often the high watermarks are noted on disk.",
    "replica.lag.time.max.ms": "How long a follower may lag before it is no longer in sync.",
    "replica.selector.class": "If it is given, consumers are sent to a replica of their rack, whatever the class.",
    "request.timeout.ms": "How long a coordinator waits for the replicas of its topic.",
    "socket.receive.buffer.bytes": "The receive buffer of a connection; the system's own if it is not given, or -1.",
    "socket.request.max.bytes": "The largest request that is read.",
    "socket.send.buffer.bytes": "The send buffer of a connection; the system's own if it is not given, or -1.",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "How often overdue transactions are looked for.",
    "transaction.max.timeout.ms": "The longest timeout a transactional producer may ask for.",
    "transaction.partition.verification.enable": "Whether the coordinator is asked before the first batch of a "
    "transaction.",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "How often unused transactional ids are looked for.",
    "transaction.state.log.min.isr": "How many replicas of __transaction_state have to be in sync.",
    "transaction.state.log.num.partitions": "The partitions of __transaction_state, where transactions are kept.",
    "transaction.state.log.replication.factor": "The replicas of __transaction_state; by default at most one for each "
    "broker.",
    "transaction.state.log.segment.bytes": "The segment size of __transaction_state.",
    "transactional.id.expiration.ms": "How long an unused transactional id is remembered.",
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
    if (known := TOPICS.get(name) or BROKERS.get(name) or GROUPS.get(name)) is not None:
        return known
    for topic_property, synonyms in SYNONYMS.items():
        if any(synonym.name == name for synonym in synonyms):
            rest = WITHOUT_EFFECT if TOPICS[topic_property].endswith(WITHOUT_EFFECT) else ""
            return f"What {topic_property} is for a topic that does not say otherwise.{rest}"
    for property_ in properties_of_groups(NEWEST).values():
        if name in (property_.least, property_.most):
            bound = "The least" if name == property_.least else "The most"
            return f"{bound} that {property_.declared.name} of a group may be."
    return NO_EFFECT
