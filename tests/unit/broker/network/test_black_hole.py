"""Tests of the socket of a connection that has become a black hole."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalet.broker.network.black_hole import BlackHole
from kafkalet.broker.network.sending import Outbox
from kafkalet.storage.files import FileRange, Files


@pytest.fixture
def pair() -> Iterator[tuple[BlackHole, socket.socket]]:
    real, client = socket.socketpair()
    real.setblocking(False)
    client.setblocking(False)
    yield BlackHole(real), client
    real.close()
    client.close()


def test_received_data_is_discarded(pair: tuple[BlackHole, socket.socket]) -> None:
    hole, client = pair
    client.sendall(b"request")
    with pytest.raises(BlockingIOError):
        hole.recv_into(bytearray(100))
    client.close()
    assert hole.recv_into(bytearray(100)) == 0


def test_sent_data_is_discarded(pair: tuple[BlackHole, socket.socket]) -> None:
    hole, client = pair
    assert hole.send(b"response") == 8
    with pytest.raises(BlockingIOError):
        client.recv(1)


def test_files_are_discarded(pair: tuple[BlackHole, socket.socket], tmp_path: Path) -> None:
    hole, client = pair
    path = tmp_path / "segment"
    path.write_bytes(bytes(100_000))
    files = Files(durable=False)
    outbox = Outbox([FileRange(files.file(str(path)), 0, 100_000)])
    while outbox:
        outbox.send(hole, 1 << 20)  # type: ignore[arg-type]
    files.close()
    with pytest.raises(BlockingIOError):
        client.recv(1)
