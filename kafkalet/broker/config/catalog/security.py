"""Properties that Kafka has and that have no effect here: authentication, authorization, TLS."""

PROPERTIES = """
authorizer.class.name                                STRING   ''
connection.failed.authentication.delay.ms            INT      100
connections.max.reauth.ms                            LONG     0
delegation.token.expiry.check.interval.ms            LONG     3600000
delegation.token.expiry.time.ms                      LONG     86400000
delegation.token.master.key                          PASSWORD null     0-4.0
delegation.token.max.lifetime.ms                     LONG     604800000
delegation.token.secret.key                          PASSWORD null
password.encoder.cipher.algorithm                    STRING   AES/CBC/PKCS5Padding 0-4.0
password.encoder.iterations                          INT      4096     0-4.0
password.encoder.key.length                          INT      128      0-4.0
password.encoder.keyfactory.algorithm                STRING   null     0-4.0
password.encoder.old.secret                          PASSWORD null     0-4.0
password.encoder.secret                              PASSWORD null     0-4.0
principal.builder.class                              CLASS    null     dynamic 0-3.0
principal.builder.class CLASS org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder dynamic 3.0+
sasl.client.callback.handler.class                   CLASS    null
sasl.enabled.mechanisms                              LIST     GSSAPI   dynamic
sasl.jaas.config                                     PASSWORD null     dynamic
sasl.kerberos.kinit.cmd                              STRING   /usr/bin/kinit dynamic
sasl.kerberos.min.time.before.relogin                LONG     60000    dynamic
sasl.kerberos.principal.to.local.rules               LIST     DEFAULT  dynamic
sasl.kerberos.service.name                           STRING   null     dynamic
sasl.kerberos.ticket.renew.jitter                    DOUBLE   0.05     dynamic
sasl.kerberos.ticket.renew.window.factor             DOUBLE   0.8      dynamic
sasl.login.callback.handler.class                    CLASS    null
sasl.login.class                                     CLASS    null
sasl.login.connect.timeout.ms                        INT      null     3.0+
sasl.login.read.timeout.ms                           INT      null     3.0+
sasl.login.refresh.buffer.seconds                    SHORT    300      dynamic
sasl.login.refresh.min.period.seconds                SHORT    60       dynamic
sasl.login.refresh.window.factor                     DOUBLE   0.8      dynamic
sasl.login.refresh.window.jitter                     DOUBLE   0.05     dynamic
sasl.login.retry.backoff.max.ms                      LONG     10000    3.0+
sasl.login.retry.backoff.ms                          LONG     100      3.0+
sasl.mechanism.controller.protocol                   STRING   GSSAPI   3.0+
sasl.mechanism.inter.broker.protocol                 STRING   GSSAPI   dynamic
sasl.oauthbearer.allow.unverified.audience           BOOLEAN  false    4.4+
sasl.oauthbearer.allow.unverified.issuer             BOOLEAN  false    4.4+
sasl.oauthbearer.assertion.algorithm                 STRING   RS256    4.1+
sasl.oauthbearer.assertion.claim.aud                 STRING   null     4.1+
sasl.oauthbearer.assertion.claim.exp.seconds         INT      300      4.1+
sasl.oauthbearer.assertion.claim.iss                 STRING   null     4.1+
sasl.oauthbearer.assertion.claim.jti.include         BOOLEAN  false    4.1+
sasl.oauthbearer.assertion.claim.nbf.seconds         INT      60       4.1+
sasl.oauthbearer.assertion.claim.sub                 STRING   null     4.1+
sasl.oauthbearer.assertion.file                      STRING   null     4.1+
sasl.oauthbearer.assertion.private.key.file          STRING   null     4.1+
sasl.oauthbearer.assertion.private.key.passphrase    PASSWORD null     4.1+
sasl.oauthbearer.assertion.template.file             STRING   null     4.1+
sasl.oauthbearer.client.credentials.client.id        STRING   null     4.1+
sasl.oauthbearer.client.credentials.client.secret    PASSWORD null     4.1+
sasl.oauthbearer.clock.skew.seconds                  INT      30       3.0+
sasl.oauthbearer.expected.audience                   LIST     null     3.0-4.1
sasl.oauthbearer.expected.audience                   LIST     ''       4.1+
sasl.oauthbearer.expected.issuer                     STRING   null     3.0+
sasl.oauthbearer.jwks.endpoint.refresh.ms            LONG     3600000  3.0+
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms  LONG     10000    3.0+
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms      LONG     100      3.0+
sasl.oauthbearer.jwks.endpoint.url                   STRING   null     3.0+
sasl.oauthbearer.jwt.retriever.class CLASS org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever 4.1+
sasl.oauthbearer.jwt.validator.class CLASS org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator 4.1+
sasl.oauthbearer.scope                               STRING   null     4.1+
sasl.oauthbearer.scope.claim.name                    STRING   scope    3.0+
sasl.oauthbearer.sub.claim.name                      STRING   sub      3.0+
sasl.oauthbearer.token.endpoint.url                  STRING   null     3.0+
sasl.server.callback.handler.class                   CLASS    null
sasl.server.max.receive.size                         INT      524288
security.inter.broker.protocol                       STRING   PLAINTEXT
security.providers                                   STRING   null
ssl.allow.dn.changes                                 BOOLEAN  false    3.0+
ssl.allow.san.changes                                BOOLEAN  false    3.0+
ssl.cipher.suites                                    LIST     ''       dynamic
ssl.client.auth                                      STRING   none     dynamic
ssl.enabled.protocols                                LIST     TLSv1.2,TLSv1.3 dynamic
ssl.endpoint.identification.algorithm                STRING   https    dynamic
ssl.engine.factory.class                             CLASS    null     dynamic
ssl.key.password                                     PASSWORD null     dynamic
ssl.keymanager.algorithm                             STRING   SunX509  dynamic
ssl.keystore.certificate.chain                       PASSWORD null     dynamic
ssl.keystore.key                                     PASSWORD null     dynamic
ssl.keystore.location                                STRING   null     dynamic
ssl.keystore.password                                PASSWORD null     dynamic
ssl.keystore.type                                    STRING   JKS      dynamic
ssl.principal.mapping.rules                          STRING   DEFAULT
ssl.protocol                                         STRING   TLSv1.3  dynamic
ssl.provider                                         STRING   null     dynamic
ssl.secure.random.implementation                     STRING   null     dynamic
ssl.trustmanager.algorithm                           STRING   PKIX     dynamic
ssl.truststore.certificates                          PASSWORD null     dynamic
ssl.truststore.location                              STRING   null     dynamic
ssl.truststore.password                              PASSWORD null     dynamic
ssl.truststore.type                                  STRING   JKS      dynamic
"""
