"""Offsets that are out of range, logs whose start moves, and logs that were truncated (KIP-320)."""

from collections.abc import Iterator

from kafkalet_conformance.clients.judges import all_of, consumed, consumed_or_failed, ended, polite
from kafkalet_conformance.clients.results import Finding, Verdict
from kafkalet_conformance.clients.scenario import Catalog, Role
from kafkalet_conformance.clients.stage import Stage, fetches_from

CATALOG = Catalog(role=Role.CONSUME)
scenario = CATALOG.scenario


def _hold_at(stage: Stage, offset: int) -> None:
    """Let the consumer read everything below an offset, and hold its next fetch, so that the log changes during the
    fetch.
    """
    stage.held = stage.fault("Fetch", hang=True, times=1, when=fetches_from(offset))
    stage.start()
    stage.held.wait_until_fired()


LOG_START = 20
LOG_END = 30
"""The bounds of the log when the position of the client is out of range."""


def _cut_log_start(stage: Stage) -> None:
    """Remove the records that the consumer is about to read: its position 10 becomes out of range."""
    stage.create_topic()
    stage.send(10)
    if stage.scenario.group is not None:
        stage.commit(0)
    before = stage.topic.records()
    _hold_at(stage, 10)
    stage.send(20)
    stage.topic.delete_records(LOG_START)
    stage.expected = before + stage.topic.records()
    stage.held.release()


@scenario(
    "A consumer whose position is out of range continues at the log start with auto.offset.reset=earliest.",
    "FetchCollector.handleInitializeErrors (OFFSET_OUT_OF_RANGE), OffsetFetcher.resetPositionsIfNeeded",
    judge=consumed(),
)
def consume_out_of_range_earliest(stage: Stage) -> None:
    _cut_log_start(stage)


def _continued(stage: Stage) -> Iterator[Finding]:
    """Judge a consumer that should continue at the log end. Continuing at the log start is allowed, too: it skips fewer
    records.
    """
    first = next((record for record in stage.output.records if LOG_START <= record.offset < LOG_END), None)
    if first is not None and stage.expected is not None:
        stage.expected += [record for record in stage.topic.records() if LOG_START <= record.offset < LOG_END]
        yield Finding(
            Verdict.AS_DOCUMENTED,
            f"the client continued at the log start {LOG_START} instead of the end {LOG_END}, and so skipped fewer "
            "records than auto.offset.reset=latest allows",
            (f"the first record after the reset: {first.partition}@{first.offset}",),
        )
    yield from consumed()(stage)


@scenario(
    "A consumer whose position is out of range continues at the end with auto.offset.reset=latest.",
    "FetchCollector.handleInitializeErrors (OFFSET_OUT_OF_RANGE), OffsetFetcher.resetPositionsIfNeeded",
    judge=_continued,
    reset="latest",
    count=20,
    group="conformance-group",
)
def consume_out_of_range_latest(stage: Stage) -> None:
    _cut_log_start(stage)
    with stage.may_end():  # it may have continued at the log start
        stage.wait_for_position(LOG_END)
    stage.send(10)
    stage.expect(lambda record: record.offset < 10 or record.offset >= LOG_END)


@scenario(
    "A consumer whose position is out of range reports it with auto.offset.reset=none.",
    "OffsetOutOfRangeException: there is no reset policy",
    judge=consumed_or_failed("without a reset policy, the application has to decide where to continue"),
    reset="none",
)
def consume_out_of_range_none(stage: Stage) -> None:
    _cut_log_start(stage)


@scenario(
    "A member of a group without a committed offset reports it with auto.offset.reset=none.",
    "NoOffsetForPartitionException",
    judge=consumed_or_failed("without a committed offset and a reset policy, the application has to decide"),
    reset="none",
    group="conformance-group",
)
def consume_no_offset_none(stage: Stage) -> None:
    stage.create_topic()
    stage.send(20)


@scenario(
    "A member of a group without a committed offset starts at the end with auto.offset.reset=latest.",
    "ConsumerConfig.AUTO_OFFSET_RESET_CONFIG",
    judge=consumed(),
    reset="latest",
    group="conformance-group",
    count=10,
)
def consume_latest(stage: Stage) -> None:
    stage.create_topic()
    stage.send(10)
    stage.start()
    stage.wait_for_position(10)
    stage.send(10)
    stage.expect(lambda record: record.offset >= 10)


