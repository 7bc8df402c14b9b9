"""Judges: compare what the client printed and sent with what the brokers have.

A record is lost if the client acknowledged it and it is not in the log, or if a consumer skipped it. A record is
duplicated if it is in the log twice, or was returned twice. What a client may do instead is an argument of the judge,
with the reason, which becomes the text of the finding.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.records.batch import Batch

from .output import Returned
from .results import Finding, Verdict
from .scenario import Judge
from .stage import TOPIC, Stage

if TYPE_CHECKING:
    from kafkalet.testing.requests import Request

SHOWN = 5
"""Most values that the evidence of a finding lists."""
UNKNOWN_PRODUCER = "the broker accepts a later batch first if it does not know the producer yet (ProducerAppendInfo)"
"""Why the records of an idempotent producer may change their order if its first batch fails."""
FEWEST_GAPS = 3
TOO_FAST_MS = 20.0
"""A client that waits less than this between most of its retries has no backoff. Java waits 100 ms with a jitter of
20 % (retry.backoff.ms), and 50 ms before it connects again (reconnect.backoff.ms)."""


def all_of(*judges: Judge) -> Judge:
    """Return a judge that reports the findings of several judges."""

    def judge(stage: Stage) -> Iterator[Finding]:
        for each in judges:
            yield from each(stage)

    return judge


def tolerating(judge: Judge, reason: str, *verdicts: Verdict) -> Judge:
    """Return a judge whose findings with these verdicts are as documented, for this reason."""

    def tolerant(stage: Stage) -> Iterator[Finding]:
        for found in judge(stage):
            if found.verdict in verdicts:
                yield Finding(Verdict.AS_DOCUMENTED, f"{found.text}: {reason}", found.evidence)
            else:
                yield found

    return tolerant


# -- the end of the client


def ended(stage: Stage) -> Iterator[Finding]:
    """Report a client that was killed or crashed, and lines that cannot be read."""
    if stage.was_late:
        yield Finding(Verdict.HUNG, f"the client was not done after {stage.timeout_s:g} s", _last_requests(stage))
    elif stage.status not in (0, 1):
        yield Finding(Verdict.GAVE_UP, f"the command crashed: {_status(stage.status)}", tuple(_last_log(stage)))
    if stage.output.malformed:
        yield Finding(
            Verdict.FAILED,
            "the command printed lines that the contract does not allow",
            tuple(repr(line) for line in stage.output.malformed[:SHOWN]),
        )


def _status(status: int | None) -> str:
    if status is not None and status < 0:
        return f"it was ended by signal {-status}"
    return f"it ended with status {status}"


def _last_log(stage: Stage) -> list[str]:
    return [] if stage.command is None else list(stage.command.log)[-SHOWN:]


def _last_requests(stage: Stage) -> tuple[str, ...]:
    return tuple(request.text for request in stage.cluster.requests.last(SHOWN))


# -- producers


def produced(*, failures: str | None = None, duplicates: str | None = None, reordering: str | None = None) -> Judge:
    """Judge a producer: every record is acknowledged and in the log once, in order.

    `failures`, `duplicates` and `reordering` say why they are allowed. `failures` also allows a missing commit.
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
            yield Finding(Verdict.IGNORED, f"the client reported success; correct is an error: {reason}")
        if not logged:
            visible = stage.topic.records("read_committed")
            if visible:
                yield Finding(
                    Verdict.DUPLICATED,
                    f"{len(visible)} records of a transaction that must not be committed are visible",
                    tuple(repr(record) for record in visible[:SHOWN]),
                )

    return judge


def _reasons(stage: Stage) -> tuple[str, ...]:
    output = stage.output
    return (*output.aborted[:SHOWN], *(f"value {each.value}: {each.reason}" for each in output.failed[:SHOWN]))


