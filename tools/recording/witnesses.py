"""The versions and errors of each API that the recorded responses cover.

A witness of an error is a recorded response that contains it, anywhere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from kafkalet.protocol.errors import Code
from kafkalet_conformance.transcripts import load, names

Answer = tuple[str, str, int]
"""Release, API and version of a recorded response."""


@dataclass
class Witnesses:
    """What the recordings show. The values are names of scenarios, in alphabetical order."""

    versions: dict[Answer, list[str]] = field(default_factory=dict)
    errors: dict[tuple[str, Code], dict[str, list[int]]] = field(default_factory=dict)
    """The scenarios that show an error, with the versions, by API and error."""

    def versions_of(self, release: str, api: str) -> set[int]:
        return {version for of, named, version in self.versions if (of, named) == (release, api)}

    def add(self, name: str, answer: Answer, codes: set[Code]) -> None:
        _, api, version = answer
        scenarios = self.versions.setdefault(answer, [])
        if name not in scenarios:
            scenarios.append(name)
        for code in codes:
            found = self.errors.setdefault((api, code), {}).setdefault(name, [])
            if version not in found:
                found.append(version)


@cache
def witnesses() -> Witnesses:
    """Read all recordings."""
    found = Witnesses()
    for name in names():
        for release, steps in load(name).steps.items():
            sent: dict[str, int] = {}
            for step in steps:
                if step["op"] == "send":
                    sent[step["id"]] = step["version"]
                if (answered := _answered(step, sent)) is not None:
                    api, version = answered
                    found.add(name, (release, api, version), set(codes_in(step["expect"])))
    return found


def _answered(step: Mapping[str, Any], sent: Mapping[str, int]) -> tuple[str, int] | None:
    """Return API and version of the recorded response of a step; None if it has none."""
    if "case" not in step or "expect" not in step or step["op"] == "is_pending":
        return None
    if "decode" in step:
        api, version = step["decode"]
        return api, version
    return (step["api"], step["version"] if "version" in step else sent[step["id"]]) if "api" in step else None


def codes_in(answer: Any, field_name: str = "") -> Iterator[Code]:
    """Yield the error codes in a recorded response, except NONE."""
    match answer:
        case dict():
            for name, value in answer.items():
                yield from codes_in(value, name)
        case list():
            for item in answer:
                yield from codes_in(item, field_name)
        case int() if field_name.endswith("error_code") and answer:
            yield Code(answer)
