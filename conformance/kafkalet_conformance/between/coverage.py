"""What a comparison has reached: APIs, versions, errors, and states of the brokers."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafkalet.protocol.errors import Code
from kafkalet_conformance.notation.messages import APIS
from kafkalet_conformance.transcripts import Step


def _any(name: str, holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda answer: any(holds(value) for value in _values(answer, name))


def _values(value: Any, name: str) -> Iterator[Any]:
    """Yield the values of all fields of this name in a response."""
    match value:
        case dict():
            for key, item in value.items():
                if key == name:
                    yield item
                yield from _values(item, name)
        case list():
            for item in value:
                yield from _values(item, name)


def _is_above(least: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and value > least


def _has_open_transaction(answer: Any) -> bool:
    stable, high = (list(_values(answer, name)) for name in ("last_stable_offset", "high_watermark"))
    return len(stable) == len(high) and any(0 <= one < other for one, other in zip(stable, high, strict=True))


STATES: dict[str, Callable[[Any], bool]] = {
    "leader epochs above 0": _any("leader_epoch", _is_above(0)),
    "records deleted from the start of a log": _any("log_start_offset", _is_above(0)),
    "open transactions": _has_open_transaction,
    "aborted transactions": _any("aborted_transactions", bool),
    "transaction markers": _any("marker", bool),
    "records delivered again": _any("delivery_count", _is_above(1)),
    "requests throttled": _any("throttle_time_ms", _is_above(0)),
}
"""States that a response shows."""
MARKED = (
    "a compacted log", "a log shortened by retention", "small segments", "several waiting requests",
    "duplicate entries in a request", "an election", "a reassignment", "a restart", "a fault", "SCRAM credentials",
    "quotas", "delegation tokens",
)  # fmt: skip
"""States that a history announces with a step `note` that has `state`."""


@dataclass(slots=True)
class Coverage:
    """The responses of a comparison, counted."""

    responses: int = 0
    versions: dict[str, set[int]] = field(default_factory=dict)
    errors: dict[str, Counter[int]] = field(default_factory=dict)
    """The number of occurrences of each error code, keyed by API."""
    states: Counter[str] = field(default_factory=Counter)

    def add(self, step: Step, answer: Any) -> None:
        """Count a step and the response of the first broker."""
        if "state" in step:
            self.states[step["state"]] += 1
        if "case" not in step:
            return
        self.responses += 1
        api = step.get("api") or (step["decode"][0] if "decode" in step else "")
        if not api:
            return
        if "version" in step:
            self.versions.setdefault(api, set()).add(step["version"])
        self.errors.setdefault(api, Counter()).update(_values(answer, "error_code"))
        self.states.update(state for state, is_shown in STATES.items() if is_shown(answer))

    def lines(self, common: Mapping[int, tuple[int, int]]) -> Iterator[str]:
        """Describe which of the versions that both brokers serve were reached, and which were not."""
        unreached: list[str] = []
        for api, key in sorted(APIS.items()):
            low, high = common.get(key, (0, -1))
            reached = self.versions.get(api, set())
            if missing := set(range(low, high + 1)) - reached:
                unreached.append(f"{api} {ranges(missing)}")
            if reached:
                codes = self.errors[api].most_common()
                names = ", ".join(f"{_name(code)} {count}" for code, count in codes)
                yield f"  {api} {ranges(reached)}: {names or 'no error codes'}"
        yield f"versions not reached: {', '.join(unreached) or 'none'}"
        reached_states = ", ".join(f"{state} ({count})" for state, count in self.states.most_common())
        yield f"states reached: {reached_states or 'none'}"
        unknown = [state for state in (*STATES, *MARKED) if not self.states[state]]
        yield f"states not reached: {', '.join(unknown) or 'none'}"


def _name(code: int) -> str:
    try:
        return Code(code).name
    except ValueError:
        return str(code)


def ranges(versions: set[int]) -> str:
    """Return versions as ranges, such as `v0-3,7`."""
    parts: list[list[int]] = []
    for version in sorted(versions):
        if parts and parts[-1][1] == version - 1:
            parts[-1][1] = version
        else:
            parts.append([version, version])
    return "v" + ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)
