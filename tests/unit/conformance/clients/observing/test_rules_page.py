"""The table of rules in docs/conform-clients.md is up to date."""

from kafkalet_conformance.clients.observing.rules.catalogue import claims

from .rules_page import COMMAND, PAGE, page, table


def test_table_of_rules_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"docs/conform-clients.md is out of date; run {COMMAND}"


def test_table_names_each_claim_once() -> None:
    lines = table().splitlines()[2:]
    assert len(set(lines)) == len(claims())
