"""The test kit for asyncio: the same classes as in kafkalet, with awaitable methods.

    async with kafkalet.aio.Broker() as kafka:             in the running event loop
        await publish(kafka.bootstrap_servers)
        [record] = await kafka.topic("orders").wait_for(1)

Attributes, and methods that only return an object of the kit, such as `topic`, are used without `await`. All other
methods run in a worker thread, so that the event loop continues to run the broker and its clients. Cancelling a task
ends its wait.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack, overload

from kafkalet.broker.arguments import PropertyValue
from kafkalet.clock import MovableClock
from kafkalet.testing import cluster as sync
from kafkalet.testing.connections import ClientConnection
from kafkalet.testing.faults import Fault as SyncFault
from kafkalet.testing.group import Group as SyncGroup
from kafkalet.testing.nodes import BrokerNode as SyncBrokerNode
from kafkalet.testing.operations import ClusterOperations
from kafkalet.testing.options import ClusterOptions, FaultOptions
from kafkalet.testing.requests import Moment, Request
from kafkalet.testing.requests import Requests as SyncRequests
from kafkalet.testing.security import Acls as SyncAcls
from kafkalet.testing.security import Users as SyncUsers
from kafkalet.testing.topic import Topic as SyncTopic
from kafkalet.testing.transaction import OpenTransaction as SyncOpenTransaction
from kafkalet.testing.transaction import Transaction as SyncTransaction
from kafkalet.testing.waiting import cancelled

if TYPE_CHECKING:
    from datetime import datetime

    from kafkalet.broker.security.acl import Acl
    from kafkalet.broker.views import LogView
    from kafkalet.testing.group import Member

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")
U = TypeVar("U")


class Mirror(Generic[S]):
    """An object of the kit with awaitable methods."""

    def __init__(self, cluster: ClusterOperations, mirrored: S) -> None:
        self._cluster = cluster
        self.sync = mirrored
        """The object of the synchronous kit."""

    def __repr__(self) -> str:
        return repr(self.sync)


def awaited(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[Mirror[S], P], Coroutine[Any, Any, T]]:
    """Return a method that runs `method` of the synchronous object in a worker thread."""

    async def call(self: Mirror[S], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await in_thread(self._cluster, partial(method, self.sync, *args, **kwargs))

    call.__doc__ = method.__doc__
    call.__name__ = method.__name__
    return call


def returning_self(
    method: Callable[Concatenate[S, P], object],
) -> Callable[Concatenate[U, P], Coroutine[Any, Any, U]]:
    """Return a method like `awaited` for one that returns its object."""

    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        await in_thread(self._cluster, partial(method, self.sync, *args, **kwargs))
        return self

    call.__doc__ = method.__doc__
    call.__name__ = method.__name__
    return call


async def in_thread(cluster: ClusterOperations, function: Callable[[], T]) -> T:
    """Run `function` in a new thread and return its result.

    The threads of the loop's default executor are few, and the code under test may need them. If the task is cancelled,
    a wait in `function` ends.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    stop = threading.Event()
    context = contextvars.copy_context()
    context.run(cancelled.set, stop)

    def settle(value: Any, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is None:
            future.set_result(value)
        elif isinstance(error, StopIteration):  # futures do not accept StopIteration
            wrapped = RuntimeError("a function that was called in a worker thread raised StopIteration")
            wrapped.__cause__ = error
            future.set_exception(wrapped)
        else:
            future.set_exception(error)

    def run() -> None:
        value, failure = None, None
        try:
            value = context.run(function)
        except BaseException as error:  # noqa: BLE001 - raised again in the task
            failure = error
        with suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=run, name="kafkalet-aio", daemon=True).start()
    try:
        return await future
    except asyncio.CancelledError:
        stop.set()
        cluster._server.watchers.touch()
        raise


