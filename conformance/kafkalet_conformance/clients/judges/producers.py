"""Judge producers: compare the acknowledged records with the log."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from kafkalet.units import counted
from kafkalet_conformance.clients.results import Finding, Verdict
from kafkalet_conformance.clients.scenario import Judge
from kafkalet_conformance.clients.stage import Stage

from .ending import SHOWN, ended, last_log, last_requests, status_text

UNKNOWN_PRODUCER = "the broker accepts a later batch first if it does not know the producer yet (ProducerAppendInfo)"
"""Why the records of an idempotent producer may change their order if its first batch fails."""


def produced(*, failures: str | None = None, duplicates: str | None = None, reordering: str | None = None) -> Judge:
    """Judge a producer: every record is acknowledged and in the log once, in order.

    `failures`, `duplicates` and `reordering` are the reasons why the scenario allows them. `failures` also allows a
    missing commit.
    """

    def judge(stage: Stage) -> Iterator[Finding]:
        yield from ended(stage)
        logged = _logged(stage)
        yield from _acknowledged(stage, failures)
        if failures is not None and (stage.output.failed or stage.output.aborted):
            yield Finding(Verdict.AS_DOCUMENTED, f"the client reported an error: {failures}", _reasons(stage))
        yield from _lost(stage, logged)
        yield from _duplicated(logged, duplicates)
        yield from _reordered(logged, reordering)

    return judge


def refused(reason: str, *, logged: bool = True) -> Judge:
    """Judge a producer that must report an error: at least one record fails, or the transaction is not committed.

    Without `logged`, no record may be visible to read_committed consumers.
    """

    def judge(stage: Stage) -> Iterator[Finding]:
        yield from ended(stage)
        known = _logged(stage)
        yield from _acknowledged(stage, reason)
        yield from _lost(stage, known)
        yield from _duplicated(known, None)
        output = stage.output
        if stage.was_late:
            return
        if not output.failed and not output.aborted and not output.errors and stage.status == 0:
            yield Finding(Verdict.IGNORED, f"the client reported success; an error is correct: {reason}")
        if not logged:
            visible = stage.topic.records("read_committed")
            if visible:
                yield Finding(
                    Verdict.DUPLICATED,
                    f"visible: {counted(len(visible), 'record')} of a transaction that must not be committed",
                    tuple(repr(record) for record in visible[:SHOWN]),
                )

    return judge


def _reasons(stage: Stage) -> tuple[str, ...]:
    output = stage.output
    return (*output.aborted[:SHOWN], *(f"value {each.value}: {each.reason}" for each in output.failed[:SHOWN]))


Logged = dict[int, list[tuple[int, str]]]
"""The offsets and values in the log, keyed by partition."""


def _logged(stage: Stage) -> Logged:
    isolation = "read_uncommitted" if stage.scenario.transactional_id is None else "read_committed"
    found: Logged = defaultdict(list)
    for record in stage.topic.records(isolation):  # type: ignore[arg-type]  # one of the literals
        found[record.partition].append((record.offset, (record.value or b"").decode("utf-8", "backslashreplace")))
    return found


def _acknowledged(stage: Stage, failures: str | None) -> Iterator[Finding]:
    """Report records that the client did not acknowledge."""
    output = stage.output
    if failures is None and output.failed:
        first = output.failed[0]
        yield Finding(
            Verdict.GAVE_UP,
            f"the client failed {len(output.failed)} of {stage.scenario.count} records",
            (f"value {first.value}: {first.reason}", *last_requests(stage)),
        )
    if failures is None and stage.scenario.transactional_id is not None and not stage.was_late:
        if output.aborted or not output.committed:
            reason = output.aborted[0] if output.aborted else "no reason"
            yield Finding(Verdict.GAVE_UP, f"the transaction was not committed: {reason}", last_requests(stage))
        return
    told = {each.value for each in output.acked} | {each.value for each in output.failed}
    silent = [value for value in map(str, range(stage.scenario.count)) if value not in told]
    if silent and not stage.was_late and not (failures is not None and stage.status == 1):
        yield Finding(
            Verdict.GAVE_UP,
            f"the client ended without a line for {len(silent)} of {stage.scenario.count} records",
            (f"the first: {silent[0]}", status_text(stage.status), *last_log(stage)),
        )


def _lost(stage: Stage, logged: Logged) -> Iterator[Finding]:
    """Report records that were acknowledged and are not in the log."""
    if stage.scenario.acks == "0":
        return
    if stage.scenario.transactional_id is not None and not stage.output.committed:
        return
    values = {value for records in logged.values() for _, value in records}
    missing = [each for each in stage.output.acked if each.value not in values]
    if missing:
        first = missing[0]
        yield Finding(
            Verdict.LOST,
            f"{len(missing)} of {len(stage.output.acked)} acknowledged records are not in the log",
            (f"the first: value {first.value}, acknowledged as {first.partition}@{first.offset}",),
        )
        return
    at = {(partition, offset): value for partition, records in logged.items() for offset, value in records}
    wrong = [each for each in stage.output.acked if each.offset >= 0 and at.get(each[1:]) != each.value]
    if wrong:
        first = wrong[0]
        yield Finding(
            Verdict.WRONG_OFFSETS,
            f"{counted(len(wrong), 'record')} acknowledged with the offset of another record",
            (
                f"value {first.value} was acknowledged as {first.partition}@{first.offset}, "
                f"where the log has {at.get(first[1:])!r}",
            ),
        )


def _duplicated(logged: Logged, allowed: str | None) -> Iterator[Finding]:
    counts = Counter(value for records in logged.values() for _, value in records)
    twice = [value for value, count in counts.items() if count > 1]
    if not twice:
        return
    places = [
        f"{partition}@{offset}"
        for partition, records in logged.items()
        for offset, value in records
        if value == twice[0]
    ]
    evidence = (f"value {twice[0]} is at {', '.join(places[:SHOWN])}",)
    text = f"{counted(len(twice), 'record')} more than once in the log"
    if allowed is None:
        yield Finding(Verdict.DUPLICATED, text, evidence)
    else:
        yield Finding(Verdict.AS_DOCUMENTED, f"{text}: {allowed}", evidence)


def _reordered(logged: Logged, allowed: str | None) -> Iterator[Finding]:
    for partition, records in logged.items():
        first_copies = list({value: None for _, value in records if value.isdecimal()})
        for one, other in pairwise(first_copies):
            if int(one) > int(other):
                evidence = (f"partition {partition}: value {one} is before value {other}",)
                if allowed is None:
                    yield Finding(Verdict.WRONG_ORDER, "records are not in the order in which they were sent", evidence)
                else:
                    yield Finding(Verdict.AS_DOCUMENTED, f"records are in another order: {allowed}", evidence)
                return
