"""TLS settings from properties, and handshakes with them."""

import logging
import os
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from kafkalet.broker.security.principal import ANONYMOUS, Principal, user
from kafkalet.broker.security.tls import certificate_authority
from kafkalet.broker.security.tls.certificate_authority import CertificateAuthority
from kafkalet.broker.security.tls.certificate_tools import Issued
from kafkalet.broker.security.tls.principal_mapping import UnmappedName
from kafkalet.broker.security.tls.settings import JAVA_SUITES, RECONFIGURABLE, TLS_1_3_SUITES, TlsSettings, openssl_name
from kafkalet.properties import InvalidProperty

from .handshakes import client_context, handshake, settings

AUTH, RULES = "ssl.client.auth", "ssl.principal.mapping.rules"
VERSIONS, SUITES = "ssl.enabled.protocols", "ssl.cipher.suites"


# Keystore


def test_listener_without_keystore_is_refused_with_the_remedy() -> None:
    with pytest.raises(InvalidProperty, match=r"has no keystore.*kafkalet serve --tls.*Broker\(tls=True\)"):
        TlsSettings({})


def test_values_are_trimmed(authority: CertificateAuthority) -> None:
    padded = {name: f" {value}\t" for name, value in authority.broker_properties().items()}
    assert handshake(TlsSettings(padded).context, client_context(authority)).version() == "TLSv1.3"


@pytest.mark.parametrize(("year", "is_valid"), [(2000, False), (None, True), (2300, False)])
def test_expired_certificate_is_logged(
    authority: CertificateAuthority,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    year: int | None,
    is_valid: bool,
) -> None:
    if year is not None:
        now_ms = (year - 1970) * 365 * 86_400_000
        monkeypatch.setattr("kafkalet.clock.SystemClock.now_ms", lambda clock: now_ms)
    TlsSettings(authority.broker_properties())
    warned = [record.getMessage() for record in caplog.records if "is not valid now" in record.getMessage()]
    assert warned == [] if is_valid else "it is valid from 20" in warned[0]


