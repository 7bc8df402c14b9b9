"""The pages of the cookbook have the same recipes in the same order, and each recipe is short."""

import re

import pytest

from tests.source import ROOT

from .snippets import Snippet, snippets

COOKBOOK = ROOT / "docs" / "cookbook"
PYTHON = ("pytest", "unittest", "asyncio")
OTHERS = sorted({path.stem for path in COOKBOOK.glob("*.md")} - {*PYTHON, "index"})
"""Pages for other languages: their recipes are sections of a file, and some recipes of Python may be missing."""
LONGEST = 10
"""The number of lines of code in a recipe, without imports and the annotation @Test."""
NOT_COUNTED = ("import ", "from ", "@Test")
LAST = "Everything else"
"""The last section of the pages for other languages."""

RECIPES = [snippet for page in (*PYTHON, *OTHERS) for snippet in snippets(COOKBOOK / f"{page}.md")]


def headings(page: str) -> list[str]:
    return re.findall(r"^## (.+)$", (COOKBOOK / f"{page}.md").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("page", PYTHON)
def test_page_has_all_recipes(page: str) -> None:
    assert headings(page) == headings(PYTHON[0])


@pytest.mark.parametrize("page", OTHERS)
def test_recipes_have_the_same_order_as_in_python(page: str) -> None:
    found = headings(page)
    assert found == [heading for heading in [*headings(PYTHON[0]), LAST] if heading in found]


@pytest.mark.parametrize("page", OTHERS)
def test_page_includes_every_section_of_its_file(page: str) -> None:
    recipes = snippets(COOKBOOK / f"{page}.md")
    [file] = {recipe.origin.partition(":")[0] for recipe in recipes}
    sections = re.findall(r"\[start:(\w+)\]", (ROOT / file).read_text(encoding="utf-8"))
    assert sorted(recipe.origin.partition(":")[2] for recipe in recipes) == sorted(sections)


@pytest.mark.parametrize("recipe", RECIPES, ids=[recipe.name for recipe in RECIPES])
def test_recipe_is_short(recipe: Snippet) -> None:
    lines = [line for line in recipe.text.splitlines() if line.strip() and not line.strip().startswith(NOT_COUNTED)]
    assert len(lines) <= LONGEST
    assert max(map(len, lines)) <= 120


def test_every_page_is_in_the_index() -> None:
    linked = re.findall(r"\]\((\w+)\.md\)", (COOKBOOK / "index.md").read_text(encoding="utf-8"))
    assert linked == [*PYTHON, *(page for page in ("java", "go", "node") if page in OTHERS)]
