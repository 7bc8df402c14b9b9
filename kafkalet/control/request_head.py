"""The head of an HTTP/1.1 request, read more strictly than http.server does.

If two programs read the same bytes differently, one of them may take the body of a request for another request (request
smuggling). Therefore, everything that RFC 9112 lets a server refuse is refused: lines that do not end with CR LF,
folded lines, a space before a colon, control characters, Transfer-Encoding, and more than one Content-Length.
"""

import re
from email.message import Message
from io import BufferedIOBase
from typing import NamedTuple

from .failures import Refusal

MAX_LINE_BYTES = 1 << 16
MAX_FIELDS = 100
MAX_LENGTH_DIGITS = 15

_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e]+) HTTP/([0-9])\.([0-9])\r\n")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*((?:[^\x00-\x1f\x7f]|\t)*)\r\n")


class RequestHead(NamedTuple):
    """The request line and the header fields."""

    method: str
    target: str
    is_http_1_0: bool
    fields: Message

    @property
    def closes_connection(self) -> bool:
        """Whether the client sends no other request on the connection."""
        options = [each.strip().lower() for each in self.fields.get("Connection", "").split(",")]
        return "close" in options or (self.is_http_1_0 and "keep-alive" not in options)

    @property
    def expects_continue(self) -> bool:
        """Whether the client sends the body only after a response with the status 100."""
        return not self.is_http_1_0 and self.fields.get("Expect", "").lower() == "100-continue"

    def body_length(self) -> int:
        """Return the number of bytes that follow the head. Raises Refusal if it is not certain."""
        if "Transfer-Encoding" in self.fields:
            raise Refusal(411, "a body needs a Content-Length; Transfer-Encoding is not supported")
        text, *others = self.fields.get_all("Content-Length", ["0"])
        if others or re.fullmatch("[0-9]+", text) is None:
            raise Refusal(400, "Content-Length must be one number")
        if len(text) > MAX_LENGTH_DIGITS:
            raise Refusal(413, f"the body has {text[:20]} bytes")
        return int(text)


def read_head(stream: BufferedIOBase) -> RequestHead | None:
    """Read the head of the next request, or return None at the end of the stream.

    Raises Refusal if it is malformed or too large; the position of the next request is then unknown. Raises OSError.
    """
    line = stream.readline(MAX_LINE_BYTES + 1)
    if not line:
        return None
    if len(line) > MAX_LINE_BYTES:
        raise Refusal(414, f"the path is too long; the limit is {MAX_LINE_BYTES} bytes", "too_large")
    found = _REQUEST_LINE.fullmatch(line)
    if found is None:
        raise Refusal(400, f"the request line {_shown(line)} is malformed; it must be METHOD PATH HTTP/1.1")
    method, target, major, minor = (part.decode() for part in found.groups())
    if major != "1":
        raise Refusal(505, f"HTTP/{major}.{minor} is not supported; use HTTP/1.1", "bad_request")
    fields = _read_fields(stream)
    if minor != "0" and len(fields.get_all("Host", [])) != 1:
        raise Refusal(400, "a request needs exactly one Host")
    return RequestHead(method, re.sub("^/+", "/", target), minor == "0", fields)


def _read_fields(stream: BufferedIOBase) -> Message:
    fields = Message()
    while (line := stream.readline(MAX_LINE_BYTES + 1)) != b"\r\n":
        if len(line) > MAX_LINE_BYTES or len(fields) == MAX_FIELDS:
            limits = f"{MAX_FIELDS} fields of {MAX_LINE_BYTES} bytes"
            raise Refusal(431, f"the header is too large; the limit is {limits}", "too_large")
        found = _FIELD.fullmatch(line)
        if found is None:
            raise Refusal(
                400, f"the header field {_shown(line)} is malformed; it must be NAME: VALUE, and end with CR LF"
            )
        fields[found[1].decode()] = found[2].decode("latin-1").strip(" \t")
    return fields


def _shown(line: bytes) -> str:
    return repr(line[:60])[1:]
