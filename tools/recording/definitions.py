"""The definition of a scenario: a function that adds its steps, and whose docstring is what it claims.

    scenario = Scenarios("list_offsets_timestamps")


    @scenario("KIP-79 FileRecords.searchForTimestamp", level="must")
    def lo_time_two_batches(ask: ScenarioBuilder) -> None:
        '''ListOffsets returns the first record after a timestamp that lies between two batches.'''
        t = ask.topic()
        ask.produce(t, batch(10, 20), batch(30, 40))
        ask.time("between", t, 25)

Such a function runs once per release, and can depend on the versions that the release supports
(`ask.versions("Fetch")`). It produces steps without responses; recorder.py gets the responses from Apache Kafka.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kafkalet_conformance.building import ScenarioBuilder
from kafkalet_conformance.catalog import LEVELS, Level

from .sources import full_names

KAFKA_2_8, KAFKA_3_9, KAFKA_4_4 = ("2.8",), ("3.9",), ("4.4",)
EVERY_RELEASE = (*KAFKA_2_8, *KAFKA_3_9, *KAFKA_4_4)
SHARE_GROUPS = ("4.3", *KAFKA_4_4)
"""The releases whose share groups are recorded."""

Write = Callable[[ScenarioBuilder], None]
"""A function that adds the steps of a scenario to a builder."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A scenario as its author defines it. `write` is None if only its recorded steps exist."""

    name: str
    area: str
    claim: str
    level: Level
    sources: tuple[str, ...]
    needs: Mapping[str, Any]
    releases: tuple[str, ...]
    write: Write | None


DEFINITIONS: dict[str, Definition] = {}


class Scenarios:
    """The decorator of the scenarios of a module, with their area, their releases, and what all of them need.

    `area` is a key of `catalog.AREAS`. `releases` are those to record. `needs` restricts the brokers (see
    docs/scenario-format.md).
    """

    def __init__(self, area: str, releases: tuple[str, ...] = (*KAFKA_3_9, *KAFKA_4_4), **needs: Any) -> None:
        self.area, self.releases, self.needs = area, releases, needs

    def __call__(
        self,
        sources: str,
        releases: tuple[str, ...] = (),
        *,
        level: Level = "should",
        area: str = "",
        **needs: Any,
    ) -> Callable[[Write], Write]:
        """Register a function as the scenario of its name. Its docstring is the claim: one sentence on what Kafka does.

        `sources` names the KIPs (`KIP-101`) and the classes or methods of Kafka (`ReplicaManager.readFromLog`) that
        define the behavior, and `level` how much depends on it.
        """

        def register(write: Write) -> Write:
            claim = " ".join((write.__doc__ or "").split())
            own = (area or self.area, claim, level, full_names(sources))
            _add(Definition(write.__name__, *own, self.needs | needs, releases or self.releases, write))
            return write

        return register


def recorded_only(name: str, area: str, level: str, sources: str, claim: str) -> None:
    """Register a scenario whose steps exist only in its transcript."""
    _add(Definition(name, area, claim, LEVELS[LEVELS.index(level)], full_names(sources), {}, (), None))


def _add(definition: Definition) -> None:
    if definition.name in DEFINITIONS:
        raise ValueError(f"two scenarios are called {definition.name}")
    DEFINITIONS[definition.name] = definition
