"""Connections that break, and responses that are lost or late."""

from kafkalet_conformance.clients.judges import all_of, consumed, polite, produced
from kafkalet_conformance.clients.scenario import Catalog, Play, Role
from kafkalet_conformance.clients.stage import Stage

CATALOG = Catalog()
scenario = CATALOG.scenario

AT_LEAST_ONCE = (
    "without idempotence, a producer that retries after a lost response writes records twice (at least once)"
)
EXPIRED = "the request timeout of some clients also limits the delivery (aiokafka), so that records expire"
RETRIED = "Sender.handleProduceResponse: a disconnect is retriable (NetworkException)"


def _produce(**fault: object) -> Play:
    def play(stage: Stage) -> None:
        stage.create_topic()
        stage.fault("Produce", **fault)

    return play


scenario(
    "A producer connects again and sends its records if the connection is closed before they are handled.",
    RETRIED,
    name="produce-connection-closed",
    role=Role.PRODUCE,
    judge=produced(),
    idempotence=True,
)(_produce(disconnect="before", times=2))

scenario(
    "An idempotent producer writes each record once if the connection is closed before the response.",
    RETRIED,
    "KIP-98",
    name="produce-answer-lost",
    role=Role.PRODUCE,
    judge=produced(),
    idempotence=True,
)(_produce(disconnect="after", times=1))

scenario(
    "A producer with acks=1 and without idempotence loses nothing if the connection is closed before the response.",
    RETRIED,
    name="produce-answer-lost-acks-1",
    role=Role.PRODUCE,
    judge=produced(duplicates=AT_LEAST_ONCE, reordering=AT_LEAST_ONCE),
    acks="1",
)(_produce(disconnect="after", times=1))

scenario(
    "An idempotent producer writes each record once if the connection is closed within the response.",
    RETRIED,
    "KIP-98",
    name="produce-answer-cut-off",
    role=Role.PRODUCE,
    judge=produced(),
    idempotence=True,
)(_produce(truncate=10, times=1))

scenario(
    "An idempotent producer whose request gets no response times out, sends it again, and writes each record once.",
    "NetworkClient.handleTimedOutRequests (request.timeout.ms); KIP-98",
    name="produce-no-answer",
    role=Role.PRODUCE,
    judge=produced(),
    idempotence=True,
)(_produce(drop_response=True, times=1))

scenario(
    "A producer with acks=1 and without idempotence loses nothing if a request gets no response.",
    "NetworkClient.handleTimedOutRequests (request.timeout.ms)",
    name="produce-no-answer-acks-1",
    role=Role.PRODUCE,
    judge=produced(failures=EXPIRED, duplicates=AT_LEAST_ONCE, reordering=AT_LEAST_ONCE),
    acks="1",
)(_produce(drop_response=True, times=1))


@scenario(
    "An idempotent producer writes each record once if a request that it has repeated is handled late.",
    "NetworkClient.handleTimedOutRequests; KIP-98: the broker recognizes the sequence numbers",
    role=Role.PRODUCE,
    judge=produced(),
    idempotence=True,
)
def produce_handled_late(stage: Stage) -> None:
    stage.create_topic()
    held = stage.fault("Produce", hang=True, times=1)
    stage.start()
    held.wait_until_fired()
    stage.topic.wait_for(1)
    held.release()


def _consume(api: str, **fault: object) -> Play:
    def play(stage: Stage) -> None:
        stage.create_topic()
        stage.send(20)
        stage.fault(api, **fault)

    return play


scenario(
    "A consumer connects again if the connection is closed during a fetch, and skips or repeats no record.",
    "FetchSessionHandler.handleError",
    name="consume-connection-closed",
    role=Role.CONSUME,
    judge=consumed(),
)(_consume("Fetch", disconnect="before", times=2))

scenario(
    "A consumer discards an incomplete response, and fetches the records again.",
    "NetworkReceive: a response is used only when it is complete",
    name="consume-answer-cut-off",
    role=Role.CONSUME,
    judge=consumed(),
)(_consume("Fetch", truncate=200, times=2))

scenario(
    "A consumer whose fetch gets no response times out, and fetches again.",
    "NetworkClient.handleTimedOutRequests (request.timeout.ms)",
    name="consume-no-answer",
    role=Role.CONSUME,
    judge=consumed(),
)(_consume("Fetch", drop_response=True, times=1))

scenario(
    "A client whose connections are closed at once waits before it connects again.",
    "NetworkClient: reconnect.backoff.ms and reconnect.backoff.max.ms (KIP-144)",
    name="connect-closed-again",
    role=Role.CONSUME,
    judge=all_of(consumed(), polite("ApiVersions")),
)(_consume("ApiVersions", disconnect="before", times=4))

scenario(
    "A client whose metadata response is incomplete requests it again.",
    "NetworkClient.DefaultMetadataUpdater.handleServerDisconnect",
    name="metadata-answer-cut-off",
    role=Role.CONSUME,
    judge=consumed(),
)(_consume("Metadata", truncate=20, times=1))


def _at_the_end(stage: Stage) -> None:
    """Let the consumer read ten records and wait for more."""
    stage.create_topic()
    stage.send(10)
    stage.start()
    stage.wait_for_position(10)


@scenario(
    "A consumer connects again after a TCP reset, and skips or repeats no record.",
    "Selector.close, FetchSessionHandler.handleError",
    role=Role.CONSUME,
    judge=consumed(),
)
def consume_reset(stage: Stage) -> None:
    _at_the_end(stage)
    for connection in stage.cluster.connections:
        connection.reset()
    stage.send(10)


@scenario(
    "A consumer whose connection was closed in one direction connects again.",
    "Selector.pollSelectionKeys: end of file closes the channel",
    role=Role.CONSUME,
    judge=consumed(),
)
def consume_half_closed(stage: Stage) -> None:
    _at_the_end(stage)
    for connection in stage.cluster.connections:
        connection.half_close()
    stage.send(10)


@scenario(
    "A consumer whose connection stays open without responses times out, and connects again.",
    "NetworkClient.handleTimedOutRequests (request.timeout.ms)",
    role=Role.CONSUME,
    judge=consumed(),
)
def consume_black_hole(stage: Stage) -> None:
    _at_the_end(stage)
    for connection in stage.cluster.connections:
        connection.black_hole()
    stage.send(10)


@scenario(
    "A consumer continues after a restart of the broker, and skips or repeats no record.",
    "NetworkClient.ready, reconnect.backoff.ms",
    role=Role.CONSUME,
    judge=consumed(),
)
def consume_broker_restarts(stage: Stage) -> None:
    _at_the_end(stage)
    stage.cluster.broker(1).stop()
    stage.cluster.broker(1).start()
    stage.send(10)


@scenario(
    "A producer continues at another broker if the leader stops, and writes each record once.",
    "NetworkClient.handleServerDisconnect; KIP-98",
    role=Role.PRODUCE,
    judge=produced(),
    idempotence=True,
    brokers=2,
)
def produce_broker_stops(stage: Stage) -> None:
    stage.create_topic()
    held = stage.fault("Produce", hang=True, times=1)
    stage.start()
    held.wait_until_fired()
    stage.cluster.broker(1).stop()


@scenario(
    "A consumer continues at another broker if the leader stops, and skips or repeats no record.",
    "NetworkClient.handleServerDisconnect",
    role=Role.CONSUME,
    judge=consumed(),
    brokers=2,
)
def consume_broker_stops(stage: Stage) -> None:
    _at_the_end(stage)
    stage.cluster.broker(1).stop()
    stage.send(10)
