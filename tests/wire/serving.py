"""A listener on a real socket. A function of the test responds to its requests.

Frames may contain any bytes: the connection does not decode them.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Coroutine
from functools import wraps
from types import SimpleNamespace, TracebackType
from typing import Any, Self

from kafkalet.broker.context import Context
from kafkalet.broker.network.connection import Connection
from kafkalet.broker.network.listener import Listener
from kafkalet.broker.network.listener_context import Limits
from kafkalet.clock import Clock, SystemClock
from kafkalet.protocol.wire import Chunk
from kafkalet.storage.files import FileRange
from kafkalet.tasks.delayed import Delayed

Pieces = list[bytes | FileRange]
Answer = bytes | Pieces | None | Delayed[Any]


def frame(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in a new event loop, for at most ten seconds."""

    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        async def limited() -> None:
            async with asyncio.timeout(10):
                await test(*args, **kwargs)

        asyncio.run(limited())

    return run


class StubRouter:
    """A stub of the router: passes each frame to `answer` and frames the result."""

    def __init__(self, answer: Callable[[bytes, Context], Answer]) -> None:
        self.answer = answer
        self.frames: list[bytes | bytearray] = []
        self.hooks = SimpleNamespace(journal=None)
        self.recorder = None

    def context(self, client: Connection, peer: tuple[str, int], listener: str) -> Any:
        context = Context.__new__(Context)
        context.client, context.peer, context.listener = client, peer, listener
        context.client_id, context.route = "tester", "Test v0"
        return context

    def route(self, frame: bytes | bytearray, context: Context, out: list[Chunk]) -> int | Delayed[Any]:
        self.frames.append(frame)
        answer = self.answer(bytes(frame), context)
        return answer if isinstance(answer, Delayed) else self.encode_delayed(answer, context, out)

    def encode_delayed(self, answer: Any, context: Context, out: list[Chunk]) -> int:
        if answer is None:
            return 0
        pieces = [answer] if isinstance(answer, bytes) else answer
        size = sum(map(len, pieces))
        out += [size.to_bytes(4, "big"), *pieces]
        return size + 4


class Client:
    """A client in the same event loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @property
    def socket(self) -> socket.socket:
        sock: socket.socket = self.writer.get_extra_info("socket")
        return sock

    def send(self, *contents: bytes) -> None:
        """Send frames with these contents."""
        self.writer.write(b"".join(map(frame, contents)))

    async def receive(self) -> bytes:
        """Return the content of the next frame."""
        return await self.reader.readexactly(int.from_bytes(await self.reader.readexactly(4), "big"))

    async def ask(self, content: bytes) -> bytes:
        self.send(content)
        return await self.receive()

    async def is_closed(self) -> bool:
        """Wait for the peer to close the connection; return False if it sends data instead."""
        try:
            return await self.reader.read(1) == b""
        except ConnectionError:
            return True

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()

    def reset(self) -> None:
        """Reset the connection."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        self.writer.transport.abort()


class Serving:
    """A listener in the running event loop, and its clients; all are closed at the end."""

    def __init__(
        self,
        answer: Callable[[bytes, Context], Answer] = lambda content, context: content,
        clock: Clock | None = None,
        **limits: Any,
    ) -> None:
        self.router = StubRouter(answer)
        self.limits = Limits(**limits)
        self.listener = Listener(self.router, clock or SystemClock(asyncio.get_running_loop()), self.limits)  # type: ignore[arg-type]
        self.clients: list[Client] = []
        self.address = ("", 0)

    async def __aenter__(self) -> Self:
        self.address = self.listener.bind("127.0.0.1", 0)
        self.listener.start(asyncio.get_running_loop())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.listener.close()
        for client in self.clients:
            await client.close()

    async def connect(self) -> Client:
        client = Client(*await asyncio.open_connection(*self.address, limit=1 << 26))
        self.clients.append(client)
        return client

    async def turns(self, count: int = 50) -> None:
        """Run this many iterations of the event loop; each one reads the available data of every connection."""
        for _ in range(count):
            await asyncio.sleep(0)

    async def settles(self, condition: Callable[[], bool], turns: int = 2000) -> bool:
        """Return whether a condition becomes true within this many turns of the event loop, a millisecond each."""
        for _ in range(turns):
            if condition():
                return True
            await asyncio.sleep(0.001)
        return False
