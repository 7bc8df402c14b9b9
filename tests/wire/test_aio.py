"""Tests of the asynchronous kit: it mirrors the synchronous one, leaves the loop free, and ends when cancelled."""

import asyncio
import inspect
import threading
from collections.abc import Coroutine
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from kafkalet import aio
from kafkalet.clock import MovableClock
from kafkalet.testing.cluster import Broker, Cluster
from kafkalet.testing.faults import Fault
from kafkalet.testing.group import Group
from kafkalet.testing.nodes import BrokerNode
from kafkalet.testing.security import Acls, Users
from kafkalet.testing.topic import Topic

MIRRORED = [
    (aio.Topic, Topic),
    (aio.Group, Group),
    (aio.BrokerNode, BrokerNode),
    (aio.Fault, Fault),
    (aio.Clock, MovableClock),
    (aio.Acls, Acls),
    (aio.Users, Users),
    (aio.Cluster, Cluster),
]
LEFT_OUT = {"start", "stop"}
"""`async with` starts and stops the cluster."""


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize(("mirror", "mirrored"), MIRRORED)
def test_every_public_name_is_mirrored(mirror: type, mirrored: type) -> None:
    left_out = LEFT_OUT if issubclass(mirrored, Cluster) else set()
    assert public(mirrored) - public(mirror) - left_out == set()


@pytest.mark.parametrize(("mirror", "mirrored"), MIRRORED)
def test_attributes_stay_attributes_and_methods_stay_methods(mirror: type, mirrored: type) -> None:
    for name in public(mirrored) & public(mirror):
        is_method = inspect.isfunction(inspect.getattr_static(mirrored, name))
        assert inspect.isfunction(inspect.getattr_static(mirror, name)) is is_method, name


def in_broker(test: Any) -> Any:
    """Run a coroutine function with a broker in the running loop."""

    async def run() -> None:
        async with aio.Broker() as kafka:
            await asyncio.wait_for(test(kafka), 30)

    return lambda: asyncio.run(run())


def publish(kafka: aio.Broker, value: bytes) -> Coroutine[Any, Any, None]:
    async def send() -> None:
        async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
            await producer.send_and_wait("t", value)

    return send()


def test_wait_leaves_the_loop_free_for_the_client() -> None:
    async def run(kafka: aio.Broker) -> None:
        publishing = asyncio.create_task(publish(kafka, b"v"))
        [record] = await kafka.topic("t").wait_for(1)
        await publishing
        assert record.value == b"v"

    in_broker(run)()


def test_more_waits_than_the_default_executor_has_threads() -> None:
    async def run(kafka: aio.Broker) -> None:
        waits = [asyncio.create_task(kafka.topic("t").wait_for(1)) for _ in range(100)]
        await asyncio.sleep(0)
        await kafka.topic("t").send("v")
        assert [[record.value for record in found] for found in await asyncio.gather(*waits)] == [[b"v"]] * 100

    in_broker(run)()


def test_cancelled_wait_ends_its_thread() -> None:
    async def run(kafka: aio.Broker) -> None:
        waiting = asyncio.create_task(kafka.topic("t").wait_for(1, timeout=1000))
        await asyncio.sleep(0)  # the task starts its thread
        [thread] = [thread for thread in threading.enumerate() if thread.name == "kafkalet-aio"]
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.to_thread(thread.join, 30)
        assert not thread.is_alive()

    in_broker(run)()


def test_method_that_returns_its_object_returns_the_asynchronous_one() -> None:
    async def run(kafka: aio.Broker) -> None:
        topic = await kafka.topic("t", partitions=1).add_partitions(1)
        assert isinstance(topic, aio.Topic)
        await topic.send("v", partition=1)
        assert (topic.name, topic.partition_count, topic.exists, await topic.values()) == ("t", 2, True, [b"v"])

    in_broker(run)()


def test_timeout_raises_assertion_error_in_the_task() -> None:
    async def run(kafka: aio.Broker) -> None:
        with pytest.raises(AssertionError, match="no record arrived"):
            await kafka.topic("t").wait_for(1, timeout=0)

    in_broker(run)()


def test_stop_iteration_of_a_predicate_is_raised_in_the_task() -> None:
    async def run(kafka: aio.Broker) -> None:
        topic = kafka.topic("t")
        await topic.send("v")
        with pytest.raises(RuntimeError, match="StopIteration"):
            await topic.wait_for(1, where=lambda record: next(iter(record.headers)) == "h")

    in_broker(run)()


def test_methods_of_a_group_are_awaitable() -> None:
    async def using() -> None:
        async with aio.Broker() as kafka:
            await kafka.topic("t").send("v")
            group = await kafka.group("g").seek("latest", "t")
            assert await (await group.wait_for_lag(0)).committed("t", 0) == 1
            assert await group.committed() == {("t", 0): 1}

    asyncio.run(using())


def test_fault_that_does_not_fire_fails_in_the_loop_of_the_broker() -> None:
    async def run(kafka: aio.Broker) -> None:
        with pytest.raises(AssertionError, match="never fired"):
            async with kafka.fault("Produce", error="NOT_LEADER_OR_FOLLOWER"):
                pass
        async with kafka.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", times=1) as fault:
            publishing = asyncio.ensure_future(publish(kafka, b"x"))
            await fault.wait_until_fired()
            await publishing
        assert fault.fired == 1

    in_broker(run)()


def test_condition_lasts_until_the_end_of_the_block_or_its_release() -> None:
    async def run(kafka: aio.Broker) -> None:
        topic = kafka.topic("t", partitions=1)
        async with topic.hold_high_watermark():
            await topic.send("a")
            assert topic.offsets().high_watermark == 0
        assert topic.offsets().high_watermark == 1
        held = await topic.hold_high_watermark()
        await held.release()
        await topic.send("b")
        assert topic.offsets().high_watermark == 2

    in_broker(run)()


def test_methods_of_a_transaction_are_awaitable() -> None:
    async def using() -> None:
        async with aio.Broker() as kafka:
            async with kafka.open_transaction("tx") as transaction:
                await transaction.send("t", "v")
                assert await kafka.topic("t").values(isolation="read_committed") == []
            await kafka.transaction("tx").wait_until("CompleteCommit")
            assert await kafka.topic("t").values(isolation="read_committed") == [b"v"]

    asyncio.run(using())


def test_methods_of_a_running_broker_can_be_awaited() -> None:
    async def run(kafka: aio.Broker) -> None:
        await publish(kafka, b"v")
        [record] = await kafka.topic("t").wait_for(1)
        assert record.value == b"v"

    with Broker() as broker:
        asyncio.run(run(aio.Broker.around(broker)))
        assert broker.topic("t").values() == [b"v"]
