"""Brokers together with processes, threads, event loops and other brokers, and a thousand brokers one after the
other.
"""

import asyncio
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import kafkalet


def run(script: str, *arguments: str, timeout_s: float = 60) -> str:
    """Run a script in a new process, so that it can fork without the threads of the tests. Return its output."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(script), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# Forks

FORK = """
    import asyncio, os, socket, sys, time
    import kafkalet
    from kafka import KafkaProducer

    def fork(child):
        sys.stdout.flush()
        pid = os.fork()
        if not pid:
            try:
                child()
            except BaseException as error:
                print(f"{type(error).__name__}: {error}")
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(pid, 0)
"""


@pytest.mark.parametrize(
    "call",
    [
        "broker.topic('t').send('two')",
        "broker.topic('t').records()",
        "broker.topic('t').wait_for(2)",
        "broker.topic('u').create()",
        "broker.broker(1).stop()",
    ],
)
def test_call_in_a_forked_child_is_refused(call: str) -> None:
    script = f"""
    with kafkalet.Broker() as broker:
        broker.topic("t").send("one")
        fork(lambda: {call})
        assert broker.topic("t").values() == [b"one"]
    """
    printed = run(textwrap.dedent(FORK) + textwrap.dedent(script))
    assert printed.startswith("RuntimeError: this Broker runs in process ")
    assert "connect to its bootstrap_servers with a client, or start another one here" in printed


def test_forked_child_that_leaves_the_block_does_not_stop_the_broker() -> None:
    script = """
    def leave():
        broker.__exit__(None, None, None)

    with kafkalet.Broker() as broker:
        broker.topic("t").send("one")
        fork(leave)
        broker.topic("t").send("two")
        assert broker.topic("t").values() == [b"one", b"two"]
    """
    assert run(textwrap.dedent(FORK) + textwrap.dedent(script)) == ""


def test_forked_child_may_use_clients_and_start_another_broker() -> None:
    script = """
    def work():
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
        producer.send("t", b"from the child").get(10)
        producer.close()
        with kafkalet.Broker() as other:
            print([other.topic("t").send("one").value])

    with kafkalet.Broker() as broker:
        fork(work)
        assert broker.topic("t").values() == [b"from the child"]
    """
    assert run(textwrap.dedent(FORK) + textwrap.dedent(script)) == "[b'one']\n"


def test_forked_child_keeps_no_connection_open() -> None:
    """If the child had the sockets, clients of a stopped broker would wait instead of noticing that it has stopped."""
    script = """
    broker = kafkalet.Broker()
    broker.__enter__()
    host, port = broker.bootstrap_servers.split(":")
    client = socket.create_connection((host, int(port)), timeout=10)
    client.sendall(b"\\0\\0\\0\\x0a" + b"\\0\\x12\\0\\0" + b"\\0\\0\\0\\x07" + b"\\xff\\xff")
    assert client.recv(4)
    ready, release = os.pipe()
    forked, has_forked = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(release)
        os.write(has_forked, b"x")
        os.read(ready, 1)  # until the parent has finished
        os._exit(0)
    os.read(forked, 1)  # the child closes the sockets before fork() returns there
    broker.__exit__(None, None, None)
    while client.recv(4096):
        pass
    try:
        socket.create_connection((host, int(port)), timeout=10)
    except ConnectionRefusedError:
        print("refused")
    os.close(release)
    os.waitpid(pid, 0)
    """
    assert run(textwrap.dedent(FORK) + textwrap.dedent(script)) == "refused\n"


def test_connections_with_tls_survive_a_fork() -> None:
    script = """
    with kafkalet.Broker(users={"alice": "secret"}, tls=True) as broker:
        producer = KafkaProducer(**broker.client_config("alice", client="kafka-python"))
        producer.send("t", b"before").get(10)
        before = broker.connections
        fork(lambda: None)
        producer.send("t", b"after").get(10)
        assert not any(connection.is_closed for connection in before)
        producer.close()
        print(broker.topic("t").values())
    """
    assert run(textwrap.dedent(FORK) + textwrap.dedent(script)) == "[b'before', b'after']\n"


def test_multiprocessing_child_does_not_affect_the_broker() -> None:
    script = """
    import multiprocessing

    def work(results):
        try:
            broker.topic("t").send("two")
        except RuntimeError as error:
            results.put(str(error))

    with kafkalet.Broker() as broker:
        broker.topic("t").send("one")
        context = multiprocessing.get_context("fork")
        results = context.SimpleQueue()
        process = context.Process(target=work, args=(results,))
        process.start()
        print(results.get())
        process.join()
        assert process.exitcode == 0
        assert broker.topic("t").values() == [b"one"]
    """
    assert "start another one here" in run(textwrap.dedent(FORK) + textwrap.dedent(script))


def test_child_forked_in_the_event_loop_cannot_use_the_broker() -> None:
    script = """
    async def main():
        async with kafkalet.Broker() as broker:
            broker.topic("t").create()
            fork(lambda: broker.topic("u").create())
            assert list(broker._server.metadata.topics) == ["t"]

    asyncio.run(main())
    """
    assert "RuntimeError: this Broker runs in process" in run(textwrap.dedent(FORK) + textwrap.dedent(script))


# Threads and event loops


def test_threads_may_share_a_broker() -> None:
    with kafkalet.Broker(topics=["t"]) as broker, ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: broker.topic("t").send(str(number)), range(200)))
        assert sorted(int(value or b"") for value in broker.topic("t").values()) == list(range(200))


def test_threads_may_have_a_broker_each() -> None:
    def work(number: int) -> list[bytes | None]:
        with kafkalet.Broker() as broker:
            broker.topic("t").send(str(number))
            return broker.topic("t").values()

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(work, range(24))) == [[str(number).encode()] for number in range(24)]


def test_broker_stops_in_another_thread_than_it_started() -> None:
    broker = kafkalet.Broker()
    broker.__enter__()
    thread = threading.Thread(target=broker.__exit__, args=(None, None, None))
    thread.start()
    thread.join(10)
    assert not broker.is_running


def test_each_of_several_event_loops_has_its_own_broker() -> None:
    async def work(number: int) -> list[bytes | None]:
        async with kafkalet.aio.Broker() as broker:
            await broker.topic("t").send(str(number))
            return await broker.topic("t").values()

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda number: asyncio.run(work(number)), range(8)))
    assert found == [[str(number).encode()] for number in range(8)]


def test_brokers_may_be_nested() -> None:
    with kafkalet.Broker() as outer, kafkalet.Cluster(brokers=2) as inner:
        with kafkalet.Broker(version="2.8") as innermost:
            for number, broker in enumerate((outer, inner, innermost)):
                broker.topic("t").send(str(number))
        assert (outer.topic("t").values(), inner.topic("t").values()) == ([b"0"], [b"1"])
        assert not innermost.is_running


# Nothing is left behind


THOUSAND = """
    import gc, os, sys, tempfile, threading, tracemalloc
    import kafkalet

    tempfile.tempdir = sys.argv[1]

    def one():
        with kafkalet.Broker() as broker:
            broker.topic("t").send("one")

    def left():
        gc.collect()
        return len(os.listdir("/dev/fd")), threading.active_count(), os.listdir(sys.argv[1])

    for _ in range(100):  # caches fill
        one()
    before = left()
    tracemalloc.start()
    base = tracemalloc.get_traced_memory()[0]
    for _ in range(900):
        one()
    print(left() == before, left(), before)
    grown = tracemalloc.get_traced_memory()[0] - base
    print(grown < 200_000, grown)  # one Python object for each broker would be more
"""


@pytest.mark.slow
def test_a_thousand_brokers_leave_nothing_behind(tmp_path: Path) -> None:
    """They run in a process of their own, because the objects of other tests may be freed or kept at any time."""
    is_clean, is_small = run(THOUSAND, str(tmp_path), timeout_s=300).splitlines()
    assert is_clean.startswith("True "), is_clean
    assert is_small.startswith("True "), is_small
