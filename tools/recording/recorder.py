"""Record the responses of a broker to the steps of a scenario.

Values that differ between runs become placeholders: names bound in the scenario, broker ids, the cluster id, the
current time, and error messages, whose text is kept as a comment.
"""

import os
from typing import Any

from kafkalet_conformance.building import ScenarioBuilder
from kafkalet_conformance.judging.replaying import replay
from kafkalet_conformance.playing.matching import CLIENT_ID, MADE_UP, UUID
from kafkalet_conformance.playing.placeholders import Placeholders
from kafkalet_conformance.playing.player import Player, at_path, compared_part
from kafkalet_conformance.playing.target import Target
from kafkalet_conformance.results import Outcome
from kafkalet_conformance.transcripts import Step, Transcript, load

from .definitions import Definition


class Unsteady(Exception):
    """A broker responded differently when a scenario was performed again."""


def record(definition: Definition, target: Target, release: str) -> list[Step]:
    """Perform a scenario and return its steps with the responses as `expect`.

    The scenario is performed a second time and compared. Raises Unsteady if a response differs, and SetupFailed if a
    step that must succeed fails.
    """
    steps = _answered(_steps(definition, target, release), target)
    transcript = Transcript(definition.name, definition.needs, {release: steps})
    for case in replay(transcript, release, target):
        if case.outcome is not Outcome.AS_KAFKA:
            found = "; ".join(map(str, case.differences)) or case.reason
            raise Unsteady(f"the response to {case.name!r} was different the second time: {found}")
    return steps


def _steps(definition: Definition, target: Target, release: str) -> list[Step]:
    """Return the steps without responses: as the definition writes them, or as they were recorded."""
    if definition.write is not None:
        builder = ScenarioBuilder(definition.name, release, target.versions)
        definition.write(builder)
        return builder.steps
    steps = load(definition.name).steps
    newest = steps.get(release, list(steps.values())[-1])
    return [{key: value for key, value in step.items() if key != "expect"} for step in newest]


def _answered(steps: list[Step], target: Target) -> list[Step]:
    player = Player(target, os.urandom(4).hex())
    answered = []
    try:
        for step in steps:
            answer = player.perform(step)
            if "case" in step:
                placeholders = Placeholders(player, target, step.get("bind", {}))
                if step.get("api") == "FindCoordinator":
                    placeholders.nodes = bound_nodes(player.names)
                expected = placeholders.of(compared_part(step, answer, player.names))
                step = step | {"expect": with_member_id_formats(expected, step.get("bind", {}), player.names)}
            answered.append(step)
    finally:
        player.close()
    return answered


def with_member_id_formats(expected: Any, bind: dict[str, str], names: dict[str, Any]) -> Any:
    """Replace newly bound ids by placeholders for their format, because comparing an id with itself proves nothing."""
    for name, path in bind.items():
        *above, last = path.split(".")
        inner = at_path(expected, ".".join(above)) if above else expected
        if isinstance(inner, dict) and inner.get(last) == f"${name}":
            if isinstance(names[name], dict):
                inner[last] = "$HMAC"
            elif not isinstance(names[name], str):
                inner[last] = f"$?{name}"
            elif made := MADE_UP.fullmatch(names[name]):
                inner[last] = "$MEMBER" if made["of"] == CLIENT_ID else f"$MEMBER:{made['of']}"
            elif UUID.fullmatch(names[name]):
                inner[last] = "$UUID"
    return expected


def bound_nodes(names: dict[str, Any]) -> dict[int, str]:
    """Return the names to which broker ids are bound, keyed by id."""
    return {value: f"${name}" for name, value in names.items() if name.startswith("B") and type(value) is int}
