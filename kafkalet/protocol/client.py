"""The client's side of a connection, without I/O: requests become frames, and frames become responses.

    requests = InFlightRequests("client")
    correlation_id, frame = requests.encode(MetadataRequest(topics=[]), 9)
    ...                                                     send the frame, receive another
    correlation_id, api, version = requests.complete(frame)
    response = decode_response(api, version, frame).response

Frames that are received are passed without their size.
"""

from collections.abc import Iterable
from typing import NamedTuple, cast

from .api import Api
from .errors import Code, DecodeError
from .frame import decode_response_header, request_frame
from .messages import response_type
from .schema import Request, Response
from .tags import Frame
from .wire import Buffer

_UNSUPPORTED_VERSION = Code.UNSUPPORTED_VERSION.to_bytes(2, "big")


class InFlightRequests:
    """The requests on a connection that have no response yet, in the order in which they were encoded."""

    def __init__(self, client_id: str) -> None:
        self.client_id = client_id
        self.pending: dict[int, tuple[Api, int]] = {}
        """The API and version of each request, keyed by correlation id."""
        self._correlation_id = 0

    def encode(self, request: Request, version: int) -> tuple[int, bytes]:
        """Return a new correlation id, and the frame of the request."""
        self._correlation_id = self._correlation_id + 1 & 0x7FFFFFFF
        pieces = request_frame(request, version, self._correlation_id, self.client_id)
        self.pending[self._correlation_id] = request.API, version
        return self._correlation_id, b"".join(cast(Iterable[Buffer], pieces))

    def complete(self, frame: Frame) -> tuple[int, Api, int]:
        """Return the correlation id, API and version of the request that a frame responds to; it is no longer pending.

        Raises DecodeError if there is no such request.
        """
        if len(frame) < 4:
            raise DecodeError(f"a response of {len(frame)} bytes has no correlation id")
        correlation_id = int.from_bytes(frame[:4], "big", signed=True)
        if correlation_id not in self.pending:
            expected = ", ".join(map(str, self.pending)) or "none"
            raise DecodeError(f"the response has the correlation id {correlation_id}, expected is {expected}")
        return correlation_id, *self.pending.pop(correlation_id)


class Decoded(NamedTuple):
    """A response, and the version in which the broker sent it."""

    response: Response
    version: int


def decode_response(api: Api, version: int, frame: Frame) -> Decoded:
    """Decode the response to a request of this version. Raises DecodeError.

    A broker that does not support the version of an ApiVersions request responds in version 0. Only the error code,
    which comes first in all versions, shows it (KIP-511).
    """
    _, start = decode_response_header(api, version, frame)
    if api is Api.API_VERSIONS and frame[start : start + 2] == _UNSUPPORTED_VERSION:
        version = 0
    return Decoded(response_type(api).decode(frame, version, start), version)
