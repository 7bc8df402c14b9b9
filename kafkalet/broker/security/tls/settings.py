"""TLS of a listener: from Kafka's properties to an `ssl.SSLContext`, and from a client's certificate to its principal.

    ssl.keystore.*, ssl.key.password      the server's private key and certificates (key_stores.py)
    ssl.truststore.*                      the authorities whose client certificates are accepted
    ssl.client.auth                       whether clients must have a certificate
    ssl.enabled.protocols, ssl.cipher.suites
    ssl.principal.mapping.rules           the name of a client with a certificate (principal_mapping.py)
    ssl.allow.dn.changes, ssl.allow.san.changes
                                          whether another name can replace the certificate's at runtime

The broker does not check the host names of clients: `ssl.endpoint.identification.algorithm` is a property of clients.
Properties that choose between Java's implementations (`ssl.provider`, `ssl.keymanager.algorithm` and others) have no
effect.

Source: org.apache.kafka.common.security.ssl.SslFactory, DefaultSslEngineFactory.
"""

import logging
import os
import re
import ssl
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from kafkalet.broker.quoting import shown
from kafkalet.broker.security.principal import ANONYMOUS, Principal, user
from kafkalet.clock import SystemClock
from kafkalet.properties import InvalidProperty, Type, one_of

from .distinguished_names import is_same_name, name_of, read_certificate
from .handshake_limit import limit_handshake_messages
from .key_stores import key_store_of, refused, trust_store_of
from .principal_mapping import PrincipalMapping

_LOG = logging.getLogger(__name__)

