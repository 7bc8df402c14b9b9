"""Judges made of other judges."""

from collections.abc import Iterator

from kafkalet_conformance.clients.results import Finding, Verdict
from kafkalet_conformance.clients.scenario import Judge
from kafkalet_conformance.clients.stage import Stage


def all_of(*judges: Judge) -> Judge:
    """Return a judge that reports the findings of several judges."""

    def judge(stage: Stage) -> Iterator[Finding]:
        for each in judges:
            yield from each(stage)

    return judge


def tolerating(judge: Judge, reason: str, *verdicts: Verdict) -> Judge:
    """Return a judge that reports findings with these verdicts as documented, for this reason."""

    def tolerant(stage: Stage) -> Iterator[Finding]:
        for found in judge(stage):
            if found.verdict in verdicts:
                yield Finding(Verdict.AS_DOCUMENTED, f"{found.text}: {reason}", found.evidence)
            else:
                yield found

    return tolerant
