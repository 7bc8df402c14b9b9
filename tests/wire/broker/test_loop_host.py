"""Where a cluster runs: a thread of its own or the caller's loop; how it starts, fails, is called, and ends."""

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
from tests.wire.brokers import Closed, Wire, batch


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("kafkalet")}


def descriptors() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def temporary(tmp_path: Path) -> list[str]:
    return [name for name in os.listdir(tmp_path) if name.startswith("kafkalet-")]


@pytest.fixture
def tidy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Asks whether a thread, a file descriptor or a temporary directory was left since the test began."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with kafkalet.Broker(topics=["t"]) as warm, socket.create_connection(("127.0.0.1", warm.port)):
        warm.produce("t", 0, batch(b"a"))  # what is loaded once and for all is loaded now
    threads_before, descriptors_before = threads(), descriptors()

    def check() -> None:
        assert threads() == threads_before
        assert temporary(tmp_path) == []
        deadline = time.monotonic() + 5  # clients of earlier tests may be busy with sockets of their own
        while descriptors() > descriptors_before:
            assert time.monotonic() < deadline, "a file or a socket was left open"

    check()
    return check


# A thread of its own


def test_a_thread_serves_until_the_block_ends(tidy: Callable[[], None]) -> None:
    others = threads()
    with kafkalet.Broker(topics=["t"]) as broker:
        assert len(threads() - others) == 1
        wire = Wire(broker)
        assert wire.produce(batch(b"a"))["base_offset"] == 0
        wire.close()
    tidy()


def test_a_block_that_fails_ends_the_thread_too(tidy: Callable[[], None]) -> None:
    with pytest.raises(ZeroDivisionError), kafkalet.Broker():
        raise ZeroDivisionError
    tidy()


def test_clients_that_are_still_there_lose_their_connection(tidy: Callable[[], None]) -> None:
    broker = kafkalet.Broker(topics=["t"])
    with broker:
        wire = Wire(broker)
        connection = wire.connection()
        sent = connection.send("Fetch", 12, wire.fetch_body(wait_ms=60_000))
        wire.until(lambda: len(broker.server.nodes[1].purgatory) == 1)
    with pytest.raises(Closed):
        connection.receive(sent, 5)
    wire.close()
    tidy()


def test_many_brokers_in_one_process(tidy: Callable[[], None]) -> None:
    brokers = [kafkalet.Broker(topics=["t"]) for _ in range(20)]
    for broker in brokers:
        broker.__enter__()
    assert len({broker.port for broker in brokers}) == 20
    for number, broker in enumerate(brokers):
        for _ in range(number):
            broker.produce("t", 0, batch(b"a"))
    assert [broker.log("t").log_end_offset for broker in brokers] == list(range(20))
    for broker in brokers:
        broker.__exit__(None, None, None)
    tidy()


def test_starting_and_stopping_again_and_again(tidy: Callable[[], None]) -> None:
    for _ in range(20):
        with kafkalet.Cluster(brokers=3) as cluster:
            cluster.create_topic("t", 3, 3)
            cluster.produce("t", 0, batch(b"a"))
            cluster.stop_broker(2)
    tidy()


def test_a_second_life_in_a_temporary_directory_begins_empty() -> None:
    cluster = kafkalet.Cluster(brokers=2, topics=["given"])
    with cluster:
        cluster.create_topic("made", 1, 2)
        cluster.hold_replication(2)
        cluster.stop_broker(1)
    with cluster:
        assert list(cluster.server.metadata.topics) == ["given"]
        cluster.create_topic("made", 1, 2)
        cluster.produce("made", 0, batch(b"a"))
        assert cluster.log("made").high_watermark == 1


# The caller's loop


def test_the_callers_loop_serves_while_it_runs(tidy: Callable[[], None]) -> None:
    others = threads()

    async def run() -> None:
        async with kafkalet.Broker(topics=["t"]) as broker:
            assert threads() == others
            wire = Wire(broker)
            answer = await asyncio.to_thread(wire.produce, batch(b"a"))
            assert answer["base_offset"] == 0
            assert broker.log("t").log_end_offset == 1
            wire.close()

    asyncio.run(run())
    tidy()


def test_starting_and_stopping_by_hand() -> None:
    async def run() -> None:
        broker = kafkalet.Broker(topics=["t"])
        await broker.start()
        assert broker.log("t").log_end_offset == 0
        await broker.stop()
        await broker.stop()  # nothing more happens
        assert not broker.is_running

    asyncio.run(run())


def test_a_call_from_another_thread_runs_in_the_callers_loop() -> None:
    async def run() -> None:
        async with kafkalet.Broker() as broker:
            seen = await asyncio.to_thread(broker.server.call, threading.get_ident)
            assert seen == threading.get_ident()

    asyncio.run(run())


def test_a_broker_outlives_its_task_but_not_its_loop(tidy: Callable[[], None]) -> None:
    async def run() -> None:
        broker = kafkalet.Broker()
        task = asyncio.create_task(broker.start())
        await task
        with socket.create_connection(("127.0.0.1", broker.port)):
            pass
        await broker.stop()

    asyncio.run(run())
    tidy()


# A start that fails


