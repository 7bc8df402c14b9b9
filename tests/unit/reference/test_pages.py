"""`tools.reference.pages`: the generated parts of the documentation are up to date."""

from pathlib import Path

import pytest

from tools.reference.pages import COMMAND, ROOT, pages, up_to_date


def test_some_pages_have_generated_parts() -> None:
    assert len(pages()) > 10


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_generated_parts_are_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert up_to_date(text) == text, f"run .venv/bin/{COMMAND}"


def test_part_is_replaced_and_text_around_it_is_kept() -> None:
    text = "one\n<!-- generated: releases -->\nold\n<!-- end -->\ntwo\n"
    new = up_to_date(text)
    assert (new[:4], new[-5:]) == ("one\n", "\ntwo\n")
    assert "4.4" in new
    assert "old" not in new
    assert up_to_date(new) == new


def test_unknown_kind_of_part_is_refused() -> None:
    with pytest.raises(KeyError, match="nothing"):
        up_to_date("<!-- generated: nothing -->\n<!-- end -->\n")
