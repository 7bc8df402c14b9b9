"""Decoding of all wire types in both encodings, and the errors for malformed data."""

from typing import Any

import pytest

from kafkalet.protocol.errors import DecodeError
from kafkalet.protocol.schema import Message, Struct, field
from kafkalet.protocol.wire import (
    Bool,
    Bytes,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    String,
    UInt16,
    Uuid,
)

PLAIN, COMPACT = 0, 1


class Pair(Struct):
    name: String
    number: Int8


def one(annotation: Any) -> type[Message]:
    """Return a message type with one field `x`; version 0 is not flexible, version 1 is."""

    class One(Message, versions="0-1", flexible="1+"):
        x: annotation

    return One


@pytest.mark.parametrize(
    ("annotation", "data", "value"),
    [
        (Bool, "01", True),
        (Bool, "00", False),
        (Int8, "ff", -1),
        (Int16, "8000", -32768),
        (UInt16, "8000", 32768),
        (Int32, "fffffffe", -2),
        (Int64, "8000000000000000", -(1 << 63)),
        (Float64, "3ff8000000000000", 1.5),
        (Uuid, "00112233445566778899aabbccddeeff", bytes.fromhex("00112233445566778899aabbccddeeff")),
    ],
)
def test_fixed_size_types_are_encoded_and_decoded(annotation: Any, data: str, value: Any) -> None:
    cls: Any = one(annotation)
    assert cls.decode(bytes.fromhex(data), PLAIN) == cls(x=value)
    assert cls.decode(bytes.fromhex(data) + b"\0", COMPACT) == cls(x=value)
    assert cls(x=value).encode(PLAIN).hex() == data


@pytest.mark.parametrize(
    ("annotation", "plain", "compact", "value"),
    [
        (String, "0002c3a9", "03c3a9", "é"),
        (String, "0000", "01", ""),
        (String | None, "ffff", "00", None),
        (Bytes, "000000020102", "030102", b"\1\2"),
        (Bytes | None, "ffffffff", "00", None),
        (list[Int32], "0000000200000001ffffffff", "0300000001ffffffff", [1, -1]),
        (list[Int32] | None, "ffffffff", "00", None),
        (list[Bool], "000000020100", "030100", [True, False]),
        (list[String], "0000000200016100016200"[:-2], "0302610262", ["a", "b"]),
        (list[Uuid], "00000001" + "ab" * 16, "02" + "ab" * 16, [b"\xab" * 16]),
        (list[Pair], "0000000100016105", "0202610500", [Pair(name="a", number=5)]),
        (Pair, "00016105", "02610500", Pair(name="a", number=5)),
        (Pair | None, "0100016105", "0102610500", Pair(name="a", number=5)),
        (Pair | None, "ff", "ff", None),
    ],
)
def test_types_with_a_length_are_encoded_and_decoded(annotation: Any, plain: str, compact: str, value: Any) -> None:
    cls: Any = one(annotation)
    for version, data in ((PLAIN, plain), (COMPACT, compact + "00")):
        for frame in (bytes.fromhex(data), bytearray.fromhex(data)):
            assert cls.decode(frame, version) == cls(x=value)
        assert cls(x=value).encode(version).hex() == data


LENGTHS = [String, Bytes, list[Int32], list[String], list[Pair], list[Uuid]]


@pytest.mark.parametrize("annotation", LENGTHS)
def test_null_in_non_nullable_field_is_refused(annotation: Any) -> None:
    cls = one(annotation)
    with pytest.raises(DecodeError, match="x of length -1"):
        cls.decode(b"\xff" * 4, PLAIN)
    with pytest.raises(DecodeError, match="x of length -1"):
        cls.decode(b"\0\0", COMPACT)


@pytest.mark.parametrize("annotation", LENGTHS)
def test_any_negative_length_of_nullable_field_is_null(annotation: Any) -> None:
    data = b"\xff\xfe" if annotation is String else b"\xff\xff\xff\xfe"
    nullable: Any = one(annotation | None)
    assert nullable.decode(data, PLAIN) == nullable(x=None)
    with pytest.raises(DecodeError, match="x of length -2"):
        one(annotation).decode(data, PLAIN)


@pytest.mark.parametrize("annotation", LENGTHS)
@pytest.mark.parametrize("length", ["7fffffff", "00000009"])
def test_length_beyond_the_data_is_refused(annotation: Any, length: str) -> None:
    cls = one(annotation)
    with pytest.raises(DecodeError):
        cls.decode(bytes.fromhex(length[4:] if annotation is String else length) + b"\0\0\0", PLAIN)


