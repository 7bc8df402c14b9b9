"""A cluster on a manual clock in this thread's event loop; handlers are called directly, without sockets.

Deferred callbacks run only in `settle`, so a history is the same each time it is repeated.
"""

import asyncio
import importlib
import inspect
import shutil
import tempfile
from collections.abc import Callable
from typing import Any, TypeVar

from kafkalet.broker.context import Context
from kafkalet.broker.network.error_responses import error_response
from kafkalet.clock import ManualClock
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import KafkaError
from kafkalet.tasks.delayed import Delayed
from kafkalet.tasks.task import start, until
from kafkalet.testing.cluster import Cluster
from tests.unit.broker.apis.asking import NoClient, as_received, as_returned

T = TypeVar("T")

START_MS = 1_700_000_000_000
ROUNDS = 8
"""The number of loop iterations after which all deferred callbacks have run."""


class _Loop(asyncio.SelectorEventLoop):
    """An event loop with a manual clock."""

    now_s = 0.0

    def time(self) -> float:
        return self.now_s


class Stage:
    """A cluster with a data directory."""

    def __init__(self, brokers: int, version: str = "newest", **config: str) -> None:
        self.brokers = brokers
        self.version = version
        self.config = config
        self.clock = ManualClock(START_MS)
        self.directory = tempfile.mkdtemp(prefix="kafkalet-model-")
        self.loop = _Loop()
        self.calls: list[Callable[[], None]] | None = None
        """Calls for worker threads; None runs them immediately."""
        self.cluster = self._start()

    def _start(self) -> Cluster:
        cluster = Cluster(
            self.brokers,
            version=self.version,
            data_dir=self.directory,
            clock=self.clock,
            config=self.config,
        )
        self.loop.run_until_complete(cluster.start())
        for node in cluster._server.nodes.values():
            node.workers.submit = self._submit  # type: ignore[method-assign]
        return cluster

    def _submit(self, function: Callable[[], T], *, droppable: bool = False) -> Delayed[T]:
        """Run a call of a worker thread in this thread, immediately or in `run_calls`."""
        done: Delayed[T] = Delayed()

        def run() -> None:
            try:
                done.complete(function())
            except Exception as error:  # noqa: BLE001 - the handler may expect it
                done.fail(error)

        if self.calls is None:
            run()
        else:
            self.calls.append(run)
        return done

    def run_calls(self) -> int:
        """Run the calls that have been collected in `calls`, and return how many there were."""
        assert self.calls is not None
        calls, self.calls = self.calls, []
        for call in calls:
            call()
        self.settle()
        return len(calls)

    def settle(self) -> None:
        """Run all deferred callbacks."""

        async def turn() -> None:
            for _ in range(ROUNDS):
                await asyncio.sleep(0)

        self.loop.run_until_complete(turn())

    def advance(self, ms: int) -> None:
        """Advance the clock in steps of one second, so that timers fire in order."""
        while ms > 0:
            step = min(ms, 1000)
            self.clock.advance(milliseconds=step)
            self.pass_real_time(step)
            ms -= step

    def pass_real_time(self, ms: int) -> None:
        """Advance the time of the event loop only."""
        self.loop.now_s += ms / 1000
        self.settle()

    def restart(self) -> None:
        """Restart the cluster from its data directory."""
        self.loop.run_until_complete(self.cluster.stop())
        self.cluster = self._start()
        self.settle()

    def close(self) -> None:
        self.loop.run_until_complete(self.cluster.stop())
        self.loop.close()
        shutil.rmtree(self.directory)

    # Brokers

    @property
    def alive(self) -> list[int]:
        return sorted(self.cluster._server.nodes)

    def stop_broker(self, node: int) -> None:
        self.cluster.broker(node).stop()
        self.settle()

    def start_broker(self, node: int) -> None:
        self.cluster.broker(node).start()
        self.settle()

    # Requests

    def begin(self, api: Api, version: int, node: int, client_id: str = "tester", **fields: Any) -> "Pending":
        """Call a handler. `fields` are those of the request; structs are dicts."""
        sent = as_received(api, version, fields)
        context = Context(self.cluster._server.brokers[node], NoClient(), ("127.0.0.1", 1), "PLAINTEXT")
        context.api, context.version, context.client_id, context.correlation_id = api, version, client_id, 1
        module = importlib.import_module(f"kafkalet.broker.apis.{api.module}")
        try:
            answer = module.handle(sent, context)
            if inspect.iscoroutine(answer):
                context.node.turns.begin()
                context.node.turns.deadline_s = float("inf")  # however slow this machine is
                answer = start(_in_turns(answer, module, sent, context), context.node.turns, context.node.workers)
        except KafkaError as error:
            answer = getattr(module, "refuse", error_response)(sent, context, error)
        return Pending(self, api, version, answer)

    def ask(self, api: Api, version: int, node: int, **fields: Any) -> Any:
        """Return the response as plain data; fail if it is still pending after `settle`."""
        pending = self.begin(api, version, node, **fields)
        if pending.is_waiting:
            self.settle()
        return pending.answer()

    def leader(self, topic: str, index: int) -> int:
        """The broker that leads a partition."""
        state = self.cluster._server.metadata.partition(topic, index)
        assert state is not None
        return state.leader

    def coordinator(self, key: str, key_type: int) -> int:
        """The broker that coordinates a group (0) or a transactional id (1)."""
        found = self.ask(Api.FIND_COORDINATOR, 3, self.alive[0], key=key, key_type=key_type)
        assert found["error_code"] == 0, found
        return int(found["node_id"])


async def _in_turns(handling: Any, module: Any, sent: Any, context: Context) -> Any:
    try:
        answer = await handling
    except KafkaError as error:
        answer = getattr(module, "refuse", error_response)(sent, context, error)
    return await until(answer) if isinstance(answer, Delayed) else answer


class Pending:
    """A request whose response may still be pending."""

    def __init__(self, stage: Stage, api: Api, version: int, answer: Any) -> None:
        self._stage, self._api, self._version, self._answer = stage, api, version, answer

    @property
    def is_waiting(self) -> bool:
        return isinstance(self._answer, Delayed) and self._answer.is_waiting

    def cancel(self) -> None:
        """Let the client disconnect."""
        assert isinstance(self._answer, Delayed)
        self._answer.cancel()

    def answer(self) -> Any:
        assert not self.is_waiting, f"{self._api} is not answered"
        answer = self._answer.result() if isinstance(self._answer, Delayed) else self._answer
        return as_returned(self._api, self._version, answer)
