"""docs/architecture.md shows the state machines as they are in the code."""

from .states_page import COMMAND, PAGE, page


def test_diagrams_of_states_are_up_to_date() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, f"run {COMMAND}"
