"""Errors in Produce responses: those after which a producer retries, and those that it reports."""

from collections.abc import Callable, Iterator
from typing import Any

from kafkalet.protocol.records.batch import Batch
from kafkalet_conformance.clients.judges import UNKNOWN_PRODUCER, all_of, polite, produced, refused
from kafkalet_conformance.clients.results import Finding, Verdict
from kafkalet_conformance.clients.scenario import Catalog, Play, Role
from kafkalet_conformance.clients.stage import Missed, Stage

CATALOG = Catalog(role=Role.PRODUCE)
scenario = CATALOG.scenario

TIMES = 4
UNKNOWN_ERROR = 9999
"""An error code that no release has."""

RETRIABLE = {
    "NOT_LEADER_OR_FOLLOWER": "NotLeaderOrFollowerException is an InvalidMetadataException",
    "UNKNOWN_TOPIC_OR_PARTITION": "UnknownTopicOrPartitionException is an InvalidMetadataException",
    "LEADER_NOT_AVAILABLE": "LeaderNotAvailableException is an InvalidMetadataException",
    "KAFKA_STORAGE_ERROR": "KafkaStorageException is an InvalidMetadataException (KIP-112)",
    "NOT_ENOUGH_REPLICAS": "NotEnoughReplicasException is a RetriableException",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "NotEnoughReplicasAfterAppendException is a RetriableException",
    "REQUEST_TIMED_OUT": "TimeoutException is a RetriableException",
    "CORRUPT_MESSAGE": "CorruptRecordException is a RetriableException",
}
"""Errors after which a producer sends the batch again, and why (Sender.completeBatch, Sender.canRetry)."""
FATAL = {
    "MESSAGE_TOO_LARGE": "RecordTooLargeException is not retriable, and a single record cannot be split",
    "INVALID_TOPIC_EXCEPTION": "InvalidTopicException is not retriable",
    "INVALID_REQUIRED_ACKS": "InvalidRequiredAcksException is not retriable",
    "POLICY_VIOLATION": "PolicyViolationException is not retriable",
    "INVALID_RECORD": "InvalidRecordException is not retriable (KIP-467)",
}
"""Errors that a producer reports for the record, and why."""


def _failing(code: str, times: int) -> Play:
    def play(stage: Stage) -> None:
        stage.create_topic()
        stage.fault("Produce", error=code, times=times)

    return play


def _always(code: str) -> Play:
    def play(stage: Stage) -> None:
        stage.create_topic()
        stage.fault("Produce", error=code)

    return play


for _code, _why in RETRIABLE.items():
    _name = _code.lower().replace("_", "-")
    scenario(
        f"A producer sends a batch again after {_code}, with a backoff between the attempts.",
        f"Sender.canRetry: {_why}; ProducerConfig.RETRY_BACKOFF_MS_CONFIG (KIP-580)",
        name=f"produce-retries-{_name}",
        judge=all_of(produced(), polite("Produce", errors=[_code])),
        count=1,
        idempotence=True,
    )(_failing(_code, TIMES))

for _code, _why in FATAL.items():
    _name = _code.lower().removesuffix("_exception").replace("_", "-")
    scenario(
        f"A producer reports {_code} for the record, and does not claim that it was written.",
        f"Sender.failBatch: {_why}",
        name=f"produce-reports-{_name}",
        judge=all_of(refused(f"{_code} is not retriable"), polite("Produce", errors=[_code])),
        count=1,
        idempotence=False,
    )(_always(_code))


@scenario(
    "A producer whose batch is too large splits it, or reports the error for its records.",
    "KIP-126; Sender.completeBatch (MESSAGE_TOO_LARGE, RecordAccumulator.splitAndReenqueue)",
    judge=produced(failures="only some clients split a batch (KIP-126); the others report MESSAGE_TOO_LARGE"),
    count=200,
    idempotence=True,
)
def produce_batch_too_large(stage: Stage) -> None:
    stage.create_topic(config={"max.message.bytes": 300})
    stage.start()
    stage.wait_for_end()
    if not stage.cluster.requests.filter("Produce", errors="MESSAGE_TOO_LARGE"):
        raise Missed("the client sent no batch of more than 300 bytes")


def _with_error(code: int) -> Callable[[Any], None]:
    def change(response: Any) -> None:
        for topic in response.responses:
            for partition in topic.partition_responses:
                partition.error_code, partition.base_offset = code, -1

    return change


def _not_trusted(stage: Stage) -> Iterator[Finding]:
    """Judge a producer whose first response had an error code that no client can know, although the record was
    written.
    """
    yield from produced(
        failures="an unknown error code means UNKNOWN_SERVER_ERROR, which Java does not retry",
        duplicates="the client retried after an unknown error code, although the record was written",
    )(stage)
    if len(stage.cluster.requests.filter("Produce")) == 1 and stage.output.acked:
        yield Finding(
            Verdict.IGNORED,
            f"the client reported success although the only response had the error code {UNKNOWN_ERROR}",
            tuple(str(each) for each in stage.output.acked),
        )


@scenario(
    "A producer does not report success after an error code that it does not know.",
    "Errors.forCode: an unknown code means UNKNOWN_SERVER_ERROR, which Sender.canRetry does not retry",
    judge=_not_trusted,
    count=1,
)
def produce_unknown_error(stage: Stage) -> None:
    stage.create_topic()
    stage.rewrite("Produce", _with_error(UNKNOWN_ERROR), times=1)


@scenario(
    "An idempotent producer whose second batch fails sends the records again in order, each once.",
    "KIP-98; Sender.canRetry (OUT_OF_ORDER_SEQUENCE_NUMBER of later batches), max.in.flight.requests.per.connection",
    judge=produced(),
    count=20_000,
    idempotence=True,
)
def produce_retry_keeps_order(stage: Stage) -> None:
    stage.create_topic()
    stage.fault("Produce", error="NOT_ENOUGH_REPLICAS", times=2, when=_is_later)


def _is_later(request: Any) -> bool:
    """Return whether a request has a batch that is not the first one of its producer."""
    batches = [Batch(part.records) for topic in request.topic_data for part in topic.partition_data if part.records]
    return any(batch.base_sequence > 0 for batch in batches)


@scenario(
    "A producer without idempotence sends the records again after an error; their order may change.",
    "ProducerConfig.RETRIES_CONFIG: without idempotence, retries may change the order of records",
    judge=produced(reordering="retries without idempotence may change the order (max.in.flight.requests)"),
    count=500,
)
def produce_retry_without_idempotence(stage: Stage) -> None:
    stage.create_topic()
    stage.fault("Produce", error="NOT_ENOUGH_REPLICAS", times=2)


@scenario(
    "A producer with acks=all delivers its records once enough replicas are in sync again.",
    "min.insync.replicas; NotEnoughReplicasException is a RetriableException",
    judge=produced(reordering=UNKNOWN_PRODUCER),
    brokers=2,
    idempotence=True,
)
def produce_replicas_missing(stage: Stage) -> None:
    stage.create_topic(config={"min.insync.replicas": 2})
    with stage.topic.shrink_isr(2):
        stage.start()
        stage.wait_for_answer("Produce", n=2, errors="NOT_ENOUGH_REPLICAS")


@scenario(
    "A producer that is throttled loses and duplicates nothing.",
    "KIP-219; NetworkClient.maybeThrottle",
    judge=produced(),
    idempotence=True,
)
def produce_throttled(stage: Stage) -> None:
    stage.create_topic()
    stage.fault("Produce", throttle_ms=1500, times=1)
