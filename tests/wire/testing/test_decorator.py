"""Tests of `with_broker` on functions, coroutine functions and classes."""

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import kafkalet

pytest_plugins = ["pytester"]


def test_function_gets_a_broker_that_stops_when_it_returns() -> None:
    @kafkalet.with_broker
    def publish(value: str, *, kafka: kafkalet.Broker) -> tuple[kafkalet.Broker, list[bytes | None]]:
        assert kafka.is_running
        kafka.topic("t").send(value)
        return kafka, kafka.topic("t").values()

    broker, values = publish("one")
    assert (values, broker.is_running) == ([b"one"], False)


def test_positional_arguments_keep_their_places() -> None:
    @kafkalet.with_broker
    def between(first: str, kafka: kafkalet.Broker, last: str) -> list[bytes | None]:
        kafka.topic("t").send(first)
        kafka.topic("t").send(last)
        return kafka.topic("t").values()

    assert between("a", "b") == between("a", last="b") == between(first="a", last="b") == [b"a", b"b"]


def test_broker_may_be_a_positional_only_argument() -> None:
    @kafkalet.with_broker
    def publish(kafka: kafkalet.Broker, /, value: str) -> list[bytes | None]:
        kafka.topic("t").send(value)
        return kafka.topic("t").values()

    assert publish("a") == publish(value="a") == [b"a"]


def test_each_call_gets_a_new_broker() -> None:
    @kafkalet.with_broker()
    def publish(kafka: kafkalet.Broker) -> list[bytes | None]:
        kafka.topic("t").send("one")
        return kafka.topic("t").values()

    assert [publish(), publish()] == [[b"one"], [b"one"]]


def test_options_are_those_of_the_broker() -> None:
    @kafkalet.with_broker(version="3.9", brokers=2, topics={"orders": 6})
    def check(kafka: kafkalet.Cluster) -> tuple[type, int]:
        assert "Kafka 3.9" in repr(kafka)
        return type(kafka), kafka.topic("orders").partition_count

    assert check() == (kafkalet.Cluster, 6)


def test_coroutine_gets_a_broker() -> None:
    @kafkalet.with_broker
    async def publish(kafka: kafkalet.Broker) -> bool:
        await asyncio.sleep(0)
        return kafka.is_running

    assert inspect.iscoroutinefunction(publish)
    assert asyncio.run(publish())


def test_methods_of_a_class_get_a_broker_each() -> None:
    @kafkalet.with_broker
    class Orders:
        def test_one(self, kafka: kafkalet.Broker) -> kafkalet.Broker:
            return kafka

        def test_two(self, kafka: kafkalet.Broker) -> kafkalet.Broker:
            return kafka

        def test_without(self) -> str:
            return "without"

        def other(self, kafka: str) -> str:
            return kafka

    orders: Any = Orders()
    assert orders.test_one() is not orders.test_two()
    assert (orders.test_without(), orders.other("k")) == ("without", "k")


def test_exception_has_a_note_about_the_broker() -> None:
    @kafkalet.with_broker
    def fail(kafka: kafkalet.Broker) -> None:
        raise KeyError("of the test")

    with pytest.raises(KeyError) as caught:
        fail()
    [note] = caught.value.__notes__
    assert "Broker running at 127.0.0.1:" in note


def test_pytest_does_not_take_the_argument_for_its_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import kafkalet

        @kafkalet.with_broker(version="2.8")
        def test_one(tmp_path, kafka):
            assert tmp_path.exists()
            assert "Kafka 2.8" in repr(kafka)

        @kafkalet.with_broker(version="2.8")
        class TestTwo:
            def test_two(self, kafka):
                assert "Kafka 2.8" in repr(kafka)
        """
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)


def generator(kafka: kafkalet.Broker) -> Iterator[None]:
    yield None


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (lambda: None, "has no parameter kafka, which is the broker"),
        (type("Orders", (), {}), r"no method test\.\.\. of Orders has a parameter kafka"),
        (3, "with_broker decorates a function or a class, not 3"),
        (generator, "cannot decorate generator, which is a generator"),
    ],
)
def test_target_that_cannot_get_a_broker_is_refused(target: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        kafkalet.with_broker(target)


def test_unknown_option_is_refused_before_the_function_runs() -> None:
    with pytest.raises(TypeError, match="with_broker has no option 'verson'; did you mean 'version'"):
        kafkalet.with_broker(verson="3.9")


def test_fault_that_never_fired_fails_the_call() -> None:
    @kafkalet.with_broker
    def set_fault(kafka: kafkalet.Broker) -> None:
        kafka.fault("Produce", delay=1)

    with pytest.raises(AssertionError, match="never fired"):
        set_fault()