@scenario(
    "A member of a group starts at the committed offset.",
    "ConsumerCoordinator.initWithCommittedOffsetsIfNeeded",
    judge=consumed(),
    group="conformance-group",
    count=10,
)
def consume_from_committed(stage: Stage) -> None:
    stage.create_topic()
    stage.send(20)
    stage.commit(10)
    stage.expect(lambda record: record.offset >= 10)


@scenario(
    "A member of a group whose committed offset was deleted starts at the log start with auto.offset.reset=earliest.",
    "FetchCollector.handleInitializeErrors (OFFSET_OUT_OF_RANGE)",
    judge=consumed(),
    group="conformance-group",
    count=10,
)
def consume_committed_out_of_range(stage: Stage) -> None:
    stage.create_topic()
    stage.send(20)
    stage.commit(5)
    stage.topic.delete_records(10)


@scenario(
    "A consumer looks up the start of a partition again after NOT_LEADER_OR_FOLLOWER.",
    "OffsetFetcherUtils.handleListOffsetResponse: NOT_LEADER_OR_FOLLOWER is retried after a metadata update",
    judge=all_of(consumed(), polite("ListOffsets", errors=["NOT_LEADER_OR_FOLLOWER"])),
    group="conformance-group",
)
def list_offsets_retries(stage: Stage) -> None:
    stage.create_topic()
    stage.send(20)
    stage.fault("ListOffsets", error="NOT_LEADER_OR_FOLLOWER", times=4)


CUT = 5
"""The offset to which the log is truncated. The client has read ten records."""


def _after_truncation(stage: Stage) -> Iterator[Finding]:
    """Judge a consumer whose log was truncated: it must return the records that replaced those that it has read."""
    yield from ended(stage)
    if stage.was_late or stage.status == 1 or stage.output.errors:
        return
    new = [record for record in stage.output.records if (record.value or b"").startswith(b"new")]
    wanted = [record.offset for record in stage.topic.records() if record.offset >= CUT]
    offsets = [record.offset for record in new]
    if offsets != wanted[: len(offsets)]:
        yield Finding(
            Verdict.LOST,
            f"the log was truncated to offset {CUT} and written again, and the client skipped the new records",
            (f"the first offsets after the truncation: {', '.join(map(str, offsets[:5])) or 'none'}; expected {CUT}",),
        )
    repeated = [record for record in stage.output.records if record.offset < CUT]
    if len(repeated) > CUT:
        yield Finding(
            Verdict.AS_DOCUMENTED,
            f"the client returned the records below offset {CUT} again: it reset its position after the truncation",
        )


def _truncate(stage: Stage) -> None:
    stage.create_topic()
    stage.send(10)
    _hold_at(stage, 10)
    stage.topic.truncate(CUT)
    for number in range(15):
        stage.topic.send(f"new{number}", key="new", partition=0)
    stage.held.release()


@scenario(
    "A consumer notices that the log was truncated below its position, and does not skip the new records.",
    "KIP-320, KIP-595; SubscriptionState.maybeCompleteValidation: the position is reset to the first diverging offset",
    judge=_after_truncation,
)
def consume_truncation(stage: Stage) -> None:
    _truncate(stage)


@scenario(
    "A consumer with auto.offset.reset=none reports the truncation, or continues at the first diverging offset.",
    "KIP-320: LogTruncationException",
    judge=_after_truncation,
    reset="none",
)
def consume_truncation_none(stage: Stage) -> None:
    _truncate(stage)


@scenario(
    "A consumer whose position is beyond the end of a truncated log continues, and does not wait for old offsets.",
    "KIP-320; FetchCollector.handleInitializeErrors (OFFSET_OUT_OF_RANGE)",
    judge=_after_truncation,
    count=13,
)
def consume_beyond_end_after_truncation(stage: Stage) -> None:
    stage.create_topic()
    stage.send(10)
    _hold_at(stage, 10)
    stage.topic.truncate(CUT)
    for number in range(3):
        stage.topic.send(f"new{number}", key="new", partition=0)
    stage.held.release()
