"""Leaders that move, and leader epochs that are unknown to clients or outdated."""

from kafkalet_conformance.clients.judges import consumed, produced
from kafkalet_conformance.clients.scenario import Catalog, Role
from kafkalet_conformance.clients.stage import Stage

CATALOG = Catalog()
scenario = CATALOG.scenario


@scenario(
    "A producer whose leader moves finds the new one, and loses no record.",
    "KIP-320, KIP-951; Sender.completeBatch (InvalidMetadataException)",
    role=Role.PRODUCE,
    judge=produced(),
    idempotence=True,
    brokers=2,
)
def produce_leader_moves(stage: Stage) -> None:
    stage.create_topic()
    barrier = stage.fault("Produce", hang=True, times=1)
    stage.start()
    barrier.wait_until_fired()
    stage.topic.move_leader(to=2)
    barrier.release()


@scenario(
    "A consumer whose leader moves continues at the new one, and skips or repeats no record.",
    "KIP-320; FetchCollector.handleInitializeErrors",
    role=Role.CONSUME,
    judge=consumed(),
    brokers=2,
)
def consume_leader_moves(stage: Stage) -> None:
    stage.create_topic()
    stage.send(10)
    stage.start()
    stage.wait_for_position(10)
    stage.topic.move_leader(to=2)
    stage.send(10)


@scenario(
    "A consumer whose leader epoch is over (FENCED_LEADER_EPOCH) updates its metadata, and goes on.",
    "KIP-320; FetchCollector.handleInitializeErrors (FENCED_LEADER_EPOCH)",
    role=Role.CONSUME,
    judge=consumed(),
)
def consume_new_leader_epoch(stage: Stage) -> None:
    stage.create_topic()
    stage.send(10)
    stage.start()
    stage.wait_for_position(10)
    stage.topic.new_leader_epoch()
    stage.send(10)


@scenario(
    "A consumer follows its leader to another broker and back, and skips or repeats no record.",
    "KIP-320; Metadata.updateLatestMetadata: metadata with an older leader epoch is ignored",
    role=Role.CONSUME,
    judge=consumed(),
    brokers=2,
    count=30,
)
def consume_leader_moves_and_returns(stage: Stage) -> None:
    stage.create_topic()
    stage.send(10)
    stage.start()
    stage.wait_for_position(10)
    stage.topic.move_leader(to=2)
    stage.send(10)
    stage.wait_for_position(20)
    stage.topic.move_leader(to=1)
    stage.send(10)


@scenario(
    "A producer waits while a partition has no leader, and then delivers each record once.",
    "Sender.sendProducerData: unknownLeaderTopics request a metadata update",
    role=Role.PRODUCE,
    judge=produced(),
    idempotence=True,
)
def produce_without_leader(stage: Stage) -> None:
    stage.create_topic()
    with stage.topic.take_offline():
        stage.start()
        stage.wait_for_answer("Metadata", n=3, errors="LEADER_NOT_AVAILABLE")


@scenario(
    "A producer delivers each record once while the brokers are restarted one after the other.",
    "Sender.completeBatch, NetworkClient.handleServerDisconnect; KIP-98",
    role=Role.PRODUCE,
    judge=produced(),
    idempotence=True,
    brokers=3,
    count=200,
)
def produce_rolling_restart(stage: Stage) -> None:
    stage.create_topic()
    held = stage.fault("Produce", hang=True, times=1)
    stage.start()
    held.wait_until_fired()
    stage.cluster.roll()
    held.release()
