"""Record the responses of a broker to the steps of a scenario.

Values that differ between runs become placeholders: names bound in the scenario, broker ids, the cluster id, the
current time, and error messages, whose text is kept as a comment.
"""

import os
import re
from typing import Any

from kafkalet.protocol.releases import advertised, versions_of
from kafkalet_conformance.building import ScenarioBuilder
from kafkalet_conformance.judging.replaying import replay
from kafkalet_conformance.notation.messages import APIS
from kafkalet_conformance.playing.matching import CLIENT_ID, MADE_UP, UUID
from kafkalet_conformance.playing.placeholders import Placeholders
from kafkalet_conformance.playing.player import Player, SetupFailed, at_path, compared_part
from kafkalet_conformance.playing.serving import asked, other_version, serves, used
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
    unanswered = _steps(definition, target, release)
    if not any("case" in step for step in unanswered):
        raise SetupFailed(f"release {release} serves none of its requests")
    steps = _answered(unanswered, target)
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
        return builder.steps if release in definition.releases else served_steps(builder.steps, release)
    recorded = load(definition.name).steps
    newest = recorded.get(release, list(recorded.values())[-1])
    steps = [{key: value for key, value in step.items() if key != "expect"} for step in newest]
    return steps if release in recorded else served_steps(steps, release)


def served_steps(steps: list[Step], release: str) -> list[Step]:
    """Return the steps for a release for which they were not written.

    Requests are sent in the nearest version that the release serves and that can encode them, unless the case names
    its version. The other cases are left out, and so are later cases that need their responses.
    """
    versions = {int(api): (each.low, each.high) for api, each in versions_of(release).items()}
    made: list[Step] = []
    lost: set[str] = set()
    for step in steps:
        api, version = asked(step)
        other: int | None = version
        if api is not None and step["op"] == "raw":
            if not APIS[api].client_facing and version in advertised(release).get(APIS[api], ()):
                continue  # such as ControlledShutdown, after which the broker is not usable
        elif api is not None and not serves(versions, api, version):
            is_named = re.search(rf"\bv{version}\b", step.get("case", ""))
            other = None if is_named else other_version(step, versions)
        is_optional = "case" in step or step["op"] == "send" or step.get("must_succeed") is False
        if is_optional and (other is None or not lost.isdisjoint(used(step))):
            lost |= {f"${name}" for name in step.get("bind", {})} | {f"#{step.get('id')}"}
        else:
            made.append(step if other in (None, version) else step | {"version": other})
    return made


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
