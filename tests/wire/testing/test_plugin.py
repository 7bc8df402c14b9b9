"""Tests of the pytest fixtures: their brokers work, live as long as their scope, and leave nothing behind."""

import pytest

pytest_plugins = ["pytester"]

STRICT = """
    [pytest]
    filterwarnings = error
"""
ASYNCIO = ("-p", "pytest_asyncio.plugin", "-o", "asyncio_default_fixture_loop_scope=function")
XDIST = ("-p", "xdist.plugin")

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
    """Run pytest with the plugin of kafkalet and those in `arguments`. Loading all of them would take longer."""
    pytester.makeini(STRICT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "kafkalet.testing.plugin", *arguments)


def test_each_test_gets_a_separate_broker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(clients=PRODUCE_AND_CONSUME)
    pytester.makepyfile(
        """
        import pytest
        from clients import produce_and_consume

        @pytest.mark.parametrize("number", range(3))
        def test_fresh(kafka, number):
            assert produce_and_consume(kafka.bootstrap_servers) == (0, 1)
            assert kafka.topic("t").log().log_end_offset == 1
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
            assert produce_and_consume(kafka_session.bootstrap_servers) == (0, 1)
        """
    )
    run(pytester).assert_outcomes(passed=3)


def test_no_thread_socket_or_file_is_left_behind(pytester: pytest.Pytester) -> None:
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
            kafka.topic("t").create(3)

        def test_second(kafka):
            kafka.topic("t").create(3)

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
            kafka.topic("t").create(3)
            kafka_session.topic("t").create(3)
        """
    )
    run(pytester).assert_outcomes(passed=1)
    assert [path.name for path in temporary.iterdir() if path.name.startswith("kafkalet")] == []


def test_failing_test_stops_its_broker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import threading

        def test_fails(kafka):
            kafka.topic("t").create()
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
    run(pytester, *ASYNCIO).assert_outcomes(passed=1)


def test_plugin_imports_the_broker_on_first_use(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_one():
            assert [name for name in sys.modules if name.startswith(("kafkalet.broker", "kafkalet.storage"))] == []
        """
    )
    run(pytester).assert_outcomes(passed=1)


# Names and sharing


def test_second_name_of_the_fixture_is_the_same_broker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_one(kafka, kafkalet): assert kafka is kafkalet")
    run(pytester).assert_outcomes(passed=1)


def test_fixture_of_the_user_replaces_that_of_the_plugin_everywhere(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import kafkalet
        import pytest

        @pytest.fixture
        def kafka():
            with kafkalet.Broker(version="2.8") as broker:
                yield broker

        def test_one(kafka, kafka_topic, kafka_env):
            assert kafka_env is kafka
            assert kafka.topic(kafka_topic.name).exists

        def test_two(kafka_env):
            assert "Kafka 2.8" in repr(kafka_env)
        """
    )
    run(pytester).assert_outcomes(passed=2)


def test_cluster_has_three_brokers(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_one(kafka_cluster):
            assert len(kafka_cluster.bootstrap_servers.split(",")) == 3
        """
    )
    run(pytester).assert_outcomes(passed=1)


def test_factory_makes_brokers_with_options(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import kafkalet
        import pytest

        made = []

        def test_one(kafka, kafka_factory):
            made.append(kafka_factory())
            made.append(kafka_factory(version="3.9", brokers=2, topics={"orders": 6}))
            assert [type(each) for each in made] == [kafkalet.Broker, kafkalet.Cluster]
            assert made[1].topic("orders").partition_count == 6
            assert len({kafka.bootstrap_servers, *(each.bootstrap_servers for each in made)}) == 3

        def test_two():
            assert [each.is_running for each in made] == [False, False]

        def test_wrong_option(kafka_factory):
            with pytest.raises(TypeError, match="kafka_factory has no option 'verson'; did you mean 'version'"):
                kafka_factory(verson="3.9")
        """
    )
    run(pytester).assert_outcomes(passed=3)


def test_factory_closes_brokers_that_the_test_has_stopped(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import threading

        def test_one(kafka_factory):
            kafka_factory().__exit__(None, None, None)
            cluster = kafka_factory(brokers=2)
            for node_id in (1, 2):
                cluster.broker(node_id).stop()

        def test_two():
            assert [thread.name for thread in threading.enumerate() if "kafkalet" in thread.name] == []
        """
    )
    run(pytester).assert_outcomes(passed=2)