def test_rsa_keystore_with_encrypted_key_serves_tls(authority: CertificateAuthority, tmp_path: Path) -> None:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("needs the program openssl")
    key, certificate = str(tmp_path / "key"), str(tmp_path / "certificate")
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "9"]
    new = [program, "req", "-x509", "-newkey", "rsa:2048", "-passout", "pass:secret", *subject]
    subprocess.run([*new, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    texts = {"ssl.keystore.type": "PEM", "ssl.key.password": "secret"}
    texts["ssl.keystore.key"], texts["ssl.keystore.certificate.chain"] = (
        Path(key).read_text(),
        Path(certificate).read_text(),
    )
    client = ssl.create_default_context(cafile=certificate)
    assert handshake(TlsSettings(texts).context, client).version() == "TLSv1.3"


# ssl.client.auth and principals


@pytest.mark.parametrize("auth", ["none", "requested"])
def test_client_without_certificate_is_anonymous(auth: str, authority: CertificateAuthority) -> None:
    listener = settings(authority, {AUTH: auth})
    assert listener.principal(handshake(listener.context, client_context(authority))) == ANONYMOUS


def test_required_certificate_that_is_missing_ends_the_handshake(authority: CertificateAuthority) -> None:
    with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
        handshake(settings(authority, {AUTH: "required"}).context, client_context(authority))


@pytest.mark.parametrize("auth", ["requested", "required"])
def test_certificate_determines_the_principal(auth: str, authority: CertificateAuthority) -> None:
    listener = settings(authority, {AUTH: auth})
    done = handshake(listener.context, client_context(authority, authority.client("Inc., a")))
    assert listener.principal(done) == Principal("User", "CN=Inc.\\, a")


def test_certificate_is_not_requested_without_client_auth(authority: CertificateAuthority) -> None:
    listener = settings(authority)
    done = handshake(listener.context, client_context(authority, authority.client("alice")))
    assert listener.principal(done) == ANONYMOUS


@pytest.mark.parametrize("auth", ["requested", "required"])
def test_certificate_of_another_authority_ends_the_handshake(
    auth: str, authority: CertificateAuthority, stranger: CertificateAuthority
) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(settings(authority, {AUTH: auth}).context, client_context(authority, stranger.client("alice")))


def test_certificate_without_truststore_is_checked_with_the_authorities_of_the_system(
    authority: CertificateAuthority,
) -> None:
    values = {name: value for name, value in authority.broker_properties().items() if "truststore" not in name}
    listener = TlsSettings({**values, AUTH: "required"})
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(listener.context, client_context(authority, authority.client("alice")))


def test_certificate_in_the_truststore_is_trusted_without_its_authority(authority: CertificateAuthority) -> None:
    alice, bob = authority.client("alice"), authority.client("bob")
    more = {AUTH: "required", "ssl.truststore.location": alice.certificate_file}
    listener = settings(authority, more)
    assert listener.principal(handshake(listener.context, client_context(authority, alice))) == user("CN=alice")
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(listener.context, client_context(authority, bob))


def test_mapping_rules_determine_the_name(authority: CertificateAuthority) -> None:
    listener = settings(authority, {AUTH: "required", RULES: "RULE:^CN=(.*?)$/$1@test/U,DEFAULT"})
    done = handshake(listener.context, client_context(authority, authority.client("alice")))
    assert listener.principal(done) == user("ALICE@TEST")


def test_name_without_a_rule_has_no_principal(authority: CertificateAuthority) -> None:
    listener = settings(authority, {AUTH: "required", RULES: "RULE:^OU=(.*?)$/$1/"})
    done = handshake(listener.context, client_context(authority, authority.client("alice")))
    with pytest.raises(UnmappedName, match="No rules apply to CN=alice"):
        listener.principal(done)


@pytest.mark.parametrize(("name", "value"), [(AUTH, "Required"), (RULES, "RULE:(/x/"), (RULES, "nonsense")])
def test_invalid_value_is_refused(name: str, value: str, authority: CertificateAuthority) -> None:
    with pytest.raises(InvalidProperty, match=re.escape(f"for configuration {name}: ")):
        settings(authority, {name: value})


# Protocols and cipher suites


@pytest.mark.parametrize(
    ("enabled", "client", "agreed"),
    [
        (None, {}, "TLSv1.3"),
        ("TLSv1.2,TLSv1.3", {}, "TLSv1.3"),
        ("TLSv1.3", {}, "TLSv1.3"),
        ("TLSv1.2", {}, "TLSv1.2"),
        ("TLSv1.1,TLSv1.2", {}, "TLSv1.2"),
        ("", {}, "TLSv1.3"),
        (None, {"maximum_version": ssl.TLSVersion.TLSv1_2}, "TLSv1.2"),
        ("TLSv1.3", {"maximum_version": ssl.TLSVersion.TLSv1_2}, None),
        ("TLSv1.2", {"minimum_version": ssl.TLSVersion.TLSv1_3}, None),
    ],
)
def test_enabled_protocols_limit_the_version(
    enabled: str | None, client: Mapping[str, ssl.TLSVersion], agreed: str | None, authority: CertificateAuthority
) -> None:
    context = client_context(authority)
    for name, version in client.items():
        setattr(context, name, version)
    listener = settings(authority, {} if enabled is None else {VERSIONS: enabled})
    if agreed is None:
        with pytest.raises(ssl.SSLError, match=r"UNSUPPORTED_PROTOCOL|ALERT_PROTOCOL_VERSION"):
            handshake(listener.context, context)
    else:
        assert handshake(listener.context, context).version() == agreed


@pytest.mark.parametrize(
    ("suites", "version", "cipher"),
    [
        (
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_AES_128_CBC_SHA",
            "TLSv1.2",
            "ECDHE-ECDSA-AES128-GCM-SHA256",
        ),
        (
            "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, TLS_EMPTY_RENEGOTIATION_INFO_SCSV",
            "TLSv1.2",
            "ECDHE-ECDSA-CHACHA20-POLY1305",
        ),
        (",".join(sorted(TLS_1_3_SUITES)), "TLSv1.3", "TLS_AES_256_GCM_SHA384"),
        ("TLS_AES_256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLSv1.3", "TLS_AES_256_GCM_SHA384"),
        ("", "TLSv1.3", "TLS_AES_256_GCM_SHA384"),
    ],
)
def test_cipher_suites_are_those_of_the_property(
    suites: str, version: str, cipher: str, authority: CertificateAuthority
) -> None:
    done = handshake(settings(authority, {SUITES: suites}).context, client_context(authority))
    agreed = done.cipher()
    assert agreed is not None
    assert (done.version(), agreed[0]) == (version, cipher)


@pytest.mark.parametrize("suite", JAVA_SUITES)
def test_suites_of_java_are_enabled_by_default(suite: str, authority: CertificateAuthority) -> None:
    assert openssl_name(suite) in {cipher["name"] for cipher in settings(authority).context.get_ciphers()}


def test_client_with_an_old_suite_is_served(authority: CertificateAuthority) -> None:
    client = client_context(authority)
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    client.set_ciphers("ECDHE-ECDSA-AES128-SHA")
    assert handshake(settings(authority).context, client).version() == "TLSv1.2"


def test_key_that_is_short_is_accepted_as_in_java(tmp_path: Path) -> None:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("needs the program openssl")
    files = ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "certificate")]
    new = [program, "req", "-x509", "-newkey", "rsa:1024", "-nodes", "-subj", "/CN=localhost", *files]
    subprocess.run(new, check=True, capture_output=True)
    key, chain = (tmp_path / "key").read_text(), (tmp_path / "certificate").read_text()
    texts = {"ssl.keystore.type": "PEM", "ssl.keystore.key": key, "ssl.keystore.certificate.chain": chain}
    assert TlsSettings(texts).context.cert_store_stats()["x509"] == 0