RECONFIGURABLE = (
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.key.password",
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.truststore.certificates",
)
"""The properties that can change at runtime (SslConfigs.RECONFIGURABLE_CONFIGS)."""
ENGINE_FACTORIES = (
    "org.apache.kafka.common.security.ssl.DefaultSslEngineFactory",
    "org.apache.kafka.common.security.ssl.CommonNameLoggingSslEngineFactory",
)
CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
DISABLED_VERSIONS = ("SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1")
"""Versions that Java accepts in `ssl.enabled.protocols`, but does not negotiate (jdk.tls.disabledAlgorithms)."""
CONTEXT_NAMES = ("TLS", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3", "SSL", "SSLv3")
TLS_1_3_SUITES = frozenset({"TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"})
JAVA_SUITES = tuple(
    f"TLS_{exchange}_WITH_{cipher}"
    for cipher, exchanges in (
        ("AES_256_GCM_SHA384", "ECDHE_ECDSA ECDHE_RSA DHE_RSA"),
        ("AES_128_GCM_SHA256", "ECDHE_ECDSA ECDHE_RSA DHE_RSA"),
        ("CHACHA20_POLY1305_SHA256", "ECDHE_ECDSA ECDHE_RSA DHE_RSA"),
        ("AES_256_CBC_SHA384", "ECDHE_ECDSA ECDHE_RSA"),
        ("AES_128_CBC_SHA256", "ECDHE_ECDSA ECDHE_RSA DHE_RSA"),
        ("AES_256_CBC_SHA256", "DHE_RSA"),
        ("AES_256_CBC_SHA", "ECDHE_ECDSA ECDHE_RSA DHE_RSA"),
        ("AES_128_CBC_SHA", "ECDHE_ECDSA ECDHE_RSA DHE_RSA"),
        ("AES_256_GCM_SHA384", "RSA"),
        ("AES_128_GCM_SHA256", "RSA"),
        ("AES_256_CBC_SHA256", "RSA"),
        ("AES_128_CBC_SHA256", "RSA"),
        ("AES_256_CBC_SHA", "RSA"),
        ("AES_128_CBC_SHA", "RSA"),
    )
    for exchange in exchanges.split()
)
"""The suites for TLS 1.2 that Java 17 enables, which are more than Python's. OpenSSL has no suites with DSS."""
SIGNALLING_SUITE = "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"
_SUITE = re.compile(r"(TLS|SSL)_[A-Z0-9_]+")


class TlsSettings:
    """The TLS settings of one listener. They do not change; `replaced` returns new ones."""

    def __init__(self, values: Mapping[str, str], *, is_inter_broker: bool = False) -> None:
        """`values` are the properties that apply to the listener. Raises InvalidProperty.

        With `is_inter_broker`, the certificate must be trusted by the truststore, as in Kafka.
        """
        self._is_inter_broker = is_inter_broker
        self._values = {name: value.strip() for name, value in values.items() if name.startswith("ssl.")}
        self._check_classes()
        self._mapping = PrincipalMapping(self._values.get("ssl.principal.mapping.rules", "DEFAULT"))
        key_store = key_store_of(self._values)
        if key_store is None:
            raise refused(
                "ssl.keystore.location",
                "the listener uses TLS, but has no keystore. Set ssl.keystore.type=PEM, and ssl.keystore.location to a "
                "file with a private key and its certificates; or let kafkalet create certificates, with "
                "`kafkalet serve --tls` or Broker(tls=True)",
            )
        self._key_store = key_store
        self._warn_if_not_valid_now()
        self._trusted = trust_store_of(self._values)
        self._modified = self._modification_times()
        self.context = self._new_context()
        if is_inter_broker:
            self._check_trust(self)

    def _warn_if_not_valid_now(self) -> None:
        """Log a warning if the certificate is not valid now. Like Kafka, the broker starts, but clients will refuse the
        certificate."""
        leaf = read_certificate(self._key_store.chain[0])
        now = datetime.fromtimestamp(SystemClock().now_ms() / 1000, UTC).strftime("%Y%m%d%H%M%SZ")
        if leaf.ends and not leaf.begins <= now <= leaf.ends:
            _LOG.warning(
                "the certificate %s is not valid now, so clients will refuse it: it is valid from %s to %s (UTC); "
                "create a new one, and set ssl.keystore.location to its file",
                *(shown(leaf.name), leaf.begins, leaf.ends),
            )

    def principal(self, tls: ssl.SSLSocket | ssl.SSLObject) -> Principal:
        """Return the principal of a client after the handshake: ANONYMOUS if it has sent no certificate.

        Raises UnmappedName if no mapping rule applies to its name.
        """
        certificate = tls.getpeercert(binary_form=True)
        if certificate is None:
            return ANONYMOUS
        return user(self._mapping.name_of(name_of(read_certificate(certificate).subject)))

    def check_change(self, values: Mapping[str, str]) -> None:
        """Raise InvalidProperty if Kafka refuses a change of properties at runtime.

        Like Kafka, this looks at files only if the properties of keystore or truststore change.
        """
        if self._after(values) != self._values:
            self.replaced(values)

    def replaced(self, values: Mapping[str, str]) -> "TlsSettings":
        """Return the settings after a change of properties at runtime, or `self` if nothing has changed.

        Raises InvalidProperty if the new settings are not valid. Only keystore and truststore can change. A file that
        has been written since it was read counts as a change.
        """
        after = self._after(values)
        if after == self._values and self._modified == self._modification_times():
            return self
        exception = "org.apache.kafka.common.errors.InvalidConfigurationException"
        try:
            if not {"ssl.keystore.location", "ssl.keystore.key"} & after.keys():
                exception = "org.apache.kafka.common.config.ConfigException"
                raise refused(
                    "ssl.keystore.location",
                    "Cannot remove the SSL keystore from an existing listener for which a keystore was configured.",
                )
            new = TlsSettings(after, is_inter_broker=self._is_inter_broker)
            exception = "org.apache.kafka.common.config.ConfigException"
            self._check_names_and_trust(new)
        except InvalidProperty as error:
            text = f"Validation of dynamic config update of SSLFactory failed: {exception}: {error.reason}"
            raise InvalidProperty(error.name, error.value, error.reason, text) from error
        return new

    def _after(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return the properties after a change. Those that cannot change at runtime stay as they are."""
        kept = {name: value for name, value in self._values.items() if name not in RECONFIGURABLE}
        return {**kept, **{name: values[name].strip() for name in RECONFIGURABLE if name in values}}

    def _check_names_and_trust(self, new: "TlsSettings") -> None:
        old_leaf, new_leaf = (read_certificate(settings._key_store.chain[0]) for settings in (self, new))
        if not self._flag("ssl.allow.dn.changes") and not is_same_name(old_leaf.subject, new_leaf.subject):
            raise refused(
                "ssl.keystore.location",
                "Keystore DistinguishedName does not match: "
                f" existing={{alias=kafka, DN={old_leaf.name}}}, new={{alias=kafka, DN={new_leaf.name}}}",
            )
        if not self._flag("ssl.allow.san.changes") and not new_leaf.alternative_names >= old_leaf.alternative_names:
            old_names, new_names = (", ".join(leaf.alternative_texts()) for leaf in (old_leaf, new_leaf))
            raise refused(
                "ssl.keystore.location",
                "Keystore SubjectAltNames do not match: "
                f" existing={{alias=kafka, SAN=[{old_names}]}}, new={{alias=kafka, SAN=[{new_names}]}}",
            )
        if self._trusted is None and new._trusted is not None:
            raise refused(
                "ssl.truststore.location",
                "Cannot add SSL truststore to an existing listener for which no truststore was configured.",
            )
        if self._is_inter_broker:
            self._check_trust(new)
            new._check_trust(self)

    def _check_trust(self, other: "TlsSettings") -> None:
        """Raise InvalidProperty unless a client with these settings can connect to a listener with the settings
        `other`.
        """
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.check_hostname = False
        client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        client.minimum_version = self.context.minimum_version
        self._key_store.load_into(client)
        self._trust(client)
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        sides = [
            client.wrap_bio(to_client, to_server),
            other.context.wrap_bio(to_server, to_client, server_side=True),
        ]
        try:
            while sides:
                before = len(sides), to_client.pending, to_server.pending
                sides = [side for side in sides if not _proceeds(side)]
                if before == (len(sides), to_client.pending, to_server.pending):
                    raise ssl.SSLError("the handshake does not end")
        except ssl.SSLError as error:
            raise refused(
                "ssl.truststore.location",
                "A client SSLEngine created with the provided settings can't connect to a server SSLEngine created "
                f"with those settings: {getattr(error, 'verify_message', '') or error.reason or error}. The truststore "
                "of the inter-broker listener must contain the certificate authority that issued its certificate",
            ) from None

    def _flag(self, name: str) -> bool:
        return bool(Type.BOOLEAN.parse(name, self._values.get(name, "false")))

    def _list(self, name: str, default: str = "") -> tuple[str, ...]:
        items = Type.LIST.parse(name, self._values.get(name, default))
        assert isinstance(items, tuple)
        return items

    def _modification_times(self) -> tuple[int, ...]:
        times = []
        for name in ("ssl.keystore.location", "ssl.truststore.location"):
            if (location := self._values.get(name)) is not None:
                try:
                    times.append(os.stat(location).st_mtime_ns)
                except OSError:
                    times.append(0)
        return tuple(times)

    def _check_classes(self) -> None:
        factory = self._values.get("ssl.engine.factory.class")
        if factory not in (None, "", *ENGINE_FACTORIES):
            raise InvalidProperty("ssl.engine.factory.class", factory, f"Class {factory} could not be found.")
        protocol = self._values.get("ssl.protocol", "TLSv1.3")
        if protocol.lower() not in {name.lower() for name in CONTEXT_NAMES}:
            raise InvalidProperty("ssl.protocol", protocol, f"{protocol} SSLContext not available")

    def _new_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.options |= ssl.OP_NO_RENEGOTIATION  # Kafka refuses it, too (SslTransportLayer)
        limit_handshake_messages(context)
        context.num_tickets = 1  # like Java: each ticket costs time, and contains the certificate of the client
        self._set_versions_and_ciphers(context)
        self._key_store.load_into(context)
        client_auth = self._values.get("ssl.client.auth", "none")
        one_of("required", "requested", "none")("ssl.client.auth", client_auth)
        context.verify_mode = CLIENT_AUTH[client_auth]
        # In Java, each certificate in a truststore is trusted by itself, even if another authority has issued it.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        if self._trusted is not None or client_auth != "none":
            self._trust(context)
        return context

    def _trust(self, context: ssl.SSLContext) -> None:
        if self._trusted is not None:
            context.load_verify_locations(cadata=b"".join(self._trusted))
        else:  # as in Java, the authorities that the system trusts
            context.load_default_certs(ssl.Purpose.CLIENT_AUTH)

    def _set_versions_and_ciphers(self, context: ssl.SSLContext) -> None:
        named = self._list("ssl.enabled.protocols", "TLSv1.2,TLSv1.3") or tuple(VERSIONS)
        allowed = (*VERSIONS, *DISABLED_VERSIONS)
        for name in named:
            if name not in allowed:
                raise InvalidProperty("ssl.enabled.protocols", name, f"String must be one of: {', '.join(allowed)}")
        suites = [suite for suite in self._list("ssl.cipher.suites") if suite != SIGNALLING_SUITE]
        older = [suite for suite in suites if suite not in TLS_1_3_SUITES]
        enabled = {name for name in named if name in VERSIONS}
        if not enabled:
            raise InvalidProperty(
                "ssl.enabled.protocols",
                ",".join(named),
                "TLSv1.2 or TLSv1.3 must be enabled; Java's default settings disable older versions",
            )
        _set_ciphers(context, older or JAVA_SUITES)
        if suites:
            if not older:
                enabled.discard("TLSv1.2")
            if len(older) == len(suites):
                enabled.discard("TLSv1.3")
            elif "TLSv1.3" in enabled and not TLS_1_3_SUITES.issubset(suites):
                _LOG.warning(
                    "ssl.cipher.suites=%s: Python cannot choose among the suites of TLS 1.3; all of them are allowed",
                    shown(",".join(suites)),
                )
        if not enabled:
            raise InvalidProperty(
                "ssl.cipher.suites",
                ",".join(suites),
                f"none of them belongs to ssl.enabled.protocols={','.join(named)}",
            )
        context.minimum_version = min(VERSIONS[name] for name in enabled)
        context.maximum_version = max(VERSIONS[name] for name in enabled)


def _proceeds(side: ssl.SSLObject) -> bool:
    """Proceed with a handshake. Return whether it is complete."""
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def _set_ciphers(context: ssl.SSLContext, suites: Sequence[str]) -> None:
    for suite in suites:
        try:
            if not _SUITE.fullmatch(suite):  # OpenSSL also accepts groups of suites, and operators
                raise ssl.SSLError
            context.set_ciphers(openssl_name(suite))
        except ssl.SSLError:
            raise InvalidProperty("ssl.cipher.suites", suite, f"Unsupported CipherSuite: {suite}") from None
    # Some systems require larger keys than Java does.
    context.set_ciphers(":".join([*map(openssl_name, suites), "@SECLEVEL=1"]))


def openssl_name(suite: str) -> str:
    """Return OpenSSL's name of a cipher suite for TLS 1.2.

    Java's TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, for example, is OpenSSL's ECDHE-RSA-AES128-GCM-SHA256.
    """
    exchange, _, cipher = suite.removeprefix("TLS_").removeprefix("SSL_").partition("_WITH_")
    cipher = cipher.replace("AES_", "AES").replace("_CBC", "").removesuffix("_SHA256" if "CHACHA20" in cipher else "\0")
    return (f"{exchange}-" if exchange != "RSA" else "").replace("_", "-") + cipher.replace("_", "-")
