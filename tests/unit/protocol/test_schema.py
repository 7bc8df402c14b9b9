import threading
from typing import Any

import pytest

from kafkalet.protocol.errors import DecodeError, EncodeError, UnsupportedVersion
from kafkalet.protocol.messages.fetch import FetchRequest
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkalet.protocol.schema import Message, Struct, field
from kafkalet.protocol.wire import Bytes, Int32, Records, String


class Note(Message, versions="0-3", flexible="2+"):
    class Line(Struct):
        text: String
        number: Int32 = field("1+", default=-1)

    title: String | None = field(nullable="1+")
    lines: list[Line]
    author: String | None = field("2+", tag=0, default=None)
    head: Line | None = field("3", default=None)
    page: Int32 = field("1-2", default=7)


def note(**values: Any) -> Note:
    return Note(**({"title": "t", "lines": []} | values))


def test_field_without_default_is_required() -> None:
    with pytest.raises(TypeError, match="title"):
        Note(lines=[])  # type: ignore[call-arg]


def test_fields_are_keyword_arguments() -> None:
    with pytest.raises(TypeError):
        Note("t", [])  # type: ignore[call-arg]


def test_unknown_field_is_refused() -> None:
    with pytest.raises(TypeError, match="titel"):
        note(titel="t")
    with pytest.raises(AttributeError):
        note().titel = "t"  # type: ignore[attr-defined]


def test_decoder_sets_absent_fields_to_their_defaults() -> None:
    decoded = Note.decode(note(page=9, lines=[Note.Line(text="x", number=3)]).encode(0), 0)
    assert decoded == note(lines=[Note.Line(text="x")])
    assert decoded.page == 7


def test_default_list_is_not_shared() -> None:
    first, second = (
        FetchRequest(max_wait_ms=0, min_bytes=0, topics=[]),
        FetchRequest(max_wait_ms=0, min_bytes=0, topics=[]),
    )
    first.forgotten_topics_data.append(FetchRequest.ForgottenTopic(partitions=[1]))
    assert second.forgotten_topics_data == []
    decoded = FetchRequest.decode(second.encode(4), 4)
    assert decoded.forgotten_topics_data is not FetchRequest.decode(second.encode(4), 4).forgotten_topics_data


def test_field_missing_in_some_version_needs_a_default() -> None:
    with pytest.raises(TypeError, match=r"Broken\.x: needs a default"):

        class Broken(Struct):
            x: Int32 = field("1+")


def test_tagged_field_needs_a_default() -> None:
    with pytest.raises(TypeError, match=r"Broken\.x: needs a default"):

        class Broken(Struct):
            x: Int32 = field(tag=0)


def test_field_type_must_be_wire_type_or_struct() -> None:
    with pytest.raises(TypeError, match=r"Broken\.x: <class 'int'> is not a wire type"):

        class Broken(Struct):
            x: int


def test_encoding_and_decoding_unknown_version_is_refused() -> None:
    with pytest.raises(UnsupportedVersion, match="Note v4 does not exist; versions are 0-3"):
        note().encode(4)
    with pytest.raises(UnsupportedVersion):
        Note.decode(b"", -1)


def test_structs_with_equal_fields_are_equal() -> None:
    assert note(lines=[Note.Line(text="x")]) == note(lines=[Note.Line(text="x")])
    assert note(lines=[Note.Line(text="x")]) != note(lines=[Note.Line(text="y")])


def test_structs_of_other_classes_are_never_equal() -> None:
    assert ListOffsetsRequest.Topic(name="t", partitions=[]) != ListOffsetsResponse.Topic(name="t", partitions=[])
    assert note() != "note"


def test_structs_are_mutable_and_not_hashable() -> None:
    with pytest.raises(TypeError):
        hash(note())


def test_repr_of_struct_is_its_constructor_call() -> None:
    assert repr(Note.Line(text="x", number=3)) == "Note.Line(text='x', number=3)"


def test_null_in_non_nullable_version_is_refused() -> None:
    assert Note.decode(note(title=None).encode(1), 1).title is None
    with pytest.raises(EncodeError, match="Note v0"):
        note(title=None).encode(0)


@pytest.mark.parametrize(
    ("values", "version"),
    [
        ({"title": 3}, 0),
        ({"title": "x" * 32768}, 1),
        ({"title": "x" * 32768}, 2),
        ({"title": "\ud800"}, 2),
        ({"lines": None}, 2),
        ({"lines": ["x"]}, 2),
        ({"page": 1 << 31}, 1),
        ({"page": None}, 1),
    ],
)
def test_value_that_does_not_fit_its_field_is_refused(values: dict[str, Any], version: int) -> None:
    with pytest.raises(EncodeError, match=f"Note v{version}: "):
        note(**values).encode(version)


# A note with the known tag 0 and the unknown tag 9; its line has the unknown tag 6.
TAGGED = bytes.fromhex("0274 02 0278 00000009 01 06026869 00000007 02 00020261 0903787878")


def test_unknown_tags_are_skipped() -> None:
    assert Note.decode(TAGGED, 2) == note(lines=[Note.Line(text="x", number=9)], page=7, author="a")


def test_unknown_tags_do_not_affect_the_encoder() -> None:
    note().encode(2)
    encoder = Note._encoders[2]
    Note.decode(TAGGED, 2)
    assert Note._encoders[2] is encoder


def test_null_records_and_empty_records_are_different() -> None:
    class Batch(Message, versions="0-1", flexible="1+"):
        records: Records | None
        key: Bytes | None

    for version in (0, 1):
        for records in (None, b"", b"x"):
            decoded = Batch.decode(Batch(records=records, key=records).encode(version), version)
            assert decoded.records == records
            assert decoded.key == records


def test_decoded_records_are_views_of_the_data() -> None:
    class Batch(Message, versions="0"):
        records: Records

    frame = bytearray(Batch(records=b"abc").encode(0))
    decoded = Batch.decode(frame, 0)
    assert isinstance(decoded.records, memoryview)
    decoded.records[0] = ord("x")
    assert frame[-3:] == b"xbc"


def test_data_after_the_message_is_ignored() -> None:
    assert Note.decode(note().encode(0) + b"more", 0) == note()


def test_message_is_decoded_from_any_start() -> None:
    assert Note.decode(b"head" + note().encode(2), 2, 4) == note()


def test_decode_error_names_message_version_and_size() -> None:
    with pytest.raises(DecodeError, match="Note v2 in 3 bytes"):
        Note.decode(b"\1\2x", 2)


def test_threads_may_compile_the_same_version_concurrently() -> None:
    class Fresh(Message, versions="0"):
        number: Int32

    seen: list[bytes] = []
    threads = [threading.Thread(target=lambda: seen.append(Fresh(number=3).encode(0))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [b"\0\0\0\3"] * 8
