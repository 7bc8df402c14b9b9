"""The definition of a scenario: a function that adds its steps, with what it claims.

    @scenario(
        "list_offsets_timestamps",
        "ListOffsets answers the first record after a timestamp that lies between two batches.",
        level="must",
        sources=["KIP-79"],
    )
    def lo_time_two_batches(ask: ScenarioBuilder) -> None:
        t = ask.topic()
        ask.produce(t, batch(10, 20), batch(30, 40))
        ask.time("between", t, 25)

Such a function runs once per release, and can depend on the versions that the release supports
(`ask.versions("Fetch")`). It produces steps without answers; recorder.py obtains the answers from Apache Kafka.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafkalet.conformance.building import ScenarioBuilder
from kafkalet.conformance.catalogue import Level

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


def scenario(
    area: str,
    claim: str,
    releases: tuple[str, ...] = ("3.9", "4.4"),
    *,
    level: Level = "should",
    sources: Sequence[str] = (),
    **needs: Any,
) -> Callable[[Write], Write]:
    """Register a function as the scenario of its name.

    `area` is a key of `catalogue.AREAS`. `claim` says in one sentence what Apache Kafka does. `sources` names the KIPs
    (`KIP-101`) and the classes or methods of Kafka (`kafka.server.ReplicaManager.readFromLog`) that define it, and
    `level` how much depends on it. `releases` are those to record. `needs` restricts the brokers (see
    docs/scenario-format.md).
    """

    def register(write: Write) -> Write:
        _add(Definition(write.__name__, area, claim, level, tuple(sources), needs, releases, write))
        return write

    return register


def recorded_only(name: str, area: str, claim: str, *, level: Level = "should", sources: Sequence[str] = ()) -> None:
    """Register a scenario whose steps exist only in its transcript."""
    _add(Definition(name, area, claim, level, tuple(sources), {}, (), None))


def _add(definition: Definition) -> None:
    if definition.name in DEFINITIONS:
        raise ValueError(f"two scenarios are called {definition.name}")
    DEFINITIONS[definition.name] = definition
