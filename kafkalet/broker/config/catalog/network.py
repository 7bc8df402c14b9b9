"""Properties that Kafka has and that have no effect here: listeners, connections, threads, quotas."""

PROPERTIES = """
advertised.host.name                              STRING   null     0-3.0
advertised.listeners                              STRING   null     dynamic 0-4.0
advertised.listeners                              STRING   null     4.0-4.1
advertised.listeners                              LIST     null     4.1+
advertised.port                                   INT      null     0-3.0
auto.include.jmx.reporter                         BOOLEAN  true     3.0-4.0
client.quota.callback.class                       CLASS    null
control.plane.listener.name                       STRING   null     0-4.0
delete.records.purgatory.purge.interval.requests  INT      1
fetch.purgatory.purge.interval.requests           INT      1000
host.name                                         STRING   ''       0-3.0
kafka.metrics.polling.interval.secs               INT      10
kafka.metrics.reporters                           LIST     ''
listener.security.protocol.map STRING PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL\
_SSL:SASL_SSL dynamic 0-3.0
listener.security.protocol.map STRING SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:S\
ASL_PLAINTEXT dynamic 3.0+
listeners                                         STRING   null     dynamic 0-3.0
listeners                                         STRING   PLAINTEXT://:9092 dynamic 3.0-4.1
listeners                                         LIST     PLAINTEXT://:9092 dynamic 4.1+
max.connection.creation.rate                      INT      2147483647 dynamic >=0
metric.reporters                                  LIST     ''       dynamic 0-4.0
metric.reporters                                  LIST     org.apache.kafka.common.metrics.JmxReporter dynamic 4.0+
metrics.num.samples                               INT      2
metrics.recording.level                           STRING   INFO
metrics.sample.window.ms                          LONG     30000
num.io.threads                                    INT      8        dynamic >=1
num.network.threads                               INT      3        dynamic >=1
port                                              INT      9092     0-3.0
producer.purgatory.purge.interval.requests        INT      1000
queued.max.request.bytes                          LONG     -1
queued.max.requests                               INT      500
quota.consumer.default                            LONG     9223372036854775807 0-3.0
quota.producer.default                            LONG     9223372036854775807 0-3.0
socket.connection.setup.timeout.max.ms            LONG     30000
socket.connection.setup.timeout.ms                LONG     10000
socket.listen.backlog.size                        INT      50       3.0+
"""
