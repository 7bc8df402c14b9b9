"""`tools.reference.rules`: the table of rules."""

from kafkalet_conformance.clients.observing.rules.catalog import claims
from tools.reference.rules import table


def test_table_names_each_claim_once() -> None:
    lines = table().splitlines()[2:]
    assert len(set(lines)) == len(claims())
