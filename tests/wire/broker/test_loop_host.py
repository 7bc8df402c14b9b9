"""The thread or event loop that a cluster runs in: starting, failing to start, calling into it, and stopping."""

import asyncio
import gc
import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import kafkalet
from kafkalet.protocol.errors import Code, KafkaError
from tests.garbage import collect_and_freeze
from tests.wire.brokers import Closed, Wire, batch


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("kafkalet")}


@pytest.fixture(autouse=True)
def _freeze() -> None:
    collect_and_freeze()


def descriptors() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def temporary(tmp_path: Path) -> list[str]:
    return [name for name in os.listdir(tmp_path) if name.startswith("kafkalet-")]


@pytest.fixture
def assert_nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function that checks that the test left no thread, file descriptor or temporary directory behind."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with kafkalet.Broker(topics=["t"]) as warm, socket.create_connection(("127.0.0.1", warm.port)):
        warm.topic("t").append(batch(b"a"))  # load everything that stays loaded
    threads_before, descriptors_before = threads(), descriptors()

    def check() -> None:
        assert threads() == threads_before
        assert temporary(tmp_path) == []
        deadline = time.monotonic() + 5  # clients of earlier tests may still close sockets
        while descriptors() > descriptors_before:
            assert time.monotonic() < deadline, "a file or socket was left open"

    check()
    return check


# In a separate thread


def test_thread_serves_until_with_block_ends(assert_nothing_left: Callable[[], None]) -> None:
    others = threads()
    with kafkalet.Broker(topics=["t"]) as broker:
        assert len(threads() - others) == 1
        wire = Wire(broker)
        assert wire.produce(batch(b"a"))["base_offset"] == 0
        wire.close()
    assert_nothing_left()


def test_exception_in_with_block_stops_the_thread(assert_nothing_left: Callable[[], None]) -> None:
    with pytest.raises(ZeroDivisionError), kafkalet.Broker():
        raise ZeroDivisionError
    assert_nothing_left()


def test_stopping_closes_client_connections(assert_nothing_left: Callable[[], None]) -> None:
    broker = kafkalet.Broker(topics=["t"])
    with broker:
        wire = Wire(broker)
        connection = wire.connection()
        sent = connection.send("Fetch", 12, wire.fetch_body(wait_ms=60_000))
        wire.until(lambda: len(broker._server.nodes[1].purgatory) == 1)
    with pytest.raises(Closed):
        connection.receive(sent, 5)
    wire.close()
    assert_nothing_left()


def test_twenty_brokers_run_in_one_process(assert_nothing_left: Callable[[], None]) -> None:
    brokers = [kafkalet.Broker(topics=["t"]) for _ in range(20)]
    for broker in brokers:
        broker.__enter__()
    assert len({broker.port for broker in brokers}) == 20
    for number, broker in enumerate(brokers):
        for _ in range(number):
            broker.topic("t").append(batch(b"a"))
    assert [broker.topic("t").log().log_end_offset for broker in brokers] == list(range(20))
    for broker in brokers:
        broker.__exit__(None, None, None)
    assert_nothing_left()


def test_repeated_start_and_stop_leaves_nothing_behind(assert_nothing_left: Callable[[], None]) -> None:
    for _ in range(20):
        with kafkalet.Cluster(brokers=3) as cluster:
            cluster.topic("t").create(3, replication_factor=3)
            cluster.topic("t").append(batch(b"a"))
            cluster.broker(2).stop()
    assert_nothing_left()


def test_restarted_cluster_without_data_directory_is_empty() -> None:
    cluster = kafkalet.Cluster(brokers=2, topics=["given"])
    with cluster:
        cluster.topic("made").create(1, replication_factor=2)
        cluster.hold_replication(2)
        cluster.broker(1).stop()
    with cluster:
        assert list(cluster._server.metadata.topics) == ["given"]
        cluster.topic("made").create(1, replication_factor=2)
        cluster.topic("made").append(batch(b"a"))
        assert cluster.topic("made").log().high_watermark == 1


# In the caller's event loop


