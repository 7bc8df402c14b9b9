from typing import Any

from kafkalet.protocol.encoder import encoder
from kafkalet.protocol.messages.fetch import FetchResponse
from kafkalet.protocol.messages.list_offsets import ListOffsetsResponse
from kafkalet.protocol.source import source
from kafkalet.protocol.wire import Chunk


def fetched(records: Any) -> FetchResponse:
    Topic = FetchResponse.Topic
    partition = Topic.Partition(partition_index=0, high_watermark=3, records=records)
    return FetchResponse(responses=[Topic(topic="t", partitions=[partition])])


def test_each_fixed_size_struct_is_packed_in_one_call() -> None:
    text = source(encoder(ListOffsetsResponse, 7))
    assert "out += [pack_ihqqix(" in text


def test_records_are_not_copied_and_need_only_a_length() -> None:
    class FileRange:
        def __len__(self) -> int:
            return 300

    records = FileRange()
    out: list[Chunk] = fetched(records).encode_into([], 12)
    assert any(piece is records for piece in out)
    at = next(at for at, piece in enumerate(out) if piece is records)
    assert out[at - 1] == b"\xad\x02", "301 as a varint: compact lengths are one more"


def test_pieces_are_appended_to_the_given_list() -> None:
    head = b"head"
    assert fetched(b"").encode_into([head], 4)[0] is head
