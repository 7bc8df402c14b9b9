"""A control API on a socket, and a client that checks every response against the shape that its route declares."""

import http.client
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import kafkalet
from kafkalet.control.failures import ERROR
from kafkalet.control.route import JSON, find
from kafkalet.control.server import ControlServer

TOKEN = "a token"


class Answer(NamedTuple):
    status: int
    json: Any
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def code(self) -> str:
        """The code of an error."""
        code: str = self.json["error"]["code"]
        return code

    @property
    def message(self) -> str:
        """The message of an error."""
        message: str = self.json["error"]["message"]
        return message


class Asking:
    """A client of the control API of a cluster."""

    def __init__(self, control: ControlServer, headers: dict[str, str] | None = None) -> None:
        self.control = control
        self.cluster = control.cluster
        self.headers = headers or {}

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.control.port, timeout=20)

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, data: bytes | None = None
    ) -> Answer:
        """Send a request on a new connection. `body` is sent as JSON, `data` as it is."""
        connection = self.connect()
        try:
            content = data if body is None else json.dumps(body).encode()
            kind = {"Content-Type": JSON} if body is not None else {}
            connection.request(method, path, content, {**self.headers, **kind, **(headers or {})})
            response = connection.getresponse()
            got = response.read()
        finally:
            connection.close()
        is_json = response.headers.get_content_type() == JSON and got
        answer = Answer(response.status, json.loads(got) if is_json else None, response.headers, got)
        self._check(method, path, answer)
        return answer

    def get(self, path: str) -> Any:
        """Return the JSON of a GET that succeeds."""
        answer = self.ask("GET", path)
        assert answer.status == 200, answer.json
        return answer.json

    def post(self, path: str, body: Any = None) -> Any:
        """Return the JSON of a POST that succeeds."""
        answer = self.ask("POST", path, body)
        assert answer.status in (200, 201, 204), answer.json
        return answer.json

    def _check(self, method: str, path: str, answer: Answer) -> None:
        if answer.status >= 400:
            ERROR.check(answer.json, "the error")
            return
        route = find(self.control.routes, method, path.partition("?")[0]).route
        if route is not None and route.produces == JSON:
            assert answer.status == route.status
            if route.response is None:
                assert answer.body == b""
            else:
                route.response.check(answer.json, "the response")


@contextmanager
def asking(brokers: int = 1, token: str | None = None, control_port: int = 0, **options: Any) -> Iterator[Asking]:
    """Run a cluster with a control API, which is closed after the brokers, as `kafkalet serve` does."""
    with ExitStack() as stack:
        cluster = kafkalet.Cluster(brokers, **options)
        with cluster:
            control = stack.enter_context(ControlServer(cluster, ("127.0.0.1", control_port), token))
            yield Asking(control)
