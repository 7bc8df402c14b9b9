"""The results of a run against a client; the only input of the reports."""

from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """The verdicts on a client in a scenario, the worst first."""

    LOST = "lost records"
    DUPLICATED = "duplicated records"
    CORRUPT = "returned corrupt records"
    HIDDEN = "returned hidden records"
    WRONG_ORDER = "wrong order"
    WRONG_OFFSETS = "reported wrong offsets"
    HUNG = "hung"
    GAVE_UP = "gave up"
    IGNORED = "ignored the error"
    TOO_FAST = "retried too fast"
    VIOLATED = "violated the protocol"
    FAILED = "not judged"
    NOT_RUN = "not run"
    AS_DOCUMENTED = "as documented"
    CORRECT = "correct"

    @property
    def is_right(self) -> bool:
        """Whether a client may do this. False for scenarios that were not run or not judged."""
        return self in (Verdict.CORRECT, Verdict.AS_DOCUMENTED)


_ORDER = list(Verdict)


def severity(verdict: Verdict) -> int:
    """The sort key of verdicts, the worst first."""
    return _ORDER.index(verdict)


def worst(verdicts: list[Verdict]) -> Verdict:
    """Return the worst of the verdicts; CORRECT if there is none."""
    return min(verdicts, key=severity, default=Verdict.CORRECT)


@dataclass(frozen=True)
class Finding:
    """Something that a client did, or that happened in a scenario."""

    verdict: Verdict
    text: str
    """The finding in one sentence."""
    evidence: tuple[str, ...] = ()
    """Values and requests that show it, one on each line."""


@dataclass
class ClientResult:
    """The result of one scenario."""

    scenario: str
    claim: str
    """The behavior of a correct client, in one sentence."""
    sources: tuple[str, ...]
    """The KIPs and the classes of the Java client that define it."""
    role: str
    verdict: Verdict
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Requests that are unusual but allowed, the first of each kind."""
    duration_s: float = 0.0
    exit_status: int | None = None
    """The exit status of the command, negative for a signal; None if it was not started."""
    settings: dict[str, str] = field(default_factory=dict)
    """The environment variables of the contract."""
    log: list[str] = field(default_factory=list)
    """The last lines that the command printed."""
    requests: list[str] = field(default_factory=list)
    """The last requests of the client, with their responses. Kept unless the verdict is right."""


@dataclass
class ClientRun:
    """The results of all scenarios of a run."""

    command: list[str]
    kafka_version: str
    """The release that the broker emulates unless a scenario needs another one."""
    kafkalet_version: str
    started: str
    """The time of the start, in ISO 8601."""
    duration_s: float = 0.0
    results: list[ClientResult] = field(default_factory=list)

    @property
    def exit_status(self) -> int:
        """0 if all verdicts on the client are right, 1 if one is not, 2 if the client was not judged at all."""
        verdicts = [result.verdict for result in self.results]
        if all(verdict in (Verdict.NOT_RUN, Verdict.FAILED) for verdict in verdicts):
            return 2
        return 0 if all(verdict.is_right or verdict is Verdict.NOT_RUN for verdict in verdicts) else 1
