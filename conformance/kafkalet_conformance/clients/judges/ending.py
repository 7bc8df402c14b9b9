"""How the client ended, and what it did last."""

from collections.abc import Iterator

from kafkalet_conformance.clients.results import Finding, Verdict
from kafkalet_conformance.clients.stage import Stage

SHOWN = 5
"""The maximum number of values in the evidence of a finding."""


def ended(stage: Stage) -> Iterator[Finding]:
    """Report a client that was killed or crashed, and lines that the contract does not allow."""
    if stage.was_late:
        yield Finding(Verdict.HUNG, f"the client was not done after {stage.timeout_s:g} s", last_requests(stage))
    elif stage.status not in (0, 1):
        yield Finding(Verdict.GAVE_UP, f"the command crashed: {status_text(stage.status)}", tuple(last_log(stage)))
    if stage.output.malformed:
        yield Finding(
            Verdict.FAILED,
            "the command printed lines that the contract does not allow",
            tuple(repr(line) for line in stage.output.malformed[:SHOWN]),
        )


def status_text(status: int | None) -> str:
    """Return an exit status, which is negative for a signal, as text."""
    if status is not None and status < 0:
        return f"it was ended by signal {-status}"
    return f"it ended with status {status}"


def last_log(stage: Stage) -> list[str]:
    """Return the last log lines of the client."""
    return [] if stage.command is None else list(stage.command.log)[-SHOWN:]


def last_requests(stage: Stage) -> tuple[str, ...]:
    """Return the last requests of the client, as text."""
    return tuple(request.text for request in stage.cluster.requests.last(SHOWN))
