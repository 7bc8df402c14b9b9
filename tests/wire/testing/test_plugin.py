"""Tests of the pytest fixtures: their brokers work, live as long as their scope, and leave nothing behind."""

from importlib.metadata import entry_points

import pytest

pytest_plugins = ["pytester"]

# An installed plugin is found by its entry point; naming it explicitly would load it twice.
INSTALLED = any(point.value == "kafkalet.testing.plugin" for point in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "kafkalet.testing.plugin")

STRICT = """
    [pytest]
    filterwarnings = error
    asyncio_mode = strict
    asyncio_default_fixture_loop_scope = function
"""

PRODUCE_AND_CONSUME = """
    from confluent_kafka import Consumer, Producer

    def produce_and_consume(bootstrap):
        producer = Producer({"bootstrap.servers": bootstrap})
        producer.produce("t", b"v")
        assert producer.flush(10) == 0
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "enable.auto.commit": False})
        low, high = consumer.get_watermark_offsets(_partition(), timeout=10)
        consumer.close()
        return low, high

    def _partition():
        from confluent_kafka import TopicPartition
        return TopicPartition("t", 0)
"""


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    pytester.makeini(STRICT)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *PLUGIN, *arguments)


def test_each_test_gets_a_separate_broker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(clients=PRODUCE_AND_CONSUME)
    pytester.makepyfile(
        """
        import pytest
        from clients import produce_and_consume

        @pytest.mark.parametrize("number", range(3))
        def test_fresh(kafka, number):
            assert produce_and_consume(kafka.bootstrap_servers) == (0, 1)
            assert kafka.log("t", 0).log_end_offset == 1
        """
    )
    run(pytester).assert_outcomes(passed=3)


def test_session_broker_is_shared(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(clients=PRODUCE_AND_CONSUME)
    pytester.makepyfile(
        """
        import pytest
        from clients import produce_and_consume

        @pytest.mark.parametrize("number", range(3))
        def test_shared(kafka_session, number):
            assert produce_and_consume(kafka_session.bootstrap_servers) == (0, number + 1)
        """
    )
    run(pytester).assert_outcomes(passed=3)


def test_nothing_is_left_behind(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import gc, os, socket, threading

        addresses, directories = [], []

        def state():
            gc.collect()
            return set(os.listdir("/dev/fd")), threading.active_count()

        before = None

        def test_before():
            global before
            import kafkalet.embedded
            before = state()

        def test_first(kafka):
            host, port = kafka.bootstrap_servers.split(":")
            addresses.append((host, int(port)))
            with socket.create_connection(addresses[-1]) as client:
                client.sendall(b"\\0\\0")
            kafka.create_topic("t", 3)

        def test_second(kafka):
            kafka.create_topic("t", 3)

        def test_after():
            assert state() == before
            try:
                socket.create_connection(addresses[0]).close()
            except ConnectionRefusedError:
                return
            raise AssertionError("still listening")
        """
    )
    run(pytester).assert_outcomes(passed=4)


def test_temporary_directory_is_removed(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = pytester.mkdir("temporary")
    monkeypatch.setenv("TMPDIR", str(temporary))
    pytester.makepyfile(
        """
        def test_one(kafka, kafka_session):
            kafka.create_topic("t", 3)
            kafka_session.create_topic("t", 3)
        """
    )
    run(pytester).assert_outcomes(passed=1)
    assert [path.name for path in temporary.iterdir() if path.name.startswith("kafkalet")] == []


def test_failing_test_stops_its_broker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import threading

        def test_fails(kafka):
            kafka.create_topic("t")
            assert False

        def test_after():
            assert [thread.name for thread in threading.enumerate() if "kafkalet" in thread.name] == []
        """
    )
    run(pytester).assert_outcomes(failed=1, passed=1)


def test_fixture_works_in_tests_with_an_event_loop(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import asyncio
        import pytest

        @pytest.mark.asyncio
        async def test_one(kafka):
            host, port = kafka.bootstrap_servers.split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"\\0\\0\\0\\x0a" + b"\\0\\x12\\0\\0" + b"\\0\\0\\0\\x07" + b"\\xff\\xff")
            size = int.from_bytes(await reader.readexactly(4), "big")
            assert (await reader.readexactly(size))[:6] == b"\\0\\0\\0\\x07\\0\\0"
            writer.close()
            await writer.wait_closed()
        """
    )
    run(pytester).assert_outcomes(passed=1)


def test_xdist_workers_have_separate_brokers(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("number", range(6))
        def test_one(kafka, kafka_session, number, worker_id):
            assert kafka.bootstrap_servers != kafka_session.bootstrap_servers
            kafka.create_topic("t")
            kafka_session.create_topic(f"t-{number}")
            with open("seen", "a") as file:
                file.write(f"{worker_id} {kafka_session.bootstrap_servers}\\n")
        """
    )
    run(pytester, "-n", "2").assert_outcomes(passed=6)
    seen = set((pytester.path / "seen").read_text().splitlines())
    assert len(seen) == len({line.split()[0] for line in seen}) == len({line.split()[1] for line in seen})


def test_plugin_imports_the_broker_on_first_use(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_one():
            assert [name for name in sys.modules if name.startswith(("kafkalet.broker", "kafkalet.storage"))] == []
        """
    )
    run(pytester).assert_outcomes(passed=1)