# Topics and the environment


def test_topic_is_named_after_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        names = set()

        @pytest.mark.parametrize("text", ["a.b/c", "\u00fc", "x" * 300, "a.b/c "])
        def test_one(kafka_session, kafka_topic, text):
            assert kafka_topic.exists
            assert kafka_topic.name.startswith("test_one")
            assert kafka_topic.name not in names
            names.add(kafka_topic.name)

        def test_two(kafka_session):
            assert [name for name in names if kafka_session.topic(name).exists] == []
        """
    )
    run(pytester).assert_outcomes(passed=5)


def test_topic_and_environment_are_those_of_the_broker_of_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_fresh(kafka, kafka_topic, kafka_env):
            assert kafka_env is kafka
            assert kafka.topic(kafka_topic.name).exists

        def test_fresh_by_its_other_name(kafkalet, kafka_topic, kafka_env):
            assert kafka_env is kafkalet
            assert kafkalet.topic(kafka_topic.name).exists

        def test_cluster(kafka_cluster, kafka_topic, kafka_env):
            assert kafka_env is kafka_cluster
            assert kafka_cluster.topic(kafka_topic.name).exists

        def test_session(kafka_session, kafka_topic, kafka_env):
            assert kafka_env is kafka_session
            assert kafka_session.topic(kafka_topic.name).exists
        """
    )
    run(pytester).assert_outcomes(passed=4)


def test_environment_is_set_and_restored(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "before")
    monkeypatch.delenv("SPRING_KAFKA_BOOTSTRAP_SERVERS", raising=False)
    pytester.makepyfile(
        """
        import os
        import pytest

        NAMES = ["KAFKA_BOOTSTRAP_SERVERS", "SPRING_KAFKA_BOOTSTRAP_SERVERS", "OF_THE_MODULE", "OF_THE_INI"]
        pytestmark = pytest.mark.kafka(env="OF_THE_MODULE")

        def values():
            return [os.environ.get(name) for name in NAMES]

        @pytest.mark.kafka(env=["SPRING_KAFKA_BOOTSTRAP_SERVERS"])
        def test_one(kafka_env):
            assert values() == [kafka_env.bootstrap_servers] * 4

        def test_two():
            assert values() == ["before", None, None, None]
        """
    )
    run(pytester, "-o", "kafka_env=OF_THE_INI").assert_outcomes(passed=2)


# The marker


def test_nearest_marker_wins_for_each_option(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.kafka(version="2.8", topics=["of_the_module"], config={"num.partitions": 2})

        @pytest.mark.kafka(config={"default.replication.factor": 2}, brokers=2)
        class TestOne:
            @pytest.mark.kafka(version="3.9", topics={"of_the_test": 6})
            def test_one(self, kafka):
                assert repr(kafka).startswith("<Cluster") and "Kafka 3.9" in repr(kafka)
                assert kafka.topic("of_the_module").partition_count == 2
                assert kafka.topic("of_the_test").partition_count == 6

            def test_two(self, kafka):
                assert "Kafka 2.8" in repr(kafka)
                assert not kafka.topic("of_the_test").exists

        def test_three(kafka):
            assert repr(kafka).startswith("<Broker")
        """
    )
    run(pytester, "--strict-markers").assert_outcomes(passed=3)


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ('verson="3.9"', "*test_wrong: the marker kafka has no option 'verson'; did you mean 'version'*"),
        ('"3.9"', "*test_wrong: the marker kafka takes keywords, as in kafka(version=...), not '3.9'"),
    ],
)
def test_invalid_marker_stops_the_run_before_the_first_test(
    pytester: pytest.Pytester, marker: str, message: str
) -> None:
    pytester.makepyfile(
        f"""
        import pytest

        def test_right(): pass

        @pytest.mark.kafka({marker})
        def test_wrong(kafka): pass
        """
    )
    result = run(pytester)
    assert result.ret is pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_wrong_marker_fails_its_test_in_a_worker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        def test_right(): pass

        @pytest.mark.kafka(verson="3.9")
        def test_wrong(kafka): pass
        """
    )
    result = run(pytester, *XDIST, "-n", "1")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*test_wrong: the marker kafka has no option 'verson'; did you mean 'version'*"])


