"""The table of broker properties that have no effect in kafkalet.

The properties were recorded from Kafka 2.8, 3.9, 4.0, 4.3 and 4.4 with DescribeConfigs. A release between two of these
has the properties of the later of the two. `property_table.py` describes the format. The properties of listeners and
of security are in `security_properties.py`.

The module is imported only when such a property is set or described.
"""

from kafkalet.properties import Declaration

from .property_table import parse_table

PROPERTIES = """
# brokers, controllers, metadata, ZooKeeper
alter.config.policy.class.name                     CLASS    null
alter.config.policy.kraft.compatibility.enable     BOOLEAN  false    3.0-4.0
broker.heartbeat.interval.ms                       INT      2000     3.0+
broker.id.generation.enable                        BOOLEAN  true     0-4.0
config.providers                                   LIST     ''       cluster-wide 4.1+
controlled.shutdown.enable                         BOOLEAN  true
controlled.shutdown.max.retries                    INT      3        0-4.0
controlled.shutdown.retry.backoff.ms               LONG     5000     0-4.0
controller.quorum.append.linger.ms                 INT      25       3.0+
controller.quorum.auto.join.enable                 BOOLEAN  false    4.1+
controller.quorum.bootstrap.servers                LIST     ''       3.0+
controller.quorum.election.backoff.max.ms          INT      1000     3.0+
controller.quorum.election.timeout.ms              INT      1000     3.0+
controller.quorum.fetch.max.bytes                  INT      1048576  4.1+
controller.quorum.fetch.snapshot.max.bytes         INT      1048576  4.1+
controller.quorum.fetch.timeout.ms                 INT      2000     3.0+
controller.quorum.request.timeout.ms               INT      2000     3.0+
controller.quorum.retry.backoff.ms                 INT      20       3.0+
controller.socket.timeout.ms                       INT      30000
create.topic.policy.class.name                     CLASS    null
eligible.leader.replicas.enable                    BOOLEAN  false    3.0-4.0
initial.broker.registration.timeout.ms             INT      60000    3.0+
inter.broker.protocol.version                      STRING   2.8-IV1  0-3.0
inter.broker.protocol.version                      STRING   3.9-IV0  3.0-4.0
leader.imbalance.per.broker.percentage             INT      10       0-4.0
metadata.log.max.record.bytes.between.snapshots    LONG     20971520 3.0+
metadata.log.max.snapshot.interval.ms              LONG     3600000  3.0+
metadata.log.segment.bytes                         INT      1073741824 3.0+
metadata.log.segment.ms                            LONG     604800000 3.0+
metadata.max.idle.interval.ms                      INT      500      3.0+
metadata.max.retention.bytes                       LONG     104857600 3.0+
metadata.max.retention.ms                          LONG     604800000 3.0+
process.roles                                      LIST     ''       3.0-4.0
process.roles                                      LIST     null     4.0+
reserved.broker.max.id                             INT      1000     0-4.0
server.max.startup.time.ms                         LONG     9223372036854775807 3.0+ hidden
unstable.api.versions.enable                       BOOLEAN  false    3.6+ hidden
unstable.feature.versions.enable                   BOOLEAN  false    3.6+ hidden
zookeeper.clientCnxnSocket                         STRING   null     0-4.0
zookeeper.connect                                  STRING   null     0-4.0
zookeeper.connection.timeout.ms                    INT      null     0-4.0
zookeeper.max.in.flight.requests                   INT      10       0-4.0
zookeeper.metadata.migration.enable                BOOLEAN  false    3.0-4.0
zookeeper.session.timeout.ms                       INT      18000    0-4.0
zookeeper.set.acl                                  BOOLEAN  false    0-4.0
zookeeper.ssl.cipher.suites                        LIST     null     0-4.0
zookeeper.ssl.client.enable                        BOOLEAN  false    0-4.0
zookeeper.ssl.crl.enable                           BOOLEAN  false    0-4.0
zookeeper.ssl.enabled.protocols                    LIST     null     0-4.0
zookeeper.ssl.endpoint.identification.algorithm    STRING   HTTPS    0-4.0
zookeeper.ssl.keystore.location                    STRING   null     0-4.0
zookeeper.ssl.keystore.password                    PASSWORD null     0-4.0
zookeeper.ssl.keystore.type                        STRING   null     0-4.0
zookeeper.ssl.ocsp.enable                          BOOLEAN  false    0-4.0
zookeeper.ssl.protocol                             STRING   TLSv1.2  0-4.0
zookeeper.ssl.truststore.location                  STRING   null     0-4.0
zookeeper.ssl.truststore.password                  PASSWORD null     0-4.0
zookeeper.ssl.truststore.type                      STRING   null     0-4.0
zookeeper.sync.time.ms                             INT      2000     0-3.0

# groups, transactions, share groups, telemetry
add.partitions.to.txn.retry.backoff.max.ms         INT      100      4.0+
add.partitions.to.txn.retry.backoff.ms             INT      20       4.0+
group.coordinator.append.linger.ms                 INT      10       3.0-4.0
group.coordinator.append.linger.ms                 INT      5        4.0-4.1
group.coordinator.append.linger.ms                 INT      -1       4.1+
group.coordinator.background.threads               INT      2        4.1+
group.coordinator.cached.buffer.max.bytes          INT      1048588  cluster-wide >=524288 4.1+
group.coordinator.threads                          INT      1        3.0-4.0
group.coordinator.threads                          INT      4        4.0+
group.share.assignors                              LIST     simple   4.1+
group.share.max.groups                             SHORT    10       3.0-4.1
group.streams.assignors                            LIST     sticky   4.4+
group.streams.max.standby.replicas                 INT      2        4.1+
group.streams.topology.description.plugin.class    CLASS    null     4.4+
offsets.commit.required.acks                       SHORT    -1       0-4.0
offsets.load.buffer.size                           INT      5242880
share.coordinator.append.linger.ms                 INT      10       4.0-4.1
share.coordinator.append.linger.ms                 INT      -1       4.1+
share.coordinator.cached.buffer.max.bytes          INT      1048588  cluster-wide >=524288 4.1+
share.coordinator.load.buffer.size                 INT      5242880  4.0+
share.coordinator.threads                          INT      1        4.0+
share.fetch.purgatory.purge.interval.requests      INT      1000     4.0+
transaction.state.log.load.buffer.size             INT      5242880
transaction.two.phase.commit.enable                BOOLEAN  false    4.1+

# logs, replicas, tiered storage
alter.log.dirs.replication.quota.window.num        INT      11
alter.log.dirs.replication.quota.window.size.seconds INT      1
background.threads                                 INT      10       cluster-wide >=1
follower.fetch.last.tiered.offset.enable           BOOLEAN  false    cluster-wide 4.1+
log.dir.failure.timeout.ms                         LONG     30000    3.0+
num.recovery.threads.per.data.dir                  INT      1        cluster-wide >=1 0-4.0
num.recovery.threads.per.data.dir                  INT      2        cluster-wide >=1 4.0+
num.replica.alter.log.dirs.threads                 INT      null
num.replica.fetchers                               INT      1        cluster-wide 0-4.2
num.replica.fetchers                               INT      1        cluster-wide >=1 4.2+
remote.fetch.max.wait.ms                           INT      500      cluster-wide >=1 3.0+
remote.list.offsets.request.timeout.ms             LONG     30000    cluster-wide >=1 4.0+
remote.log.index.file.cache.total.size.bytes       LONG     1073741824 cluster-wide >=1 3.0+
remote.log.manager.copier.thread.pool.size         INT      -1       3.0-4.0
remote.log.manager.copier.thread.pool.size         INT      10       cluster-wide >=1 4.0+
remote.log.manager.copy.max.bytes.per.second       LONG     9223372036854775807 cluster-wide >=1 3.0+
remote.log.manager.copy.quota.window.num           INT      11       3.0+
remote.log.manager.copy.quota.window.size.seconds  INT      1        3.0+
remote.log.manager.expiration.thread.pool.size     INT      -1       3.0-4.0
remote.log.manager.expiration.thread.pool.size     INT      10       cluster-wide >=1 4.0+
remote.log.manager.fetch.max.bytes.per.second      LONG     9223372036854775807 cluster-wide >=1 3.0+
remote.log.manager.fetch.quota.window.num          INT      11       3.0+
remote.log.manager.fetch.quota.window.size.seconds INT      1        3.0+
remote.log.manager.follower.thread.pool.size       INT      2        cluster-wide >=1 4.1+
remote.log.manager.thread.pool.size                INT      10       3.0-4.0
remote.log.manager.thread.pool.size                INT      2        4.0+
remote.log.metadata.custom.metadata.max.bytes      INT      128      3.0+
remote.log.metadata.manager.class.name STRING org.apache.kafka.server.log.remote.metadata.storage.To\
picBasedRemoteLogMetadataManager 3.0+
remote.log.metadata.manager.class.path             STRING   null     3.0+
remote.log.metadata.manager.listener.name          STRING   null     3.0+
remote.log.reader.max.pending.tasks                INT      100      3.0+
remote.log.reader.threads                          INT      10       3.0-4.0
remote.log.reader.threads                          INT      10       cluster-wide >=1 4.0+
remote.log.storage.manager.class.name              STRING   null     3.0+
remote.log.storage.manager.class.path              STRING   null     3.0+
replica.fetch.backoff.ms                           INT      1000
replica.fetch.min.bytes                            INT      1
replica.fetch.response.max.bytes                   INT      10485760
replica.socket.receive.buffer.bytes                INT      65536
replica.socket.timeout.ms                          INT      30000
replication.quota.window.num                       INT      11
replication.quota.window.size.seconds              INT      1

# connections, threads, quotas
advertised.host.name                               STRING   null     0-3.0
advertised.port                                    INT      null     0-3.0
auto.include.jmx.reporter                          BOOLEAN  true     3.0-4.0
client.quota.callback.class                        CLASS    null
delete.records.purgatory.purge.interval.requests   INT      1
fetch.purgatory.purge.interval.requests            INT      1000
host.name                                          STRING   ''       0-3.0
kafka.metrics.polling.interval.secs                INT      10
kafka.metrics.reporters                            LIST     ''
metric.reporters                                   LIST     ''       cluster-wide 0-4.0
metric.reporters LIST org.apache.kafka.common.metrics.JmxReporter cluster-wide 4.0+
metrics.num.samples                                INT      2
metrics.recording.level                            STRING   INFO
metrics.sample.window.ms                           LONG     30000
num.io.threads                                     INT      8        cluster-wide >=1
num.network.threads                                INT      3        cluster-wide >=1
port                                               INT      9092     0-3.0
producer.purgatory.purge.interval.requests         INT      1000
queued.max.request.bytes                           LONG     -1
queued.max.requests                                INT      500
quota.consumer.default                             LONG     9223372036854775807 0-3.0
quota.producer.default                             LONG     9223372036854775807 0-3.0
socket.connection.setup.timeout.max.ms             LONG     30000
socket.connection.setup.timeout.ms                 LONG     10000
socket.listen.backlog.size                         INT      50       3.0+

# encoder of passwords in ZooKeeper
password.encoder.cipher.algorithm                  STRING   AES/CBC/PKCS5Padding 0-4.0
password.encoder.iterations                        INT      4096     0-4.0
password.encoder.key.length                        INT      128      0-4.0
password.encoder.keyfactory.algorithm              STRING   null     0-4.0
password.encoder.old.secret                        PASSWORD null     0-4.0
password.encoder.secret                            PASSWORD null     0-4.0
"""


def declarations() -> list[Declaration]:
    """Parse the table. A property that changed between releases has several declarations."""
    return parse_table(PROPERTIES)