def test_suites_of_tls_1_3_alone_exclude_tls_1_2(authority: CertificateAuthority) -> None:
    client = client_context(authority)
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError, match="UNSUPPORTED_PROTOCOL"):
        handshake(settings(authority, {SUITES: ",".join(TLS_1_3_SUITES)}).context, client)


def test_some_suites_of_tls_1_3_are_warned_of(
    authority: CertificateAuthority, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        settings(authority, {SUITES: "TLS_AES_128_GCM_SHA256"})
    [record] = caplog.records
    assert "cannot choose among the suites of TLS 1.3" in record.getMessage()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({VERSIONS: "TLSv1.4"}, "Invalid value TLSv1.4 for configuration ssl.enabled.protocols"),
        ({VERSIONS: "tlsv1.2"}, "Invalid value tlsv1.2 for configuration ssl.enabled.protocols"),
        ({VERSIONS: "TLSv1,TLSv1.1"}, "TLSv1.2 or TLSv1.3 must be enabled"),
        ({SUITES: "TLS_NONE"}, "Invalid value TLS_NONE for configuration ssl.cipher.suites: Unsupported CipherSuite"),
        ({SUITES: "TLS_RSA_WITH_ALL:ALL"}, "Unsupported CipherSuite: TLS_RSA_WITH_ALL:ALL"),
        ({SUITES: "DEFAULT"}, "Invalid value DEFAULT for configuration ssl.cipher.suites: Unsupported CipherSuite"),
        (
            {SUITES: "TLS_AES_256_GCM_SHA384", VERSIONS: "TLSv1.2"},
            "none of them belongs to ssl.enabled.protocols=TLSv1.2",
        ),
        (
            {SUITES: "TLS_RSA_WITH_AES_128_CBC_SHA", VERSIONS: "TLSv1.3"},
            "none of them belongs to ssl.enabled.protocols=TLSv1.3",
        ),
        ({"ssl.protocol": "TLSv9"}, "Invalid value TLSv9 for configuration ssl.protocol"),
        ({"ssl.engine.factory.class": "my.Factory"}, "Class my.Factory could not be found."),
    ],
)
def test_value_that_java_does_not_know_is_refused(
    values: dict[str, str], message: str, authority: CertificateAuthority
) -> None:
    with pytest.raises(InvalidProperty, match=re.escape(message)):
        settings(authority, values)


@pytest.mark.parametrize(
    "values",
    [
        {"ssl.protocol": "tls"},
        {"ssl.provider": "SunJSSE"},
        {"ssl.endpoint.identification.algorithm": "https"},
        {"ssl.keymanager.algorithm": "SunX509", "ssl.trustmanager.algorithm": "PKIX"},
        {"ssl.engine.factory.class": "org.apache.kafka.common.security.ssl.CommonNameLoggingSslEngineFactory"},
    ],
)
def test_properties_of_java_are_accepted(values: dict[str, str], authority: CertificateAuthority) -> None:
    listener = settings(authority, {AUTH: "required", **values})
    done = handshake(listener.context, client_context(authority, authority.client("alice")))
    assert listener.principal(done) == user("CN=alice")