WRONG_VALUES = [
    ('version="3.77"', "*: Kafka 3.77 cannot be emulated*"),
    ('topics={"orders": -5}', "*: INVALID_PARTITIONS*"),
    ("brokers=0", "*: brokers is 0; it must be at least 1"),
    ('config={"num.partitions": "many"}', "*: *num.partitions*"),
    ("timeout=-1", "*: timeout is -1; it must be*"),
]


def test_wrong_value_in_a_marker_fails_its_test(pytester: pytest.Pytester) -> None:
    tests = [f"@pytest.mark.kafka({marker})\ndef test_{n}(kafka): pass" for n, (marker, _) in enumerate(WRONG_VALUES)]
    pytester.makepyfile("\n".join(["import pytest", "def test_right(kafka): pass", *tests]))
    result = run(pytester)
    result.assert_outcomes(passed=1, errors=len(WRONG_VALUES))
    for number, (_, message) in enumerate(WRONG_VALUES):
        result.stdout.fnmatch_lines([f"*test_{number}{message}"])
    result.stdout.no_fnmatch_line("*plugin.py*")


def test_marker_with_options_for_the_session_broker_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.kafka(version="3.9")
        def test_wrong(kafka_session): pass
        """
    )
    result = run(pytester)
    result.stderr.fnmatch_lines(["ERROR: *test_wrong: the marker kafka(version) has no effect on kafka_session*"])


def test_indirect_parameter_is_a_release_or_options(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("kafka", ["2.8", "3.9", "4.4"], indirect=True)
        def test_release(kafka, kafkalet, request):
            assert kafka is kafkalet
            assert repr(kafka).endswith(f"Kafka {request.node.callspec.id}>")

        @pytest.mark.kafka(version="3.9", config={"num.partitions": 4})
        @pytest.mark.parametrize("kafkalet", [{"version": "2.8", "brokers": 2}], indirect=True)
        def test_options(kafka, kafka_topic):
            assert repr(kafka).startswith("<Cluster") and repr(kafka).endswith("Kafka 2.8>")
            assert kafka_topic.partition_count == 4

        @pytest.mark.parametrize("kafka_cluster", ["2.8"], indirect=True)
        def test_cluster(kafka_cluster):
            assert repr(kafka_cluster).endswith("Kafka 2.8>")
        """
    )
    run(pytester).assert_outcomes(passed=5)


