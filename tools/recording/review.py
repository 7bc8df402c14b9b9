"""Compare the recorded responses of two releases, for a review.

The cases of a scenario are compared by name: a response can be the same, different, new or gone. Values that the
scenario binds, such as producer ids, are placeholders in both.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kafkalet_conformance.judging.replaying import ordered
from kafkalet_conformance.playing.matching import Matcher
from kafkalet_conformance.results import Difference
from kafkalet_conformance.transcripts import Step, Transcript


@dataclass(frozen=True, slots=True)
class Change:
    """A case whose recorded response differs between two releases. New and missing cases have no differences."""

    scenario: str
    case: str
    api: str
    kind: str
    """`changed`, `new`, `gone`, or `asked differently` if the request is another one."""
    differences: tuple[Difference, ...] = ()

    def __str__(self) -> str:
        api = f" ({self.api})" if self.api else ""
        lines = [f"{self.scenario}{api} {self.case!r}: {self.kind}", *map(str, self.differences)]
        return "\n    ".join(lines)


def changes(transcript: Transcript, old: str, new: str) -> list[Change]:
    """Return what changed from the responses of the release `old` to those of `new`."""
    return compare(transcript, transcript.steps.get(old, []), transcript.steps.get(new, []))


def compare(transcript: Transcript, old: list[Step], new: list[Step]) -> list[Change]:
    """Compare two recordings of the same scenario."""
    name = transcript.name
    before, after = dict(_cases(old)), dict(_cases(new))
    found = []
    for key in {**before, **after}:
        case = f"{key[0]}" if key[1] == 0 else f"{key[0]} ({key[1] + 1})"
        first, second = before.get(key), after.get(key)
        if first is None or second is None:
            one = first or second or {}
            found.append(Change(name, case, one.get("api", ""), "new" if first is None else "gone"))
        elif _request(first) != _request(second):
            found.append(Change(name, case, second.get("api", ""), "asked differently"))
        else:
            answers = _plain(first["expect"]), _plain(second["expect"])
            in_order = not second.get("any_order") and ordered(transcript, second.get("api", ""))
            if differences := Matcher({}).differences(*answers, in_order):
                found.append(Change(name, case, second.get("api", ""), "changed", tuple(differences)))
    return found


def _cases(steps: list[Step]) -> Iterator[tuple[tuple[str, int], Step]]:
    """Yield the cases with their names, and the number of earlier cases of the same name."""
    seen: dict[str, int] = {}
    for step in steps:
        if "case" in step:
            number = seen.get(step["case"], 0)
            seen[step["case"]] = number + 1
            yield (step["case"], number), step


def _request(step: Step) -> Step:
    return {key: value for key, value in step.items() if key != "expect"}


def _plain(answer: Any) -> Any:
    """Return a response with its placeholders as plain text, so that they are compared like any other text."""
    match answer:
        case dict():
            return {key: _plain(value) for key, value in answer.items()}
        case list():
            return [_plain(value) for value in answer]
        case str() if answer.startswith(("$", "hex:")):
            return f"= {answer}"
    return answer
