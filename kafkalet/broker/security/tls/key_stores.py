"""Keystores and truststores: where a listener's private key and certificates come from.

    PEM       text: in the property itself, or in a file with the private key and the certificate chain
    PKCS12    a file; reading it needs the package `cryptography` (extra `tls`)
    JKS       refused, with the command that converts it

Private keys in PEM are PKCS#8, possibly encrypted, as in Kafka. Passwords and keys never appear in an error.

Source: org.apache.kafka.common.security.ssl.DefaultSslEngineFactory.
"""

import base64
import binascii
import os
import re
import ssl
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from kafkalet.properties import HIDDEN, InvalidProperty

from .distinguished_names import SEQUENCE, Malformed, items, object_identifier, read_certificate

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

MAX_STORE_BYTES = 1 << 20
PEM = "PEM"

_JAVA_STORES = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
"""The first bytes of JKS and JCEKS files."""
_BEGIN = re.compile(r"-BEGIN\s+([A-Za-z0-9 #.]{0,40}?)(CERTIFICATE|PRIVATE\s+KEY)-+", re.ASCII)
_SPACE = re.compile(r"\s+", re.ASCII)
_KEY_ALGORITHMS = {"1.2.840.113549.1.1.1": "RSA", "1.2.840.10040.4.1": "DSA", "1.2.840.10045.2.1": "EC"}


class KeyStore(NamedTuple):
    """A private key (PKCS#8, possibly encrypted) and its certificate chain, in DER.

    `source` is the property that contained the key.
    """

    key: bytes
    chain: tuple[bytes, ...]
    source: str
    password: str | None

    def __repr__(self) -> str:
        return f"KeyStore(source={self.source!r}, certificates={len(self.chain)})"

    def load_into(self, context: ssl.SSLContext) -> None:
        """Let the context use the key and the chain. Raises InvalidProperty.

        OpenSSL reads them only from a file. The file exists during the call, and only its owner can read it.
        """
        label = "ENCRYPTED PRIVATE KEY" if self.password is not None else "PRIVATE KEY"
        text = _as_pem(label, self.key) + "".join(_as_pem("CERTIFICATE", certificate) for certificate in self.chain)
        descriptor, path = tempfile.mkstemp(prefix="kafkalet-", suffix=".pem")
        try:
            with open(descriptor, "w", encoding="ascii") as file:
                file.write(text)
            # Without a password, OpenSSL would ask for one on the terminal.
            context.load_cert_chain(path, password=self.password or "")
        except ssl.SSLError as error:
            reason = error.reason or str(error)
            if reason == "KEY_VALUES_MISMATCH":
                why = "the private key does not belong to the first certificate; the chain begins with its certificate"
            elif self.password is not None and reason not in ("EE_KEY_TOO_SMALL", "CA_MD_TOO_WEAK"):
                why = f"the private key cannot be decrypted with ssl.key.password ({reason})"
            else:
                why = f"OpenSSL does not accept the private key and its certificates ({reason})"
            raise refused(self.source, why) from None
        finally:
            os.unlink(path)


def refused(name: str, message: str, value: str = HIDDEN) -> InvalidProperty:
    """Return the error for a property whose value is secret, or is in the message."""
    return InvalidProperty(name, value, message, f"{name}: {message}")


