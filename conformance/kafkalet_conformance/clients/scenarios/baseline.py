"""Clients without any disturbance."""

from kafkalet_conformance.clients.judges import consumed, produced, transformed
from kafkalet_conformance.clients.scenario import Catalog, Role
from kafkalet_conformance.clients.stage import Stage

CATALOG = Catalog()
scenario = CATALOG.scenario


@scenario(
    "A producer with acks=all delivers every record once, in order.",
    "KafkaProducer.send",
    role=Role.PRODUCE,
    judge=produced(),
)
def produce(stage: Stage) -> None:
    stage.create_topic()


@scenario(
    "A producer with acks=1 delivers every record once, in order, while nothing fails.",
    "ProducerConfig.ACKS_CONFIG",
    role=Role.PRODUCE,
    judge=produced(),
    acks="1",
)
def produce_acks_1(stage: Stage) -> None:
    stage.create_topic()


@scenario(
    "A producer with acks=0 does not wait for responses, and sends every record once.",
    "ProducerConfig.ACKS_CONFIG; the broker sends no response to Produce with acks=0",
    role=Role.PRODUCE,
    judge=produced(),
    acks="0",
)
def produce_acks_0(stage: Stage) -> None:
    stage.create_topic()
    stage.start()
    stage.topic.wait_for(stage.scenario.count)


@scenario(
    "An idempotent producer delivers every record once, in order.",
    "KIP-98; TransactionManager",
    role=Role.PRODUCE,
    judge=produced(),
    idempotence=True,
)
def produce_idempotent(stage: Stage) -> None:
    stage.create_topic()


@scenario(
    "The records of a transaction are visible to read_committed consumers after the commit, each once.",
    "KIP-98; KafkaProducer.commitTransaction",
    role=Role.PRODUCE,
    judge=produced(),
    idempotence=True,
    transactional_id="conformance-transaction",
)
def produce_transaction(stage: Stage) -> None:
    stage.create_topic()


@scenario(
    "A producer with keys delivers every record once, in order within each partition.",
    "KafkaProducer.send; DefaultPartitioner",
    role=Role.PRODUCE,
    judge=produced(),
    count=50,
)
def produce_to_partitions(stage: Stage) -> None:
    stage.create_topic(partitions=3)


@scenario(
    "A consumer without a group reads every record once, in order.",
    "KafkaConsumer.assign",
    role=Role.CONSUME,
    judge=consumed(),
)
def consume(stage: Stage) -> None:
    stage.create_topic()
    stage.send(20)


@scenario(
    "A consumer reads every record of all partitions once, in order within each partition.",
    "KafkaConsumer.assign",
    role=Role.CONSUME,
    judge=consumed(),
    count=60,
)
def consume_partitions(stage: Stage) -> None:
    stage.create_topic(partitions=3)
    for partition in range(3):
        stage.send(20, partition=partition)


@scenario(
    "A member of a group reads every record once, and leaves the group.",
    "KafkaConsumer.subscribe; ConsumerCoordinator",
    role=Role.CONSUME,
    judge=consumed(),
    count=40,
    group="conformance-group",
)
def consume_in_group(stage: Stage) -> None:
    stage.create_topic(partitions=2)
    for partition in range(2):
        stage.send(20, partition=partition)


@scenario(
    "A transactional copier writes each input to the output once, and commits its offsets in the transaction.",
    "KIP-98; KafkaProducer.sendOffsetsToTransaction",
    role=Role.TRANSFORM,
    judge=transformed(),
    idempotence=True,
    transactional_id="conformance-transform",
    group="conformance-group",
    isolation="read_committed",
)
def transform(stage: Stage) -> None:
    stage.create_topic()
    stage.cluster.topic(f"{stage.topic.name}-output").create(1, replication_factor=1)
    stage.send(20)
