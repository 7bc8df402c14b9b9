"""Tests of waits: the timeout, and threads that must not wait."""

import asyncio
from typing import Any

import pytest

from kafkalet import Broker
from kafkalet.testing.waiting import timeout_s, wait


def test_default_timeout_is_that_of_the_cluster() -> None:
    broker = Broker()
    broker.timeout = 3
    assert timeout_s(broker, None) == 3


@pytest.mark.parametrize("given", ["1", True, None.__class__])
def test_timeout_of_another_type_raises_type_error(given: Any) -> None:
    with pytest.raises(TypeError, match="number of seconds"):
        timeout_s(Broker(), given)


@pytest.mark.parametrize("given", [-1, float("inf"), float("nan")])
def test_timeout_must_be_finite_and_not_negative(given: float) -> None:
    with pytest.raises(ValueError, match="finite number of seconds"):
        timeout_s(Broker(), given)


def test_wait_in_the_loop_of_the_broker_names_the_asynchronous_api() -> None:
    async def waiting() -> None:
        async with Broker() as broker:
            with pytest.raises(RuntimeError, match=r"kafkalet\.aio"):
                wait(broker, lambda: None, 1, lambda: "")

    asyncio.run(waiting())


def test_wait_returns_the_first_value_that_is_not_none() -> None:
    with Broker() as broker:
        looks = iter([None, 7])

        def look() -> int | None:
            found = next(looks)
            broker.topic("t").send("v")  # a change, so that the wait looks again
            return found

        assert wait(broker, look, 10, lambda: "timed out") == 7


def test_failure_shows_the_requests_of_clients() -> None:
    with Broker() as broker, pytest.raises(AssertionError) as caught:
        wait(broker, lambda: None, 0, lambda: "nothing came")
    assert str(caught.value) == "nothing came\n  clients:\n    no client is connected"


def test_wait_ends_although_changes_never_pause() -> None:
    with Broker() as broker, pytest.raises(AssertionError, match="nothing came"):
        wait(broker, lambda: broker._server.watchers.touch(), 0.05, lambda: "nothing came")
