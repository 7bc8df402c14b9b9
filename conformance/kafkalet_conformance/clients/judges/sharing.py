"""Judge share consumers (KIP-932): every record is delivered, released ones twice, and each delivery has ended."""

from collections import Counter
from collections.abc import Iterable, Iterator

from kafkalet.units import counted
from kafkalet_conformance.clients.results import Finding, Verdict
from kafkalet_conformance.clients.scenario import Judge
from kafkalet_conformance.clients.stage import TOPIC, Stage

from .ending import ended, last_log, last_requests


def shared(*, redelivery: str | None = None) -> Judge:
    """Judge a share consumer that releases the first delivery of values that end in 0.

    `redelivery` is the reason why other records may be delivered again.
    """

    def judge(stage: Stage) -> Iterator[Finding]:
        yield from ended(stage)
        returned = Counter((record.partition, record.offset) for record in stage.output.records)
        expected = {
            (record.partition, record.offset): 1 + (record.value or b"").endswith(b"0")
            for record in stage.topic.records()
        }
        if stage.was_late:
            return
        if stage.output.errors or stage.status != 0:
            reason = stage.output.errors[0] if stage.output.errors else "without a reason"
            yield Finding(
                Verdict.GAVE_UP, f"the client ended with an error: {reason}", (*last_log(stage), *last_requests(stage))
            )
            return
        yield from _compared(returned, expected, redelivery)
        yield from _unfinished(stage, expected)

    return judge


def _compared(
    returned: Counter[tuple[int, int]], expected: dict[tuple[int, int], int], redelivery: str | None
) -> Iterator[Finding]:
    missing = [place for place, count in expected.items() if returned[place] < count]
    if missing:
        text = f"the client returned {counted(len(missing), 'record')} too seldom"
        yield Finding(Verdict.LOST, text, (_place(missing[0], returned, expected),))
    again = [place for place, count in returned.items() if count > expected.get(place, 0)]
    if again:
        verdict = Verdict.DUPLICATED if redelivery is None else Verdict.AS_DOCUMENTED
        text = f"the client returned {counted(len(again), 'record')} too often" + (
            f": {redelivery}" if redelivery else ""
        )
        yield Finding(verdict, text, (_place(again[0], returned, expected),))


def _place(place: tuple[int, int], returned: Counter[tuple[int, int]], expected: dict[tuple[int, int], int]) -> str:
    partition, offset = place
    return f"the first: {partition}@{offset}, returned {returned[place]} times, not {expected.get(place, 0)}"


def _unfinished(stage: Stage, expected: Iterable[tuple[int, int]]) -> Iterator[Finding]:
    """Report records that the client has returned, but not acknowledged."""
    assert stage.scenario.group is not None
    group = stage.cluster.share_group(stage.scenario.group)
    ends = {partition: offset + 1 for partition, offset in sorted(expected)}
    for partition, end in ends.items():
        start = group.start_offset(TOPIC, partition)
        if start != end:
            text = f"the client has not acknowledged all records of partition {partition}"
            yield Finding(Verdict.LOST, text, (f"the start offset of the group is {start}, not {end}",))
