"""Sequence numbers and epochs of producers that the broker refuses, and transactions that cannot be committed."""

from kafkalet_conformance.clients.judges import UNKNOWN_PRODUCER, all_of, polite, produced, refused, transformed
from kafkalet_conformance.clients.scenario import Catalog, Role
from kafkalet_conformance.clients.stage import TOPIC, Stage

CATALOG = Catalog(role=Role.PRODUCE, idempotence=True)
scenario = CATALOG.scenario
ID = "conformance-transaction"

BEFORE_KIP_360 = "before KIP-360, the producer cannot continue after this error, and reports it"


@scenario(
    "An idempotent producer continues with a new epoch after OUT_OF_ORDER_SEQUENCE_NUMBER, or reports the error.",
    "KIP-360; TransactionManager.canRetry, requestIdempotentEpochBumpForPartition",
    judge=produced(failures=BEFORE_KIP_360, reordering=UNKNOWN_PRODUCER),
)
def produce_out_of_order_sequence(stage: Stage) -> None:
    stage.create_topic()
    stage.fault("Produce", error="OUT_OF_ORDER_SEQUENCE_NUMBER", times=1)


@scenario(
    "An idempotent producer continues with a new epoch after UNKNOWN_PRODUCER_ID, or reports the error.",
    "KIP-360; TransactionManager.canRetry",
    judge=produced(failures=BEFORE_KIP_360, reordering=UNKNOWN_PRODUCER),
)
def produce_unknown_producer_id(stage: Stage) -> None:
    stage.create_topic()
    stage.fault("Produce", error="UNKNOWN_PRODUCER_ID", times=1)


@scenario(
    "A producer takes DUPLICATE_SEQUENCE_NUMBER as success: the broker has the records.",
    "Sender.completeBatch: DUPLICATE_SEQUENCE_NUMBER completes the batch without an offset",
    judge=produced(failures="the broker has the records, but the client may say that it does not know their offsets"),
)
def produce_duplicate_sequence(stage: Stage) -> None:
    def change(response: object) -> None:
        for topic in response.responses:  # type: ignore[attr-defined]
            for partition in topic.partition_responses:
                partition.error_code, partition.base_offset = 46, -1

    stage.create_topic()
    stage.rewrite("Produce", change, times=1)


@scenario(
    "A producer requests its id again while the coordinator loads, with a backoff between the attempts.",
    "TransactionManager.InitProducerIdHandler: COORDINATOR_LOAD_IN_PROGRESS is retriable",
    judge=all_of(produced(), polite("InitProducerId", errors=["COORDINATOR_LOAD_IN_PROGRESS"])),
)
def init_producer_id_retries(stage: Stage) -> None:
    stage.create_topic()
    stage.fault("InitProducerId", error="COORDINATOR_LOAD_IN_PROGRESS", times=4)


@scenario(
    "A transactional producer waits while an earlier transaction of its id is completed.",
    "TransactionManager.InitProducerIdHandler: CONCURRENT_TRANSACTIONS is retriable",
    judge=produced(),
    transactional_id=ID,
)
def init_transactions_concurrent(stage: Stage) -> None:
    stage.create_topic()
    stage.fault("InitProducerId", error="CONCURRENT_TRANSACTIONS", times=4)


@scenario(
    "A transactional producer looks for its coordinator until there is one, with a backoff between the attempts.",
    "TransactionManager.FindCoordinatorHandler: COORDINATOR_NOT_AVAILABLE is retriable",
    judge=all_of(produced(), polite("FindCoordinator", errors=["COORDINATOR_NOT_AVAILABLE"])),
    transactional_id=ID,
)
def transaction_coordinator_unavailable(stage: Stage) -> None:
    stage.create_topic()
    stage.fault("FindCoordinator", error="COORDINATOR_NOT_AVAILABLE", times=4)


@scenario(
    "A transactional producer commits at the new coordinator if its coordinator moves before the commit.",
    "TransactionManager.EndTxnHandler: NOT_COORDINATOR looks for the coordinator and tries again",
    judge=produced(),
    transactional_id=ID,
    brokers=2,
)
def transaction_coordinator_moves(stage: Stage) -> None:
    stage.create_topic()
    held = stage.fault("EndTxn", hang=True, times=1)
    stage.start()
    held.wait_until_fired()
    stage.cluster.move_coordinator(transactional_id=ID)
    held.release()


