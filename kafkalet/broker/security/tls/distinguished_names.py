"""The names in X.509 certificates, read from their DER encoding.

`name_of` formats a subject as Java's X500Principal.getName does (RFC 2253), because that text is the name of a client
that authenticates with a certificate: ACLs and mapping rules contain it.

    CN=alice,OU=Sales,O=Example\\, Inc.,C=DE,1.2.840.113549.1.9.1=#1611616c696365406578616d706c652e636f6d

The last attribute of the certificate comes first. Types without a keyword in RFC 2253 are written as an OID with the
value in hexadecimal. Python's `getpeercert()` is not sufficient: it drops the encoding of values and the grouping of
attributes.

Source: sun.security.x509.X500Name, RDN, AVA; X509Certificate.getSubjectAlternativeNames.
"""

import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

SEQUENCE, UTF8_STRING, PRINTABLE_STRING = 0x30, 0x0C, 0x13
UTC_TIME = 0x17
VERSION, EXTENSIONS = 0xA0, 0xA3
IP_ADDRESS, TEXT_NAMES = 0x87, (0x81, 0x82, 0x86)
"""Tags of alternative names: addresses; and e-mail addresses, names of hosts and URIs."""
SUBJECT_ALTERNATIVE_NAME = "2.5.29.17"

KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
"""The attribute types that RFC 2253 names."""

TEXT_TAGS = frozenset({UTF8_STRING, PRINTABLE_STRING, 0x14, 0x16, 0x1B, 0x1E})
"""UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString."""
_ESCAPED = ',=+<>#;"\\'


class Malformed(ValueError):
    """Bytes that are not the DER encoding of a certificate."""


class Attribute(NamedTuple):
    """An attribute of a name. `encoded` is its value with tag and length."""

    type: str
    tag: int
    value: bytes
    encoded: bytes


class Certificate(NamedTuple):
    """The parts of a certificate that kafkalet uses, encoded in DER."""

    issuer: bytes
    subject: bytes
    alternative_names: frozenset[bytes]
    begins: str = ""
    ends: str = ""
    """The first and the last second in which it is valid (UTC), as in 20270131235959Z; "" if unknown."""

    @property
    def name(self) -> str:
        return name_of(self.subject)

    def alternative_texts(self) -> list[str]:
        """Return the alternative names as `[2, localhost]` or `[7, 127.0.0.1]`: their kinds and values, sorted."""
        found = []
        for tag, value, _ in items(b"".join(self.alternative_names)):
            if tag == IP_ADDRESS and len(value) == 4:
                text = ".".join(map(str, value))
            elif tag == IP_ADDRESS:
                text = ":".join(f"{int.from_bytes(value[at : at + 2]):x}" for at in range(0, len(value), 2))
            else:
                text = value.decode() if tag in TEXT_NAMES and value.isascii() else f"#{value.hex()}"
            found.append(f"[{tag & 0x1F}, {text}]")
        return sorted(found)


def read_certificate(der: bytes) -> Certificate:
    """Read a certificate. Raises Malformed."""
    try:
        [(_, whole, _)] = items(der)
        (_, signed, _), *_ = items(whole)
        parts = list(items(signed))
        if parts[0][0] == VERSION:
            del parts[0]
        _, _, issuer, (_, validity, _), subject, _, *optional = parts
        times = [_time(tag, value) for tag, value, _ in items(validity)]
        extensions = next((value for tag, value, _ in optional if tag == EXTENSIONS), None)
        alternatives = frozenset[bytes]() if extensions is None else _alternative_names(extensions)
    except (ValueError, IndexError) as error:
        raise Malformed(f"not an X.509 certificate in DER: {error}") from error
    return Certificate(issuer[2], subject[2], alternatives, *times[:2])


def _time(tag: int, value: bytes) -> str:
    """Return a time with four digits of the year. UTCTime has two: 50 to 99 are in the last century (RFC 5280)."""
    text = value.decode("ascii", "replace")
    if tag != UTC_TIME:
        return text
    return ("19" if text[:2] >= "50" else "20") + text