def test_a_start_that_fails_raises_where_it_was_asked_for(tidy: Callable[[], None]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"), kafkalet.Broker(port=taken.getsockname()[1]):
            pass
    tidy()


def test_of_several_brokers_none_stays_when_one_cannot_start(tidy: Callable[[], None]) -> None:
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
    tidy()


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


def test_a_topic_that_cannot_be_made_fails_the_start(tidy: Callable[[], None]) -> None:
    with pytest.raises(KafkaError) as refusal, kafkalet.Broker(topics=["no name for a topic"]):
        pass
    assert refusal.value.code == Code.INVALID_TOPIC_EXCEPTION
    tidy()


def test_after_a_start_that_failed_another_may_succeed() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        broker = kafkalet.Broker(port=taken.getsockname()[1], topics=["t"])
        with pytest.raises(OSError, match="in use"):
            broker.__enter__()
    with broker:
        assert broker.log("t").log_end_offset == 0


def test_what_runs_cannot_be_started_again(tidy: Callable[[], None]) -> None:
    with kafkalet.Broker() as broker:
        with pytest.raises(RuntimeError, match="this Broker is already running; stop it before starting it again"):
            broker.__enter__()
        with pytest.raises(RuntimeError, match="this Broker is already running"):
            asyncio.run(broker.start())
        assert broker.server.call(threading.get_ident) != threading.get_ident()
    tidy()


# Calls


def test_a_call_runs_in_the_loops_thread() -> None:
    with kafkalet.Broker() as broker:
        assert broker.server.call(lambda: threading.current_thread().name) in threads()


def test_what_a_call_raises_is_raised_to_its_caller() -> None:
    def fail() -> None:
        raise LookupError("nothing there")

    with kafkalet.Broker() as broker:
        with pytest.raises(LookupError, match="nothing there"):
            broker.server.call(fail)
        with pytest.raises(KafkaError) as refusal:
            broker.log("unknown")
        assert refusal.value.code == Code.UNKNOWN_TOPIC_OR_PARTITION
        assert broker.server.call(lambda: 42) == 42


def test_a_call_inside_a_call_is_no_deadlock() -> None:
    with kafkalet.Broker(topics=["t"]) as broker:
        assert broker.server.call(lambda: broker.server.call(lambda: broker.log("t").log_end_offset)) == 0


def test_calls_of_many_threads_are_carried_out_one_by_one() -> None:
    with kafkalet.Broker(topics=["t"]) as broker, ThreadPoolExecutor(8) as pool:
        offsets = list(pool.map(lambda _: broker.produce("t", 0, batch(b"a")), range(200)))
        assert sorted(offsets) == list(range(200))


@pytest.mark.parametrize("began", [False, True])
def test_a_call_of_what_does_not_run_is_an_error(began: bool) -> None:
    broker = kafkalet.Broker()
    if began:
        with broker:
            pass
    with pytest.raises(RuntimeError, match="this Broker is not running; use it inside `with`"):
        broker.server.call(lambda: None)


DOORS: dict[str, Callable[[kafkalet.Broker], object]] = {
    "bootstrap_servers": lambda broker: broker.bootstrap_servers,
    "port": lambda broker: broker.port,
    "log": lambda broker: broker.log("t"),
    "group": lambda broker: broker.group("g").state,
    "transaction": lambda broker: broker.transaction("x"),
    "produce": lambda broker: broker.produce("t", 0, batch(b"a")),
    "create_topic": lambda broker: broker.create_topic("u"),
    "stop_broker": lambda broker: broker.stop_broker(1),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("began", [False, True])
def test_a_broker_that_is_not_running_says_so_at_every_door(door: str, began: bool) -> None:
    broker = kafkalet.Broker(topics=["t"])
    if began:
        with broker:
            pass
    with pytest.raises(RuntimeError, match="this Broker is not running; use it inside `with`"):
        DOORS[door](broker)


def test_a_cluster_all_of_whose_brokers_were_stopped_has_no_address() -> None:
    with kafkalet.Cluster(2) as cluster:
        cluster.stop_broker(1)
        cluster.stop_broker(2)
        with pytest.raises(
            RuntimeError, match=r"every broker of this Cluster is stopped; start one with start_broker\(\)"
        ):
            cluster.bootstrap_servers  # noqa: B018 - that it raises is the point


# What is printed of it


def test_a_broker_shows_its_address_release_and_state() -> None:
    broker = kafkalet.Broker(kafka_version="3.9")
    assert repr(broker) == "<Broker not running, Kafka 3.9>"
    with broker:
        assert repr(broker) == f"<Broker running at 127.0.0.1:{broker.port}, Kafka 3.9>"
    assert repr(broker) == "<Broker not running, Kafka 3.9>"


def test_a_cluster_shows_all_its_addresses_and_the_brokers_that_were_stopped() -> None:
    with kafkalet.Cluster(3) as cluster:
        assert repr(cluster) == f"<Cluster running at {cluster.bootstrap_servers}, Kafka newest>"
        cluster.stop_broker(2)
        cluster.stop_broker(1)
        assert repr(cluster) == f"<Cluster running at {cluster.bootstrap_servers} without broker 1, 2, Kafka newest>"


def test_an_ipv6_address_stands_in_brackets() -> None:
    with kafkalet.Broker(advertise=("::1", 9092)) as broker:
        assert broker.bootstrap_servers == "[::1]:9092"


def test_threads_that_call_while_it_stops_are_not_left_waiting() -> None:
    for _ in range(10):
        broker = kafkalet.Broker()
        stopped = threading.Event()

        def call(broker: kafkalet.Broker = broker) -> None:
            while True:
                try:
                    broker.server.call(lambda: None)
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
