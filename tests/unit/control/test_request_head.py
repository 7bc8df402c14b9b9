"""Tests of parsing the head of a request: ambiguous heads are refused."""

import io

import pytest

from kafkalet.control.failures import Refusal
from kafkalet.control.request_head import MAX_FIELDS, MAX_LINE_BYTES, RequestHead, read_head

LINE = b"POST /v1/topics HTTP/1.1\r\n"
HOST = b"Host: localhost\r\n"


def head_of(data: bytes) -> RequestHead:
    head = read_head(io.BytesIO(data))
    assert head is not None
    return head


def status_of(data: bytes) -> int:
    with pytest.raises(Refusal) as refused:
        head_of(data).body_length()
    return refused.value.status


def test_head_is_read_up_to_the_body() -> None:
    stream = io.BytesIO(LINE + HOST + b"content-length:  2 \r\nX-Name:\r\n\r\n{}")
    head = read_head(stream)
    assert head is not None
    assert (head.method, head.target, head.body_length()) == ("POST", "/v1/topics", 2)
    assert (head.fields["Host"], head.fields["x-name"], stream.read()) == ("localhost", "", b"{}")


def test_stream_without_a_request_has_no_head() -> None:
    assert read_head(io.BytesIO(b"")) is None


def test_request_without_a_length_has_no_body() -> None:
    assert head_of(LINE + HOST + b"\r\n").body_length() == 0


@pytest.mark.parametrize(
    "line",
    [
        b"\r\n",
        b"GET /\r\n",  # HTTP/0.9
        b"GET / HTTP/1.1\n",
        b"GET / HTTP/1.1\r\r\n",
        b"GET  / HTTP/1.1\r\n",
        b"GET\t/ HTTP/1.1\r\n",
        b" GET / HTTP/1.1\r\n",
        b"GET / HTTP/1.1 \r\n",
        b"GET /a b HTTP/1.1\r\n",
        b"GET /\x85 HTTP/1.1\r\n",
        b"GET /\x00 HTTP/1.1\r\n",
        b"GET / http/1.1\r\n",
        b"GET / HTTP/01.1\r\n",
        b"GET / HTTP/1.10\r\n",
        b"G(T / HTTP/1.1\r\n",
        b"GET / HTTP/1.1",
    ],
)
def test_malformed_request_line_is_refused(line: bytes) -> None:
    assert status_of(line + HOST + b"\r\n") == 400


@pytest.mark.parametrize(
    "field",
    [
        b"Content-Length : 5\r\n",
        b"Content-Length\t: 5\r\n",
        b" Content-Length: 5\r\n",
        b"\tContent-Length: 5\r\n",
        b"X: a\r\n Content-Length: 5\r\n",
        b"X: a\r\n\t5\r\n",
        b"X: a\n",
        b"X: a\rContent-Length: 5\r\n",
        b"X: a\r\r\n",
        b"X: a\x00\r\n",
        b"X: a\x0b\r\n",
        b"X\x00: a\r\n",
        b"X\xa0: a\r\n",
        b": a\r\n",
        b"no colon\r\n",
        b"\n",
        b"\r",
    ],
)
def test_malformed_field_is_refused(field: bytes) -> None:
    assert status_of(LINE + HOST + field + b"\r\n\r\n") == 400
    assert status_of(LINE + field + HOST + b"\r\n") == 400


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        (b"Content-Length: 1\r\nContent-Length: 2\r\n", 400),
        (b"Content-Length: 2\r\ncontent-length: 2\r\n", 400),
        (b"Content-Length: 2, 2\r\n", 400),
        (b"Content-Length: +2\r\n", 400),
        (b"Content-Length: -2\r\n", 400),
        (b"Content-Length: 0x2\r\n", 400),
        (b"Content-Length: 2 2\r\n", 400),
        (b"Content-Length: 2.0\r\n", 400),
        (b"Content-Length: \xb2\r\n", 400),
        (b"Content-Length:\r\n", 400),
        (b"Content-Length: " + b"9" * 5000 + b"\r\n", 413),
        (b"Transfer-Encoding: chunked\r\n", 411),
        (b"Transfer-Encoding: identity\r\n", 411),
        (b"Transfer-Encoding:\r\nContent-Length: 2\r\n", 411),
        (b"Content-Length: 2\r\ntransfer-encoding: xchunked\r\n", 411),
    ],
)
def test_uncertain_length_is_refused(fields: bytes, status: int) -> None:
    assert status_of(LINE + HOST + fields + b"\r\n") == status


def test_request_needs_exactly_one_host() -> None:
    assert status_of(LINE + b"\r\n") == 400
    assert status_of(LINE + HOST + HOST + b"\r\n") == 400
    assert head_of(b"GET / HTTP/1.0\r\n\r\n").method == "GET"


def test_head_beyond_the_limits_is_refused() -> None:
    assert status_of(b"GET /" + b"a" * MAX_LINE_BYTES + b" HTTP/1.1\r\n" + HOST + b"\r\n") == 414
    assert status_of(LINE + HOST + b"X: " + b"a" * MAX_LINE_BYTES + b"\r\n\r\n") == 431
    assert status_of(LINE + HOST + b"X: a\r\n" * MAX_FIELDS + b"\r\n") == 431
    assert len(head_of(LINE + HOST + b"X: a\r\n" * (MAX_FIELDS - 1) + b"\r\n").fields) == MAX_FIELDS


def test_other_version_of_http_is_refused() -> None:
    assert status_of(b"PRI * HTTP/2.0\r\n\r\n") == 505


def test_slashes_at_the_start_of_the_target_are_one() -> None:
    assert head_of(b"GET ///v1/topics HTTP/1.1\r\n" + HOST + b"\r\n").target == "/v1/topics"


@pytest.mark.parametrize(
    ("version", "field", "closes"),
    [
        (b"1.1", b"", False),
        (b"1.1", b"Connection: Close\r\n", True),
        (b"1.1", b"Connection: TE, close\r\n", True),
        (b"1.0", b"", True),
        (b"1.0", b"Connection: keep-alive\r\n", False),
    ],
)
def test_client_says_whether_it_closes_the_connection(version: bytes, field: bytes, closes: bool) -> None:
    assert head_of(b"GET / HTTP/" + version + b"\r\n" + HOST + field + b"\r\n").closes_connection is closes