class Topic(Mirror[SyncTopic]):
    """A topic; see `kafkalet.testing.topic.Topic`."""

    @property
    def name(self) -> str:
        """The name of the topic."""
        return self.sync.name

    @property
    def exists(self) -> bool:
        """Whether the topic has been created."""
        return self.sync.exists

    @property
    def partitions(self) -> int:
        """The number of partitions, or 0 if the topic does not exist."""
        return self.sync.partitions

    @property
    def logs(self) -> list[LogView]:
        """A view of the log of each partition."""
        return self.sync.logs

    def log(self, partition: int = 0) -> LogView:
        """Return a view of the log of a partition: its offsets, segments and batches."""
        return self.sync.log(partition)

    @property
    def visible(self) -> int:
        """The number of records that a consumer gets with read_uncommitted, from the log start of each partition."""
        return self.sync.visible

    @property
    def visible_committed(self) -> int:
        """The number of records that a consumer gets with read_committed, from the log start of each partition."""
        return self.sync.visible_committed

    advance_log_start = returning_self(SyncTopic.advance_log_start)
    append_batches = returning_self(SyncTopic.append_batches)
    bring_online = returning_self(SyncTopic.bring_online)
    create = returning_self(SyncTopic.create)
    delete = awaited(SyncTopic.delete)
    expand_isr = returning_self(SyncTopic.expand_isr)
    hold_high_watermark = awaited(SyncTopic.hold_high_watermark)
    mark = awaited(SyncTopic.mark)
    move_leader = returning_self(SyncTopic.move_leader)
    new_leader_epoch = returning_self(SyncTopic.new_leader_epoch)
    records = awaited(SyncTopic.records)
    release_high_watermark = returning_self(SyncTopic.release_high_watermark)
    send = returning_self(SyncTopic.send)
    send_batch = returning_self(SyncTopic.send_batch)
    send_json = returning_self(SyncTopic.send_json)
    shape = returning_self(SyncTopic.shape)
    shrink_isr = returning_self(SyncTopic.shrink_isr)
    take_offline = returning_self(SyncTopic.take_offline)
    truncate = returning_self(SyncTopic.truncate)
    values = awaited(SyncTopic.values)
    wait_for = awaited(SyncTopic.wait_for)
    wait_until = awaited(SyncTopic.wait_until)


class Fault(Mirror[SyncFault]):
    """A fault; see `kafkalet.testing.faults.Fault`."""

    @property
    def fired(self) -> int:
        """How often the fault has fired."""
        return self.sync.fired

    @property
    def seen(self) -> list[str]:
        """The latest requests that matched, whether the fault fired or not."""
        return self.sync.seen

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.sync.__exit__(kind, error, trace)

    release = awaited(SyncFault.release)
    remove = awaited(SyncFault.remove)
    unfired = awaited(SyncFault.unfired)
    wait_until_fired = returning_self(SyncFault.wait_until_fired)


class Group(Mirror[SyncGroup]):
    """A consumer group; see `kafkalet.testing.group.Group`."""

    @property
    def group_id(self) -> str:
        """The id of the group."""
        return self.sync.group_id

    @property
    def state(self) -> str:
        """The state of the group, such as "Stable", or "Dead" if it does not exist."""
        return self.sync.state

    @property
    def protocol(self) -> str:
        """The protocol of the group: "classic" or "consumer", or "" if the group does not exist."""
        return self.sync.protocol

    @property
    def members(self) -> list[Member]:
        """The members."""
        return self.sync.members

    @property
    def assignment(self) -> dict[str, set[tuple[str, int]]]:
        """The partitions of each member, as (topic, partition), by member id."""
        return self.sync.assignment

    @property
    def total_lag(self) -> int:
        """The sum of the lags of all partitions."""
        return self.sync.total_lag

    @overload
    async def committed(self) -> dict[tuple[str, int], int]: ...

    @overload
    async def committed(self, topic: str, partition: int) -> int | None: ...

    async def committed(
        self, topic: str | None = None, partition: int | None = None
    ) -> dict[tuple[str, int], int] | int | None:
        """Return the committed offsets by (topic, partition), or the one of a partition (None if there is none)."""
        if topic is None or partition is None:
            return await in_thread(self._cluster, self.sync.committed)
        return await in_thread(self._cluster, partial(self.sync.committed, topic, partition))

    delete = awaited(SyncGroup.delete)
    evict = returning_self(SyncGroup.evict)
    lag = awaited(SyncGroup.lag)
    rebalance = returning_self(SyncGroup.rebalance)
    seek = returning_self(SyncGroup.seek)
    wait_for_commit = awaited(SyncGroup.wait_for_commit)
    wait_for_lag = returning_self(SyncGroup.wait_for_lag)
    wait_until_stable = returning_self(SyncGroup.wait_until_stable)


