"""Links in README and docs lead to existing files and headings, and the site navigation lists every page.

`make docs` also checks links between pages of the site, but it does not check README, and requires MkDocs.
"""

import re
from pathlib import Path

import pytest

from tests.source import ROOT

from .snippets import DOCUMENTS

PAGES = sorted((ROOT / "docs").rglob("*.md"))


def prose(document: Path) -> str:
    """Return the text of a document without code."""
    return re.sub(r"^```.*?^```$|`[^`\n]*`", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(document: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub and MkDocs generate them."""
    text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"<[^>]*>", "", heading)).lower().replace(" ", "-") for heading in headings}


def broken(document: Path) -> list[str]:
    """Return the broken links of a document."""
    found = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(document)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (document.parent / path).resolve() if path else document
        if not file.exists() or (anchor and anchor not in anchors(file)):
            found.append(target)
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings(document: Path) -> None:
    assert broken(document) == []


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == [page.relative_to(ROOT / "docs").as_posix() for page in PAGES]


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    linked = re.findall(r"\((\d{4}-[\w-]+\.md)\)", (folder / "index.md").read_text())
    assert linked == sorted(page.name for page in folder.glob("0*.md"))


def test_broken_link_is_found(tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    document.write_text("# A `b`, c\n[1](#a-b-c) [2](#other) [3](missing.md) [4](https://example.com) `[5](x)`\n")
    assert broken(document) == ["#other", "missing.md"]
