"""Topics that do not exist yet, and topics that are deleted and created again (KIP-516)."""

from collections.abc import Iterator

from kafkalet.units import counted
from kafkalet_conformance.clients.judges import all_of, consumed, ended, polite, produced
from kafkalet_conformance.clients.results import Finding, Verdict
from kafkalet_conformance.clients.scenario import Catalog, Role
from kafkalet_conformance.clients.stage import Stage, fetches_from

CATALOG = Catalog()
scenario = CATALOG.scenario


@scenario(
    "A producer waits for a topic that does not exist yet, with a backoff between its metadata requests.",
    "KafkaProducer.waitOnMetadata (max.block.ms); retry.backoff.ms",
    role=Role.PRODUCE,
    judge=all_of(produced(), polite("Metadata", errors=["UNKNOWN_TOPIC_OR_PARTITION"])),
    idempotence=True,
)
def produce_to_missing_topic(stage: Stage) -> None:
    stage.start()
    stage.wait_for_answer("Metadata", n=4, errors="UNKNOWN_TOPIC_OR_PARTITION")
    stage.create_topic()


@scenario(
    "A member of a group that subscribes to a topic that does not exist yet reads it once it exists.",
    "ConsumerCoordinator.poll: the metadata is updated (metadata.max.age.ms), and the member joins again",
    role=Role.CONSUME,
    judge=all_of(consumed(), polite("Metadata", errors=["UNKNOWN_TOPIC_OR_PARTITION"])),
    group="conformance-group",
    settings={"METADATA_MAX_AGE_MS": 1000},
)
def consume_missing_topic(stage: Stage) -> None:
    stage.start()
    stage.wait_for_answer("Metadata", n=2, errors="UNKNOWN_TOPIC_OR_PARTITION")
    stage.create_topic()
    stage.send(20)


@scenario(
    "A client requests metadata again while a partition has no leader, with a backoff between the requests.",
    "MetadataResponse.errors, Metadata.requestUpdate: LEADER_NOT_AVAILABLE is retriable",
    role=Role.PRODUCE,
    judge=all_of(produced(), polite("Metadata", errors=["LEADER_NOT_AVAILABLE"])),
    idempotence=True,
)
def metadata_leader_not_available(stage: Stage) -> None:
    stage.create_topic()
    stage.fault("Metadata", error="LEADER_NOT_AVAILABLE", topic=stage.topic.name, times=4)


@scenario(
    "A producer whose topic was deleted and created again writes to the new topic.",
    "KIP-516; Sender.canRetry: UNKNOWN_TOPIC_OR_PARTITION and UNKNOWN_TOPIC_ID update the metadata",
    role=Role.PRODUCE,
    judge=produced(),
    idempotence=True,
)
def produce_topic_recreated(stage: Stage) -> None:
    stage.create_topic()
    held = stage.fault("Produce", hang=True, times=1)
    stage.start()
    held.wait_until_fired()
    stage.topic.delete()
    stage.create_topic()
    held.release()


def _from_both(stage: Stage) -> Iterator[Finding]:
    """Judge a consumer whose topic was replaced: each record that it returns is from the old topic or from the
    new one.
    """
    yield from ended(stage)
    if stage.was_late:
        return
    known = {(record.offset, record.value) for record in [*(stage.expected or ()), *stage.topic.records()]}
    wrong = [record for record in stage.output.records if (record.offset, record.value) not in known]
    if wrong:
        text = f"the client returned {counted(len(wrong), 'record')} that neither topic has"
        yield Finding(Verdict.CORRUPT, text, (f"{wrong[0].partition}@{wrong[0].offset}: {wrong[0].value!r}",))
    offsets = [record.offset for record in stage.output.records if (record.value or b"").startswith(b"new")]
    if offsets and offsets != list(range(offsets[0], offsets[0] + len(offsets))):
        yield Finding(Verdict.LOST, "the client skipped records of the new topic", (f"it returned {offsets[:10]}",))
    if stage.status == 1:
        reason = stage.output.errors[0] if stage.output.errors else "without a reason"
        yield Finding(Verdict.GAVE_UP, f"the client ended with an error: {reason}")
    elif offsets and offsets[0] > 0:
        yield Finding(
            Verdict.AS_DOCUMENTED,
            f"the client continued at offset {offsets[0]} of the new topic: positions are offsets, not topic ids",
        )


@scenario(
    "A consumer whose topic was deleted and created again goes on with the new topic.",
    "KIP-516; FetchCollector.handleInitializeErrors (UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID)",
    role=Role.CONSUME,
    judge=_from_both,
)
def consume_topic_recreated(stage: Stage) -> None:
    stage.create_topic()
    stage.send(10)
    held = stage.fault("Fetch", hang=True, times=1, when=fetches_from(10))
    stage.start()
    held.wait_until_fired()
    stage.expected = stage.topic.records()
    stage.topic.delete()
    stage.create_topic()
    for number in range(30):
        stage.topic.send(f"new{number}", key="new", partition=0)
    held.release()
