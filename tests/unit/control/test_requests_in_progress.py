"""Tests of ending requests whose clients have gone."""

import selectors
import socket
import threading
from collections.abc import Iterator

import pytest

from kafkalet.control.requests_in_progress import RequestsInProgress


class Stage:
    """The loop of the selector, run step by step by the test."""

    def __init__(self) -> None:
        self.woken = 0
        self.requests = RequestsInProgress(self.wake)
        self.selector = selectors.DefaultSelector()
        self.requests.open(self.selector)

    def wake(self) -> None:
        self.woken += 1

    def turn(self) -> None:
        self.requests.update(self.selector)
        for key, _ in self.selector.select(0):
            key.data()

    def close(self) -> None:
        self.requests.close()
        self.selector.close()


@pytest.fixture
def stage() -> Iterator[Stage]:
    found = Stage()
    yield found
    found.close()


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    server, client = socket.socketpair()
    with server, client:
        yield server, client


def test_request_ends_if_its_client_closes_the_connection(
    stage: Stage, pair: tuple[socket.socket, socket.socket]
) -> None:
    server, client = pair
    with stage.requests.cancellable(server) as ended:
        stage.turn()
        assert not ended.is_set()
        client.close()
        stage.turn()
        assert (ended.is_set(), stage.woken) == (True, 1)
        stage.turn()
    stage.turn()
    assert stage.woken == 1


def test_request_continues_if_its_client_sends_the_next_one(
    stage: Stage, pair: tuple[socket.socket, socket.socket]
) -> None:
    server, client = pair
    with stage.requests.cancellable(server) as ended:
        client.send(b"GET")
        stage.turn()
        stage.turn()
        assert not ended.is_set()
    assert server.recv(3) == b"GET"
    with stage.requests.cancellable(server) as ended:
        client.close()
        stage.turn()
        assert ended.is_set()


def test_finished_request_is_not_cancelled(stage: Stage, pair: tuple[socket.socket, socket.socket]) -> None:
    server, client = pair
    with stage.requests.cancellable(server) as ended:
        stage.turn()
    client.close()
    for key, _ in stage.selector.select(0):  # before the end of the request was recorded
        key.data()
    stage.turn()
    assert (ended.is_set(), stage.woken) == (False, 0)


def test_next_wait_is_not_blocked_by_an_event_of_the_last_one(
    stage: Stage, pair: tuple[socket.socket, socket.socket]
) -> None:
    server, client = pair
    with stage.requests.cancellable(server):
        stage.turn()
        client.send(b"GET")
        events = stage.selector.select(0)
    server.recv(3)
    with stage.requests.cancellable(server) as ended:
        for key, _ in events:
            key.data()
        assert not ended.is_set()
        client.close()
        stage.turn()
        assert ended.is_set()


def test_connection_that_is_closed_before_it_was_observed_is_ignored(stage: Stage) -> None:
    server, client = socket.socketpair()
    with stage.requests.cancellable(server):
        server.close()
        stage.turn()
    client.close()
    stage.turn()
    assert [key.fileobj for key in stage.selector.get_map().values()] == [stage.requests._reader]


def test_cancel_ends_present_and_later_requests(stage: Stage, pair: tuple[socket.socket, socket.socket]) -> None:
    server, client = pair
    with stage.requests.cancellable(server) as present:
        stage.requests.cancel()
        assert (present.is_set(), stage.woken) == (True, 1)
    with stage.requests.cancellable(client) as later:
        assert later.is_set()


def test_requests_of_many_threads_are_observed(stage: Stage) -> None:
    pairs = [socket.socketpair() for _ in range(20)]
    begun, found = threading.Barrier(21), []

    def request(server: socket.socket) -> None:
        with stage.requests.cancellable(server) as ended:
            begun.wait(10)
            found.append(ended.wait(10))

    threads = [threading.Thread(target=request, args=(server,)) for server, _ in pairs]
    for thread in threads:
        thread.start()
    begun.wait(10)
    for _, client in pairs:
        client.close()
    stage.turn()
    for thread in threads:
        thread.join(10)
    assert found == [True] * 20
    for server, _ in pairs:
        server.close()
    stage.turn()
