"""Tests of the client of the control API."""

import http.server
import threading
from collections.abc import Iterator

import pytest

from kafkalet.control.client import ControlClient, ControlError

from .asking import Asking


@pytest.fixture
def client(api: Asking) -> ControlClient:
    return ControlClient(api.control.url)


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1", "https://127.0.0.1:1", "http://:1", "http://a:1/path", "http://a:1?b=c"]
)
def test_other_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is not the URL of a control API"):
        ControlClient(url)


def test_url_may_be_an_address(api: Asking) -> None:
    assert ControlClient(f"127.0.0.1:{api.control.port}").ask("GET", "/v1/topics") == {"topics": []}


def test_names_in_paths_are_encoded(client: ControlClient, api: Asking) -> None:
    client.ask("POST", "/v1/topics", body={"name": "t"})
    client.ask("POST", "/v1/groups/{}/seek", "a/b c?", body={"offset": 0, "topic": "t"})
    assert client.ask("GET", "/v1/groups/{}", "a/b c?")["group_id"] == "a/b c?"


def test_error_has_the_code_of_the_api(client: ControlClient) -> None:
    with pytest.raises(ControlError) as error:
        client.ask("GET", "/v1/topics/{}", "missing")
    assert (error.value.code, error.value.status) == ("UNKNOWN_TOPIC_OR_PARTITION", 404)


def test_parameters_are_written_as_the_api_reads_them(client: ControlClient) -> None:
    query = {"apis": ["Fetch", "Produce"], "messages": True, "topic": None, "limit": 5}
    assert client.ask("GET", "/v1/requests", query=query) == {"requests": []}


def test_error_for_unreachable_api_names_its_url() -> None:
    with pytest.raises(ControlError, match=r"there is no control API at http://127\.0\.0\.1:1: Connection refused"):
        ControlClient("http://127.0.0.1:1").ask("GET", "/v1/topics")


class NotFound(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def other_server() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), NotFound) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_server_other_than_a_control_api_is_named(other_server: str) -> None:
    with pytest.raises(ControlError, match="is not a kafkalet control API"):
        ControlClient(other_server).ask("GET", "/v1/topics")


def test_events_are_read(client: ControlClient, api: Asking) -> None:
    events = client.events("topics")
    assert next(events) == ("topics", {"topics": [], "removed": []})
    api.post("/v1/topics", {"name": "t"})
    name, data = next(events)
    assert (name, data["topics"][0]["name"]) == ("topics", "t")
    events.close()
