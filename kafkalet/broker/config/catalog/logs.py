"""Properties that Kafka has and that have no effect here: logs, replicas, tiered storage."""

PROPERTIES = """
alter.log.dirs.replication.quota.window.num         INT      11
alter.log.dirs.replication.quota.window.size.seconds  INT      1
background.threads                                  INT      10       dynamic >=1
cordoned.log.dirs                                   LIST     ''       dynamic 4.1+
follower.fetch.last.tiered.offset.enable            BOOLEAN  false    dynamic 4.1+
log.cleaner.backoff.ms                              LONG     15000    dynamic >=0
log.cleaner.dedupe.buffer.size                      LONG     134217728 dynamic
log.cleaner.enable                                  BOOLEAN  true
log.cleaner.io.buffer.load.factor                   DOUBLE   0.9      dynamic
log.cleaner.io.buffer.size                          INT      524288   dynamic >=0
log.cleaner.io.max.bytes.per.second                 DOUBLE   1.7976931348623157E308 dynamic
log.cleaner.threads                                 INT      1        dynamic >=0
log.dir                                             STRING   /tmp/kafka-logs 0-4.1
log.dir                                             LIST     /tmp/kafka-logs 4.1+
log.dir.failure.timeout.ms                          LONG     30000    3.0+
log.dirs                                            STRING   null     0-4.1
log.dirs                                            LIST     null     4.1+
log.flush.offset.checkpoint.interval.ms             INT      60000
log.flush.start.offset.checkpoint.interval.ms       INT      60000
num.recovery.threads.per.data.dir                   INT      1        dynamic >=1 0-4.0
num.recovery.threads.per.data.dir                   INT      2        dynamic >=1 4.0+
num.replica.alter.log.dirs.threads                  INT      null
num.replica.fetchers                                INT      1        dynamic 0-4.2
num.replica.fetchers                                INT      1        dynamic >=1 4.2+
remote.fetch.max.wait.ms                            INT      500      dynamic >=1 3.0+
remote.list.offsets.request.timeout.ms              LONG     30000    dynamic >=1 4.0+
remote.log.index.file.cache.total.size.bytes        LONG     1073741824 dynamic >=1 3.0+
remote.log.manager.copier.thread.pool.size          INT      -1       3.0-4.0
remote.log.manager.copier.thread.pool.size          INT      10       dynamic >=1 4.0+
remote.log.manager.copy.max.bytes.per.second        LONG     9223372036854775807 dynamic >=1 3.0+
remote.log.manager.copy.quota.window.num            INT      11       3.0+
remote.log.manager.copy.quota.window.size.seconds   INT      1        3.0+
remote.log.manager.expiration.thread.pool.size      INT      -1       3.0-4.0
remote.log.manager.expiration.thread.pool.size      INT      10       dynamic >=1 4.0+
remote.log.manager.fetch.max.bytes.per.second       LONG     9223372036854775807 dynamic >=1 3.0+
remote.log.manager.fetch.quota.window.num           INT      11       3.0+
remote.log.manager.fetch.quota.window.size.seconds  INT      1        3.0+
remote.log.manager.follower.thread.pool.size        INT      2        dynamic >=1 4.1+
remote.log.manager.task.interval.ms                 LONG     30000    3.0+
remote.log.manager.thread.pool.size                 INT      10       3.0-4.0
remote.log.manager.thread.pool.size                 INT      2        4.0+
remote.log.metadata.custom.metadata.max.bytes       INT      128      3.0+
remote.log.metadata.manager.class.name STRING org.apache.kafka.server.log.remote.metadata.storage.To\
picBasedRemoteLogMetadataManager 3.0+
remote.log.metadata.manager.class.path              STRING   null     3.0+
remote.log.metadata.manager.impl.prefix             STRING   rlmm.config. 3.0+
remote.log.metadata.manager.listener.name           STRING   null     3.0+
remote.log.reader.max.pending.tasks                 INT      100      3.0+
remote.log.reader.threads                           INT      10       3.0-4.0
remote.log.reader.threads                           INT      10       dynamic >=1 4.0+
remote.log.storage.manager.class.name               STRING   null     3.0+
remote.log.storage.manager.class.path               STRING   null     3.0+
remote.log.storage.manager.impl.prefix              STRING   rsm.config. 3.0+
remote.log.storage.system.enable                    BOOLEAN  false    3.0+
replica.fetch.backoff.ms                            INT      1000
replica.fetch.max.bytes                             INT      1048576
replica.fetch.min.bytes                             INT      1
replica.fetch.response.max.bytes                    INT      10485760
replica.fetch.wait.max.ms                           INT      500
replica.socket.receive.buffer.bytes                 INT      65536
replica.socket.timeout.ms                           INT      30000
replication.quota.window.num                        INT      11
replication.quota.window.size.seconds               INT      1
"""
