"""Properties that Kafka has and that have no effect here: brokers, controllers, metadata, ZooKeeper."""

PROPERTIES = """
alter.config.policy.class.name                   CLASS    null
alter.config.policy.kraft.compatibility.enable   BOOLEAN  false    3.0-4.0
auto.leader.rebalance.enable                     BOOLEAN  true
broker.heartbeat.interval.ms                     INT      2000     3.0+
broker.id                                        INT      -1
broker.id.generation.enable                      BOOLEAN  true     0-4.0
broker.session.timeout.ms                        INT      9000     3.0+
config.providers                                 LIST     ''       dynamic 4.1+
controlled.shutdown.enable                       BOOLEAN  true
controlled.shutdown.max.retries                  INT      3        0-4.0
controlled.shutdown.retry.backoff.ms             LONG     5000     0-4.0
controller.listener.names                        STRING   null     3.0-4.1
controller.listener.names                        LIST     null     4.1+
controller.quorum.append.linger.ms               INT      25       3.0+
controller.quorum.auto.join.enable               BOOLEAN  false    4.1+
controller.quorum.bootstrap.servers              LIST     ''       3.0+
controller.quorum.election.backoff.max.ms        INT      1000     3.0+
controller.quorum.election.timeout.ms            INT      1000     3.0+
controller.quorum.fetch.max.bytes                INT      1048576  4.1+
controller.quorum.fetch.snapshot.max.bytes       INT      1048576  4.1+
controller.quorum.fetch.timeout.ms               INT      2000     3.0+
controller.quorum.request.timeout.ms             INT      2000     3.0+
controller.quorum.retry.backoff.ms               INT      20       3.0+
controller.quorum.voters                         LIST     ''       3.0+
controller.socket.timeout.ms                     INT      30000
create.topic.policy.class.name                   CLASS    null
early.start.listeners                            STRING   null     3.0-4.1
early.start.listeners                            LIST     null     4.1+
eligible.leader.replicas.enable                  BOOLEAN  false    3.0-4.0
initial.broker.registration.timeout.ms           INT      60000    3.0+
inter.broker.listener.name                       STRING   null
inter.broker.protocol.version                    STRING   2.8-IV1  0-3.0
inter.broker.protocol.version                    STRING   3.9-IV0  3.0-4.0
leader.imbalance.check.interval.seconds          LONG     300
leader.imbalance.per.broker.percentage           INT      10       0-4.0
metadata.log.dir                                 STRING   null     3.0+
metadata.log.max.record.bytes.between.snapshots  LONG     20971520 3.0+
metadata.log.max.snapshot.interval.ms            LONG     3600000  3.0+
metadata.log.segment.bytes                       INT      1073741824 3.0+
metadata.log.segment.ms                          LONG     604800000 3.0+
metadata.max.idle.interval.ms                    INT      500      3.0+
metadata.max.retention.bytes                     LONG     104857600 3.0+
metadata.max.retention.ms                        LONG     604800000 3.0+
node.id                                          INT      -1       3.0-4.0
node.id                                          INT      null     4.0+
process.roles                                    LIST     ''       3.0-4.0
process.roles                                    LIST     null     4.0+
reserved.broker.max.id                           INT      1000     0-4.0
zookeeper.clientCnxnSocket                       STRING   null     0-4.0
zookeeper.connect                                STRING   null     0-4.0
zookeeper.connection.timeout.ms                  INT      null     0-4.0
zookeeper.max.in.flight.requests                 INT      10       0-4.0
zookeeper.metadata.migration.enable              BOOLEAN  false    3.0-4.0
zookeeper.session.timeout.ms                     INT      18000    0-4.0
zookeeper.set.acl                                BOOLEAN  false    0-4.0
zookeeper.ssl.cipher.suites                      LIST     null     0-4.0
zookeeper.ssl.client.enable                      BOOLEAN  false    0-4.0
zookeeper.ssl.crl.enable                         BOOLEAN  false    0-4.0
zookeeper.ssl.enabled.protocols                  LIST     null     0-4.0
zookeeper.ssl.endpoint.identification.algorithm  STRING   HTTPS    0-4.0
zookeeper.ssl.keystore.location                  STRING   null     0-4.0
zookeeper.ssl.keystore.password                  PASSWORD null     0-4.0
zookeeper.ssl.keystore.type                      STRING   null     0-4.0
zookeeper.ssl.ocsp.enable                        BOOLEAN  false    0-4.0
zookeeper.ssl.protocol                           STRING   TLSv1.2  0-4.0
zookeeper.ssl.truststore.location                STRING   null     0-4.0
zookeeper.ssl.truststore.password                PASSWORD null     0-4.0
zookeeper.ssl.truststore.type                    STRING   null     0-4.0
zookeeper.sync.time.ms                           INT      2000     0-3.0
"""