def key_store_of(values: Mapping[str, str]) -> KeyStore | None:
    """Return the keystore that these properties describe, or None if they describe none. Raises InvalidProperty."""
    kind, location = _kind(values, "ssl.keystore.type"), values.get("ssl.keystore.location")
    password, key_password = values.get("ssl.keystore.password"), values.get("ssl.key.password")
    key, chain = values.get("ssl.keystore.key"), values.get("ssl.keystore.certificate.chain")
    if key is not None:
        if kind != PEM:
            raise refused(
                "ssl.keystore.key",
                f"SSL private key can be specified only for PEM, but key store type is {kind}. "
                "Set ssl.keystore.type=PEM.",
            )
        if chain is None:
            raise refused(
                "ssl.keystore.certificate.chain",
                "SSL private key is specified, but certificate chain is not specified.",
            )
        if location is not None:
            raise refused(
                "ssl.keystore.location", "Both SSL key store location and separate private key are specified.", location
            )
        _no_password("ssl.keystore.password", password, "key store", ", only key password may be specified")
        return _pem_key_store(key, chain, "ssl.keystore.key", key_password)
    if chain is not None:
        raise refused("ssl.keystore.key", "SSL certificate chain is specified, but private key is not specified")
    if location is None:
        if password is not None:
            raise refused(
                "ssl.keystore.location", "SSL key store is not specified, but key store password is specified."
            )
        return None
    if kind == PEM:
        _no_password("ssl.keystore.password", password, "key store", ", only key password may be specified")
        with _named(location):
            text = _text_of(location, "ssl.keystore.location")
            return _pem_key_store(text, text, "ssl.keystore.location", key_password)
    if password is None:
        raise refused("ssl.keystore.password", "SSL key store is specified, but key store password is not specified.")
    return _pkcs12_key_store(_binary(location, kind, "keystore"), location, password, key_password)


def trust_store_of(values: Mapping[str, str]) -> tuple[bytes, ...] | None:
    """Return the trusted certificates (DER), or None if these properties name no truststore. Raises InvalidProperty."""
    kind, location = _kind(values, "ssl.truststore.type"), values.get("ssl.truststore.location")
    password, certificates = values.get("ssl.truststore.password"), values.get("ssl.truststore.certificates")
    if certificates is not None:
        if kind != PEM:
            raise refused(
                "ssl.truststore.certificates",
                f"SSL trust store certs can be specified only for PEM, but trust store type is {kind}. "
                "Set ssl.truststore.type=PEM.",
            )
        if location is not None:
            raise refused(
                "ssl.truststore.location",
                "Both SSL trust store location and separate trust certificates are specified.",
                location,
            )
        _no_password("ssl.truststore.password", password, "trust store")
        return _certificates(certificates, "ssl.truststore.certificates")
    if location is None:
        if password is not None:
            raise refused(
                "ssl.truststore.location", "SSL trust store is not specified, but trust store password is specified."
            )
        return None
    if kind == PEM:
        _no_password("ssl.truststore.password", password, "trust store")
        with _named(location):
            return _certificates(_text_of(location, "ssl.truststore.location"), "ssl.truststore.location")
    return _pkcs12_certificates(_binary(location, kind, "truststore"), location, password)


def _kind(values: Mapping[str, str], name: str) -> str:
    return values.get(name, "JKS")


@contextmanager
def _named(location: str) -> Iterator[None]:
    """Add the file to errors about its contents."""
    try:
        yield
    except InvalidProperty as error:
        why = f"Failed to load PEM SSL keystore {location}: {error.reason}"
        raise refused(error.name, why, error.value or HIDDEN) from error


def _no_password(name: str, password: str | None, store: str, but: str = "") -> None:
    if password is not None:
        raise refused(name, f"SSL {store} password cannot be specified with PEM format{but}")


def _bytes_of(location: str, name: str) -> bytes:
    try:
        if not stat.S_ISREG(os.stat(location).st_mode):  # a pipe would block the broker, and a device might not end
            raise refused(name, "it is not a regular file", location)
        with open(location, "rb") as file:
            data = file.read(MAX_STORE_BYTES + 1)
    except InvalidProperty:
        raise
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise refused(name, f"the file cannot be read: {why}", location) from error
    if len(data) > MAX_STORE_BYTES:
        raise refused(name, f"the file has more than {MAX_STORE_BYTES} bytes", location)
    return data


