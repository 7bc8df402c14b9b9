"""Writes the table of rules in docs/conform-clients.md from the claims of the observer.

python -m tests.unit.conformance.clients.observing.rules_page
"""

import sys

from kafkalet_conformance.clients.observing.finding import Claim, Severity
from kafkalet_conformance.clients.observing.rules.catalogue import claims
from tests.source import ROOT

PAGE = ROOT / "docs" / "conform-clients.md"
COMMAND = "python -m tests.unit.conformance.clients.observing.rules_page"
BEGIN = f"<!-- Written by `{COMMAND}`; do not edit. -->\n"
END = "<!-- End of the rules. -->\n"


def table() -> str:
    """Return the table of rules."""
    rows = [f"| {_name(claim)} | {_cell(claim.text)} | {_cell(claim.source)} |" for claim in claims()]
    return "\n".join(["| rule | claim | source |", "| --- | --- | --- |", *rows, ""])


def page() -> str:
    """Return the page with the current table."""
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE} has no place for the table: {BEGIN.strip()} and {END.strip()} are missing")
    return f"{before}{begin}\n{table()}\n{end}{after}"


def _name(claim: Claim) -> str:
    return f"`{claim.rule}`{' (note)' if claim.severity is Severity.NOTE else ''}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE.relative_to(ROOT)}\n")
