"""One sentence on each property that is acted on, for DescribeConfigs (KIP-569) and for whoever reads on.

Loaded when somebody asks for documentation, and not before.
"""

from .config import SYNONYMS

NO_EFFECT = "Known to Kafka; accepted and kept, without effect here."

TOPICS = {
    "cleanup.policy": "What becomes of old records: delete drops whole segments, compact keeps the last of each key.",
    "compression.gzip.level": "The level of gzip where the broker compresses, 1 to 9, -1 for the codec's own.",
    "compression.lz4.level": "The level of lz4 where the broker compresses, 1 to 17.",
    "compression.type": "The codec in which batches are stored; producer keeps the one they came in.",
    "compression.zstd.level": "The level of zstd where the broker compresses.",
    "delete.retention.ms": "How long the deletion of a key stays visible on a compacted topic.",
    "file.delete.delay.ms": "How long the files of a dropped segment stay on disk.",
    "flush.messages": "After how many records a log is forced to the disk.",
    "flush.ms": "After what time a log is forced to the disk.",
    "follower.replication.throttled.replicas": "Replicas whose following is slowed down, as partition:broker, or *.",
    "index.interval.bytes": "How many bytes of records lie between two entries of an index.",
    "leader.replication.throttled.replicas": "Replicas whose leading is slowed down, as partition:broker, or *.",
    "local.retention.bytes": "How much stays on local disk under tiered storage; -2 follows retention.bytes.",
    "local.retention.ms": "How long data stays on local disk under tiered storage; -2 follows retention.ms.",
    "max.compaction.lag.ms": "The latest time at which a record is up for compaction.",
    "max.decompressed.message.bytes": "The largest batch, once it is decompressed, that is accepted.",
    "max.message.bytes": "The largest batch that is accepted, as it is sent, with its header.",
    "message.downconversion.enable": "Whether old consumers get records in the format they know.",
    "message.format.version": "The release whose record format is stored; without effect from 3.0 on.",
    "message.timestamp.after.max.ms": "How far in the future a producer's timestamp may lie.",
    "message.timestamp.before.max.ms": "How far in the past a producer's timestamp may lie.",
    "message.timestamp.difference.max.ms": "How far from now a producer's timestamp may lie, on either side.",
    "message.timestamp.type": "Whose time records have: CreateTime the producer's, LogAppendTime the broker's.",
    "min.cleanable.dirty.ratio": "Which part of a log has to be new before it is compacted.",
    "min.compaction.lag.ms": "How long a record is safe from compaction.",
    "min.insync.replicas": "How many replicas have to be in sync for a produce with acks=all.",
    "preallocate": "Whether a new segment takes its disk space at once.",
    "remote.copy.lag.bytes": "How much a log may hold before it is copied to tiered storage.",
    "remote.copy.lag.ms": "How old a segment may be before it is copied to tiered storage.",
    "remote.log.copy.disable": "Stops copying to tiered storage.",
    "remote.log.delete.on.disable": "Whether tiered data goes when tiered storage is switched off.",
    "remote.storage.enable": "Switches tiered storage on, which is not emulated.",
    "retention.bytes": "How large a partition may grow before its oldest segments are dropped; -1 for no limit.",
    "retention.ms": "How old records may become before their segments are dropped; -1 for no limit.",
    "segment.bytes": "The size at which a segment is closed and a new one begun.",
    "segment.index.bytes": "The size an index may have; a full one closes its segment.",
    "segment.jitter.ms": "By how much at most segments are closed earlier than segment.ms says, by chance.",
    "segment.ms": "The age, by its records, at which a segment is closed and a new one begun.",
    "unclean.leader.election.enable": "Whether a replica that is not in sync may lead when no other can.",
    "errors.deadletterqueue.group.enable": "Whether the topic may be a dead letter queue of share groups.",
    "internal.segment.bytes": "segment.bytes without its lower bound, for tests.",
}

