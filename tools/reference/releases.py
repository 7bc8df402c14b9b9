"""The emulated releases, their differences, and the supported APIs, for docs/compatibility.md."""

from itertools import pairwise

from kafkalet.broker.config.release import RULES
from kafkalet.broker.config.rule import FIRST, Rule, Version
from kafkalet.broker.served import SERVED
from kafkalet.protocol.api import Api
from kafkalet.protocol.releases import RELEASES

PER_LINE = 9


def names() -> str:
    """Return the list of releases."""
    known = [name for name in RELEASES if name != "newest"]
    lines = ["  ".join(known[at : at + PER_LINE]) for at in range(0, len(known), PER_LINE)]
    return "\n".join(["```text", *lines, "```"])


def served() -> str:
    """Return the table of supported APIs."""
    rows = [f"| {api.title} | {int(api)} | {_versions(api)} |" for api in sorted(SERVED, key=lambda api: api.title)]
    return "\n".join(["| API | key | versions |", "| --- | ---: | --- |", *rows])


def _versions(api: Api) -> str:
    """Return the versions of an API in release `newest`, for example `0-5`, or `0` for a single one."""
    first, _, last = str(api.versions).partition("-")
    return first if first == last else f"{first}-{last}"


def differences() -> str:
    """Return the table of the differences between releases, from the rules of releases."""
    lines = sorted((row for rule in RULES.values() for row in rows(rule)), key=lambda row: row[0])
    return "\n".join(["| Releases | Behavior |", "| --- | --- |", *(line for _, line in lines)])


def rows(rule: Rule) -> list[tuple[Version, str]]:
    """Return the rows of a rule in the table, each with the release by which it is sorted."""
    found = []
    for (first, value), (end, _) in pairwise([*rule.values.items(), ((), None)]):
        if value is not False:
            start, border = ".".join(map(str, first)), ".".join(map(str, end))
            releases = f"before {border}" if first == FIRST else f"{start} to before {border}" if end else f"{start}+"
            sentence = rule.sentence.replace("{}", str(value))
            found.append((end if first == FIRST else first, f"| {releases} | {sentence} |"))
    return found
