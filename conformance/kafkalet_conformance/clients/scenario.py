"""A scenario: the task of the client, what happens to the client, and the judge.

    CATALOG = Catalog(role=Role.PRODUCE)

    @CATALOG.scenario(
        "A producer finds the new leader of a partition, and loses no record.",
        "KIP-320; Sender.completeBatch",
        judge=produced(),
        brokers=2,
    )
    def produce_leader_moves(stage: Stage) -> None:
        stage.create_topic()                 # before the client starts
        stage.start()
        stage.topic.wait_for(5)              # while it runs: wait for events in the broker, never for time
        stage.topic.move_leader(to=2)

A function that does not call `start` only prepares; the client is started after it. If the client ends while the
function waits, the function ends, and the client is judged.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from .results import Finding


class Role(StrEnum):
    """The task of the command."""

    PRODUCE = "produce"
    CONSUME = "consume"
    TRANSFORM = "transform"
    SHARE = "share"


Judge = Callable[[Any], Iterable[Finding]]
"""Takes the `stage.Stage`, and returns findings: deviations from correct behavior, and remarks."""
Play = Callable[[Any], None]
"""The function of a scenario; it takes the `stage.Stage`."""


@dataclass(frozen=True)
class Scenario:
    """The definition of a scenario."""

    name: str
    claim: str
    sources: tuple[str, ...]
    role: Role
    judge: Judge
    play: Play
    count: int = 20
    """The number of records to produce, or to consume."""
    acks: str = "all"
    idempotence: bool = False
    transactional_id: str | None = None
    group: str | None = None
    instance_id: str | None = None
    isolation: str = "read_uncommitted"
    reset: str = "earliest"
    settings: Mapping[str, int] = field(default_factory=dict)
    """Other variables of the contract, without their prefix."""
    brokers: int = 1
    kafka_version: str | None = None
    config: Mapping[str, str | int | bool] = field(default_factory=dict)
    """Properties of the brokers."""


class Catalog:
    """Scenarios, keyed by name, in the order of their definition."""

    def __init__(self, **defaults: object) -> None:
        """`defaults` are the attributes that the scenarios have in common."""
        self.scenarios: dict[str, Scenario] = {}
        self._defaults = defaults

    def scenario(self, claim: str, *sources: str, name: str = "", **attributes: object) -> Callable[[Play], Play]:
        """Define a scenario. The decorated function plays it; its name is that of the scenario."""

        def define(play: Play) -> Play:
            own = name or play.__name__.replace("_", "-")
            if own in self.scenarios:
                raise ValueError(f"scenario {own} is defined twice")
            attributes_of_all = {**self._defaults, **attributes}
            self.scenarios[own] = Scenario(own, claim, sources, play=play, **attributes_of_all)  # type: ignore[arg-type]
            return play

        return define