Logged = dict[int, list[tuple[int, str]]]
"""The offsets and values in the log, by partition."""


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
            (f"value {first.value}: {first.reason}", *_last_requests(stage)),
        )
    if failures is None and stage.scenario.transactional_id is not None and not stage.was_late:
        if output.aborted or not output.committed:
            reason = output.aborted[0] if output.aborted else "no reason"
            yield Finding(Verdict.GAVE_UP, f"the transaction was not committed: {reason}", _last_requests(stage))
        return
    told = {each.value for each in output.acked} | {each.value for each in output.failed}
    silent = [value for value in map(str, range(stage.scenario.count)) if value not in told]
    if silent and not stage.was_late and not (failures is not None and stage.status == 1):
        yield Finding(
            Verdict.GAVE_UP,
            f"the client ended without a line for {len(silent)} of {stage.scenario.count} records",
            (f"the first: {silent[0]}", _status(stage.status), *_last_log(stage)),
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
            f"{len(wrong)} records were acknowledged with the offset of another record",
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
    text = f"{len(twice)} records are in the log more than once"
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


# -- consumers


def consumed(*, redelivery: str | None = None, skipping: str | None = None, error: str | None = None) -> Judge:
    """Judge a consumer: it returns every record that its isolation level shows, once, in order.

    `redelivery` and `skipping` say why a consumer may return records again, or not return them. With `error`, the
    client may end with an error instead, for this reason.
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
            yield Finding(Verdict.IGNORED, f"the client reported no error; correct is an error: {reason}")

    return judge


def _visible(stage: Stage) -> dict[int, dict[int, bytes | None]]:
    """Return the values that the consumer should return, by partition and offset."""
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
            f"the client returned {len(hidden)} records again that its group had committed",
            (f"the first: {hidden[0].partition}@{hidden[0].offset}; the committed offset was {min(known)}",),
        )
    elif hidden:
        first = hidden[0]
        what = _hidden(stage, first)
        yield Finding(
            Verdict.HIDDEN,
            f"the client returned {len(hidden)} records that {_rule(stage)} does not show",
            (f"{first.partition}@{first.offset}: value {_short(first.value)}, {what}",),
        )
    wrong = [record for record in records if record.offset in known and record.value != known[record.offset]]
    if wrong:
        first = wrong[0]
        yield Finding(
            Verdict.CORRUPT,
            f"the client returned {len(wrong)} records with other values than those in the log",
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
    """Say what the log has at the offset of a record that is not visible."""
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
        text = f"{len(twice)} records were returned more than once"
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
        text = f"the client skipped {len(missing)} records"
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
                f"the client ended with an error after {len(output.records)} records: {reason}",
                (*_last_log(stage), *_last_requests(stage)),
            )
        return
    if len(output.records) < stage.scenario.count:
        yield Finding(
            Verdict.GAVE_UP,
            f"the client ended after {len(output.records)} of {stage.scenario.count} records",
            tuple(_last_log(stage)),
        )


# -- transactions that consume


def transformed(*, redelivery: str | None = None) -> Judge:
    """Judge a consume-transform-produce client: each input is in the output once, for read_committed readers."""

    def judge(stage: Stage) -> Iterator[Finding]:
        yield from ended(stage)
        inputs = [(record.value or b"").decode() for record in stage.topic.records("read_committed")]
        inputs = inputs[: stage.scenario.count]
        copied = stage.cluster.topic(f"{TOPIC}-output").records("read_committed")
        outputs = Counter((record.value or b"").decode() for record in copied)
        missing = [value for value in inputs if not outputs[value]]
        twice = [value for value, count in outputs.items() if count > 1]
        if missing and stage.status == 0:
            evidence = (f"the first: value {missing[0]}",)
            yield Finding(Verdict.LOST, f"{len(missing)} of {len(inputs)} inputs are not in the output", evidence)
        elif missing and not stage.was_late:
            yield Finding(
                Verdict.GAVE_UP,
                f"the client ended with {len(missing)} of {len(inputs)} inputs left",
                (*_last_log(stage), *_last_requests(stage)),
            )
        if twice:
            evidence = (f"the first: value {twice[0]}, {outputs[twice[0]]} times",)
            if redelivery is None:
                yield Finding(Verdict.DUPLICATED, f"{len(twice)} inputs are in the output more than once", evidence)
            else:
                yield Finding(Verdict.AS_DOCUMENTED, redelivery, evidence)

    return judge


# -- requests


def polite(*apis: str, errors: Iterable[str] = ()) -> Judge:
    """Judge the time between retries: after an error, a client waits before it sends a request of the same API again.

    `apis` are judged one by one. Only responses with one of `errors` count; without them, requests that ended with a
    closed connection.
    """
    wanted = frozenset(errors)

    def judge(stage: Stage) -> Iterator[Finding]:
        for api in apis:
            gaps = _gaps_ms(list(stage.cluster.requests.of(api)), wanted)
            quick = [gap for gap in gaps if gap < TOO_FAST_MS]
            if len(quick) >= FEWEST_GAPS and median(gaps) < TOO_FAST_MS:
                yield Finding(
                    Verdict.TOO_FAST,
                    f"{len(quick)} of {len(gaps)} {api} requests followed an error within {TOO_FAST_MS:g} ms; "
                    "Java waits about 100 ms (retry.backoff.ms), or 50 ms before it connects (reconnect.backoff.ms)",
                    (f"milliseconds from the error to the next request: {_numbers(gaps)}",),
                )

    return judge


def _gaps_ms(requests: Sequence[Request], errors: frozenset[str]) -> list[float]:
    """Return the time from each failed request to the next one."""
    gaps = []
    for one, other in pairwise(requests):
        failed = bool(errors & set(one.errors)) if errors else one.closed is not None
        if failed:
            gaps.append((other._exchange.began_s - one._exchange.began_s) * 1000 - one.duration_ms)
    return gaps


def _numbers(gaps: Sequence[float]) -> str:
    return ", ".join(f"{gap:.1f}" for gap in gaps[:20])