def test_callers_loop_serves_requests(assert_nothing_left: Callable[[], None]) -> None:
    others = threads()

    async def run() -> None:
        async with kafkalet.Broker(topics=["t"]) as broker:
            assert threads() == others
            wire = Wire(broker)
            answer = await asyncio.to_thread(wire.produce, batch(b"a"))
            assert answer["base_offset"] == 0
            assert broker.topic("t").log().log_end_offset == 1
            wire.close()

    asyncio.run(run())
    assert_nothing_left()


def test_explicit_start_and_repeated_stop() -> None:
    async def run() -> None:
        broker = kafkalet.Broker(topics=["t"])
        await broker.start()
        assert broker.topic("t").log().log_end_offset == 0
        await broker.stop()
        await broker.stop()  # has no effect
        assert not broker.is_running

    asyncio.run(run())


def test_call_from_another_thread_runs_in_callers_loop() -> None:
    async def run() -> None:
        async with kafkalet.Broker() as broker:
            seen = await asyncio.to_thread(broker._server.call, threading.get_ident)
            assert seen == threading.get_ident()

    asyncio.run(run())


def test_broker_outlives_the_task_that_started_it(assert_nothing_left: Callable[[], None]) -> None:
    async def run() -> None:
        broker = kafkalet.Broker()
        task = asyncio.create_task(broker.start())
        await task
        with socket.create_connection(("127.0.0.1", broker.port)):
            pass
        await broker.stop()

    asyncio.run(run())
    assert_nothing_left()


# Failing to start


def test_start_on_port_in_use_raises_to_the_caller(assert_nothing_left: Callable[[], None]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"), kafkalet.Broker(port=taken.getsockname()[1]):
            pass
    assert_nothing_left()


def test_cluster_stops_all_brokers_if_one_cannot_start(assert_nothing_left: Callable[[], None]) -> None:
    first, second = two_ports_in_a_row()
    second.listen()
    port = first.getsockname()[1]
    first.close()
    with pytest.raises(OSError, match="in use"), kafkalet.Cluster(brokers=2, port=port):
        pass
    second.close()
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))
    assert_nothing_left()


def two_ports_in_a_row() -> tuple[socket.socket, socket.socket]:
    while True:
        first, second = socket.socket(), socket.socket()
        first.bind(("127.0.0.1", 0))
        try:
            second.bind(("127.0.0.1", first.getsockname()[1] + 1))
        except OSError:
            first.close()
            second.close()
        else:
            return first, second


def test_invalid_topic_fails_the_start(assert_nothing_left: Callable[[], None]) -> None:
    with pytest.raises(KafkaError) as refusal, kafkalet.Broker(topics=["no name for a topic"]):
        pass
    assert refusal.value.code == Code.INVALID_TOPIC_EXCEPTION
    assert_nothing_left()


def test_start_can_succeed_after_a_failed_start() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        broker = kafkalet.Broker(port=taken.getsockname()[1], topics=["t"])
        with pytest.raises(OSError, match="in use"):
            broker.__enter__()
    with broker:
        assert broker.topic("t").log().log_end_offset == 0


def test_running_broker_cannot_be_started_again(assert_nothing_left: Callable[[], None]) -> None:
    with kafkalet.Broker() as broker:
        with pytest.raises(
            RuntimeError, match="this Broker is already running; use it without starting it again, or stop it first"
        ):
            broker.__enter__()
        with pytest.raises(RuntimeError, match="this Broker is already running"):
            asyncio.run(broker.start())
        assert broker._server.call(threading.get_ident) != threading.get_ident()
    assert_nothing_left()


# Calls


def test_call_runs_in_thread_of_the_loop() -> None:
    with kafkalet.Broker() as broker:
        assert broker._server.call(lambda: threading.current_thread().name) in threads()


def test_exception_in_call_is_raised_to_its_caller() -> None:
    def fail() -> None:
        raise LookupError("nothing there")

    with kafkalet.Broker() as broker:
        with pytest.raises(LookupError, match="nothing there"):
            broker._server.call(fail)
        with pytest.raises(KafkaError) as refusal:
            broker.topic("unknown").log()
        assert refusal.value.code == Code.UNKNOWN_TOPIC_OR_PARTITION
        assert broker._server.call(lambda: 42) == 42


