"""A client of the control API, for the command line. It does not import the server, so that commands start fast."""

import json
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

Json = Any

JSON = "application/json"
BYTES = "application/octet-stream"
TIMEOUT_S = 30.0
"""The time to wait for a response, in addition to the timeout of a wait."""


class ControlError(Exception):
    """The API refused a request, or cannot be reached. `code` is the error code of the API, or "unreachable"."""

    def __init__(self, code: str, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


class ControlClient:
    """Sends requests to the API at a URL such as `http://127.0.0.1:9093` or `127.0.0.1:9093`.

    Raises ValueError if the URL is not one of the control API.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme != "http" or not parts.hostname or not parts.port or parts.path not in ("", "/") or parts.query:
            raise ValueError(f"{url} is not the URL of a control API, as in http://127.0.0.1:9093")
        self._url = url
        self._address = (parts.hostname, parts.port)
        self._token = token

    def ask(
        self,
        method: str,
        template: str,
        *names: object,
        query: Mapping[str, object] | None = None,
        body: Json = None,
        data: bytes | None = None,
        timeout_s: float = 0.0,
    ) -> Json:
        """Send a request and return the JSON of the response, its bytes if it is not JSON, or None.

        Each `{}` in the template is replaced by one of the names. Parameters and fields that are None are left out. A
        request that waits passes its `timeout_s`. Raises ControlError.
        """
        response = self._send(method, template, names, query, body, data, timeout_s)
        try:
            with response:
                content = response.read()
        except (OSError, HTTPException) as error:
            raise self._unreachable(error) from error
        if response.headers.get_content_type() != JSON:
            return content or None
        return json.loads(content)

    def events(self, only: str = "") -> Iterator[tuple[str, Json]]:
        """Yield the name and the data of each event."""
        response = self._send("GET", "/v1/events", (), {"only": only or None}, None, None, 0.0)
        name = ""
        try:
            with response:
                while line := response.readline():
                    text = line.decode().rstrip("\n")
                    if text.startswith("event: "):
                        name = text[7:]
                    elif text.startswith("data: "):
                        yield name, json.loads(text[6:])
        except (OSError, HTTPException) as error:
            raise self._unreachable(error) from error

    def _send(
        self,
        method: str,
        template: str,
        names: tuple[object, ...],
        query: Mapping[str, object] | None,
        body: Json,
        data: bytes | None,
        timeout_s: float,
    ) -> HTTPResponse:
        path = template.format(*(quote(str(name), safe="") for name in names))
        given = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        headers = {"Connection": "close"}  # the socket is closed with the response
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        if isinstance(body, dict):
            body = {name: value for name, value in body.items() if value is not None}
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = JSON
        elif data is not None:
            headers["Content-Type"] = BYTES
        connection = HTTPConnection(*self._address, timeout=TIMEOUT_S + timeout_s)
        try:
            connection.request(method, f"{path}?{urlencode(given)}" if given else path, data, headers)
            response = connection.getresponse()
            if response.status < 400:
                return response
            with response:
                content = response.read()
        except (OSError, HTTPException) as error:
            connection.close()
            raise self._unreachable(error) from error
        try:
            refusal = json.loads(content)["error"]
            raise ControlError(refusal["code"], refusal["message"], response.status)
        except (ValueError, KeyError, TypeError):
            raise ControlError("unreachable", f"{self._url} is not a kafkalet control API") from None

    def _unreachable(self, error: Exception) -> ControlError:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return ControlError("unreachable", f"there is no control API at {self._url}: {reason}")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
