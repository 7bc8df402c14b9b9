"""Tests of `KafkaTestCase`: a broker for each test, which starts on first use, and its report in a failure."""

import threading
import unittest
from typing import Any, ClassVar

import pytest

import kafkalet
from kafkalet.testing import KafkaTestCase

pytest_plugins = ["pytester"]


def run(case: type[unittest.TestCase]) -> unittest.TestResult:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result


def test_each_test_has_a_new_broker_that_stops_after_tear_down() -> None:
    brokers: list[kafkalet.Cluster] = []

    class Orders(KafkaTestCase):
        kafka_options: ClassVar[dict[str, Any]] = {"version": "3.9", "topics": {"orders": 6}}

        def setUp(self) -> None:
            self.topic = self.kafka.topic("orders")

        def test_one(self) -> None:
            assert self.topic.partition_count == 6
            assert "Kafka 3.9" in repr(self.kafka)
            brokers.append(self.kafka)

        def test_two(self) -> None:
            brokers.append(self.kafka)

        def tearDown(self) -> None:
            assert self.kafka.is_running

    result = run(Orders)
    assert (result.testsRun, result.wasSuccessful()) == (2, True), [*result.errors, *result.failures]
    assert len({id(broker) for broker in brokers}) == 2
    assert [broker.is_running for broker in brokers] == [False, False]


def test_unused_broker_is_not_started() -> None:
    before = set(threading.enumerate())
    started: list[threading.Thread] = []

    class Orders(KafkaTestCase):
        def test_one(self) -> None:
            started.extend(set(threading.enumerate()) - before)

    assert run(Orders).wasSuccessful()
    assert started == []


def test_failure_describes_the_broker() -> None:
    class Orders(KafkaTestCase):
        def test_one(self) -> None:
            self.kafka.topic("orders").send("one")
            self.assertEqual(1, 2)  # noqa: PT009 - its message is a part of the test

    [(_, text)] = run(Orders).failures
    assert "AssertionError: 1 != 2" in text
    assert "Broker running at 127.0.0.1:" in text
    assert "testing/cases.py" not in text


@pytest.mark.parametrize("method", ["setUp", "tearDown"])
def test_failure_before_or_after_the_test_describes_the_broker(method: str) -> None:
    class Orders(KafkaTestCase):
        def test_one(self) -> None:
            self.kafka.topic("orders").send("one")

    def fail(self: KafkaTestCase) -> None:
        self.kafka.topic("orders").send("one")
        raise KeyError("of the method")

    setattr(Orders, method, fail)
    [(_, text)] = run(Orders).errors
    assert "Broker running at 127.0.0.1:" in text
    assert "testing/cases.py" not in text


def test_failed_subtest_describes_the_broker() -> None:
    class Orders(KafkaTestCase):
        def test_one(self) -> None:
            self.kafka.fault("Produce", delay=1)
            for number in range(3):
                with self.subTest("of the loop", number=number):
                    self.kafka.topic("orders").send("one")
                    assert number != 1

    [(subtest, text)] = run(Orders).failures
    assert "number=1" in str(subtest)
    assert "Broker running at 127.0.0.1:" in text
    assert "testing/cases.py" not in text


def test_failure_before_a_coroutine_describes_the_broker() -> None:
    class Orders(KafkaTestCase, unittest.IsolatedAsyncioTestCase):
        async def asyncSetUp(self) -> None:
            self.kafka.topic("orders").send("one")
            raise KeyError("of the method")

        async def test_one(self) -> None: ...

    [(_, text)] = run(Orders).errors
    assert "Broker running at 127.0.0.1:" in text


def test_fault_that_never_fired_fails_the_test() -> None:
    class Orders(KafkaTestCase):
        def test_one(self) -> None:
            self.kafka.fault("Produce", delay=1)

    [(_, text)] = run(Orders).failures
    assert "never fired" in text


def test_coroutines_have_a_broker_and_their_errors_describe_it() -> None:
    class Orders(KafkaTestCase, unittest.IsolatedAsyncioTestCase):
        async def test_one(self) -> None:
            self.kafka.topic("orders").send("one")
            assert self.kafka.topic("orders").values() == [b"one"]
            raise KeyError("of the test")

    result = run(Orders)
    [(_, text)] = result.errors
    assert "KeyError: 'of the test'" in text
    assert "Broker running at 127.0.0.1:" in text


def test_skipped_test_is_skipped() -> None:
    class Orders(KafkaTestCase):
        def test_one(self) -> None:
            self.kafka.fault("Produce", delay=1)
            self.skipTest("why")

    result = run(Orders)
    [(_, reason)] = result.skipped
    assert reason == "why"
    assert result.wasSuccessful()


def test_wrong_value_of_an_option_is_an_error_of_the_test() -> None:
    class Orders(KafkaTestCase):
        kafka_options: ClassVar[dict[str, Any]] = {"version": "3.77"}

        def test_one(self) -> None:
            assert self.kafka

    [(_, text)] = run(Orders).errors
    assert "Kafka 3.77 cannot be emulated" in text


def test_unknown_option_is_refused_when_the_class_is_defined() -> None:
    with pytest.raises(TypeError, match=r"kafka_options has no option 'verson'; did you mean 'version'"):
        type("Orders", (KafkaTestCase,), {"kafka_options": {"verson": "3.9"}})


def test_pytest_runs_the_test_case(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import unittest
        from kafkalet.testing import KafkaTestCase

        class TestOrders(KafkaTestCase):
            def test_one(self):
                self.kafka.topic("orders").send("one")

            def test_two(self):
                self.kafka.topic("orders").send("one")
                self.fail("of the test")

        class TestOthers(KafkaTestCase, unittest.IsolatedAsyncioTestCase):
            async def test_one(self):
                self.kafka.topic("orders").send("one")
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*AssertionError: of the test", "*Broker running at 127.0.0.1:*"])