def test_wrong_indirect_parameter_fails_its_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("kafka", [3.9, {"verson": "3.9"}], indirect=True)
        def test_wrong(kafka): pass
        """
    )
    result = run(pytester)
    result.assert_outcomes(errors=2)
    for message in (
        '*a parameter of kafka must be a release such as "3.9" or a dict of options, not 3.9',
        "*the parameter of kafka has no option 'verson'; did you mean 'version'*",
    ):
        result.stdout.fnmatch_lines([message])


# Options of the run


@pytest.mark.parametrize(
    ("arguments", "timeout"), [((), 10), (("-o", "kafka_timeout=3"), 3), (("--kafka-timeout", "2.5"), 2.5)]
)
def test_timeout_of_the_run_is_that_of_the_brokers(
    pytester: pytest.Pytester, arguments: tuple[str, ...], timeout: float
) -> None:
    pytester.makepyfile(
        f"""
        import pytest

        def test_one(kafka, kafka_session, kafka_cluster, kafka_factory):
            assert {{b.timeout for b in (kafka, kafka_session, kafka_cluster, kafka_factory())}} == {{{timeout}}}

        @pytest.mark.kafka(timeout=1)
        def test_two(kafka):
            assert kafka.timeout == 1
        """
    )
    run(pytester, *arguments).assert_outcomes(passed=2)


def test_wrong_timeout_in_the_ini_file_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_one(kafka): pass")
    run(pytester, "-o", "kafka_timeout=soon").stdout.fnmatch_lines(["*kafka_timeout is soon; it must be a number*"])


def test_report_of_a_failed_test_has_a_section_for_each_of_its_brokers(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import kafkalet
        import pytest
        from confluent_kafka.admin import AdminClient

        @pytest.fixture
        def mine():
            with kafkalet.Broker(version="2.8") as broker:
                yield broker

        def test_fails(kafka_session, mine, kafka, kafka_factory):
            kafka_factory(version="3.9")
            AdminClient({"bootstrap.servers": mine.bootstrap_servers}).list_topics(timeout=10)
            assert False

        def test_passes(kafka): pass
        """
    )
    result = run(pytester, "-rA")
    result.assert_outcomes(passed=1, failed=1)
    assert len([line for line in result.outlines if line.strip("- ") == "kafkalet"]) == 4
    result.stdout.fnmatch_lines(["<Broker running at *, Kafka 2.8>", "The last requests*", "*Metadata*"])


def test_error_in_the_teardown_of_a_fixture_has_the_report_of_brokers_that_have_stopped_since(
    pytester: pytest.Pytester,
) -> None:
    """An application is usually stopped there, before its broker. pytest makes the report after both."""
    pytester.makepyfile(
        """
        import kafkalet, kafkalet.aio
        import pytest, pytest_asyncio
        from confluent_kafka.admin import AdminClient

        @pytest.fixture
        def mine():
            with kafkalet.Broker(topics=["of-mine"]) as broker:
                yield broker

        @pytest_asyncio.fixture
        async def in_loop():
            async with kafkalet.aio.Broker() as broker:
                yield broker

        @pytest.fixture
        def app(kafka, mine, in_loop, kafka_factory, kafka_session):
            made = kafka_factory()
            for number, broker in enumerate([kafka, mine, in_loop.sync, made, kafka_session]):
                broker.topic(f"topic{number}").send("x")
            AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "client.id": "app"}).list_topics(timeout=10)
            with kafka.fault("Fetch", delay=1, strict=False):
                yield
            raise OSError("the application has failed")

        def test_one(app): pass

        def test_next(kafka_session):
            assert kafka_session.topics() == []
            assert False
        """
    )
    result = run(pytester, *ASYNCIO)
    result.assert_outcomes(passed=1, errors=1, failed=1)
    lines = result.outlines
    starts = [at for at, line in enumerate(lines) if line.strip("- ") == "kafkalet"]
    of_test_one, of_test_next = lines[: starts[-1]], lines[starts[-1] :]
    assert len(starts) == 6
    for number in range(5):
        assert any(line.startswith(f"  topic{number}-0: log start offset 0") for line in of_test_one)
    assert any("client=app Metadata" in line for line in of_test_one)
    assert any(line.startswith("  1: <fault('Fetch', ") and line.endswith(", removed") for line in of_test_one)
    assert not any("topic4" in line for line in of_test_next)


@pytest.mark.parametrize("style", ["short", "long"])
def test_traceback_of_a_refused_call_ends_in_the_test(pytester: pytest.Pytester, style: str) -> None:
    pytester.makepyfile(
        """
        import kafkalet

        def test_code(kafka): kafka.topic("no topic").send("x")
        def test_type(kafka): kafka.topic("t").send(7)
        def test_wait(kafka): kafka.topic("t").wait_for(1, timeout=0)
        def test_stopped(): kafkalet.Broker().bootstrap_servers
        def test_port(kafka): kafkalet.Broker(port=kafka.port).__enter__()
        def test_config(kafka): kafka.topic("t", config={"retention.ms": "x"})
        """
    )
    result = run(pytester, f"--tb={style}")
    result.assert_outcomes(failed=6)
    assert [line for line in result.outlines if line.startswith(("kafkalet/", "../")) or "/kafkalet/" in line] == []


