"""The recorded versions and errors of each API, for docs/conformance-errors.md."""

from collections.abc import Mapping, Sequence

from kafkalet.protocol.releases import versions_of
from tools.recording.errors_of_apis import errors_of_apis
from tools.recording.witnesses import Witnesses, witnesses

RELEASES = ("3.9", "4.4")


def text() -> str:
    """Return the totals, and a section for each API."""
    known = witnesses()
    parts = [_totals(known), *(_section(api, known) for api in errors_of_apis())]
    return "\n\n".join(part.strip("\n") for part in parts)


def served(release: str, api: str) -> range:
    """Return the versions of an API that a release serves."""
    for each, versions in versions_of(release).items():
        if each.title == api:
            return range(versions.low, versions.high + 1)
    return range(0)


def recorded_errors(known: Witnesses) -> tuple[int, int]:
    """Return the number of recorded errors, and the number of errors that can be provoked."""
    can = [(api, code) for api, errors in errors_of_apis().items() for code, reason in errors.items() if not reason]
    return sum(pair in known.errors for pair in can), len(can)


def recorded_versions(known: Witnesses) -> tuple[int, int]:
    """Return the number of recorded versions of APIs in all releases, and the number of served ones."""
    all_versions = [(r, api, v) for r in RELEASES for api in errors_of_apis() for v in served(r, api)]
    return sum(each in known.versions for each in all_versions), len(all_versions)


def _totals(known: Witnesses) -> str:
    have, can = recorded_errors(known)
    versions, all_versions = recorded_versions(known)
    every = [reason for errors in errors_of_apis().values() for reason in errors.values()]
    rows = [
        ("Versions of APIs with a recorded response", f"{versions} of {all_versions}"),
        ("Errors of APIs that can be provoked, with a recorded response", f"{have} of {can} ({100 * have // can} %)"),
        ("Errors of APIs that cannot be provoked by requests", str(sum(bool(reason) for reason in every))),
    ]
    return "\n".join(["| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows)])


def _section(api: str, known: Witnesses) -> str:
    listed = errors_of_apis()[api]
    recorded = sorted((code for name, code in known.errors if name == api), key=lambda code: code.name)
    parts = [f"## {api}", _versions(api, known)]
    if recorded:
        rows = [f"| {code.name} | {' | '.join(_witness(known.errors[api, code]))} |" for code in recorded]
        parts.append("\n".join(["| Error | Versions | Shown by |", "| --- | --- | --- |", *rows]))
    left = [(code.name, reason) for code, reason in listed.items() if code not in recorded]
    if missing := [name for name, reason in left if not reason]:
        parts.append(f"Not recorded yet: {', '.join(missing)}.")
    if impossible := sorted({reason for _, reason in left if reason}):
        lines = [f"- {reason}: {', '.join(name for name, why in left if why == reason)}" for reason in impossible]
        parts.append("\n".join(["Cannot be provoked:", "", *lines]))
    return "\n\n".join(parts)


def _versions(api: str, known: Witnesses) -> str:
    parts = []
    for release in RELEASES:
        if versions := served(release, api):
            missing = sorted(set(versions) - known.versions_of(release, api))
            parts.append(
                f"{release}: {_ranges(versions)}" + (f", without {', '.join(map(str, missing))}" if missing else "")
            )
    return f"Versions with recorded responses: {'; '.join(parts)}."


def _witness(found: Mapping[str, Sequence[int]]) -> tuple[str, str]:
    """Return the versions in which an error is recorded, and the scenario that shows it in most of them."""
    versions = sorted({version for each in found.values() for version in each})
    name = max(found, key=lambda name: (len(found[name]), name))
    return _ranges(versions), f"`{name}`"


def _ranges(versions: Sequence[int]) -> str:
    """Return sorted versions as text, as in `0-3, 5`."""
    runs: list[list[int]] = []
    for version in versions:
        if runs and runs[-1][-1] == version - 1:
            runs[-1][1:] = [version]
        else:
            runs.append([version])
    return ", ".join("-".join(map(str, run)) for run in runs)