def _alternative_names(extensions: bytes) -> frozenset[bytes]:
    [(_, listed, _)] = items(extensions)
    for _, extension, _ in items(listed):
        (_, oid, _), *_, (_, value, _) = items(extension)
        if object_identifier(oid) == SUBJECT_ALTERNATIVE_NAME:
            [(_, names, _)] = items(value)
            return frozenset(encoded for _, _, encoded in items(names))
    return frozenset()


def items(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield tag, contents and encoding of each DER item in `data`. Raises Malformed."""
    start = 0
    while start < len(data):
        place = start + 2
        if place > len(data):
            raise Malformed(f"an item ends after {len(data) - start} bytes")
        tag, size = data[start], data[start + 1]
        if size & 0x80:
            digits = size & 0x7F
            if not 1 <= digits <= 4:
                raise Malformed(f"a length of {digits} bytes")
            size = int.from_bytes(data[place : place + digits], "big")
            place += digits
        if place + size > len(data):
            raise Malformed(f"an item of {size} bytes where {len(data) - place} are left")
        yield tag, data[place : place + size], data[start : place + size]
        start = place + size


def object_identifier(data: bytes) -> str:
    """Return an object identifier in the dotted notation."""
    numbers, number = [], 0
    for byte in data:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    if not numbers:
        raise Malformed("an empty object identifier")
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


def relative_names(name: bytes) -> list[list[Attribute]]:
    """Return the relative distinguished names of a name, in the order of the certificate. Raises Malformed."""
    found = []
    [(_, contents, _)] = items(name)
    for _, relative, _ in items(contents):
        attributes = []
        for _, pair, _ in items(relative):
            (_, oid, _), (tag, value, encoded) = items(pair)
            attributes.append(Attribute(object_identifier(oid), tag, value, encoded))
        found.append(attributes)
    return found


def name_of(name: bytes) -> str:
    """Format a name in the form of RFC 2253, as X500Principal.getName does. Raises Malformed."""
    return ",".join("+".join(map(_attribute, relative)) for relative in reversed(relative_names(name)))


def is_same_name(name: bytes, other: bytes) -> bool:
    """Return whether two names are the same for Java (X500Principal.equals, or equal text, ignoring case)."""
    return _canonical(name) == _canonical(other) or name_of(name).lower() == name_of(other).lower()


def _canonical(name: bytes) -> list[list[str]]:
    return [sorted(map(_canonical_attribute, relative)) for relative in relative_names(name)]


def _canonical_attribute(attribute: Attribute) -> str:
    """Normalize case, spaces and the string type (PrintableString or UTF8String) of an attribute, for comparison."""
    if attribute.type not in KEYWORDS or attribute.tag not in (UTF8_STRING, PRINTABLE_STRING):
        return f"{attribute.type}=#{attribute.encoded.hex()}"
    text = " ".join(attribute.value.decode("utf-8", "replace").split())
    return f"{attribute.type}={unicodedata.normalize('NFKD', text.upper().lower())}"


def _attribute(attribute: Attribute) -> str:
    keyword = KEYWORDS.get(attribute.type)
    if keyword is None or attribute.tag not in TEXT_TAGS:
        return f"{keyword or attribute.type}=#{attribute.encoded.hex()}"
    return f"{keyword}={_escaped(attribute.value.decode('utf-8', 'replace'))}"


def _escaped(text: str) -> str:
    """Escape the characters that separate attributes, and each space at the beginning or at the end."""
    inner = text.strip(" \r")
    lead = text[: len(text) - len(text.lstrip(" \r"))]
    trail = text[len(lead) + len(inner) :]
    middle = "".join(
        "\\" + character if character in _ESCAPED else "\\00" if character == "\0" else character for character in inner
    )
    return "".join(f"\\{space}" for space in lead) + middle + "".join(f"\\{space}" for space in trail)