@pytest.mark.parametrize("annotation", LENGTHS)
@pytest.mark.parametrize("length", ["ffffffff07", "09", "ffffffff7f"])
def test_compact_length_beyond_the_data_is_refused(annotation: Any, length: str) -> None:
    with pytest.raises(DecodeError):
        one(annotation).decode(bytes.fromhex(length) + b"\1\1\1", COMPACT)


@pytest.mark.parametrize("annotation", LENGTHS)
def test_compact_length_of_more_than_five_bytes_is_refused(annotation: Any) -> None:
    with pytest.raises(DecodeError, match="longer than five bytes"):
        one(annotation).decode(b"\x80" * 5 + b"\1\0\0", COMPACT)


def test_null_array_element_is_refused() -> None:
    with pytest.raises(DecodeError, match="x of length -1"):
        one(list[String]).decode(b"\0\0\0\1\xff\xff", PLAIN)
    with pytest.raises(DecodeError, match="x of length -1"):
        one(list[String]).decode(b"\2\0\0", COMPACT)


def test_invalid_utf_8_is_replaced_as_in_java() -> None:
    cls: Any = one(String)
    assert cls.decode(b"\0\2\xc3\x28", PLAIN).x == "\ufffd("


def test_decoded_bytes_are_independent_of_the_frame() -> None:
    cls: Any = one(list[Uuid])
    frame = bytearray(b"\0\0\0\1" + bytes(16))
    decoded = cls.decode(frame, PLAIN)
    frame[4:] = b"x" * 16
    assert decoded.x == [bytes(16)]
    assert hash(decoded.x[0])


class Tagged(Message, versions="0", flexible="0+"):
    a: String = field(tag=1, default="")
    b: list[Int32] = field(tag=3, default=[])
    c: Pair | None = field(tag=4, default=None)
    d: String | None = field(tag=5, default=None, nullable="0+")


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("00", Tagged()),
        ("0101020278", Tagged(a="x")),
        ("020102027803050200000007", Tagged(a="x", b=[7])),
        ("01040402780500", Tagged(c=Pair(name="x", number=5))),
        ("0105020278", Tagged(d="x")),
        ("020305020000000701020278", Tagged(a="x", b=[7])),
    ],
    ids=["none", "one", "two", "struct", "nullable", "out of order"],
)
def test_tagged_fields_are_decoded(data: str, value: Tagged) -> None:
    assert Tagged.decode(bytes.fromhex(data), 0) == value


def test_tagged_fields_with_default_values_are_omitted() -> None:
    assert Tagged(a="", b=[], c=None).encode(0) == b"\0"


@pytest.mark.parametrize(
    "data",
    ["01", "0101", "0101030278", "010103027800", "0101010278", "0201020278", "01090501"],
    ids=["no tag", "no size", "size beyond", "value too short", "value too long", "count beyond", "unknown beyond"],
)
def test_a_malformed_tag_section_is_refused(data: str) -> None:
    with pytest.raises(DecodeError):
        Tagged.decode(bytes.fromhex(data), 0)


def test_unknown_tags_between_known_ones_are_skipped() -> None:
    data = bytes.fromhex("050001750102027802017603050200000007090177")
    assert Tagged.decode(data, 0) == Tagged(a="x", b=[7])


class Texts(Message, versions="0", flexible="0+"):
    text: String
    maybe: String | None
    texts: list[String]
    tag: String = field(tag=0, default="")
    raw: Bytes = field(tag=1, default=b"")


LONGEST = {"text": "a" * 32_767, "maybe": "b" * 32_767, "texts": ["c" * 32_767], "tag": "d" * 32_767}


def test_strings_of_32767_bytes_are_decoded() -> None:
    message = Texts(**LONGEST, raw=b"e" * 40_000)
    assert Texts.decode(message.encode(0), 0) == message


@pytest.mark.parametrize("name", LONGEST)
def test_longer_string_in_compact_encoding_is_refused(name: str) -> None:
    data = bytearray(Texts(**LONGEST).encode(0))
    letter = LONGEST[name][0][:1].encode()
    at = data.index(b"\x80\x80\2" + letter)
    data[at : at + 3] = b"\x81\x80\2" + letter  # a length of 32,768
    with pytest.raises(DecodeError, match=f"{name} of length 32768; at most 32767"):
        Texts.decode(bytes(data), 0)
