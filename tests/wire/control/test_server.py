"""Tests of the HTTP server of the control API: access, limits, malformed requests, clients that leave, and the end."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kafkalet
from kafkalet.control import server as control_server
from kafkalet.control.access import NotLoopback
from kafkalet.control.route import JSON, MAX_BODY_BYTES, Route
from kafkalet.control.routes import areas
from kafkalet.control.server import ControlServer
from kafkalet.control.shapes import AnyOf, Integer, ListOf, Object, Shape, Text
from tests.descriptors import is_readable

from .asking import TOKEN, Asking, asking


def exchange(api: Asking, data: bytes) -> bytes:
    """Send bytes on a new connection, and return what the server sends until it closes the connection."""
    with socket.create_connection(("127.0.0.1", api.control.port), timeout=20) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        got = b""
        while more := connection.recv(1 << 16):
            got += more
        return got


def test_routes_are_imported_by_the_first_request() -> None:
    code = "import sys, kafkalet.control.server; print([name for name in sys.modules if '.control.routes' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    with kafkalet.Cluster() as cluster, ControlServer(cluster) as control:
        assert "routes" not in vars(control)
        assert Asking(control).get("/v1/topics") == {"topics": []}
        assert "routes" in vars(control)


# Access


def test_page_of_another_site_is_refused(api: Asking) -> None:
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = api.ask("POST", "/v1/topics", {"name": "t"}, headers)
        assert (answer.status, answer.code) == (403, "forbidden")
    assert api.get("/v1/topics")["topics"] == []


def test_form_of_a_page_is_refused(api: Asking) -> None:
    for kind in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data"):
        answer = api.ask("POST", "/v1/topics", data=b'{"name": "t"}', headers={"Content-Type": kind})
        assert (answer.status, answer.code) == (415, "unsupported_media_type")
        assert "-H 'Content-Type: application/json'" in answer.message


@pytest.mark.parametrize("path", ["/v1/topics", "/%761/topics", "/openapi.json", "/v1/nothing", "//v1/topics"])
def test_api_with_a_token_is_closed_without_it(path: str) -> None:
    with asking(token=TOKEN) as api:
        answer = api.ask("GET", path)
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert api.ask("GET", path, headers={"Authorization": "Bearer guessed"}).status == 401


def test_token_opens_the_api_under_any_name() -> None:
    with asking(token=TOKEN) as api:
        headers = {"Authorization": f"Bearer {TOKEN}", "Host": "kafka.internal:80"}
        assert api.ask("GET", "/v1/topics", headers=headers).status == 200


def test_server_without_a_token_listens_on_loopback_only() -> None:
    with kafkalet.Broker() as broker:
        with pytest.raises(NotLoopback):
            ControlServer(broker, ("0.0.0.0", 0))
        with ControlServer(broker, ("0.0.0.0", 0), "secret") as control:
            assert control.url == f"http://127.0.0.1:{control.port}"


@pytest.mark.parametrize("token", ["", " a", "a\n", "é"])
def test_token_that_a_header_cannot_contain_is_refused(token: str) -> None:
    with kafkalet.Broker() as broker, pytest.raises(ValueError, match="printable ASCII"):
        ControlServer(broker, token=token)


def test_expected_body_is_refused_before_it_is_sent(api: Asking) -> None:
    head = b"POST /v1/topics HTTP/1.1\r\nHost: evil\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
    assert exchange(api, head).startswith(b"HTTP/1.1 403 ")


# Malformed requests and limits


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the body is not JSON: "),
        (b"{", "the body is not JSON: "),
        (b"\xff", "the body is not JSON: "),
        (b'{"a": NaN}', "the body is not JSON: NaN is not a JSON value"),
        (b'{"name": "a", "name": "b"}', "the body is not JSON: an object has a duplicate name"),
        (b"[" * 100_000, "the body is nested too deeply"),
        (b"9" * 10_000, "the body is not JSON: "),
        (b"[]", "the body must be an object, not a list"),
        (b'{"name": "\\ud800"}', "name contains a lone surrogate, which UTF-8 cannot represent"),
    ],
)
def test_malformed_body_is_refused(api: Asking, data: bytes, message: str) -> None:
    answer = api.ask("POST", "/v1/topics", data=data or b" ", headers={"Content-Type": JSON})
    assert (answer.status, answer.code) == (400, "bad_request")
    assert answer.message.startswith(message)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": NaN}', "the body is not JSON: NaN is not a JSON value"),
        (b'{"records": [], "records": []}', "the body is not JSON: an object has a duplicate name"),
        (b"[" * 100_000, "the body is nested too deeply"),
        (b'{"records": [{"value": 1}]}', "records[0].value must be a string, not 1"),
    ],
)
def test_large_malformed_body_is_refused(api: Asking, data: bytes, message: str) -> None:
    answer = api.ask("POST", "/v1/topics/t/records", data=b" " * MAX_BODY_BYTES + data, headers={"Content-Type": JSON})
    assert (answer.status, answer.code) == (400, "bad_request")
    assert answer.message.startswith(message)


def test_only_records_and_files_may_have_large_bodies(api: Asking) -> None:
    answer = api.ask("POST", "/v1/topics", {"name": "t", "config": {"x": "y" * MAX_BODY_BYTES}})
    assert (answer.status, answer.code) == (413, "too_large")
    sent = api.post("/v1/topics/t/records", {"records": [{"value": "y" * 100}] * (MAX_BODY_BYTES // 100)})
    assert len(sent["records"]) == MAX_BODY_BYTES // 100


def test_empty_body_is_read_as_an_empty_object(api: Asking) -> None:
    assert api.ask("POST", "/v1/topics").message.startswith("name is missing")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"POST /v1/topics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", 411),
        (b"POST /v1/topics HTTP/1.1\r\nContent-Length: x\r\n", 400),
        (b"POST /v1/topics HTTP/1.1\r\nContent-Length: -1\r\n", 400),
        (b"POST /v1/topics HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n", 400),
        (b"POST /v1/topics HTTP/1.1\r\nContent-Length: %d\r\n" % (MAX_BODY_BYTES + 1), 413),
        (b"POST /v1/topics HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n", 413),
        (b"GET /v1/topics?%ff=1 HTTP/1.1\r\n", 400),
        (b"GET /v1/topics/%ff HTTP/1.1\r\n", 400),
        (b"GET /v1/topics/..%2f..%2fetc%2fpasswd HTTP/1.1\r\n", 404),
        (b"GET /v1/topics?" + b"&".join(b"a%d=1" % n for n in range(60)) + b" HTTP/1.1\r\n", 400),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n", 414),
        (b"GET /\r\n", 400),
        (b"BREW /v1/topics HTTP/1.1\r\n", 405),
        (b"GET http://[ HTTP/1.1\r\n", 400),
        (b"TRACE / HTTP/1.1\r\n", 404),
        (b"GET /v1/topics HTTP/1.1\r\nHost : localhost\r\n", 400),
        (b"nonsense\r\n", 400),
    ],
)
def test_malformed_request_is_refused(api: Asking, head: bytes, status: int) -> None:
    start, _, body = exchange(api, head + b"Host: localhost\r\n\r\n").partition(b"\r\n\r\n")
    assert start.startswith(b"HTTP/1.1 %d " % status)
    json.loads(body)
    assert api.get("/v1/topics") == {"topics": []}


def test_unknown_method_returns_the_allowed_methods(api: Asking) -> None:
    answer = api.ask("DELETE", "/v1/topics")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, POST")


def test_connection_is_used_again_after_a_refused_request(api: Asking) -> None:
    connection = api.connect()
    for path, status in (
        ("/v1/topics/missing", 404),
        ("/v1/topics", 200),
        ("/v1/topics?x=1", 400),
        ("/v1/topics", 200),
    ):
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        assert response.status == status
    connection.close()


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE", "PUT", "OPTIONS", "BREW"])
@pytest.mark.parametrize("path", ["/", "/main.js", "/openapi.json", "/v1/topics", "/v1/nothing", "/v1/events", "/%ff"])
def test_body_is_not_taken_for_a_request(api: Asking, method: str, path: str) -> None:
    inner = b"DELETE /v1/topics/t HTTP/1.1\r\nHost: localhost\r\n\r\n"
    api.post("/v1/topics", {"name": "t"})
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(inner)}\r\n\r\n".encode()
    assert exchange(api, head + inner).count(b"HTTP/1.1 ") == 1
    assert len(api.get("/v1/topics")["topics"]) == 1


@pytest.mark.parametrize(
    "fields",
    [
        b"Content-Length : %d\r\n",
        b"X: a\r\n Content-Length: %d\r\n",
        b"X: a\nContent-Length: %d\r\n",
        b"X: a\rContent-Length: %d\r\n",
        b"Content-Length: 0\r\nContent-Length: %d\r\n",
        b"Content-Length: +%d\r\n",
        b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding : chunked\r\nX: %d\r\n",
    ],
)
def test_body_of_uncertain_length_is_not_taken_for_a_request(api: Asking, fields: bytes) -> None:
    inner = b"DELETE /v1/topics/t HTTP/1.1\r\nHost: localhost\r\n\r\n"
    api.post("/v1/topics", {"name": "t"})
    head = b"GET / HTTP/1.1\r\nHost: localhost\r\n" + fields % len(inner) + b"\r\n"
    assert exchange(api, head + inner).count(b"HTTP/1.1 4") == 1
    assert len(api.get("/v1/topics")["topics"]) == 1


def test_requests_on_one_connection_are_answered_in_turn(api: Asking) -> None:
    first = (
        b"POST /v1/topics HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n"
    )
    last = b"GET /v1/topics/t HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    got = exchange(api, first + b'{"name": "t"}' + last)
    assert [part[:3] for part in got.split(b"HTTP/1.1 ")[1:]] == [b"201", b"200"]


def test_expected_body_is_requested_with_100_continue(api: Asking) -> None:
    head = b"POST /v1/topics HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 13\r\n"
    with socket.create_connection(("127.0.0.1", api.control.port), timeout=20) as connection:
        connection.sendall(head + b"Expect: 100-continue\r\n\r\n")
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b'{"name": "t"}')
        assert connection.recv(100).startswith(b"HTTP/1.1 201 ")


def test_connection_is_dropped_if_client_closes_it_in_the_middle_of_a_body(api: Asking) -> None:
    head = b"POST /v1/topics HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
    assert exchange(api, head + b'{"n') == b""


def test_exception_of_a_handler_gets_a_response(api: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise KeyError("surprise")

    monkeypatch.setattr(api.cluster, "now_ms", fail)
    answer = api.ask("GET", "/v1/cluster")
    assert (answer.status, answer.code) == (500, "internal")


def test_brokers_that_have_stopped_are_unavailable() -> None:
    with kafkalet.Broker() as broker:
        control = ControlServer(broker)
    with control:
        assert Asking(control).ask("GET", "/v1/topics").status == 503


def operations() -> list[Route]:
    return [route for area in areas() for route in area if route.method == "POST"]


def values_of(shape: Shape | None) -> st.SearchStrategy[Any]:
    """Values that often match the shape, so that handlers are reached."""
    anything = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
    wild = st.recursive(
        anything, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    )
    return _fitting(shape) | wild if shape is not None else wild


def _fitting(shape: Shape) -> st.SearchStrategy[Any]:
    if isinstance(shape, Object):
        required = {name: _fitting(each.shape) for name, each in shape.fields.items() if each.is_required}
        optional = {name: _fitting(each.shape) for name, each in shape.fields.items() if not each.is_required}
        optional.pop("timeout", None)
        return st.fixed_dictionaries(required, optional=optional)
    if isinstance(shape, Text):
        return st.sampled_from(shape.allowed) if shape.allowed else st.text(max_size=4) | st.sampled_from(["t", "gap"])
    if isinstance(shape, Integer):
        return st.integers(max(shape.least, -3), min(shape.most, 9)) | st.just(min(shape.most, 1 << 62))
    if isinstance(shape, ListOf):
        return st.lists(_fitting(shape.shape), max_size=3)
    if isinstance(shape, AnyOf):
        return st.one_of([_fitting(each) for each in shape.shapes])
    inner = getattr(shape, "shape", None)
    if inner is not None and "object" in str(shape.schema().get("type")) and not isinstance(inner, Object):
        return st.dictionaries(st.sampled_from(["0", "1", "retention.ms", "x"]), _fitting(inner), max_size=2)
    return st.none() | _fitting(inner) if inner is not None else st.booleans() | st.integers(0, 3)


@pytest.fixture(scope="module")
def impatient() -> Iterator[Asking]:
    """An API whose waits time out immediately."""
    with asking() as api:
        api.cluster.timeout = 0.0
        api.post("/v1/topics", {"name": "t"})
        yield api


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_no_body_causes_an_internal_error(impatient: Asking, data: st.DataObject) -> None:
    route = data.draw(st.sampled_from(operations()))
    names = {name: data.draw(st.sampled_from(["t", "0", "1", "x", "%00"])) for name in route.path}
    answer = impatient.ask("POST", route.template.format(**names), data.draw(values_of(route.body)))
    assert answer.status < 500, answer.json


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_no_parameter_causes_an_internal_error(impatient: Asking, data: st.DataObject) -> None:
    routes = [route for area in areas() for route in area if route.method in ("GET", "DELETE")]
    route = data.draw(st.sampled_from([route for route in routes if route.produces == JSON]))
    names = {name: data.draw(st.sampled_from(["t", "0", "1", "x"])) for name in route.path}
    values = st.sampled_from(["", "0", "1", "5", "-1", "true", "Fetch", "Fetch,Produce", "t", "9" * 19, "x"])
    chosen = data.draw(st.lists(st.sampled_from(sorted(route.query) or ["x"]), unique=True, max_size=3))
    query = "&".join(f"{name}={data.draw(values)}" for name in chosen)
    answer = impatient.ask(route.method, f"{route.template.format(**names)}?{query}")
    assert answer.status < 500, answer.json


@given(path=st.text(max_size=30), query=st.text(max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_path_causes_an_internal_error(impatient: Asking, path: str, query: str) -> None:
    from urllib.parse import quote

    for prefix in ("/", "/v1/topics/", "/v1/topics/t/records?"):
        assert impatient.ask("GET", f"{prefix}{quote(path)}?{quote(query, safe='=&')}").status < 500


# Many requests, and the end


def test_two_hundred_concurrent_requests_are_all_answered(api: Asking) -> None:
    with ThreadPoolExecutor(200) as pool:
        sent = list(pool.map(lambda n: api.post("/v1/topics/t/records", {"value": str(n)}), range(200)))
    offsets = sorted(record["offset"] for each in sent for record in each["records"])
    assert offsets == list(range(200))
    assert len(api.get("/v1/topics/t/records?limit=1000")["records"]) == 200


def test_end_leaves_no_thread_and_no_socket() -> None:
    before = set(threading.enumerate())
    answers: list[int] = []
    with kafkalet.Broker() as broker:
        control = ControlServer(broker)
        api = Asking(control)
        idle, streaming = api.connect(), api.connect()
        idle.request("GET", "/v1/topics")
        idle.getresponse().read()
        streaming.request("GET", "/v1/events")
        stream = streaming.getresponse()
        stream.readline()
        waiting = threading.Thread(target=lambda: answers.append(api.ask("POST", "/v1/topics/t/wait").status))
        waiting.start()
        with broker._server.watchers.watch() as changed:
            while len(broker._server.watchers._events) < 3:  # this one, the stream, and the wait
                changed.wait(0.01)
    control.close()
    control.close()
    waiting.join(10)
    assert answers == [503]
    assert set(threading.enumerate()) <= before
    with pytest.raises(ConnectionError):
        api.ask("GET", "/v1/topics")
    for connection in (stream, idle, streaming):
        connection.close()


def test_server_that_closes_before_its_brokers_ends_its_waits() -> None:
    with kafkalet.Broker() as broker:
        control = ControlServer(broker)
        connection = Asking(control).connect()
        connection.request("POST", "/v1/topics/t/wait", '{"timeout": 100}', {"Content-Type": JSON})
        with broker._server.watchers.watch() as changed:
            while len(broker._server.watchers._events) < 2:
                changed.wait(0.01)
        [thread] = control._http._threads_by_socket.values()
        control.close()
        assert not thread.is_alive()
        assert connection.getresponse().status == 503
        connection.close()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/topics/t/wait", {"timeout": 3600}),
        ("POST", "/v1/requests/wait", {"timeout": 3600}),
        ("POST", "/v1/groups/g/wait-until-stable", {"timeout": 3600}),
        ("POST", "/v1/transactions/x/wait", {"state": "Ongoing", "timeout": 3600}),
        ("GET", "/v1/events", None),
    ],
)
def test_request_ends_when_its_client_has_gone(api: Asking, method: str, path: str, body: Any) -> None:
    connection = api.connect()
    watchers = api.cluster._server.watchers
    with watchers.watch():
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"Content-Type": JSON})
        while len(watchers._events) < 2:
            assert not is_readable(connection.sock, 0.01) or body is None, "the request was refused"
        [thread] = api.control._http._threads_by_socket.values()
    connection.close()
    thread.join(10)
    assert not thread.is_alive()


def test_wait_ends_when_the_client_has_gone_although_its_body_was_late(api: Asking) -> None:
    body = b'{"timeout": 3600}'
    head = f"POST /v1/topics/t/wait HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSON}\r\nContent-Length: {len(body)}"
    watchers = api.cluster._server.watchers
    with socket.create_connection(("127.0.0.1", api.control.port), timeout=20) as connection:
        connection.sendall(f"{head}\r\nExpect: 100-continue\r\n\r\n".encode())
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        with watchers.watch() as changed:
            while len(watchers._events) < 2:
                changed.wait(0.01)
        [thread] = api.control._http._threads_by_socket.values()
    thread.join(10)
    assert not thread.is_alive()


def test_connections_beyond_the_limit_are_closed(api: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_server, "MAX_CONNECTIONS", 0)
    with pytest.raises(OSError):
        api.ask("GET", "/v1/topics")
    monkeypatch.undo()
    assert api.get("/v1/topics") == {"topics": []}


# The web page


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "page"
    folder.mkdir()
    (tmp_path / "secret.html").write_text("secret")
    for name in ("index.html", "main.js", "site.css", "notes.txt"):
        (folder / name).write_text(name)
    monkeypatch.setattr(control_server, "PAGE", folder)
    return folder


@pytest.mark.parametrize(
    ("path", "content", "kind"),
    [
        ("/", b"index.html", "text/html; charset=utf-8"),
        ("/index.html", b"index.html", "text/html; charset=utf-8"),
        ("/main.js", b"main.js", "text/javascript; charset=utf-8"),
        ("/site.css?v=1", b"site.css", "text/css; charset=utf-8"),
    ],
)
def test_page_is_served_with_a_strict_policy(api: Asking, page: Path, path: str, content: bytes, kind: str) -> None:
    answer = api.ask("GET", path)
    assert (answer.status, answer.body, answer.headers["Content-Type"]) == (200, content, kind)
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["/notes.txt", "/other.js", "/../secret.html", "/%2e%2e/secret.html", "/..%2fsecret.html"]
)
def test_other_files_are_not_served(api: Asking, page: Path, path: str) -> None:
    assert api.ask("GET", path).status == 404


def test_page_is_served_without_the_token(page: Path) -> None:
    with asking(token=TOKEN) as api:
        assert api.ask("GET", "/").status == 200


def test_openapi_document_is_served(api: Asking) -> None:
    assert api.ask("GET", "/openapi.json").json["openapi"] == "3.1.0"
