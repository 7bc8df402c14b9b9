"""The framing of requests and responses on a connection.

    request     size | api key | version | correlation id | client id | [tags] | message
    response    size | correlation id | [tags] | message

The size is an int32 and does not include itself. In flexible versions of an API, the headers have a tag section
(request header version 2, response header version 1). There are two exceptions, which let a client connect to a broker
of any version:

* `client_id` is a nullable string without a compact length even in request header version 2 (KIP-482);
* ApiVersions responses have header version 0 in all versions, because the client does not yet know which versions the
  broker supports (KIP-511).

Request header version 0, which has no client id, was used only for the inter-broker request ControlledShutdown v0.

This module decodes the header of every API that Kafka has ever had. The caller has to check that the API and the
version are supported.
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
    """The header of a request, version 1 or 2."""

    api: Api
    version: int
    correlation_id: int
    client_id: str | None

    @classmethod
    def decode(cls, frame: Frame) -> "tuple[RequestHeader, int]":
        """Decode the header of a frame (without its size). Return the header and the position of the message.

        Raises DecodeError if the frame is too short or the API key is unknown.
        """
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
            raise DecodeError(f"request header in {len(frame)} bytes: {end - len(frame)} bytes missing")
        return cls(api, version, correlation_id, client_id), end

    def encode(self) -> bytes:
        """Encode the header as clients send it, without the frame size."""
        name = b"" if self.client_id is None else self.client_id.encode()
        length = -1 if self.client_id is None else len(name)
        tags = b"\0" if self.version in self.api.flexible else b""
        return _FIXED.pack(self.api, self.version, self.correlation_id, length) + name + tags


def has_response_tags(api: Api, version: int) -> bool:
    """Return whether responses in this version have header version 1 (with a tag section), False if version 0."""
    return version in api.flexible and api is not Api.API_VERSIONS


def response_head(api: Api, version: int) -> Struct:
    """Return the struct that packs the frame size and the response header: `pack(size, correlation_id)`.

    The size covers the header and the message, but not the size field itself.
    """
    return _SIZE_ID_AND_TAGS if has_response_tags(api, version) else _SIZE_AND_ID


def response_frame(response: Response, version: int, correlation_id: int) -> list[Chunk]:
    """Return a complete response frame as a list of pieces in wire order. Records are not copied."""
    pieces: list[Chunk] = [b""]
    response.encode_into(pieces, version)
    head = response_head(response.API, version)
    pieces[0] = head.pack(head.size - 4 + sum(map(len, pieces)), correlation_id)
    return pieces


def request_frame(request: Request, version: int, correlation_id: int, client_id: str | None = None) -> list[Chunk]:
    """Return a complete request frame as a list of pieces in wire order."""
    header = RequestHeader(request.API, version, correlation_id, client_id).encode()
    pieces = request.encode_into([b"", header], version)
    pieces[0] = sum(map(len, pieces)).to_bytes(4, "big")
    return pieces


def decode_response_header(api: Api, version: int, frame: Frame) -> tuple[int, int]:
    """Return the correlation id of a response frame (without its size) and the position of its message."""
    if len(frame) < 4:
        raise DecodeError(f"response header in {len(frame)} bytes")
    end = 4
    if has_response_tags(api, version):
        try:
            end = skip_tags(frame, end)
        except IndexError as problem:
            raise DecodeError(f"response header in {len(frame)} bytes: {problem}") from problem
    return int.from_bytes(frame[:4], "big", signed=True), end