def test_names_of_cipher_suites_are_those_of_openssl() -> None:
    """`openssl ciphers -stdname` lists both names. The suites are those that Java 17 enables."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("needs the program openssl")
    command = [program, "ciphers", "-stdname", "ALL:COMPLEMENTOFALL"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    names = {line.split()[0]: line.split()[2] for line in lines}
    suites = [
        f"TLS_{exchange}_WITH_{cipher}"
        for exchange in ("ECDHE_ECDSA", "ECDHE_RSA", "DHE_RSA", "DHE_DSS", "RSA")
        for cipher in (
            *("AES_256_GCM_SHA384", "AES_128_GCM_SHA256", "CHACHA20_POLY1305_SHA256", "AES_256_CBC_SHA384"),
            *("AES_256_CBC_SHA256", "AES_128_CBC_SHA256", "AES_256_CBC_SHA", "AES_128_CBC_SHA"),
        )
    ]
    found = {suite: openssl_name(suite) for suite in suites if suite in names}
    assert found == {suite: names[suite] for suite in found}
    assert len(found) > 25


# Changes at runtime


@pytest.fixture
def values(authority: CertificateAuthority, tmp_path: Path) -> dict[str, str]:
    """Properties with a keystore that a test can replace."""
    path = tmp_path / "server.pem"
    shutil.copy(authority.server.keystore_file, path)
    return {**authority.broker_properties(), "ssl.keystore.location": str(path), AUTH: "required"}


def write(values: Mapping[str, str], issued: Issued) -> None:
    """Replace the keystore, at another time."""
    path = values["ssl.keystore.location"]
    before = os.stat(path)
    shutil.copy(issued.keystore_file, path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000_000))


def serial(listener: TlsSettings, authority: CertificateAuthority) -> str:
    """Return the serial number of the certificate that a client sees."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = listener.context.wrap_bio(to_server, to_client, server_side=True)
    context = client_context(authority, authority.client("alice"))
    client = context.wrap_bio(to_client, to_server, server_hostname="localhost")
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    seen = client.getpeercert()
    assert seen is not None
    return str(seen["serialNumber"])


def renewed(authority: CertificateAuthority, hosts: list[str]) -> Issued:
    """Return another certificate of the brokers, of the same authority."""
    return authority._issue("renewed", "localhost", [*hosts])


HOSTS = certificate_authority._usable([*certificate_authority.ALWAYS, socket.gethostname(), "kafka"])
"""The hosts in the certificate of the fixture `authority`."""


def test_unchanged_settings_are_kept(values: dict[str, str]) -> None:
    listener = TlsSettings(values)
    assert listener.replaced(values) is listener


def test_new_certificate_in_the_same_file_is_used(values: dict[str, str], authority: CertificateAuthority) -> None:
    listener = TlsSettings(values)
    old = serial(listener, authority)
    write(values, renewed(authority, HOSTS))
    assert serial(listener.replaced(values), authority) != old
    assert serial(listener, authority) == old


def test_new_certificate_in_the_properties_is_used(values: dict[str, str], authority: CertificateAuthority) -> None:
    listener = TlsSettings(values)
    new = renewed(authority, HOSTS)
    texts = {**values, "ssl.keystore.key": new.key, "ssl.keystore.certificate.chain": new.certificate}
    del texts["ssl.keystore.location"]
    assert serial(listener.replaced(texts), authority) != serial(listener, authority)


def test_certificate_with_further_hosts_is_accepted(values: dict[str, str], authority: CertificateAuthority) -> None:
    listener = TlsSettings(values)
    write(values, renewed(authority, [*HOSTS, "further"]))
    assert listener.replaced(values) is not listener


def test_certificate_with_another_name_is_refused(values: dict[str, str], authority: CertificateAuthority) -> None:
    listener = TlsSettings(values)
    write(values, authority.client("other"))
    expected = (
        r"^Validation of dynamic config update of SSLFactory failed: "
        r"org\.apache\.kafka\.common\.config\.ConfigException: Keystore DistinguishedName does not match:  "
        r"existing=\{alias=kafka, DN=CN=localhost\}, new=\{alias=kafka, DN=CN=other\}$"
    )
    with pytest.raises(InvalidProperty, match=expected):
        listener.replaced(values)


def test_certificate_without_a_host_is_refused(values: dict[str, str], authority: CertificateAuthority) -> None:
    listener = TlsSettings(values)
    write(values, renewed(authority, ["localhost"]))
    with pytest.raises(
        InvalidProperty, match=r"SubjectAltNames do not match:  .*new=\{alias=kafka, SAN=\[\[2, localhost\]\]\}$"
    ):
        listener.replaced(values)


