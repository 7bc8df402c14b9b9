"""Which steps of a scenario a broker can perform, according to the versions that it advertises.

A request that the broker does not serve is not sent. If it prepares something, it is sent in another version that can
encode the same request and whose response has the values that later steps use. Its case is not compared. Neither are
later cases that need its response, or the state that it would have created if there is no other version.

A request that the recorded release does not advertise was recorded for its refusal. It is sent as recorded, and not
compared if the broker serves it. Raw bytes after which Kafka closes the connection are always sent.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafkalet.protocol import releases
from kafkalet.protocol.messages import request_type, response_type
from kafkalet_conformance.notation.messages import APIS, SHORT, SHORT_ANSWERS
from kafkalet_conformance.results import Outcome
from kafkalet_conformance.transcripts import Step

from .matching import NAME

Served = Mapping[int, tuple[int, int]]
"""The versions that a broker advertises, keyed by API key."""
READING = ("Describe", "List", "Metadata", "FindCoordinator", "ApiVersions", "OffsetFetch", "OffsetForLeaderEpoch")
SESSION = {"session_id", "session_epoch", "forgotten_topics_data"}


@dataclass(slots=True)
class Plan:
    """The steps to perform. `verdicts` contains the outcome and reason of each step whose response is not compared."""

    steps: list[Step]
    verdicts: dict[int, tuple[Outcome, str]] = field(default_factory=dict)
    skipped: set[int] = field(default_factory=set)


def serves(served: Served, api: str, version: int) -> bool:
    """Return whether the broker advertises a version of an API."""
    low, high = served.get(APIS[api], (1, 0))
    return low <= version <= high


def unserved(served: Served, api: str, version: int) -> str:
    """Return a message that names the unsupported version and the supported ones."""
    if APIS[api] not in served:
        return f"{api} v{version}: the broker does not advertise {api}"
    low, high = served[APIS[api]]
    return f"{api} v{version}: the broker advertises versions {low} to {high}"


def plan(steps: list[Step], release: str, served: Served) -> Plan:
    """Adapt the steps that were recorded with a release to a broker."""
    made = Plan(list(steps))
    known = releases.advertised(release)
    lost: dict[str, str] = {}
    after = ""
    for number, step in enumerate(steps):
        reason = after or next((lost[name] for name in used(step) if name in lost), "")
        if reason:
            leave_out(made, number, lost, reason)
            continue
        api, version = asked(step)
        if api is None:
            continue
        in_release = version in known.get(APIS[api], ())
        if serves(served, api, version):
            if not in_release and "case" in step:
                made.verdicts[number] = Outcome.NOT_RUN, f"Kafka {release} does not serve {api} v{version}"
                made.skipped.add(number)
            continue
        if not in_release or (step["op"] == "raw" and "connection" in step["expect"]):
            continue
        reason = unserved(served, api, version)
        other = other_version(step, served)
        if "case" in step:
            made.verdicts[number] = Outcome.NOT_SERVED, reason
        if other is not None and not ("case" in step and only_reads(step)):
            made.steps[number] = {name: value for name, value in step.items() if name != "case"} | {"version": other}
            if step["op"] == "send":
                lost[f"#{step['id']}"] = reason
            continue
        leave_out(made, number, lost, reason)
        if not only_reads(step):
            after = reason
    return made


def asked(step: Step) -> tuple[str | None, int]:
    """Return the API and version of a step that sends a request."""
    if step["op"] == "raw":
        data = bytes.fromhex(step["hex"])
        key, version = struct.unpack(">hh", data[:4]) if step["framed"] and len(data) >= 4 else (-1, -1)
        return next((api for api, known in APIS.items() if known == key), None), version
    return (step["api"], step["version"]) if "version" in step and "api" in step else (None, -1)


def leave_out(made: Plan, number: int, lost: dict[str, str], reason: str) -> None:
    """Skip a step, and record the reason for its case and for the names that the step would have bound."""
    step = made.steps[number]
    made.skipped.add(number)
    for name in (*step.get("bind", ()), *step.get("bind_said", ())):
        lost[f"${name}"] = reason
    if step["op"] == "send":
        lost[f"#{step['id']}"] = reason
    if "case" in step:
        made.verdicts[number] = Outcome.NOT_SERVED, reason


def used(step: Step) -> Iterator[str]:
    """Yield the names that a step uses: `$name` for bound values, `#id` for requests sent by earlier steps."""
    if step["op"] in ("receive", "is_pending"):
        yield f"#{step['id']}"
    for part in ("body", "equals", "of"):
        yield from _names(step.get(part))


def _names(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for item in value.values():
                yield from _names(item)
        case list():
            for item in value:
                yield from _names(item)
        case str() if found := NAME.fullmatch(value):
            yield f"${found[1]}"


def only_reads(step: Step) -> bool:
    """Return whether a request changes nothing that later requests could see."""
    if step.get("api") == "Fetch":
        return not SESSION & step["body"].keys()
    return step["op"] in ("raw", "request_then_apiversions") or str(step.get("api")).startswith(READING)


def other_version(step: Step, served: Served) -> int | None:
    """Return the served version closest to that of a step that encodes the same request, if there is one."""
    if step["op"] not in ("request", "poll_until", "send"):
        return None
    api, version = step["api"], step["version"]
    low, high = served.get(APIS[api], (1, 0))
    known = APIS[api].versions
    candidates = sorted(
        (each for each in range(low, high + 1) if each in known), key=lambda each: (abs(each - version), each)
    )
    paths = [*step.get("bind", {}).values(), *step.get("bind_said", {}).values(), *filter(None, [step.get("path")])]
    for each in candidates:
        answers = (_has_path(response_type(APIS[api]), SHORT_ANSWERS.get(api, {}), path, each) for path in paths)
        if _encodes(request_type(APIS[api]), SHORT.get(api, {}), step["body"], each) and all(answers):
            return each
    return None


def _fields(cls: Any) -> dict[str, Any]:
    return {one.name: one for one in cls.FIELDS}


def _encodes(cls: Any, short: Mapping[str, str], body: Any, version: int) -> bool:
    fields = _fields(cls)
    for name, value in body.items():
        found = fields.get(name) or fields.get(short.get(name, ""))
        if name.startswith("#"):
            continue
        if found is None:
            return False
        if version not in found.versions:
            if value != found.default:
                return False
            continue
        if value is None and version not in found.nullable:
            return False
        parts = (value or []) if found.array else [value]
        if found.struct and not all(_encodes(found.struct, short, one, version) for one in parts if one is not None):
            return False
    return True


def _has_path(cls: Any, short: Mapping[str, str], path: str, version: int) -> bool:
    shown = {short.get(name, name): found for name, found in _fields(cls).items() if version in found.versions}
    first, _, rest = path.partition(".")
    if first.isdecimal():
        return _has_path(cls, short, rest, version) if rest else True
    found = shown.get(first)
    return found is not None and (not rest or not found.struct or _has_path(found.struct, short, rest, version))