class Transaction(Mirror[SyncTransaction]):
    """The transaction of a transactional id; see `kafkalet.testing.transaction.Transaction`."""

    @property
    def transactional_id(self) -> str:
        """The transactional id."""
        return self.sync.transactional_id

    @property
    def state(self) -> str:
        """The state, such as "Ongoing", or "Dead" if no producer has used the transactional id."""
        return self.sync.state

    @property
    def producer_id(self) -> int:
        """The producer id of the current producer."""
        return self.sync.producer_id

    @property
    def producer_epoch(self) -> int:
        """The epoch of the current producer."""
        return self.sync.producer_epoch

    @property
    def timeout_ms(self) -> int:
        """The time after which the coordinator aborts an open transaction, in milliseconds."""
        return self.sync.timeout_ms

    @property
    def partitions(self) -> list[tuple[str, int]]:
        """The partitions in the open transaction."""
        return self.sync.partitions

    @property
    def started_ms(self) -> int:
        """The start time of the last transaction, in milliseconds since 1970, or -1 if there was none."""
        return self.sync.started_ms

    @property
    def coordinator(self) -> int:
        """The id of the broker that coordinates the transactional id."""
        return self.sync.coordinator

    abort = returning_self(SyncTransaction.abort)
    describe = awaited(SyncTransaction.describe)
    wait_until = returning_self(SyncTransaction.wait_until)


class OpenTransaction(Mirror[SyncOpenTransaction]):
    """A transaction without a client; see `kafkalet.testing.transaction.OpenTransaction`. Use it with `async with`."""

    @property
    def transactional_id(self) -> str:
        """The transactional id."""
        return self.sync.transactional_id

    async def __aenter__(self) -> Self:
        await in_thread(self._cluster, self.sync.__enter__)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await in_thread(self._cluster, partial(self.sync.__exit__, kind, error, trace))

    abort = awaited(SyncOpenTransaction.abort)
    commit = awaited(SyncOpenTransaction.commit)
    send = returning_self(SyncOpenTransaction.send)
    send_offsets = returning_self(SyncOpenTransaction.send_offsets)


class BrokerNode(Mirror[SyncBrokerNode]):
    """A single broker; see `kafkalet.testing.nodes.BrokerNode`."""

    @property
    def node_id(self) -> int:
        """The id of the broker."""
        return self.sync.node_id

    @property
    def is_running(self) -> bool:
        """Whether the broker accepts requests."""
        return self.sync.is_running

    @property
    def address(self) -> tuple[str, int]:
        """The host and port that the broker advertises. Raises RuntimeError if it is stopped."""
        return self.sync.address

    kill = awaited(SyncBrokerNode.kill)
    start = awaited(SyncBrokerNode.start)
    stop = awaited(SyncBrokerNode.stop)


class Clock(Mirror[MovableClock]):
    """The clock of a cluster; see `kafkalet.testing.clock.Clock`."""

    def now(self) -> datetime:
        """Return the current time as a datetime in UTC."""
        return self.sync.now()

    def now_ms(self) -> int:
        """Return the current time, in milliseconds since 1970."""
        return self.sync.now_ms()

    advance = awaited(MovableClock.advance)