def test_traceback_of_a_bug_has_the_frames_of_kafkalet(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(
        """
        from kafkalet.testing import topic

        def test_one(kafka, monkeypatch):
            monkeypatch.setattr(topic, "partition_of", None)
            kafka.topic("t").send("x", key="y")
        """
    )
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*kafkalet/testing/topic.py:*: TypeError"])


def test_failure_in_a_predicate_of_the_test_is_shown_with_the_line_of_the_wait(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_one(kafka):
            kafka.topic("t").send("{}")
            kafka.topic("t").wait_for(where=lambda record: record.json()["id"] == 7)
        """
    )
    result = run(pytester, "--tb=short")
    result.assert_outcomes(failed=1)
    places = [line for line in result.outlines if line.startswith("test_failure") and ": in " in line]
    assert [place.rpartition(": in ")[2] for place in places] == ["test_one", "<lambda>"]
    result.stdout.fnmatch_lines(["E   raised by where=<lambda> for <t-0@0 value=b'{}'>"])


def test_plugin_can_be_left_out(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_one(kafka): pass")
    result = pytester.runpytest_subprocess("-p", "no:kafkalet", "-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'kafka' not found*"])


@pytest.mark.parametrize("distribution", ["load", "loadscope"])
def test_workers_share_no_session_broker(pytester: pytest.Pytester, distribution: str) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("number", range(4))
        class TestOne:
            def test_one(self, kafka_session, kafka_topic, number, worker_id):
                with open("seen", "a") as file:
                    file.write(f"{worker_id} {kafka_session.bootstrap_servers}\\n")

        class TestTwo(TestOne): pass
        """
    )
    run(pytester, *XDIST, "-n", "2", "--dist", distribution).assert_outcomes(passed=8)
    seen = set((pytester.path / "seen").read_text().splitlines())
    assert len(seen) == len({line.split()[0] for line in seen}) == len({line.split()[1] for line in seen})


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_every_fixture_works_in_a_test_with_an_event_loop(pytester: pytest.Pytester, mode: str) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.asyncio
        async def test_one(kafka, kafka_session, kafka_cluster, kafka_factory, kafka_env, kafka_topic):
            kafka_topic.send("one")
            [record] = kafka.topic(kafka_topic.name).wait_for(1)
            assert record.value == b"one"
        """
    )
    run(pytester, *ASYNCIO, "-o", f"asyncio_mode={mode}").assert_outcomes(passed=1)


# Faults


def test_fault_that_never_fired_fails_the_test_that_set_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import kafkalet
        import pytest

        @pytest.fixture
        def mine():
            with kafkalet.Broker() as broker:
                yield broker

        def test_fresh(kafka):
            kafka.fault("Produce", delay=1, topic="of_the_fresh_one")

        def test_session(kafka_session):
            kafka_session.fault("Produce", delay=1, topic="of_the_session")

        def test_of_the_user(mine):
            mine.fault("Produce", delay=1, topic="of_the_user")

        def test_factory(kafka_factory):
            kafka_factory().fault("Produce", delay=1, topic="of_the_factory")

        def test_allowed(kafka):
            kafka.fault("Produce", delay=1, strict=False)

        def test_next(kafka_session): pass
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=6, errors=4)
    for name in ("fresh_one", "session", "user", "factory"):
        result.stdout.fnmatch_lines([f"*topic='of_the_{name}'*never fired"])


def test_fault_on_a_shared_broker_ends_with_its_test(pytester: pytest.Pytester) -> None:
    """This holds however the test ends, whether or not the fault has fired, and whichever way the test got the
    broker.
    """
    pytester.makepyfile(
        """
        import kafkalet
        import pytest

        @pytest.fixture(scope="module")
        def mine():
            with kafkalet.Broker() as broker:
                yield broker

        @pytest.fixture
        def changed_in_teardown(kafka_session):
            yield
            kafka_session.fault("Fetch", delay=1, strict=False)

        def test_fails(kafka_session, mine):
            kafka_session.fault("Produce", delay=1)
            mine.fault("Produce", delay=1)
            assert False

        def test_skips(kafka_session):
            kafka_session.fault("Produce", delay=1)
            pytest.skip("why")

        def test_by_name(request):
            request.getfixturevalue("kafka_session").fault("Produce", delay=1, strict=False)

        def test_teardown(changed_in_teardown): pass

        def test_fires(kafka_session):
            assert kafka_session.faults == ()
            from confluent_kafka.admin import AdminClient
            fault = kafka_session.fault("Metadata", delay=0.001)
            AdminClient({"bootstrap.servers": kafka_session.bootstrap_servers}).list_topics(timeout=10)
            assert fault.fired

        def test_next(kafka_session, mine):
            assert (kafka_session.faults, mine.faults) == ((), ())
        """
    )
    run(pytester).assert_outcomes(failed=1, skipped=1, passed=4)


def test_fault_in_a_block_of_a_fixture_lasts_for_its_scope(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture(scope="module")
        def slow(kafka_session):
            with kafka_session.fault("Metadata", delay=0.001) as fault:
                yield fault

        def test_one(slow, kafka_session):
            assert kafka_session.faults == (slow,)

        def test_two(slow, kafka_session):
            from confluent_kafka.admin import AdminClient
            AdminClient({"bootstrap.servers": kafka_session.bootstrap_servers}).list_topics(timeout=10)
            assert slow.fired
        """
    )
    run(pytester).assert_outcomes(passed=2)


