"""Names in certificates, in the form that Java writes them. `tests/oracle/broker/security` compares them with Java."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.security.tls.certificate_authority import CertificateAuthority
from kafkalet.broker.security.tls.distinguished_names import Malformed, is_same_name, items, name_of, read_certificate

from .der import attribute, item, name, relative_name

CN, O, C, EMAIL = "2.5.4.3", "2.5.4.10", "2.5.4.6", "1.2.840.113549.1.9.1"  # noqa: E741
UTF8, PRINTABLE, IA5, INTEGER = 0x0C, 0x13, 0x16, 0x02


def single(kind: str, text: str, tag: int = UTF8) -> bytes:
    return name(relative_name(attribute(kind, tag, text.encode())))


def test_last_attribute_comes_first_and_commas_are_escaped() -> None:
    parts = [(C, PRINTABLE, b"DE"), (O, UTF8, b"Example, Inc."), (CN, UTF8, b"alice")]
    encoded = name(*(relative_name(attribute(*part)) for part in parts))
    assert name_of(encoded) == "CN=alice,O=Example\\, Inc.,C=DE"


def test_attributes_of_one_relative_name_are_joined_with_plus() -> None:
    both = relative_name(attribute(CN, UTF8, b"alice"), attribute("0.9.2342.19200300.100.1.1", UTF8, b"42"))
    assert name_of(name(both)) == "CN=alice+UID=42"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a+b", "a\\+b"),
        ('"q"', '\\"q\\"'),
        ("a\\b", "a\\\\b"),
        ("<a>;=#", "\\<a\\>\\;\\=\\#"),
        ("  a b ", "\\ \\ a b\\ "),
        (" ", "\\ "),
        ("", ""),
        ("a\0b", "a\\00b"),
        ("Jürgen 漢", "Jürgen 漢"),
        ("a\nb", "a\nb"),
    ],
)
def test_special_characters_are_escaped(text: str, written: str) -> None:
    assert name_of(single(CN, text)) == f"CN={written}"


def test_types_without_keyword_are_written_in_hexadecimal() -> None:
    assert name_of(single(EMAIL, "a@b", IA5)) == "1.2.840.113549.1.9.1=#1603614062"
    assert name_of(single("2.999.1", "x")) == "2.999.1=#0c0178"


def test_values_that_are_not_text_are_written_in_hexadecimal() -> None:
    assert name_of(name(relative_name(attribute(CN, INTEGER, b"\5")))) == "CN=#020105"


def test_empty_name_is_empty() -> None:
    assert name_of(name()) == ""


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (single(CN, "Alice"), single(CN, "alice"), True),
        (single(CN, " a  b "), single(CN, "a b"), True),
        (single(CN, "a"), single(CN, "a", PRINTABLE), True),
        (single(CN, "a"), single(CN, "b"), False),
        (single(CN, "a"), single(O, "a"), False),
        (single(EMAIL, "a", IA5), single(EMAIL, "A", IA5), False),
        (name(), name(), True),
    ],
)
def test_names_are_the_same_as_in_java(one: bytes, other: bytes, same: bool) -> None:
    assert is_same_name(one, other) is same


def test_certificate_has_issuer_subject_and_alternative_names(authority: CertificateAuthority) -> None:
    certificate = read_certificate(ssl.PEM_cert_to_DER_cert(authority.server.certificate))
    issuer = read_certificate(ssl.PEM_cert_to_DER_cert(authority.certificate))
    assert certificate.issuer == issuer.subject
    assert certificate.name == "CN=localhost"
    assert item(0x82, b"kafka") in certificate.alternative_names
    assert item(0x87, bytes([127, 0, 0, 1])) in certificate.alternative_names
    assert issuer.alternative_names == frozenset()


def test_alternative_names_are_written_as_in_java(authority: CertificateAuthority) -> None:
    certificate = read_certificate(ssl.PEM_cert_to_DER_cert(authority.server.certificate))
    texts = certificate.alternative_texts()
    assert {"[2, localhost]", "[2, kafka]", "[7, 0:0:0:0:0:0:0:1]", "[7, 127.0.0.1]"} <= set(texts)


@given(st.data())
def test_damaged_certificate_is_malformed_or_read(authority_der: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(authority_der) - 1))
    damaged = authority_der[:place] + data.draw(st.binary(max_size=3)) + authority_der[place + 1 :]
    try:
        read = read_certificate(damaged).name
    except Malformed:
        return
    assert "=" in read or not read


@pytest.fixture(scope="session")
def authority_der(authority: CertificateAuthority) -> bytes:
    return ssl.PEM_cert_to_DER_cert(authority.certificate)


@given(st.binary(max_size=40))
def test_any_bytes_are_malformed_or_items(data: bytes) -> None:
    try:
        encoded = b"".join(encoding for _, _, encoding in items(data))
    except Malformed:
        return
    assert encoded == data


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=4))
def test_every_text_has_a_name(texts: list[str]) -> None:
    written = name_of(name(*(relative_name(attribute(CN, UTF8, text.encode())) for text in texts)))
    assert written.count("CN=") >= len(texts)


def test_certificate_has_the_time_in_which_it_is_valid(authority: CertificateAuthority) -> None:
    certificate = read_certificate(ssl.PEM_cert_to_DER_cert(authority.server.certificate))
    assert certificate.begins < certificate.ends
    assert certificate.begins.startswith("20")
    assert len(certificate.begins) == len(certificate.ends) == len("20270131235959Z")
