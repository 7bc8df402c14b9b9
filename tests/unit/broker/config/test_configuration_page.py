"""docs/configuration.md says what the tables of properties say."""

from .configuration_page import COMMAND, PAGE, page


def test_page_is_what_the_tables_make_of_it() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"docs/configuration.md is out of date; run {COMMAND}"
