"""Frames: what goes around a message on a connection.

    request     size | api key | version | correlation id | client id | [tags] | message
    response    size | correlation id | [tags] | message

The size, an int32, counts what follows it. The tag section is there in the flexible versions of an API (request
header 2, response header 1), with two exceptions that keep first contact possible:

* `client_id` is a classic nullable string even in request header 2 (KIP-482);
* ApiVersions answers with response header 0 in all versions, because the client that asks does not know yet what the
  broker speaks (KIP-511).

Request header 0, without a client id, belonged to ControlledShutdown v0 alone, which brokers spoke among themselves.

An API key or version that we do not serve is no business of this module: a header is read if Kafka ever had its API.
"""

from struct import Struct, error
from typing import NamedTuple

from .api import BY_KEY, Api
from .errors import DecodeError
from .schema import Request, Response
from .tags import Frame, skip_tags
from .text import REPLACE
from .wire import Chunk

_FIXED = Struct(">hhih")
_SIZE_AND_ID = Struct(">ii")
_SIZE_ID_AND_TAGS = Struct(">iix")


class RequestHeader(NamedTuple):
    """Who asks what, and under which number the answer is expected."""

    api: Api
    version: int
    correlation_id: int
    client_id: str | None

    @classmethod
    def decode(cls, frame: Frame) -> "tuple[RequestHeader, int]":
        """Read the header of a frame (without its size); also give where the message begins."""
        try:
            key, version, correlation_id, length = _FIXED.unpack_from(frame)
            if (api := BY_KEY.get(key)) is None:
                raise DecodeError(f"no API has the key {key}")
            end = 10 + max(length, 0)
            client_id = None if length < 0 else str(frame[10:end], "utf-8", REPLACE)
            if version in api.flexible:
                end = skip_tags(frame, end)
        except (error, IndexError) as problem:
            raise DecodeError(f"request header in {len(frame)} bytes: {problem}") from problem
        if end > len(frame):
            raise DecodeError(f"request header in {len(frame)} bytes: {end - len(frame)} too few")
        return cls(api, version, correlation_id, client_id), end

    def encode(self) -> bytes:
        """The header as clients send it, without the size of the frame."""
        name = b"" if self.client_id is None else self.client_id.encode()
        length = -1 if self.client_id is None else len(name)
        tags = b"\0" if self.version in self.api.flexible else b""
        return _FIXED.pack(self.api, self.version, self.correlation_id, length) + name + tags


def has_response_tags(api: Api, version: int) -> bool:
    """Whether responses of this version carry header 1, with a tag section, instead of header 0."""
    return version in api.flexible and api is not Api.API_VERSIONS


def response_head(api: Api, version: int) -> Struct:
    """How the size of a frame and the header lie before a response: `pack(size, correlation_id)`.

    The size counts what follows it: the rest of this head, and the message.
    """
    return _SIZE_ID_AND_TAGS if has_response_tags(api, version) else _SIZE_AND_ID


def response_frame(response: Response, version: int, correlation_id: int) -> list[Chunk]:
    """A whole response in pieces, in the order of the wire; records among them uncopied."""
    pieces: list[Chunk] = [b""]
    response.encode_into(pieces, version)
    head = response_head(response.API, version)
    pieces[0] = head.pack(head.size - 4 + sum(map(len, pieces)), correlation_id)
    return pieces


def request_frame(request: Request, version: int, correlation_id: int, client_id: str | None = None) -> list[Chunk]:
    """A whole request in pieces, as a client sends it."""
    header = RequestHeader(request.API, version, correlation_id, client_id).encode()
    pieces = request.encode_into([b"", header], version)
    pieces[0] = sum(map(len, pieces)).to_bytes(4, "big")
    return pieces


def decode_response_header(api: Api, version: int, frame: Frame) -> tuple[int, int]:
    """The correlation id of a response frame (without its size), and where its message begins."""
    if len(frame) < 4:
        raise DecodeError(f"response header in {len(frame)} bytes")
    end = 4
    if has_response_tags(api, version):
        try:
            end = skip_tags(frame, end)
        except IndexError as problem:
            raise DecodeError(f"response header in {len(frame)} bytes: {problem}") from problem
    return int.from_bytes(frame[:4], "big", signed=True), end
