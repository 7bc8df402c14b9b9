"""Properties that Kafka has and that have no effect here: groups, transactions, share groups and telemetry."""

PROPERTIES = """
add.partitions.to.txn.retry.backoff.max.ms        INT      100      4.0+
add.partitions.to.txn.retry.backoff.ms            INT      20       4.0+
errors.deadletterqueue.auto.create.topics.enable  BOOLEAN  false    dynamic 4.4+
errors.deadletterqueue.topic.name.prefix          STRING   dlq.     dynamic 4.4+
group.consumer.assignors LIST org.apache.kafka.coordinator.group.assignor.UniformAssignor,org.apache\
.kafka.coordinator.group.assignor.RangeAssignor 3.0-4.0
group.consumer.assignors                          LIST     uniform,range 4.0+
group.consumer.max.assignment.interval.ms         INT      15000    4.1+
group.consumer.max.heartbeat.interval.ms          INT      15000    3.0+
group.consumer.max.session.timeout.ms             INT      60000    3.0+
group.consumer.min.assignment.interval.ms         INT      0        4.1+
group.consumer.min.heartbeat.interval.ms          INT      5000     3.0+
group.consumer.min.session.timeout.ms             INT      45000    3.0+
group.coordinator.append.linger.ms                INT      10       3.0-4.0
group.coordinator.append.linger.ms                INT      5        4.0-4.1
group.coordinator.append.linger.ms                INT      -1       4.1+
group.coordinator.background.threads              INT      2        4.1+
group.coordinator.cached.buffer.max.bytes         INT      1048588  dynamic >=524288 4.1+
group.coordinator.rebalance.protocols             LIST     classic  3.0-4.0
group.coordinator.rebalance.protocols             LIST     classic,consumer 4.0-4.1
group.coordinator.rebalance.protocols             LIST     classic,consumer,streams 4.1+
group.coordinator.threads                         INT      1        3.0-4.0
group.coordinator.threads                         INT      4        4.0+
group.share.assignment.interval.ms                INT      1000     dynamic >=0 4.1+
group.share.assignors                             LIST     simple   4.1+
group.share.delivery.count.limit                  INT      5        3.0+
group.share.heartbeat.interval.ms                 INT      5000     3.0+
group.share.max.assignment.interval.ms            INT      15000    4.1+
group.share.max.delivery.count.limit              INT      10       4.1+
group.share.max.groups                            SHORT    10       3.0-4.1
group.share.max.heartbeat.interval.ms             INT      15000    3.0+
group.share.max.partition.max.record.locks        INT      4000     4.1+
group.share.max.record.lock.duration.ms           INT      60000    3.0+
group.share.max.session.timeout.ms                INT      60000    3.0+
group.share.max.share.sessions                    INT      2000     4.1+
group.share.max.size                              SHORT    200      3.0-4.0
group.share.max.size                              INT      200      4.0+
group.share.min.assignment.interval.ms            INT      0        4.1+
group.share.min.delivery.count.limit              INT      2        4.1+
group.share.min.heartbeat.interval.ms             INT      5000     3.0+
group.share.min.partition.max.record.locks        INT      100      4.1+
group.share.min.record.lock.duration.ms           INT      15000    3.0+
group.share.min.session.timeout.ms                INT      45000    3.0+
group.share.partition.max.record.locks            INT      200      3.0-4.1
group.share.partition.max.record.locks            INT      2000     4.1+
group.share.record.lock.duration.ms               INT      30000    3.0+
group.share.session.timeout.ms                    INT      45000    3.0+
group.streams.assignment.interval.ms              INT      1000     dynamic >=0 4.1+
group.streams.assignors                           LIST     sticky   4.4+
group.streams.heartbeat.interval.ms               INT      5000     4.1+
group.streams.initial.rebalance.delay.ms          INT      3000     4.1+
group.streams.max.assignment.interval.ms          INT      15000    4.1+
group.streams.max.heartbeat.interval.ms           INT      15000    4.1+
group.streams.max.session.timeout.ms              INT      60000    4.1+
group.streams.max.size                            INT      2147483647 4.1+
group.streams.max.standby.replicas                INT      2        4.1+
group.streams.min.assignment.interval.ms          INT      0        4.1+
group.streams.min.heartbeat.interval.ms           INT      5000     4.1+
group.streams.min.session.timeout.ms              INT      45000    4.1+
group.streams.num.standby.replicas                INT      0        4.1+
group.streams.rack.aware.assignment.tags          LIST     ''       4.4+
group.streams.session.timeout.ms                  INT      45000    4.1+
group.streams.topology.description.plugin.class   CLASS    null     4.4+
offsets.commit.required.acks                      SHORT    -1       0-4.0
offsets.load.buffer.size                          INT      5242880
offsets.topic.compression.codec                   INT      0
share.coordinator.append.linger.ms                INT      10       4.0-4.1
share.coordinator.append.linger.ms                INT      -1       4.1+
share.coordinator.cached.buffer.max.bytes         INT      1048588  dynamic >=524288 4.1+
share.coordinator.load.buffer.size                INT      5242880  4.0+
share.coordinator.snapshot.update.records.per.snapshot  INT      500      4.0+
share.coordinator.state.topic.compression.codec   INT      0        4.0+
share.coordinator.state.topic.min.isr             SHORT    2        4.0+
share.coordinator.state.topic.num.partitions      INT      50       4.0+
share.coordinator.state.topic.replication.factor  SHORT    3        4.0+
share.coordinator.state.topic.segment.bytes       INT      104857600 4.0+
share.coordinator.threads                         INT      1        4.0+
share.coordinator.write.timeout.ms                INT      5000     4.0+
share.fetch.purgatory.purge.interval.requests     INT      1000     4.0+
telemetry.max.bytes                               INT      1048576  3.0+
transaction.state.log.load.buffer.size            INT      5242880
transaction.two.phase.commit.enable               BOOLEAN  false    4.1+
"""
