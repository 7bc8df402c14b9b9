"""Mistakes that newcomers make: each message names the remedy."""

import asyncio
import logging
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kafkalet
import kafkalet.aio
from kafkalet.protocol.errors import KafkaError


@pytest.fixture
def kafka() -> Iterator[kafkalet.Broker]:
    with kafkalet.Broker() as broker:
        yield broker


Call = Callable[[Any], object]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda kafka: kafka.topic("t").wait_for("paid"), TypeError, "a value to wait for is the argument value="),
        (lambda kafka: kafka.topic("t").wait_for(lambda record: True), TypeError, "a predicate is the argument where="),
        (lambda kafka: kafka.topic("t").wait_for(value={"id": 7}), TypeError, "json= compares with values"),
        (lambda kafka: kafka.topic("t").send("x", timestamp=time.time()), TypeError, r"round\(1000 \* time.time\(\)\)"),
        (lambda kafka: kafka.topic("t").send_json({1, 2}), TypeError, "cannot be sent as JSON: Object of type set"),
        (lambda kafka: kafka.topic("t").append("x"), TypeError, r"send\(\) appends plain values"),
        (lambda kafka: kafka.topic("t", partitions=3).send("x", partition=3), ValueError, "has partitions 0 to 2"),
        (lambda kafka: kafka.topic("t").create().send("x", partition=1), ValueError, "has partition 0"),
        (lambda kafka: kafka.fault("produce", delay=1), ValueError, r"did you mean Produce\?$"),
        (lambda kafka: kafka.fault("Produce", error=6), TypeError, "which is the code of NOT_LEADER_OR_FOLLOWER"),
        (lambda kafka: kafka.broker(0), ValueError, "broker 0 does not exist; this cluster has broker 1"),
        (lambda kafka: kafka.topic("t").create().shrink_isr(1), ValueError, "and no follower"),
        (lambda kafka: kafka.restore("x"), TypeError, r"kafkalet\.testing\.snapshot\.Snapshot\.load\(\)"),
        (lambda kafka: kafka.__enter__(), RuntimeError, "use it without starting it again"),
        (lambda kafka: kafkalet.aio.Broker().__enter__(), TypeError, "needs `async with` instead of `with`"),  # type: ignore[attr-defined]
        (lambda kafka: kafkalet.aio.Cluster.around("x"), TypeError, "takes a kafkalet.Broker or kafkalet.Cluster"),  # type: ignore[arg-type]
        (lambda kafka: kafkalet.Broker(port=kafka.port).__enter__(), OSError, r"in use: '127.0.0.1:\d+'"),
    ],
)
def test_message_names_the_remedy(kafka: kafkalet.Broker, call: Call, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call(kafka)


def test_fault_that_the_kit_cannot_trigger_says_so(kafka: kafkalet.Broker) -> None:
    with (
        pytest.raises(AssertionError, match=r"methods of the kit, such as topic\.send\(\), send none"),
        kafka.fault("Produce", error="NOT_LEADER_OR_FOLLOWER"),
    ):
        kafka.topic("t").send("x")


def test_property_of_topics_in_the_config_of_a_broker_is_logged_with_the_closest_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "kafkalet"):
        kafkalet.Broker(config={"retention.ms": 5})
    assert "does not have; did you mean log.retention.ms?" in caplog.text


def test_async_with_of_a_fault_in_kafkalet_aio_works_where_with_does_not() -> None:
    async def run() -> int:
        async with kafkalet.aio.Broker() as kafka:
            with pytest.raises(TypeError, match=r"a Fault of .* needs `async with`"):
                kafka.fault("Produce", delay=1).__enter__()  # type: ignore[attr-defined]
            async with kafka.fault("Produce", delay=1, strict=False) as fault:
                return fault.number

    assert asyncio.run(run()) == 2


def test_traceback_of_an_error_of_the_brokers_has_no_frame_of_their_thread(kafka: kafkalet.Broker) -> None:
    with pytest.raises(KafkaError) as caught:
        kafka.topic("t", config={"retention.ms": "x"})
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.filename.split("kafkalet/")[-1] for frame in frames[-2:]] == [
        "broker/server.py",
        "broker/loop_host.py",
    ]
    assert len(frames) < 8
    assert caught.value.__suppress_context__