BROKERS = {
    "auto.create.topics.enable": "Whether a topic comes into being when a client asks for its metadata.",
    "broker.rack": "Where the broker stands; consumers of the same rack may read from it.",
    "connections.max.idle.ms": "After how much silence a connection is closed.",
    "controller.quota.window.num": "How many windows the quota of controller mutations looks back at.",
    "controller.quota.window.size.seconds": "How long a window of the quota of controller mutations is.",
    "default.replication.factor": "The replicas of a topic for which nobody says how many.",
    "delete.topic.enable": "Whether clients may delete topics.",
    "fetch.max.bytes": "The most that an answer to a fetch holds.",
    "group.consumer.assignment.interval.ms": "How long a consumer group keeps an assignment before it makes another.",
    "group.consumer.heartbeat.interval.ms": "How often a member of a consumer group is told to call.",
    "group.consumer.max.size": "How many members a consumer group may have.",
    "group.consumer.migration.policy": "Whether groups go from classic to consumer, and back.",
    "group.consumer.session.timeout.ms": "How long a member of a consumer group may be silent.",
    "group.initial.rebalance.delay.ms": "How long a new classic group waits for further members.",
    "group.max.session.timeout.ms": "The longest session timeout a member of a classic group may ask for.",
    "group.max.size": "How many members a classic group may have.",
    "group.min.session.timeout.ms": "The shortest session timeout a member of a classic group may ask for.",
    "log.initial.task.delay.ms": "How long after its start a broker first looks after its logs.",
    "log.retention.check.interval.ms": "How often a broker looks for segments to drop.",
    "max.connections": "How many connections may be open at once.",
    "max.connections.per.ip": "How many connections one address may have open at once.",
    "max.connections.per.ip.overrides": "The same for single addresses, as host:number,host:number.",
    "max.incremental.fetch.session.cache.slots": "How many incremental fetch sessions are remembered.",
    "max.request.partition.size.limit": "The most partitions that an answer to DescribeTopicPartitions holds.",
    "num.partitions": "The partitions of a topic for which nobody says how many.",
    "offset.metadata.max.bytes": "How much text may be committed beside an offset.",
    "offsets.commit.timeout.ms": "How long a commit waits for the replicas of its topic.",
    "offsets.retention.check.interval.ms": "How often offsets are looked for that are kept no longer.",
    "offsets.retention.minutes": "How long offsets are kept after their group has lost its last member.",
    "offsets.topic.num.partitions": "The partitions of the topic in which groups keep their offsets.",
    "offsets.topic.replication.factor": "The replicas of that topic, at most as many as there are brokers.",
    "offsets.topic.segment.bytes": "The size of its segments.",
    "producer.id.expiration.ms": "How long a producer is remembered after its last batch.",
    "quota.window.num": "How many windows the quotas of clients look back at.",
    "quota.window.size.seconds": "How long a window of the quotas of clients is.",
    "replica.high.watermark.checkpoint.interval.ms": "How often the high watermarks are noted on disk.",
    "replica.lag.time.max.ms": "How long a follower may lag before it is no longer in sync.",
    "replica.selector.class": "Whether consumers are sent to a replica of their rack.",
    "request.timeout.ms": "How long a broker waits for what it asked of another one.",
    "socket.receive.buffer.bytes": "The receive buffer of a connection; -1 for the system's own.",
    "socket.request.max.bytes": "The largest request that is read.",
    "socket.send.buffer.bytes": "The send buffer of a connection; -1 for the system's own.",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "How often overdue transactions are looked for.",
    "transaction.max.timeout.ms": "The longest timeout a transactional producer may ask for.",
    "transaction.partition.verification.enable": "Whether a coordinator vouches for each transaction.",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "How often unused ids are looked for.",
    "transaction.state.log.min.isr": "How many replicas of the topic of transactions have to be in sync.",
    "transaction.state.log.num.partitions": "The partitions of the topic in which transactions are kept.",
    "transaction.state.log.replication.factor": "The replicas of the topic of transactions.",
    "transaction.state.log.segment.bytes": "The size of the segments of the topic of transactions.",
    "transactional.id.expiration.ms": "How long a transactional id that nobody uses is remembered.",
}

GROUPS = {
    "consumer.assignment.interval.ms": "How long the group keeps an assignment before it makes another.",
    "consumer.heartbeat.interval.ms": "How often a member of the group is told to call.",
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
            return f"What {topic_property} is for a topic that does not say otherwise."
    return NO_EFFECT