def test_changes_of_names_can_be_allowed(values: dict[str, str], authority: CertificateAuthority) -> None:
    listener = TlsSettings({**values, "ssl.allow.dn.changes": "true", "ssl.allow.san.changes": "TRUE"})
    write(values, authority.client("other"))
    assert listener.replaced(values) is not listener


def test_file_is_checked_only_if_its_properties_change(values: dict[str, str]) -> None:
    """Otherwise, changes of other properties of the broker would be refused."""
    listener = TlsSettings(values)
    Path(values["ssl.keystore.location"]).write_text("damaged")
    listener.check_change(values)
    moved = os.path.join(os.path.dirname(values["ssl.keystore.location"]), ".", "server.pem")
    with pytest.raises(InvalidProperty, match="No matching PRIVATE KEY entries"):
        listener.check_change({**values, "ssl.keystore.location": moved})
    with pytest.raises(InvalidProperty, match="No matching PRIVATE KEY entries"):
        listener.replaced(values)


def test_truststore_is_replaced(
    values: dict[str, str], authority: CertificateAuthority, stranger: CertificateAuthority
) -> None:
    listener = TlsSettings(values).replaced({**values, "ssl.truststore.location": stranger.ca_file})
    done = handshake(listener.context, client_context(authority, stranger.client("bob")))
    assert listener.principal(done) == user("CN=bob")
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(listener.context, client_context(authority, authority.client("alice")))


def test_truststore_cannot_be_added(values: dict[str, str]) -> None:
    without = {name: value for name, value in values.items() if "truststore" not in name}
    with pytest.raises(InvalidProperty, match="Cannot add SSL truststore to an existing listener"):
        TlsSettings(without).replaced(values)


def test_keystore_cannot_be_removed(values: dict[str, str]) -> None:
    with pytest.raises(InvalidProperty, match="Cannot remove the SSL keystore from an existing listener"):
        TlsSettings(values).replaced({"ssl.truststore.type": "PEM"})


def test_broken_keystore_is_refused_and_the_old_one_is_kept(
    values: dict[str, str], authority: CertificateAuthority
) -> None:
    listener = TlsSettings(values)
    old = serial(listener, authority)
    Path(values["ssl.keystore.location"]).unlink()
    with pytest.raises(
        InvalidProperty,
        match=r"errors\.InvalidConfigurationException: Failed to load PEM SSL keystore .* cannot be read",
    ):
        listener.replaced(values)
    assert serial(listener, authority) == old


def test_other_properties_do_not_change(values: dict[str, str], authority: CertificateAuthority) -> None:
    """Kafka applies them when the broker starts again (SslConfigs.NON_RECONFIGURABLE_CONFIGS)."""
    listener = TlsSettings(values)
    assert listener.replaced({**values, AUTH: "none", VERSIONS: "TLSv1.2"}) is listener


# The listener of the brokers among themselves


def test_certificate_of_the_inter_broker_listener_is_trusted(values: dict[str, str]) -> None:
    assert TlsSettings(values, is_inter_broker=True).context.verify_mode is ssl.CERT_REQUIRED


def test_inter_broker_listener_with_foreign_truststore_is_refused(
    values: dict[str, str], stranger: CertificateAuthority
) -> None:
    foreign = {**values, "ssl.truststore.location": stranger.ca_file}
    expected = "A client SSLEngine created with the provided settings can't connect to a server SSLEngine"
    with pytest.raises(InvalidProperty, match=expected):
        TlsSettings(foreign, is_inter_broker=True)


def test_new_certificate_of_the_inter_broker_listener_must_be_trusted(
    values: dict[str, str], authority: CertificateAuthority, stranger: CertificateAuthority
) -> None:
    listener = TlsSettings({**values, "ssl.allow.san.changes": "true"}, is_inter_broker=True)
    write(values, stranger.server)
    with pytest.raises(InvalidProperty, match="can't connect to a server SSLEngine"):
        listener.replaced(values)
    write(values, renewed(authority, ["localhost"]))
    assert listener.replaced(values) is not listener


def test_all_reconfigurable_properties_are_stores() -> None:
    assert all(re.match(r"ssl\.(key|keystore|truststore)\.", name) for name in RECONFIGURABLE)