@scenario(
    "A transactional producer commits again if the response to its commit is lost; the transaction is committed once.",
    "TransactionManager.EndTxnHandler: the request is sent again after a disconnect",
    judge=produced(),
    transactional_id=ID,
)
def transaction_commit_answer_lost(stage: Stage) -> None:
    stage.create_topic()
    stage.fault("EndTxn", disconnect="after", times=1)


@scenario(
    "A transactional producer sends a batch again after NOT_LEADER_OR_FOLLOWER, and commits.",
    "Sender.canRetry",
    judge=produced(reordering=UNKNOWN_PRODUCER),
    transactional_id=ID,
)
def transaction_retries_produce(stage: Stage) -> None:
    stage.create_topic()
    stage.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", times=2)


@scenario(
    "A transactional producer that was fenced by another one cannot commit, and reports it.",
    "KIP-98; ProducerFencedException, InvalidProducerEpochException (KIP-588)",
    judge=refused("another producer with the same transactional id has fenced this one", logged=False),
    transactional_id=ID,
)
def transaction_fenced(stage: Stage) -> None:
    stage.create_topic()
    held = stage.fault("EndTxn", hang=True, times=1)
    stage.start()
    held.wait_until_fired()
    with stage.cluster.open_transaction(ID):
        pass
    held.release()


@scenario(
    "A transactional producer that is fenced while it sends records cannot commit them, and reports it.",
    "KIP-98; TransactionManager.maybeTransitionToErrorState (INVALID_PRODUCER_EPOCH, PRODUCER_FENCED)",
    judge=refused("another producer with the same transactional id has fenced this one", logged=False),
    transactional_id=ID,
)
def transaction_fenced_while_producing(stage: Stage) -> None:
    stage.create_topic()
    held = stage.fault("Produce", hang=True, times=1)
    stage.start()
    held.wait_until_fired()
    with stage.cluster.open_transaction(ID):
        pass
    held.release()


@scenario(
    "A transactional producer whose transaction has timed out cannot commit it, and reports it.",
    "transaction.timeout.ms: the coordinator aborts the transaction and increments the epoch (KIP-588)",
    judge=refused("the coordinator has aborted the transaction", logged=False),
    transactional_id=ID,
)
def transaction_timed_out(stage: Stage) -> None:
    stage.create_topic()
    held = stage.fault("EndTxn", hang=True, times=1)
    stage.start()
    held.wait_until_fired()
    stage.cluster.transaction(ID).abort()
    held.release()


def _input(stage: Stage) -> None:
    stage.create_topic()
    stage.cluster.topic(f"{TOPIC}-output").create(1, replication_factor=stage.scenario.brokers)
    stage.send(20)


_TRANSFORM = {
    "role": Role.TRANSFORM,
    "judge": transformed(),
    "transactional_id": "conformance-transform",
    "group": "conformance-group",
    "isolation": "read_committed",
}


@scenario(
    "A transactional copier writes each input once if the response to a Produce request is lost.",
    "KIP-98",
    **_TRANSFORM,  # type: ignore[arg-type]
)
def transform_produce_answer_lost(stage: Stage) -> None:
    _input(stage)
    stage.fault("Produce", disconnect="after", times=1)


@scenario(
    "A transactional copier writes each input once if the response to its commit is lost.",
    "KIP-98; TransactionManager.EndTxnHandler",
    **_TRANSFORM,  # type: ignore[arg-type]
)
def transform_commit_answer_lost(stage: Stage) -> None:
    _input(stage)
    stage.fault("EndTxn", disconnect="after", times=1)


@scenario(
    "A transactional copier commits its offsets again while the group coordinator loads.",
    "TransactionManager.TxnOffsetCommitHandler: COORDINATOR_LOAD_IN_PROGRESS is retriable",
    **_TRANSFORM,  # type: ignore[arg-type]
)
def transform_offsets_retried(stage: Stage) -> None:
    _input(stage)
    stage.fault("TxnOffsetCommit", error="COORDINATOR_LOAD_IN_PROGRESS", times=2)


@scenario(
    "A transactional copier writes each input once if the coordinator of its transaction moves.",
    "TransactionManager: NOT_COORDINATOR looks for the coordinator and tries again",
    **_TRANSFORM,  # type: ignore[arg-type]
    brokers=2,
)
def transform_coordinator_moves(stage: Stage) -> None:
    _input(stage)
    held = stage.fault("EndTxn", hang=True, times=1)
    stage.start()
    held.wait_until_fired()
    stage.cluster.move_coordinator(transactional_id="conformance-transform")
    held.release()