class Requests(Mirror[SyncRequests]):
    """The requests of clients; see `kafkalet.testing.requests.Requests`."""

    def __iter__(self) -> Iterator[Request]:
        return iter(self.sync)

    def __len__(self) -> int:
        return len(self.sync)

    def of(
        self,
        *apis: str,
        client_id: str | None = None,
        topic: str | None = None,
        errors: bool | str | Iterable[str] | None = None,
    ) -> Requests:
        """Select requests by API, client id, topic, and errors in the response."""
        return Requests(self._cluster, self.sync.of(*apis, client_id=client_id, topic=topic, errors=errors))

    def between(self, start: Moment, end: Moment | None = None) -> Requests:
        """Select the requests that arrived in a period."""
        return Requests(self._cluster, self.sync.between(start, end))

    clear = awaited(SyncRequests.clear)
    count = awaited(SyncRequests.count)
    last = awaited(SyncRequests.last)
    mark = awaited(SyncRequests.mark)
    wait_for = awaited(SyncRequests.wait_for)


class Acls(Mirror[SyncAcls]):
    """The ACLs of a cluster; see `kafkalet.testing.security.Acls`."""

    @property
    def all(self) -> list[Acl]:
        """The ACLs, in the order of their creation."""
        return self.sync.all

    @property
    def texts(self) -> list[str]:
        """The ACLs as texts, in the order of their creation."""
        return self.sync.texts

    add = awaited(SyncAcls.add)
    remove = awaited(SyncAcls.remove)


class Users(Mirror[SyncUsers]):
    """The users who can log in with a password; see `kafkalet.testing.security.Users`."""

    @property
    def names(self) -> list[str]:
        """The names of the users."""
        return self.sync.names

    add = awaited(SyncUsers.add)
    remove = awaited(SyncUsers.remove)