def test_nested_call_does_not_deadlock() -> None:
    with kafkalet.Broker(topics=["t"]) as broker:
        assert broker._server.call(lambda: broker._server.call(lambda: broker.topic("t").log().log_end_offset)) == 0


def test_calls_from_many_threads_are_serialized() -> None:
    with kafkalet.Broker(topics=["t"]) as broker, ThreadPoolExecutor(8) as pool:
        offsets = list(pool.map(lambda _: broker.topic("t").append(batch(b"a")), range(200)))
        assert sorted(offsets) == list(range(200))


@pytest.mark.parametrize("began", [False, True])
def test_call_to_stopped_broker_raises(began: bool) -> None:
    broker = kafkalet.Broker()
    if began:
        with broker:
            pass
    with pytest.raises(RuntimeError, match="this Broker is not running; use it inside `with`"):
        broker._server.call(lambda: None)


CALLS: dict[str, Callable[[kafkalet.Broker], object]] = {
    "bootstrap_servers": lambda broker: broker.bootstrap_servers,
    "port": lambda broker: broker.port,
    "log": lambda broker: broker.topic("t").log(),
    "group": lambda broker: broker.group("g").state,
    "transaction": lambda broker: broker.transaction("x").state,
    "produce": lambda broker: broker.topic("t").append(batch(b"a")),
    "create_topic": lambda broker: broker.topic("u").create(),
    "stop_broker": lambda broker: broker.broker(1).stop(),
}


@pytest.mark.parametrize("door", CALLS)
@pytest.mark.parametrize("began", [False, True])
def test_every_method_of_stopped_broker_raises(door: str, began: bool) -> None:
    broker = kafkalet.Broker(topics=["t"])
    if began:
        with broker:
            pass
    with pytest.raises(RuntimeError, match="this Broker is not running; use it inside `with`"):
        CALLS[door](broker)


def test_cluster_with_all_brokers_stopped_has_no_address() -> None:
    with kafkalet.Cluster(2) as cluster:
        cluster.broker(1).stop()
        cluster.broker(2).stop()
        with pytest.raises(
            RuntimeError, match=r"every broker of this Cluster is stopped; broker\(id\).start\(\) starts one"
        ):
            cluster.bootstrap_servers  # noqa: B018 - that it raises is the point


# Representations


def test_repr_of_broker_shows_address_release_and_state() -> None:
    broker = kafkalet.Broker(version="3.9")
    assert repr(broker) == "<Broker not running, Kafka 3.9>"
    with broker:
        assert repr(broker) == f"<Broker running at 127.0.0.1:{broker.port}, Kafka 3.9>"
    assert repr(broker) == "<Broker not running, Kafka 3.9>"


def test_repr_of_cluster_shows_addresses_and_stopped_brokers() -> None:
    with kafkalet.Cluster(3) as cluster:
        assert repr(cluster) == f"<Cluster running at {cluster.bootstrap_servers}, Kafka newest>"
        cluster.broker(2).stop()
        cluster.broker(1).stop()
        assert repr(cluster) == f"<Cluster running at {cluster.bootstrap_servers} without broker 1, 2, Kafka newest>"


def test_ipv6_address_is_in_brackets() -> None:
    with kafkalet.Broker(advertise=("::1", 9092)) as broker:
        assert broker.bootstrap_servers == "[::1]:9092"


def test_calls_during_stop_do_not_block() -> None:
    for _ in range(10):
        broker = kafkalet.Broker()
        stopped = threading.Event()

        def call(broker: kafkalet.Broker = broker) -> None:
            while True:
                try:
                    broker._server.call(lambda: None)
                except RuntimeError:
                    return

        with broker:
            callers = [threading.Thread(target=call, daemon=True) for _ in range(4)]
            for caller in callers:
                caller.start()
        stopped.set()
        for caller in callers:
            caller.join(5)
            assert not caller.is_alive()
