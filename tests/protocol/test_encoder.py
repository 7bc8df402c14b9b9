from typing import Any

from kafkalet.protocol.encoder import encoder
from kafkalet.protocol.messages.fetch import FetchResponse
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkalet.protocol.source import source
from kafkalet.protocol.wire import Chunk


def encoded(message: Any, version: int, keeping: bool) -> bytes:
    out: list[Any] = []
    encoder(type(message), version, keeping)(message, out)
    return b"".join(out)


def fetched(records: Any) -> FetchResponse:
    Topic = FetchResponse.Topic
    partition = Topic.Partition(partition_index=0, high_watermark=3, records=records)
    return FetchResponse(responses=[Topic(topic="t", partitions=[partition])])


def test_looking_for_unknown_tags_changes_nothing_where_there_are_none() -> None:
    Topic = ListOffsetsRequest.Topic
    topic = Topic(name="t", partitions=[Topic.Partition(partition_index=0, timestamp=-1)])
    for message in (ListOffsetsRequest(replica_id=-1, topics=[topic]), fetched(b"abc")):
        for version in range(12):
            assert encoded(message, version, keeping=True) == encoded(message, version, keeping=False)


def test_unknown_tags_are_written_by_an_encoder_that_keeps_them() -> None:
    message = ListOffsetsResponse(topics=[ListOffsetsResponse.Topic(name="t", partitions=[])])
    message.topics[0].unknown_tags = {300: b"x"}
    assert encoded(message, 7, keeping=True).hex() == "000000000202740101ac02017800"


def test_fixed_structs_are_packed_in_one_call_each() -> None:
    text = source(encoder(ListOffsetsResponse, 7, keeping=False))
    assert "out += [pack_ihqqix(" in text


def test_records_go_out_uncopied_and_need_only_a_length() -> None:
    class FileRange:
        def __len__(self) -> int:
            return 300

    records = FileRange()
    out: list[Chunk] = fetched(records).encode_into([], 12)
    assert any(piece is records for piece in out)
    at = next(at for at, piece in enumerate(out) if piece is records)
    assert out[at - 1] == b"\xad\x02", "301 as a varint: compact lengths are one more"


def test_pieces_are_appended_to_those_that_are_there() -> None:
    head = b"head"
    assert fetched(b"").encode_into([head], 4)[0] is head
