"""The HTTP server of the control API. Each connection has a thread.

    with ControlServer(cluster, ("127.0.0.1", 0)) as control:
        urllib.request.urlopen(control.url + "/v1/topics")

Requests are HTTP/1.1 with a Content-Length. The size of bodies is limited, the response to a malformed request is 400,
and an exception of a handler never stops the server. `close` ends all connections, waits and streams.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import selectors
import socket
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import IO, TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl, urlsplit

from kafkalet.broker.quoting import shown
from kafkalet.clock import elapsed_s
from kafkalet.testing.waiting import WaitCancelled, cancelled
from kafkalet.version import VERSION

from .access import Access
from .encoding import encoded
from .failures import Failure, Refusal, failure_of
from .openapi import document
from .request_head import RequestHead, read_head
from .requests_in_progress import RequestsInProgress
from .route import BYTES, EVENT_STREAM, JSON, MAX_BODY_BYTES, Call, Route, find
from .shapes import Json, Malformed, check_fields

if TYPE_CHECKING:
    from kafkalet.testing.cluster import Cluster

_LOG = logging.getLogger(__name__)

MAX_CONNECTIONS = 1000
MAX_STREAMS = 50
IDLE_TIMEOUT_S = 60.0
"""After this time without data from the client, the connection is closed."""
STREAM_TIMEOUT_S = 10.0
"""A stream ends if the client does not read for this time."""
CLOSE_TIMEOUT_S = 5.0
LINGER_BYTES = 4 << 20
CHUNK_BYTES = 1 << 16
MAX_PARAMETERS = 50

PAGE = files("kafkalet.control") / "page"
PAGE_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of the web page: only its own files and the API."""


class ControlServer:
    """The control API of a running cluster.

    `address` is the host and port to listen on; port 0 picks a free port. Without a `token`, the host must be a
    loopback address, else NotLoopback (a ValueError) is raised. Raises OSError if the server cannot listen.
    """

    def __init__(self, cluster: Cluster, address: tuple[str, int] = ("127.0.0.1", 0), token: str | None = None) -> None:
        if token is not None and not (token.isascii() and token.isprintable() and token.strip() == token != ""):
            raise ValueError("the token must consist of printable ASCII characters")
        self.cluster = cluster
        self.access = Access(address[0], token)
        self.access.check_address()
        self.closing = threading.Event()
        self.streams = threading.BoundedSemaphore(MAX_STREAMS)
        self.uploading = threading.Lock()
        """Held while a file is received and used, because a file may be as large as a gibibyte."""
        self._document: bytes | None = None
        self._http = _HttpServer(self, address)
        self.requests = RequestsInProgress(cluster._server.watchers.touch)
        self._thread = threading.Thread(target=self._accept, name=f"kafkalet-control-{self.port}", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @cached_property
    def routes(self) -> Sequence[Route]:
        """All routes. The first request imports them, so that a process with the API is ready sooner."""
        from .routes import areas

        return [route for area in areas() for route in area]

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        port: int = self._http.server_address[1]
        return port

    @property
    def url(self) -> str:
        """The URL of the server, without a path. For `0.0.0.0` and `::`, it is that of the loopback address."""
        host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.access.host, self.access.host)  # noqa: S104
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def document(self) -> bytes:
        """The OpenAPI document."""
        if self._document is None:
            from .routes import areas

            self._document = encoded(document(areas()))
        return self._document

    def close(self) -> None:
        """Stop listening, end all waits and connections, and wait until their threads have ended.

        May be called twice, and while the brokers are running or after they have stopped.
        """
        if self.closing.is_set():
            return
        self.closing.set()
        self.requests.cancel()
        self._thread.join()
        self.requests.close()
        self._http.server_close()
        self._http.end_connections()

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._http, selectors.EVENT_READ, self._http.accept)
            self.requests.open(selector)
            while not self.closing.is_set():
                self.requests.update(selector)
                with contextlib.suppress(OSError):  # on Windows, a connection was closed just now
                    for key, _ in selector.select():
                        key.data()


