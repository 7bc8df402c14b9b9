"""Writes the journal to a file: one JSON object per line for each request and its response (`serve --journal FILE`).

    {"time": "2024-05-01T12:00:00.123Z", "duration_ms": 0.4, "client_id": "app", "connection": 3, "peer":
     "127.0.0.1:50312", "broker": 1, "api": "ListOffsets", "version": 7, "correlation_id": 5, "request": {...},
     "response": {...}, "errors": [], "closed": null, "fault": null, "text":
     "client=app ListOffsets v7 t-0@latest -> ..."}

The line is written before the response is sent, so the file is complete even if a client is killed. Decoding costs more
than serving most requests, so the broker is slower. Bytes are written as text, or as {"base64": ...} unless they
are printable UTF-8.
"""

import json
import logging
from base64 import b64encode
from datetime import UTC, datetime
from typing import Any

from .exchange import Exchange, plain
from .journal import Journal

_LOG = logging.getLogger(__name__)


class JournalFile:
    """A file to which a journal writes its requests until it is closed. Raises OSError if it cannot be opened."""

    def __init__(self, path: str, journal: Journal) -> None:
        self._path = path
        self._journal = journal
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115 - closed by `close`
        self._has_failed = False
        self._rest = b""
        """The part of the last line that could not be written."""
        journal.listen(self._write)

    def close(self) -> None:
        self._file.close()

    def _write(self, exchange: Exchange) -> None:
        if exchange.is_waiting or self._file.closed:
            return
        rest, self._rest = self._rest, b""
        try:
            data = rest + json.dumps(entry(exchange, self._journal.began_ms), default=_bytes).encode() + b"\n"
        except Exception:  # noqa: BLE001 - a bug must not close the connection
            _LOG.exception("cannot describe a request for %s", self._path)
            return
        try:
            written = self._file.write(data) or 0
        except OSError as error:
            self._rest = rest  # so that a later line does not follow half a line
            self._fail(error.strerror or str(error))
            return
        if written < len(data):  # the disk is almost full: complete the line later, but drop the lines after it
            self._rest = data[max(written, 0) :]
            self._fail("the last line is incomplete")

    def _fail(self, reason: str) -> None:
        """Log the first failure. Later lines are tried, because there may be space again."""
        if not self._has_failed:
            self._has_failed = True
            _LOG.error("cannot write the journal to %s: %s; the broker continues without it", self._path, reason)


def entry(exchange: Exchange, began_ms: float) -> dict[str, Any]:
    """Return one line of the file as a dict. `began_ms` is an attribute of the journal."""
    request, response = exchange.request(), exchange.response()
    ended_s = exchange.began_s if exchange.ended_s is None else exchange.ended_s
    at = datetime.fromtimestamp(began_ms / 1000 + exchange.began_s, UTC)
    host, port = exchange.connection.peer
    return {
        "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "duration_ms": round((ended_s - exchange.began_s) * 1000, 3),
        "client_id": exchange.client_id,
        "connection": exchange.connection.number,
        "peer": f"{host}:{port}",
        "broker": exchange.connection.broker,
        "api": exchange.api,
        "version": exchange.version,
        "correlation_id": exchange.correlation_id,
        "request": None if request is None else plain(request, exchange.version),
        "response": None if response is None else plain(response, exchange.response_version),
        "errors": exchange.errors(),
        "closed": exchange.closed,
        "fault": exchange.fault or None,
        "text": exchange.text(ended_s),
    }


def _bytes(value: bytes) -> str | dict[str, str]:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(value).decode()}
    return text if text.isprintable() else {"base64": b64encode(value).decode()}