def test_unfired_fault_fails_only_a_test_that_passed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        def test_fails(kafka):
            kafka.fault("Produce", delay=1)
            assert False

        def test_is_skipped(kafka):
            kafka.fault("Produce", delay=1)
            pytest.skip("why")

        @pytest.mark.xfail
        def test_is_expected_to_fail(kafka):
            kafka.fault("Produce", delay=1)
            assert False
        """
    )
    run(pytester).assert_outcomes(failed=1, skipped=1, xfailed=1)


# Teardown


def test_failing_tests_leave_nothing_behind(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = pytester.mkdir("temporary")
    monkeypatch.setenv("TMPDIR", str(temporary))
    pytester.makepyfile(
        """
        import gc, os, threading

        def state():
            gc.collect()
            return len(os.listdir("/dev/fd")), threading.active_count()

        def use(*fixtures):
            for cluster in fixtures:
                cluster.topic("t", partitions=3).send("one")

        def test_before(kafka, kafka_cluster, kafka_factory, kafka_env, kafka_topic):
            use(kafka, kafka_cluster, kafka_factory())  # imports everything

        def test_measure(request):
            request.config.before = state()

        def test_fails(kafka, kafka_cluster, kafka_factory, kafka_env, kafka_topic):
            use(kafka, kafka_cluster, kafka_factory())
            raise ValueError

        def test_fails_with_stopped_brokers(kafka, kafka_cluster, kafka_factory, kafka_topic):
            use(kafka, kafka_cluster)
            kafka.broker(1).stop()
            kafka_cluster.__exit__(None, None, None)
            kafka_factory().__exit__(None, None, None)
            raise ValueError

        def test_after(request):
            import sys
            sys.last_value = sys.last_traceback = sys.last_exc = None  # pytest keeps the failed tests in them
            assert state() == request.config.before
        """
    )
    run(pytester).assert_outcomes(passed=3, failed=2)
    assert list(temporary.iterdir()) == []


def test_brokers_of_finished_tests_are_freed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import gc, weakref

        used = []

        def test_one(kafka, kafka_cluster, kafka_factory, kafka_topic):
            used.extend(map(weakref.ref, (kafka, kafka_cluster, kafka_factory())))

        def test_two(): pass

        def test_three():
            gc.collect()
            assert [reference() for reference in used] == [None, None, None]
        """
    )
    run(pytester).assert_outcomes(passed=3)
