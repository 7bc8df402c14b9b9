"""Tests of splitting the bytes of a turn into requests and responses."""

import pytest

from kafkalet.broker.network.splitting import client_id, frames, pairs, responses
from kafkalet.protocol.wire import Chunk


def sized(*messages: bytes) -> bytes:
    return b"".join(len(message).to_bytes(4, "big") + message for message in messages)


def test_frames_are_split_by_their_sizes() -> None:
    assert frames(sized(b"first", b"", b"second")) == [b"first", b"", b"second"]


@pytest.mark.parametrize(
    "chunks",
    [
        [sized(b"one", b"second")],
        [sized(b"one"), sized(b"second")],
        [sized(b"one"), b"", b"\0\0\0\6", b"sec", b"ond"],
    ],
)
def test_responses_are_found_in_any_chunks(chunks: list[Chunk]) -> None:
    found = [b"".join(parts) for parts in responses(chunks)]  # type: ignore[arg-type]
    assert found == [sized(b"one"), sized(b"second")]


def test_missing_response_belongs_to_the_last_request() -> None:
    requests: list[bytes | bytearray] = [b"\0\2 first", b"\0\2 second"]
    assert list(pairs(requests, [[b"answer"]])) == [(requests[0], [b"answer"]), (requests[1], None)]


@pytest.mark.parametrize(("length", "expected"), [(b"\0\3", "app"), (b"\xff\xff", ""), (b"\0\0", "")])
def test_client_id_is_read_from_the_header(length: bytes, expected: str) -> None:
    assert client_id(bytes(8) + length + b"app") == expected
