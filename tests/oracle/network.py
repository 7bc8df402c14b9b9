"""The network between the brokers of Apache Kafka, their controller and their clients, which can be partitioned.

Each listener is advertised at the port of a proxy. A cut connection stays open and carries nothing, as if its packets
were lost; what was sent meanwhile arrives later, as TCP sends it again. This needs no firewall rules. The proxy of a
listener for brokers knows which of them has opened a connection by the client id of its first request, which contains
the broker's id.
"""

import asyncio
import re
import threading
from collections.abc import Collection, Coroutine
from contextlib import suppress
from typing import Any

NODE_ID = re.compile(rb"(?<=-)\d+|^\d+")
CHUNK_BYTES = 1 << 16
CONTROLLER = 0
"""The id of the controller."""
CLIENTS = -1
"""Stands for the id of clients."""


class Network:
    """The proxies of a cluster. They run in a thread until `close`."""

    def __init__(self) -> None:
        self._cut: dict[int, frozenset[str]] = {}
        """The kinds of peers that each broker does not reach, and that do not reach it."""
        self._changed = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def _call(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def proxy(self, port: int, node: int, *, for_clients: bool = False) -> int:
        """Forward connections to a port of a broker or the controller, and return the port of the proxy."""

        async def open_proxy() -> int:
            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                task = asyncio.current_task()
                assert task is not None
                self._tasks.add(task)
                with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                    await self._serve(reader, writer, port, node, for_clients=for_clients)
                writer.close()
                self._tasks.discard(task)

            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            return int(server.sockets[0].getsockname()[1])

        return int(self._call(open_proxy()))

    def cut_off(self, node: int, peers: Collection[str]) -> None:
        """Cut a broker off from peers, which are "clients", "brokers" or "controller"; without peers, undo it."""

        async def change() -> None:
            self._cut[node] = frozenset(peers)
            self._changed.set()
            self._changed = asyncio.Event()

        self._call(change())

    def _is_cut(self, one: int, other: int) -> bool:
        return one != other and (_kind(other) in self._cut.get(one, ()) or _kind(one) in self._cut.get(other, ()))

    def close(self) -> None:
        async def cancel() -> None:
            for task in list(self._tasks):
                task.cancel()

        self._call(cancel())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, node: int, *, for_clients: bool
    ) -> None:
        peer, first = CLIENTS, b""
        if not for_clients:
            size = await reader.readexactly(4)
            frame = await reader.readexactly(int.from_bytes(size, "big"))
            client_id = frame[10 : 10 + int.from_bytes(frame[8:10], "big")]
            found = NODE_ID.search(client_id)
            assert found is not None, client_id
            peer, first = int(found[0]), size + frame

        async def forward(source: asyncio.StreamReader, target: asyncio.StreamWriter, data: bytes) -> None:
            while True:
                while self._is_cut(node, peer):
                    await self._changed.wait()
                target.write(data)
                await target.drain()
                if not (data := await source.read(CHUNK_BYTES)):
                    return

        back, there = await asyncio.open_connection("127.0.0.1", port)
        ways = {
            asyncio.ensure_future(forward(reader, there, first)),
            asyncio.ensure_future(forward(back, writer, b"")),
        }
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            there.close()


def _kind(node: int) -> str:
    return {CONTROLLER: "controller", CLIENTS: "clients"}.get(node, "brokers")
