"""The table of rules for docs/conformance-rules.md, from the claims of the observer."""

from kafkalet_conformance.clients.observing.finding import Claim, Severity
from kafkalet_conformance.clients.observing.rules.catalog import claims


def table() -> str:
    """Return the table of rules."""
    rows = [f"| {_name(claim)} | {_cell(claim.text)} | {_cell(claim.source)} |" for claim in claims()]
    return "\n".join(["| rule | claim | source |", "| --- | --- | --- |", *rows])


def _name(claim: Claim) -> str:
    return f"`{claim.rule}`{' (note)' if claim.severity is Severity.NOTE else ''}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
