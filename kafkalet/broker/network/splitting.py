"""Splits the bytes that a connection received and sent in one turn into requests and their responses.

    received    size | request | size | request | ...
    sent        size | response | ...                   in any number of chunks

Requests are answered in order. A Produce request with acks=0 has no response.
"""

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import cast

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import ProtocolError
from kafkalet.protocol.frame import RequestHeader
from kafkalet.protocol.messages import request_type
from kafkalet.protocol.wire import Buffer, Chunk

Frame = bytes | bytearray
Parts = list[Chunk]

_read_size = Struct(">i").unpack_from
_PRODUCE = int(Api.PRODUCE).to_bytes(2, "big")


def frames(received: Frame) -> list[Frame]:
    """Return the requests without their size fields."""
    found: list[Frame] = []
    at = 0
    while at < len(received):
        end = at + 4 + _read_size(received, at)[0]
        found.append(received[at + 4 : end])
        at = end
    return found


def responses(chunks: Sequence[Chunk]) -> list[Parts]:
    """Return the chunks of each response, beginning with its size field."""
    found: list[Parts] = []
    missing = 0
    for chunk in chunks:
        at = 0
        while at < len(chunk):
            if not missing:
                found.append([])
                missing = 4 + int(_read_size(cast(Buffer, chunk), at)[0])
            left = len(chunk) - at
            if at == 0 and left <= missing:
                found[-1].append(chunk)
            else:  # only bytes contain more than one response
                found[-1].append(cast(Buffer, chunk)[at : at + missing])
            taken = min(left, missing)
            at += taken
            missing -= taken
    return found


def pairs(requests: list[Frame], answers: list[Parts]) -> Iterator[tuple[Frame, Parts | None]]:
    """Yield each request with its response, or with None if it has no response."""
    if len(requests) == len(answers):
        yield from zip(requests, answers, strict=True)
        return
    rest = iter(answers)
    for request in requests:
        yield request, None if _expects_no_response(request) else next(rest, None)


def client_id(frame: Frame) -> str:
    """Return the client id in the header of a request; "" if there is none."""
    length = int.from_bytes(frame[8:10], "big", signed=True)
    return str(frame[10 : 10 + length], "utf-8", "replace") if length > 0 else ""


def _expects_no_response(frame: Frame) -> bool:
    if frame[:2] != _PRODUCE:
        return False
    try:
        header, start = RequestHeader.decode(frame)
        request = request_type(Api.PRODUCE).decode(frame, header.version, start)
    except ProtocolError:
        return False
    return request.acks == 0  # type: ignore[attr-defined, no-any-return]
