"""Judge consumers: compare the returned records with the log."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import Batch
from kafkalet.units import counted
from kafkalet_conformance.clients.output import Returned
from kafkalet_conformance.clients.results import Finding, Verdict
from kafkalet_conformance.clients.scenario import Judge
from kafkalet_conformance.clients.stage import Stage

from .ending import ended, last_log, last_requests


def consumed(*, redelivery: str | None = None, skipping: str | None = None, error: str | None = None) -> Judge:
    """Judge a consumer: it returns every record that its isolation level shows, once, in order.

    `redelivery` and `skipping` are the reasons why a consumer may return records again, or skip them. `error` is the
    reason why the client may end with an error instead.
    """

    def judge(stage: Stage) -> Iterator[Finding]:
        yield from ended(stage)
        yield from _returned(stage, redelivery, skipping)
        yield from _complete(stage, error)

    return judge


def consumed_or_failed(reason: str) -> Judge:
    """Judge a consumer that must report an error, and must not return records beyond the gap."""
    allowed = consumed(error=reason)

    def judge(stage: Stage) -> Iterator[Finding]:
        yield from allowed(stage)
        if not stage.was_late and stage.status == 0 and not stage.output.errors:
            yield Finding(Verdict.IGNORED, f"the client reported no error; an error is correct: {reason}")

    return judge


def _visible(stage: Stage) -> dict[int, dict[int, bytes | None]]:
    """Return the values that the consumer should return, keyed by partition and offset."""
    isolation = stage.scenario.isolation
    records = stage.expected
    if records is None:
        records = stage.topic.records(isolation)  # type: ignore[arg-type]  # one of the literals
    found: dict[int, dict[int, bytes | None]] = defaultdict(dict)
    for record in records:
        found[record.partition][record.offset] = record.value
    return found


def _returned(stage: Stage, redelivery: str | None, skipping: str | None) -> Iterator[Finding]:
    visible = _visible(stage)
    by_partition: dict[int, list[Returned]] = defaultdict(list)
    for record in stage.output.records:
        by_partition[record.partition].append(record)
    for partition, records in by_partition.items():
        known = visible.get(partition, {})
        yield from _wrong(stage, records, known)
        yield from _repeated(records, redelivery)
        yield from _skipped(records, known, skipping)


def _wrong(stage: Stage, records: Sequence[Returned], known: dict[int, bytes | None]) -> Iterator[Finding]:
    hidden = [record for record in records if record.offset not in known]
    if hidden and stage.expected is not None and all(record.offset < min(known) for record in hidden):
        yield Finding(
            Verdict.DUPLICATED,
            f"the client returned {counted(len(hidden), 'record')} again that its group had committed",
            (f"the first: {hidden[0].partition}@{hidden[0].offset}; the committed offset was {min(known)}",),
        )
    elif hidden:
        first = hidden[0]
        what = _hidden(stage, first)
        yield Finding(
            Verdict.HIDDEN,
            f"the client returned {counted(len(hidden), 'record')} that {_rule(stage)} does not show",
            (f"{first.partition}@{first.offset}: value {_short(first.value)}, {what}",),
        )
    wrong = [record for record in records if record.offset in known and record.value != known[record.offset]]
    if wrong:
        first = wrong[0]
        yield Finding(
            Verdict.CORRUPT,
            f"the client returned {counted(len(wrong), 'record')} with another value than in the log",
            (
                f"{first.partition}@{first.offset}: returned {_short(first.value)}",
                f"in the log: {_short(known[first.offset])}",
            ),
        )


def _rule(stage: Stage) -> str:
    """Return the setting that hides records from the client."""
    return stage.scenario.isolation if stage.expected is None else f"auto.offset.reset={stage.scenario.reset}"


def _short(value: bytes | None) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}... ({len(value or b'')} bytes)"


def _hidden(stage: Stage, record: Returned) -> str:
    """Describe what the log contains at the offset of a record that is not visible."""
    batch = next((each for each in _batches(stage, record.partition) if _covers(each, record.offset)), None)
    if batch is None:
        return "no batch has this offset"
    if batch.is_control:
        return "a control record"
    if batch.is_transactional:
        return "of an aborted or open transaction"
    return "an offset without a record" if stage.expected is None else "a record that the client should skip"


def _covers(batch: Batch, offset: int) -> bool:
    return batch.base_offset <= offset < batch.next_offset


def _batches(stage: Stage, partition: int) -> Iterable[Batch]:
    try:
        return stage.topic.log(partition).batches
    except KafkaError:
        return []


def _repeated(records: Sequence[Returned], redelivery: str | None) -> Iterator[Finding]:
    counts = Counter(record.offset for record in records)
    twice = [offset for offset, count in counts.items() if count > 1]
    if twice:
        where = f"{records[0].partition}@{twice[0]}"
        text = f"{counted(len(twice), 'record')} returned more than once"
        if redelivery is None:
            yield Finding(Verdict.DUPLICATED, text, (f"the first: {where}",))
        else:
            yield Finding(Verdict.AS_DOCUMENTED, f"{text}: {redelivery}", (f"the first: {where}",))
        return
    for one, other in pairwise(records):
        if one.offset > other.offset:
            evidence = (f"{one.partition}@{one.offset} was returned before {other.partition}@{other.offset}",)
            yield Finding(Verdict.WRONG_ORDER, "records were not returned in the order of their offsets", evidence)
            return


def _skipped(records: Sequence[Returned], known: dict[int, bytes | None], skipping: str | None) -> Iterator[Finding]:
    returned = {record.offset for record in records}
    last = max(returned)
    missing = [offset for offset in sorted(known) if offset < last and offset not in returned]
    if missing:
        where = f"{records[0].partition}@{missing[0]}"
        text = f"the client skipped {counted(len(missing), 'record')}"
        evidence = (f"the first: {where}, value {_short(known[missing[0]])}; returned until offset {last}",)
        if skipping is None:
            yield Finding(Verdict.LOST, text, evidence)
        else:
            yield Finding(Verdict.AS_DOCUMENTED, f"{text}: {skipping}", evidence)


def _complete(stage: Stage, error: str | None) -> Iterator[Finding]:
    """Report a consumer that ended before it had returned all records."""
    output = stage.output
    if stage.was_late or stage.status not in (0, 1):
        return
    if output.errors or stage.status == 1:
        reason = output.errors[0] if output.errors else "without a reason"
        if error is None:
            yield Finding(
                Verdict.GAVE_UP,
                f"the client ended with an error after {counted(len(output.records), 'record')}: {reason}",
                (*last_log(stage), *last_requests(stage)),
            )
        return
    if len(output.records) < stage.scenario.count:
        yield Finding(
            Verdict.GAVE_UP,
            f"the client ended after {len(output.records)} of {stage.scenario.count} records",
            tuple(last_log(stage)),
        )
