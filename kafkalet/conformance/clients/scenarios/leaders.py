"""Leaders that move, and leader epochs that clients do not know or that are over."""

from kafkalet.conformance.clients.judges import consumed, produced
from kafkalet.conformance.clients.scenario import Catalogue, Role
from kafkalet.conformance.clients.stage import Stage

CATALOGUE = Catalogue()
scenario = CATALOGUE.scenario


@scenario(
    "produce-leader-moves",
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
    "consume-leader-moves",
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
