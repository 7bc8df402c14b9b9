"""docs/configuration.md is up to date with the tables of properties."""

from .configuration_page import COMMAND, PAGE, page


def test_configuration_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"docs/configuration.md is out of date; run {COMMAND}"