def _binary(location: str, kind: str, store: str) -> bytes:
    """Return the contents of a PKCS#12 file.

    As in Java, its configured type may also be JKS. Raises InvalidProperty.
    """
    name = f"ssl.{store}.type"
    if kind.upper() not in ("JKS", "PKCS12", "JCEKS"):
        raise InvalidProperty(name, kind, "String must be one of: PEM, PKCS12, JKS")
    try:
        data = _bytes_of(location, f"ssl.{store}.location")
    except InvalidProperty as error:
        why = f"Failed to load SSL keystore {location} of type {kind}: {error.reason}"
        raise refused(error.name, why, location) from error
    if data.startswith(_JAVA_STORES):
        raise refused(
            f"ssl.{store}.location",
            f"{location} is a Java keystore (JKS). {_conversion(location, store, jks=True)}",
            location,
        )
    if data.lstrip().startswith(b"-----BEGIN") or not data.startswith(b"\x30"):
        found = f"it is in PEM; set {name}=PEM" if b"-----BEGIN" in data else "it is not a PKCS#12 file"
        raise refused(
            f"ssl.{store}.location", f"Failed to load SSL keystore {location} of type {kind}: {found}", location
        )
    return data


def _conversion(location: str, store: str, *, jks: bool) -> str:
    """Return the commands that convert a keystore or a truststore to PEM."""
    stem = location.rpartition(".")[0] or location
    p12, pem = (f"{stem}.p12" if jks else location), f"{stem}.pem"
    steps = []
    if jks:
        steps.append(
            f"keytool -importkeystore -srckeystore {quote(location)} -destkeystore {quote(p12)} -deststoretype PKCS12"
        )
    steps.append(f"openssl pkcs12 -in {quote(p12)} {'-nodes' if store == 'keystore' else '-nokeys'} -out {quote(pem)}")
    passwords = "ssl.keystore.password and ssl.key.password" if store == "keystore" else "ssl.truststore.password"
    return (
        f"Convert it with `{'` and `'.join(steps)}`, set ssl.{store}.type=PEM and ssl.{store}.location={pem}, "
        f"and remove {passwords}"
    )


def _text_of(location: str, name: str) -> str:
    return _bytes_of(location, name).decode("latin-1")


# PKCS#12


def _loaded(data: bytes, location: str, password: str | None, store: str) -> "PKCS12KeyAndCertificates":
    name = f"ssl.{store}.location"
    try:
        from cryptography.hazmat.primitives.serialization import pkcs12
    except ImportError:
        raise refused(
            name,
            f"{location} is a PKCS#12 file, which needs the package cryptography: pip install 'kafkalet[tls]'. "
            f"{_conversion(location, store, jks=False)}",
            location,
        ) from None
    try:
        return pkcs12.load_pkcs12(data, None if password is None else password.encode())
    except Exception as error:  # noqa: BLE001 - a broken file can also raise errors of pyo3 and of OpenSSL
        why = f"is ssl.{store}.password right? ({type(error).__name__})"
        raise refused(name, f"Failed to load SSL keystore {location} of type PKCS12: {why}", location) from None


def _pkcs12_key_store(data: bytes, location: str, password: str, key_password: str | None) -> KeyStore:
    name = "ssl.keystore.location"
    found = _loaded(data, location, password, "keystore")
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    if key_password not in (None, password):
        raise refused("ssl.key.password", "it has to be the same as ssl.keystore.password in a PKCS#12 file")
    if found.key is None or found.cert is None:
        raise refused(name, f"{location} has no private key with its certificate", location)
    key = found.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    leaf = found.cert.certificate.public_bytes(Encoding.DER)
    others = [each.certificate.public_bytes(Encoding.DER) for each in found.additional_certs]
    return KeyStore(key, _chain(leaf, others), name, None)


def _chain(leaf: bytes, others: list[bytes]) -> tuple[bytes, ...]:
    """Return the chain of a certificate: the certificate itself, its issuer's certificate in `others`, and so on."""
    chain, issuers = [leaf], {read_certificate(other).subject: other for other in others}
    while (issuer := issuers.pop(read_certificate(chain[-1]).issuer, None)) is not None:
        chain.append(issuer)
    return tuple(chain)


