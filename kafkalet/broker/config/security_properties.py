"""The table of broker properties for listeners, authentication, authorization and TLS, recorded from Kafka.

`property_table.py` describes the format. Properties marked `effective` take effect in kafkalet. Most of them can be set
for one listener, with the prefix `listener.name.NAME.`, where NAME is in lower case.

The module is imported only when such a property is set or described.
"""

from collections.abc import Mapping
from functools import cache

from kafkalet.properties import Declaration

from .property_table import parse_table

PROPERTIES = """
# Listeners
listeners STRING null effective per-broker 0-3.0
listeners STRING PLAINTEXT://:9092 effective per-broker 3.0-4.1
listeners LIST PLAINTEXT://:9092 effective per-broker 4.1+
    Listeners as NAME://HOST:PORT, separated by commas. An empty host is every interface; port 0 picks a free port.
    Further brokers use the following ports.
advertised.listeners STRING null effective per-broker 0-4.0
advertised.listeners STRING null effective 4.0-4.1
advertised.listeners LIST null effective 4.1+
    Addresses that clients get in responses, as NAME://HOST:PORT. Without it, each listener advertises the address
    on which it listens. A listener that is missing here is not advertised.
listener.security.protocol.map STRING PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL\
_SSL:SASL_SSL effective per-broker 0-3.0
listener.security.protocol.map STRING SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:S\
ASL_PLAINTEXT effective per-broker 3.0+
    Security protocol of each listener, as in INTERNAL:PLAINTEXT,EXTERNAL:SASL_SSL.
inter.broker.listener.name STRING null effective
    Listener through which brokers connect to each other. Its clients are admitted even if max.connections is reached.
    Replication does not use it, because all brokers run in one process.
security.inter.broker.protocol STRING PLAINTEXT effective
    Security protocol that determines the inter-broker listener if inter.broker.listener.name is
    not set.
control.plane.listener.name STRING null effective 0-4.0
    Listener for requests of the controller. It serves clients as any other listener does.
controller.listener.names STRING null effective 3.0-4.1
controller.listener.names LIST null effective 4.1+
    Listeners of the controller, for admin clients with `bootstrap.controllers`.
controller.quorum.voters LIST '' effective 3.0+
    Controllers, as ID@HOST:PORT. The first is active, and apart from the brokers unless one has its id. The others
    exist only by name. By default, the first broker is the controller.
early.start.listeners STRING null 3.0-4.1
early.start.listeners LIST null 4.1+
    Listeners that start before the authorizer has loaded its ACLs.
max.connection.creation.rate INT 2147483647 effective cluster-wide >=0
    Connections that a broker accepts per second; with a listener prefix, those that the listener accepts.

# Authentication
connection.failed.authentication.delay.ms INT 100 effective
    Time for which a connection stays open after its authentication has failed, to slow down clients that reconnect.
connections.max.reauth.ms LONG 0 effective
    Time after which clients have to authenticate again on an open connection (KIP-368); 0 for never.
principal.builder.class CLASS null per-broker 0-3.0
principal.builder.class CLASS org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBu\
ilder per-broker 3.0+
    Class that determines the principal of a connection. Only the default is available: the SASL user, or the
    subject of the certificate.
security.providers STRING null
    Classes of Java security providers.

# Delegation tokens
delegation.token.secret.key PASSWORD null effective
    Key that signs delegation tokens. Tokens are disabled without it.
delegation.token.master.key PASSWORD null effective 0-4.0
    Earlier name of delegation.token.secret.key.
delegation.token.max.lifetime.ms LONG 604800000 effective
    Longest lifetime of a delegation token, renewals included.
delegation.token.expiry.time.ms LONG 86400000 effective
    Time after which a delegation token expires unless it is renewed.
delegation.token.expiry.check.interval.ms LONG 3600000 effective
    Interval at which expired delegation tokens are removed.

# Authorization
authorizer.class.name STRING '' effective
    Class of the authorizer. Any name enables kafkalet's authorizer, which has the rules of Kafka's
    StandardAuthorizer; without a name, everything is allowed.

# SASL
sasl.enabled.mechanisms LIST GSSAPI effective per-broker
    SASL mechanisms that a listener offers.
sasl.jaas.config PASSWORD null effective per-broker
    Login module and its options, as in a JAAS file. Brokers accept it only with the prefix
    listener.name.NAME.MECHANISM.
sasl.server.callback.handler.class CLASS null effective
    Class that checks credentials. It selects the handler of OAUTHBEARER tokens; other classes cannot be loaded.
sasl.server.max.receive.size INT 524288 effective
    Largest SASL token that a broker accepts before a client has authenticated, in bytes.
sasl.mechanism.inter.broker.protocol STRING GSSAPI per-broker
    SASL mechanism of connections between brokers.
sasl.mechanism.controller.protocol STRING GSSAPI 3.0+
    SASL mechanism of connections to the KRaft controller.
sasl.client.callback.handler.class CLASS null
    Class that provides the credentials of a client.
sasl.login.callback.handler.class CLASS null
    Class that provides the credentials of a login.
sasl.login.class CLASS null
    Class with which a broker logs in.
sasl.login.connect.timeout.ms INT null 3.0+
    Timeout of connections to an authentication provider.
sasl.login.read.timeout.ms INT null 3.0+
    Timeout of reads from an authentication provider.
sasl.login.refresh.buffer.seconds SHORT 300 per-broker
    Time before the expiry of a credential in which it is not refreshed.
sasl.login.refresh.min.period.seconds SHORT 60 per-broker
    Shortest time between two refreshes of a credential.
sasl.login.refresh.window.factor DOUBLE 0.8 per-broker
    Part of its lifetime after which a credential is refreshed.
sasl.login.refresh.window.jitter DOUBLE 0.05 per-broker
    Random part of the lifetime that is added before a credential is refreshed.
sasl.login.retry.backoff.ms LONG 100 3.0+
    First delay between attempts to log in at an authentication provider.
sasl.login.retry.backoff.max.ms LONG 10000 3.0+
    Longest delay between attempts to log in at an authentication provider.

# SASL/GSSAPI
sasl.kerberos.kinit.cmd STRING /usr/bin/kinit per-broker
    Path of the command kinit.
sasl.kerberos.min.time.before.relogin LONG 60000 per-broker
    Shortest time between two logins at Kerberos.
sasl.kerberos.principal.to.local.rules LIST DEFAULT per-broker
    Rules that map Kerberos principals to names of users.
sasl.kerberos.service.name STRING null per-broker
    Kerberos principal name of the brokers.
sasl.kerberos.ticket.renew.jitter DOUBLE 0.05 per-broker
    Random part that is added to the time of a ticket's renewal.
sasl.kerberos.ticket.renew.window.factor DOUBLE 0.8 per-broker
    Part of its lifetime after which a ticket is renewed.

# SASL/OAUTHBEARER
sasl.oauthbearer.allow.unverified.audience BOOLEAN false 4.4+
    Whether tokens are accepted without an expected audience.
sasl.oauthbearer.allow.unverified.issuer BOOLEAN false 4.4+
    Whether tokens are accepted without an expected issuer.
sasl.oauthbearer.assertion.algorithm STRING RS256 4.1+
    Algorithm that signs the assertion of a client.
sasl.oauthbearer.assertion.claim.aud STRING null 4.1+
    Audience in the assertion of a client.
sasl.oauthbearer.assertion.claim.exp.seconds INT 300 4.1+
    Lifetime of the assertion of a client.
sasl.oauthbearer.assertion.claim.iss STRING null 4.1+
    Issuer in the assertion of a client.
sasl.oauthbearer.assertion.claim.jti.include BOOLEAN false 4.1+
    Whether the assertion of a client has an identifier.
sasl.oauthbearer.assertion.claim.nbf.seconds INT 60 4.1+
    Time before now from which the assertion of a client is valid.
sasl.oauthbearer.assertion.claim.sub STRING null 4.1+
    Subject in the assertion of a client.
sasl.oauthbearer.assertion.file STRING null 4.1+
    File with the assertion of a client.
sasl.oauthbearer.assertion.private.key.file STRING null 4.1+
    File with the key that signs the assertion of a client.
sasl.oauthbearer.assertion.private.key.passphrase PASSWORD null 4.1+
    Password of the key that signs the assertion of a client.
sasl.oauthbearer.assertion.template.file STRING null 4.1+
    File with a template of the assertion of a client.
sasl.oauthbearer.client.credentials.client.id STRING null 4.1+
    Client id that is sent to the authentication provider.
sasl.oauthbearer.client.credentials.client.secret PASSWORD null 4.1+
    Secret that is sent to the authentication provider.
sasl.oauthbearer.clock.skew.seconds INT 30 effective 3.0+
    Allowed difference between the clocks of the issuer and the broker.
sasl.oauthbearer.expected.audience LIST null effective 3.0-4.1
sasl.oauthbearer.expected.audience LIST '' effective 4.1+
    Accepted audiences. A token must name one of them.
sasl.oauthbearer.expected.issuer STRING null effective 3.0+
    Issuer that a token must name.
sasl.oauthbearer.jwks.endpoint.refresh.ms LONG 3600000 3.0+
    Interval at which the keys of the issuer are read again.
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms LONG 10000 3.0+
    Longest delay between attempts to read the keys of the issuer.
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms LONG 100 3.0+
    First delay between attempts to read the keys of the issuer.
sasl.oauthbearer.jwks.endpoint.url STRING null effective 3.0+
    URL of a file with the keys of the issuer, a JWKS document: file:///PATH. It is read again when it changes.
sasl.oauthbearer.jwt.retriever.class CLASS org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever 4.1+
    Class that gets tokens for a client.
sasl.oauthbearer.jwt.validator.class CLASS org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator 4.1+
    Class that checks tokens.
sasl.oauthbearer.scope STRING null 4.1+
    Scope that a client requests from the authentication provider.
sasl.oauthbearer.scope.claim.name STRING scope effective 3.0+
    Claim of a token that contains its scope.
sasl.oauthbearer.sub.claim.name STRING sub effective 3.0+
    Claim of a token that contains the name of the principal.
sasl.oauthbearer.token.endpoint.url STRING null 3.0+
    URL at which clients get tokens.

# TLS
ssl.keystore.location STRING null effective per-broker
    File with the key and the certificates of a listener.
ssl.keystore.type STRING JKS effective per-broker
    Format of the keystore: PEM, or PKCS12 with the extra tls. A JKS file is refused with the command that converts it.
ssl.keystore.password PASSWORD null effective per-broker
    Password of the keystore.
ssl.keystore.key PASSWORD null effective per-broker
    Private key of a listener as PEM text, instead of a file.
ssl.keystore.certificate.chain PASSWORD null effective per-broker
    Certificate and intermediate certificates of a listener as PEM text, instead of a file.
ssl.key.password PASSWORD null effective per-broker
    Password of the private key.
ssl.truststore.location STRING null effective per-broker
    File with the certificates that sign the certificates of clients.
ssl.truststore.type STRING JKS effective per-broker
    Format of the truststore: PEM, or PKCS12 with the extra tls.
ssl.truststore.password PASSWORD null effective per-broker
    Password of the truststore.
ssl.truststore.certificates PASSWORD null effective per-broker
    Certificates that sign the certificates of clients as PEM text, instead of a file.
ssl.client.auth STRING none effective per-broker
    Whether clients need a certificate: required, requested (used if they have one) or none.
ssl.principal.mapping.rules STRING DEFAULT effective
    Rules that map the subject of a client's certificate to the name of its principal.
ssl.enabled.protocols LIST TLSv1.2,TLSv1.3 effective per-broker
    Versions of TLS that a listener accepts.
ssl.protocol STRING TLSv1.3 per-broker
    Version of TLS that Java prefers. Listeners use the highest version that both sides have enabled.
ssl.cipher.suites LIST '' effective per-broker
    Cipher suites that a listener accepts, as named in Java; empty for those of Java 17.
ssl.allow.dn.changes BOOLEAN false effective 3.0+
    Whether a certificate that replaces another one at runtime may have another subject.
ssl.allow.san.changes BOOLEAN false effective 3.0+
    Whether a certificate that replaces another one at runtime may lack alternative names of the earlier one.
ssl.endpoint.identification.algorithm STRING https per-broker
    Whether brokers compare the host names of other brokers with their certificates.
ssl.engine.factory.class CLASS null per-broker
    Class that creates the TLS engines.
ssl.keymanager.algorithm STRING SunX509 per-broker
    Java algorithm of the key manager.
ssl.trustmanager.algorithm STRING PKIX per-broker
    Java algorithm of the trust manager.
ssl.provider STRING null per-broker
    Java security provider for TLS.
ssl.secure.random.implementation STRING null per-broker
    Java random number generator for TLS.
"""

AUTHORIZER_PROPERTIES = """
super.users STRING null effective
    Principals that may do everything, separated by semicolons, as in User:admin;User:alice.
allow.everyone.if.no.acl.found BOOLEAN false effective
    Whether every principal may use a resource that no ACL names.
"""
"""The properties that only an authorizer reads.

KafkaConfig does not declare them, so DescribeConfigs hides their values.
"""


@cache
def declarations() -> tuple[Declaration, ...]:
    """Parse the table. A property that changed between releases has several declarations."""
    return tuple(parse_table(PROPERTIES))


@cache
def authorizer_properties() -> Mapping[str, Declaration]:
    """Return the properties of authorizers, keyed by name."""
    return {row.name: row for row in parse_table(AUTHORIZER_PROPERTIES)}
