"""Full garbage collections are postponed until the broker is idle."""

import asyncio
import gc
from collections.abc import Iterator

import pytest

from kafkalet import garbage
from kafkalet.garbage import collected_when_idle
from tests.garbage import collect_and_freeze


@pytest.fixture(autouse=True)
def _freeze_again() -> Iterator[None]:
    yield
    collect_and_freeze()


class Part:
    """A reference cycle, which only the garbage collector can free."""

    def __init__(self) -> None:
        self.itself = self


def collections() -> int:
    return gc.get_stats()[2]["collections"]


async def run(busy: bool, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the number of full collections while much garbage is created."""
    monkeypatch.setattr(garbage, "LOOK_S", 0.01)
    monkeypatch.setattr(garbage, "NEW", 100)
    looked = asyncio.Event()
    looks = 0

    def is_busy() -> bool:
        nonlocal looks
        looks += 1
        if looks == 3:
            looked.set()
        return busy

    with collected_when_idle(is_busy):
        before = collections()
        while not looked.is_set():
            for _ in range(100 * gc.get_threshold()[1] * garbage.WANTED * 2):
                Part()
            await asyncio.sleep(0)
        return collections() - before


def test_full_collection_runs_when_the_broker_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asyncio.run(run(False, monkeypatch)) >= 1


def test_full_collection_does_not_run_while_the_broker_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asyncio.run(run(True, monkeypatch)) == 0


def test_settings_of_the_process_are_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    before = gc.get_threshold()
    asyncio.run(run(False, monkeypatch))
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
