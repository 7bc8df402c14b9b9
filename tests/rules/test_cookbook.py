"""The pages of the cookbook have the same recipes in the same order, and each recipe is short."""

import re

import pytest

from tests.source import ROOT

from .snippets import Snippet, snippets

COOKBOOK = ROOT / "docs" / "cookbook"
PAGES = ("pytest", "unittest", "asyncio")
LONGEST = 10
"""The number of lines of code in a recipe, without imports."""

RECIPES = [snippet for page in PAGES for snippet in snippets(COOKBOOK / f"{page}.md") if snippet.language == "python"]


def headings(page: str) -> list[str]:
    return re.findall(r"^## (.+)$", (COOKBOOK / f"{page}.md").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_page_has_the_same_recipes(page: str) -> None:
    assert headings(page) == headings(PAGES[0])


@pytest.mark.parametrize("recipe", RECIPES, ids=[recipe.name for recipe in RECIPES])
def test_recipe_is_short(recipe: Snippet) -> None:
    lines = [line for line in recipe.text.splitlines() if line.strip() and not line.startswith(("import ", "from "))]
    assert len(lines) <= LONGEST
    assert max(map(len, lines)) <= 120
