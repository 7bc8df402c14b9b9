"""docs/compatibility.md lists the releases that can be emulated, and the APIs that are supported or not."""

from kafkalet.broker.served import SERVED
from kafkalet.protocol.api import Api
from kafkalet.protocol.releases import RELEASES
from tests.source import ROOT

PAGE = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
PER_LINE = 9


def releases() -> str:
    """Return the list of releases as it appears on the page."""
    names = [name for name in RELEASES if name != "newest"]
    return "\n".join("  ".join(names[at : at + PER_LINE]) for at in range(0, len(names), PER_LINE))


def versions(api: Api) -> str:
    """Return the versions of an API in release `newest`, for example `0-5`, or `0` for a single one."""
    first, _, last = str(api.versions).partition("-")
    return first if first == last else f"{first}-{last}"


def served() -> str:
    """Return the table of supported APIs."""
    rows = [f"| {api.title} | {int(api)} | {versions(api)} |" for api in sorted(SERVED, key=lambda api: api.title)]
    return "\n".join(["| API | key | versions |", "| --- | ---: | --- |", *rows])


def not_served() -> str:
    """Return the list of other APIs that clients use."""
    return ", ".join(sorted(api.title for api in Api if api.client_facing and api not in SERVED)) + "."


def test_page_lists_releases() -> None:
    assert f"\n{releases()}\n" in PAGE


def test_page_lists_supported_apis() -> None:
    assert f"\n{served()}\n" in PAGE


def test_page_lists_unsupported_apis() -> None:
    assert f"\n{not_served()}\n" in PAGE