class Cluster(Mirror[sync.Cluster]):
    """A cluster in the running event loop; see `kafkalet.testing.cluster.Cluster`. Use it with `async with`."""

    of: type[sync.Cluster] = sync.Cluster

    def __init__(self, **options: Unpack[ClusterOptions]) -> None:
        """The options are those of `kafkalet.Cluster`."""
        cluster = self.of(**options)
        super().__init__(cluster, cluster)

    @classmethod
    def around(cls, cluster: sync.Cluster) -> Self:
        """Return the asynchronous methods of a cluster that is already running, such as that of a pytest fixture."""
        made = cls.__new__(cls)
        Mirror.__init__(made, cluster, cluster)
        return made

    async def __aenter__(self) -> Self:
        await self.sync.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.sync.stop()

    @property
    def bootstrap_servers(self) -> str:
        """The address of every running broker as `host:port`, separated by commas."""
        return self.sync.bootstrap_servers

    def bootstrap_servers_of(self, listener: str) -> str:
        """Return the address of every running broker at a listener, such as "EXTERNAL"."""
        return self.sync.bootstrap_servers_of(listener)

    @property
    def timeout(self) -> float:
        """The timeout of waits that specify none, in seconds."""
        return self.sync.timeout

    @timeout.setter
    def timeout(self, seconds: float) -> None:
        self.sync.timeout = seconds

    @property
    def clock(self) -> Clock:
        """The clock of the brokers."""
        return Clock(self.sync, self.sync.clock)

    def topic(
        self,
        name: str,
        partitions: int | None = None,
        config: Mapping[str, PropertyValue] | None = None,
        replication_factor: int | None = None,
    ) -> Topic:
        """Return a topic. With further arguments, create it if it does not exist."""
        return Topic(self.sync, self.sync.topic(name, partitions, config, replication_factor))

    def broker(self, node_id: int) -> BrokerNode:
        """Return one broker of the cluster."""
        return BrokerNode(self.sync, self.sync.broker(node_id))

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults that are set."""
        return tuple(Fault(self.sync, fault) for fault in self.sync.faults)

    def fault(self, api: str | Iterable[str] | None = None, **options: Unpack[FaultOptions]) -> Fault:
        """Make requests fail; see `kafkalet.testing.cluster.Cluster.fault`. Use it with `async with`."""
        return Fault(self.sync, self.sync.fault(api, **options))

    def group(self, group_id: str) -> Group:
        """Return a consumer group."""
        return Group(self.sync, self.sync.group(group_id))

    def log(self, topic: str, partition: int = 0) -> LogView:
        """Return a view of the log of a partition's leader."""
        return self.sync.log(topic, partition)

    def transaction(self, transactional_id: str) -> Transaction:
        """Return the transaction of a transactional id."""
        return Transaction(self.sync, self.sync.transaction(transactional_id))

    def open_transaction(self, transactional_id: str, timeout_ms: int = 60_000) -> OpenTransaction:
        """Return a context manager for `async with` that begins a transaction, without a client."""
        return OpenTransaction(self.sync, self.sync.open_transaction(transactional_id, timeout_ms))

    @property
    def is_running(self) -> bool:
        """True while the brokers accept requests."""
        return self.sync.is_running

    @property
    def unimplemented_calls(self) -> dict[str, int]:
        """The number of requests for APIs that kafkalet does not implement, by API name."""
        return self.sync.unimplemented_calls

    def now_ms(self) -> int:
        """Return the time of the brokers, in milliseconds since 1970."""
        return self.sync.now_ms()

    @property
    def requests(self) -> Requests:
        """The requests that clients sent to the brokers, with the responses."""
        return Requests(self.sync, self.sync.requests)

    @property
    def acls(self) -> Acls:
        """The ACLs, to add and remove them while the cluster is running."""
        return Acls(self.sync, self.sync.acls)

    @property
    def users(self) -> Users:
        """The users who can log in with a password, to add and remove them while the cluster is running."""
        return Users(self.sync, self.sync.users)

    client_config = awaited(sync.Cluster.client_config)
    java_properties_file = awaited(sync.Cluster.java_properties_file)
    assert_no_unsupported = awaited(sync.Cluster.assert_no_unsupported)
    settle = awaited(sync.Cluster.settle)
    create_topic = awaited(ClusterOperations.create_topic)

    @property
    def connections(self) -> list[ClientConnection]:
        """The open connections of clients; their methods are used without `await`."""
        return self.sync.connections

    def refuse_connections(self, broker: int | None = None) -> AbstractContextManager[None]:
        """Refuse new connections to a broker, or to all, until the end of the `with` block."""
        return self.sync.refuse_connections(broker)

    move_coordinator = awaited(sync.Cluster.move_coordinator)
    roll = awaited(sync.Cluster.roll)
    remove_faults = awaited(sync.Cluster.remove_faults)
    unfired_faults = awaited(sync.Cluster.unfired_faults)
    delete_topic = awaited(ClusterOperations.delete_topic)
    elect_leader = awaited(ClusterOperations.elect_leader)
    fail_log_dir = awaited(ClusterOperations.fail_log_dir)
    hold_replication = awaited(ClusterOperations.hold_replication)
    produce = awaited(ClusterOperations.produce)
    release_replication = awaited(ClusterOperations.release_replication)
    reset = awaited(sync.Cluster.reset)
    run_cleaner = awaited(ClusterOperations.run_cleaner)
    run_retention = awaited(ClusterOperations.run_retention)
    restore = awaited(sync.Cluster.restore)
    restore_log_dir = awaited(ClusterOperations.restore_log_dir)
    snapshot = awaited(sync.Cluster.snapshot)
    start_broker = awaited(ClusterOperations.start_broker)
    stop_broker = awaited(ClusterOperations.stop_broker)


class Broker(Cluster):
    """A cluster of one broker; see `kafkalet.testing.cluster.Broker`."""

    of = sync.Broker