class _HttpServer(ThreadingHTTPServer):
    """Accepts connections, and keeps the thread of each."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, control: ControlServer, address: tuple[str, int]) -> None:
        self.control = control
        self._threads_by_socket: dict[socket.socket, threading.Thread] = {}
        self._changing = threading.Lock()
        found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        self.address_family = found[0]
        super().__init__(found[4][:2], _Connection)  # type: ignore[arg-type]
        self.socket.setblocking(False)

    def server_bind(self) -> None:
        """Bind without the reverse DNS look-up of HTTPServer, which can take seconds."""
        if os.name == "posix":  # on Windows, it would let two processes listen on one port
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()[:2]
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def accept(self) -> None:
        """Accept one connection, if it is still there."""
        try:
            request, address = self.get_request()
        except OSError:
            return
        with self._changing:
            is_full = len(self._threads_by_socket) >= MAX_CONNECTIONS
            if not is_full:
                thread = threading.Thread(
                    target=self._run, args=(request, address), name=self.control._thread.name + "-connection"
                )
                thread.daemon = True
                self._threads_by_socket[request] = thread
        if is_full:
            request.close()
            return
        try:
            thread.start()
        except RuntimeError:  # the system has no more threads
            self._forget(request)
            request.close()

    def _run(self, request: socket.socket, address: Any) -> None:
        try:
            self.process_request_thread(request, address)
        finally:
            self._forget(request)

    def _forget(self, request: socket.socket) -> None:
        with self._changing:
            self._threads_by_socket.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        _LOG.debug("a connection of the control API ended", exc_info=True)

    def end_connections(self) -> None:
        """End idle connections, give requests in progress a second to respond, and end the rest."""
        for how, timeout_s in ((socket.SHUT_RD, 1.0), (socket.SHUT_RDWR, CLOSE_TIMEOUT_S)):
            with self._changing:
                open_ones = list(self._threads_by_socket.items())
            for request, _ in open_ones:
                with contextlib.suppress(OSError):
                    request.shutdown(how)
            end_s = elapsed_s() + timeout_s
            for _, thread in open_ones:
                thread.join(max(0.0, end_s - elapsed_s()))


class _Connection(BaseHTTPRequestHandler):
    """Serves the requests of one connection."""

    protocol_version = "HTTP/1.1"
    server_version = f"kafkalet/{VERSION}"
    sys_version = ""
    timeout = IDLE_TIMEOUT_S
    disable_nagle_algorithm = True
    server: _HttpServer

    def setup(self) -> None:
        super().setup()
        self.control = self.server.control

    def handle_one_request(self) -> None:
        """Read a request and respond to it. After an error, the connection is closed unless the whole request
        was read.
        """
        self.command = self.requestline = ""
        self.request_version = self.protocol_version
        self.close_connection = False
        self._has_unread_body = True  # until its length is known
        try:
            head = read_head(self.rfile)
            if head is None:
                self.close_connection = True
                return
            self.command = head.method
            self.requestline = f"{head.method} {head.target}"
            self.close_connection = head.closes_connection
            length = head.body_length()
            self._has_unread_body = length > 0
            self._answer(head, length)
        except Refusal as refusal:
            self._refuse(refusal)
        except Malformed as error:
            self._refuse(Refusal(400, str(error)))
        except OSError:  # the client has closed the connection, or sends nothing
            self.close_connection = True
        if self._has_unread_body and self.close_connection:
            self._discard()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is that of http.server
        _LOG.debug("%s", shown(format % args))

    # A request

    def _answer(self, head: RequestHead, length: int) -> None:
        is_public = head.method == "GET" and page_file(head.target.partition("?")[0]) is not None
        self.control.access.check(head.fields, is_public=is_public)
        path, query = _parsed_target(head.target)
        found = find(self.control.routes, head.method, path)
        if found.route is None:
            self._answer_without_route(path, found.allowed)
            return
        self._answer_route(found.route, found.path, query, self._body(found.route, head, length))

    def _answer_without_route(self, path: str, allowed: Iterable[str]) -> None:
        if allowed:
            listed = ", ".join(allowed)
            self._refuse(Refusal(405, f"{self.command} is not allowed for {path}; use {listed}"), {"Allow": listed})
        elif self.command == "GET" and path == "/openapi.json":
            self._send(200, self.control.document, JSON)
        elif self.command == "GET" and (name := page_file(path)) is not None:
            self._send_file(name)
        else:
            raise Refusal(404, f"there is no {self.command} {path[:200]}; /openapi.json lists the operations")

    def _answer_route(
        self, route: Route, path: Mapping[str, str], query: Mapping[str, str], reading: AbstractContextManager[Json]
    ) -> None:
        with contextlib.ExitStack() as until_answered:
            with reading as body:
                given = check_fields(route.path, path, "parameter"), check_fields(route.query, query, "parameter")
                ended = until_answered.enter_context(self._ended(route))  # after the client has sent everything
                cancelled.set(ended)  # for waits in this thread
                result = self._result(route, Call(self.control.cluster, *given, body, ended))
            if isinstance(result, Failure):
                self._send_failure(result)
            elif route.produces == EVENT_STREAM:
                self._send_stream(result)
            elif route.produces == BYTES:
                self._send_download(result)
            else:
                self._send(route.status, result, None if route.response is None else JSON)

    def _result(self, route: Route, call: Call) -> Json | Failure:
        """Call the handler. Return its result, as bytes if it is JSON."""
        try:
            result = route.respond(call)
            return encoded(result) if route.produces == JSON and route.response is not None else result
        except WaitCancelled:
            self.close_connection = True
            where = "control API" if self.control.closing.is_set() else "connection"
            return failure_of(Refusal(503, f"the {where} is closed"))
        except Exception as error:  # noqa: BLE001 - an exception must not end the connection without a response
            is_running = call.cluster.is_running and not self.control.closing.is_set()
            return failure_of(error, waits=route.waits, is_running=is_running)

    def _ended(self, route: Route) -> AbstractContextManager[threading.Event]:
        """Provide an event that is set if the request has to end early."""
        if route.waits or route.produces == EVENT_STREAM:
            return self.control.requests.cancellable(self.connection)
        return contextlib.nullcontext(self.control.closing)

    # The body of a request

    @contextlib.contextmanager
    def _body(self, route: Route, head: RequestHead, length: int) -> Iterator[Json]:
        """Provide the checked JSON of the body, or a temporary file if the route accepts a file."""
        if length > route.max_body_bytes:
            raise Refusal(413, f"the body has {length} bytes; the limit is {route.max_body_bytes}")
        kind = head.fields.get_content_type() if "Content-Type" in head.fields else None
        if length and (route.body is not None or route.consumes != JSON) and kind != route.consumes:
            raise Refusal(
                415,
                f"the Content-Type is {kind}; it must be {route.consumes}, as in -H 'Content-Type: {route.consumes}'",
            )
        if route.consumes == JSON:
            yield _parsed(route, b"".join(self._chunks(head, length)))
            return
        if not self.control.uploading.acquire(blocking=False):
            raise Refusal(409, "another file is being uploaded; try again later")
        try:
            with tempfile.TemporaryFile(prefix="kafkalet-") as file:
                for chunk in self._chunks(head, length):
                    _store(file, chunk)
                file.seek(0)
                yield file
        finally:
            self.control.uploading.release()

    def _chunks(self, head: RequestHead, length: int) -> Iterator[bytes]:
        """Yield the body in chunks. Raises OSError if the client closes the connection."""
        if length and head.expects_continue:
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while length:
            chunk = self.rfile.read(min(length, CHUNK_BYTES))
            if not chunk:
                raise ConnectionError("the client has closed the connection")
            length -= len(chunk)
            yield chunk
        self._has_unread_body = False

    # Responses

    def _refuse(self, refusal: Refusal, headers: Mapping[str, str] | None = None) -> None:
        authenticate = {"WWW-Authenticate": "Bearer"} if refusal.status == 401 else {}
        failure = Failure(refusal.status, refusal.code, refusal.message)
        self._send_failure(failure, {**(headers or {}), **authenticate})

    def _discard(self) -> None:
        """Read and ignore what the client has sent, so that it gets the response instead of a connection reset."""
        with contextlib.suppress(OSError):
            self.connection.settimeout(1)
            self.connection.shutdown(socket.SHUT_WR)
            left = LINGER_BYTES
            while left > 0 and (got := self.rfile.read1(min(left, 1 << 16))):
                left -= len(got)

    def _send_failure(self, failure: Failure, headers: Mapping[str, str] | None = None) -> None:
        with contextlib.suppress(OSError):
            self._send(failure.status, encoded(failure.json()), JSON, headers)

    def _send(
        self, status: int, body: bytes | None, kind: str | None, headers: Mapping[str, str] | None = None
    ) -> None:
        if self._has_unread_body:  # which must not be taken for the next request
            self.close_connection = True
        self.send_response(status)
        if kind is not None:
            self.send_header("Content-Type", kind)
        if body is not None:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        head = b"".join(getattr(self, "_headers_buffer", [])) + b"\r\n"
        self._headers_buffer: list[bytes] = []
        self.wfile.write(head if body is None or self.command == "HEAD" else head + body)

    def _send_file(self, name: str) -> None:
        """Send a file of the web page."""
        content = (PAGE / name).read_bytes()
        kind = PAGE_TYPES[os.path.splitext(name)[1]]
        self._send(200, content, kind, {"Content-Security-Policy": PAGE_POLICY, "Referrer-Policy": "no-referrer"})

    def _send_download(self, file: IO[bytes]) -> None:
        """Send an open file, and close it."""
        with file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            self._send(200, None, BYTES, {"Content-Length": str(size)})
            while chunk := file.read(CHUNK_BYTES):
                self.wfile.write(chunk)

    def _send_stream(self, chunks: Iterable[bytes]) -> None:
        """Send a stream until the server or the client ends it, or the client does not read."""
        if not self.control.streams.acquire(blocking=False):
            raise Refusal(503, f"{MAX_STREAMS} streams are already open; close one of them")
        self.close_connection = True
        try:
            self.connection.settimeout(STREAM_TIMEOUT_S)
            self._send(200, None, EVENT_STREAM)
            for chunk in chunks:
                self.wfile.write(chunk)
        finally:
            self.control.streams.release()


def page_file(path: str) -> str | None:
    """Return the name of the file of the web page at a path, or None. Only files in its directory are found."""
    name = path.removeprefix("/") or "index.html"
    known = [file.name for file in PAGE.iterdir()]
    return name if os.path.splitext(name)[1] in PAGE_TYPES and name in known else None


def _parsed_target(target: str) -> tuple[str, dict[str, str]]:
    """Return the path of a target, and the parameters of its query."""
    try:
        parts = urlsplit(target)
        pairs = parse_qsl(parts.query, keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS)
    except ValueError as error:
        raise Malformed(f"the path or the query is malformed: {error}") from None
    query: dict[str, str] = {}
    for name, value in pairs:
        if name in query:
            raise Malformed(f"parameter {name[:60]} is given twice")
        query[name] = value
    return parts.path, query


def _store(file: IO[bytes], data: bytes) -> None:
    """Append a part of an uploaded file. Raises Refusal, because an OSError means that the client has gone."""
    try:
        file.write(data)
    except OSError as error:
        raise Refusal(500, f"the body cannot be stored: {error}") from error


def _parsed(route: Route, data: bytes) -> Json:
    """Return the checked JSON of a body."""
    if route.body is None:
        if data.strip() not in (b"", b"{}"):
            raise Malformed("this operation takes no body")
        return None
    try:
        value = _decoder(len(data)).decode(data.decode() or "{}")
    except RecursionError:
        raise Malformed("the body is nested too deeply") from None
    except ValueError as error:
        raise Malformed(f"the body is not JSON: {error}") from None
    return route.body.check(value, "the body")


def _decoder(size: int) -> json.JSONDecoder:
    """Return a decoder of JSON. That of large bodies is in Python, so that it does not stop the brokers' thread."""
    decoder = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_without_duplicates)
    if size > MAX_BODY_BYTES:
        decoder.scan_once = py_make_scanner(decoder)  # type: ignore[attr-defined]
    return decoder


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a JSON value")


def _without_duplicates(pairs: list[tuple[str, Json]]) -> Json:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a duplicate name")
    return found