def _pkcs12_certificates(data: bytes, location: str, password: str | None) -> tuple[bytes, ...]:
    found = _loaded(data, location, password, "truststore")
    from cryptography.hazmat.primitives.serialization import Encoding

    listed = [*([] if found.cert is None else [found.cert]), *found.additional_certs]
    if not listed:
        raise refused("ssl.truststore.location", f"{location} has no certificates", location)
    return tuple(each.certificate.public_bytes(Encoding.DER) for each in listed)


# PEM


def _pem_key_store(key_text: str, chain_text: str, source: str, password: str | None) -> KeyStore:
    keys = _entries(key_text, "PRIVATE KEY", source)
    if len(keys) > 1:
        raise refused(source, f"Expected one private key, but found {len(keys)}")
    chain_source = "ssl.keystore.certificate.chain" if source == "ssl.keystore.key" else source
    _check_key(keys[0], source, password is not None)
    return KeyStore(keys[0], _certificates(chain_text, chain_source), source, password)


def _certificates(text: str, name: str) -> tuple[bytes, ...]:
    found = _entries(text, "CERTIFICATE", name)
    for certificate in found:
        try:
            read_certificate(certificate)
        except Malformed as error:
            raise refused(name, f"a CERTIFICATE entry is {error}") from error
    return tuple(found)


def _entries(text: str, label: str, name: str) -> list[bytes]:
    """Return the entries with a label, decoded. Raises InvalidProperty if there are none.

    As in Kafka, an entry may be on one line, and other text may precede it.
    """
    if len(text) > MAX_STORE_BYTES:
        raise refused(name, f"more than {MAX_STORE_BYTES} characters")
    found = []
    for begin in _BEGIN.finditer(text):
        if _SPACE.sub(" ", begin[2]) != label:
            continue
        end = text.find("-END", begin.end())
        if end < 0:
            raise refused(name, f"the entry {label} has no end")
        body = text[begin.end() : end].rstrip("-")
        lines = (line for line in body.splitlines() if ":" not in line)
        try:
            found.append(base64.b64decode(_SPACE.sub("", "".join(lines)), validate=True))
        except binascii.Error as error:
            raise refused(name, f"the entry {label} is not valid base64: {error}") from None
    if not found:
        raise refused(name, f"No matching {label} entries in PEM file")
    return found


def _check_key(key: bytes, name: str, has_password: bool) -> None:
    """Raise InvalidProperty unless the key is PKCS#8. It has to be encrypted if and only if there is a password."""
    how = "Convert it with: openssl pkcs8 -topk8 -nocrypt -in key.pem -out pkcs8.pem"
    try:
        [(tag, contents, _)] = items(key)
        (first, _, _), (second, algorithm, _), *_ = items(contents)
    except ValueError as error:
        raise refused(name, f"Private key could not be loaded: it is not in PKCS#8 format. {how}") from error
    if tag != SEQUENCE:
        raise refused(name, f"Private key could not be loaded: it is not in PKCS#8 format. {how}")
    is_encrypted = first == SEQUENCE
    if is_encrypted and not has_password:
        raise refused(name, "Private key could not be loaded: it is encrypted, and ssl.key.password is not set")
    if not is_encrypted and second != SEQUENCE:
        raise refused(name, f"Private key could not be loaded: it is not in PKCS#8 format. {how}")
    if not is_encrypted and has_password:
        raise refused(name, "the private key is not encrypted, but ssl.key.password is set. Remove ssl.key.password")
    if not is_encrypted:
        (_, oid, _), *_ = items(algorithm)
        if object_identifier(oid) not in _KEY_ALGORITHMS:
            raise refused(name, "Private key could not be loaded: Kafka supports RSA, DSA and EC keys")


def _as_pem(label: str, der: bytes) -> str:
    return f"-----BEGIN {label}-----\n{base64.encodebytes(der).decode()}-----END {label}-----\n"
