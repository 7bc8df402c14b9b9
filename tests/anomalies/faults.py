"""What happens to a cluster while clients work. Each fault ends by itself, and `run` ends when it is over.

At most one broker of three is away at a time, so that acknowledged records survive if `min.insync.replicas` is two.
UNSAFE faults make Kafka lose records that were acknowledged with acks=1.
"""

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event

import kafkalet
from kafkalet.protocol.errors import KafkaError

TOPIC = "events"

Fault = Callable[[kafkalet.Cluster, int, "Rest"], None]
Rest = Callable[[], None]
"""Waits for a part of a fault's duration."""


def stop_and_start(cluster: kafkalet.Cluster, broker: int, rest: Rest) -> None:
    cluster.broker(broker).stop()
    rest()
    cluster.broker(broker).start()


def kill_and_start(cluster: kafkalet.Cluster, broker: int, rest: Rest) -> None:
    cluster.broker(broker).kill()
    rest()
    cluster.broker(broker).start()


def pause_and_resume(cluster: kafkalet.Cluster, broker: int, rest: Rest) -> None:
    cluster.broker(broker).pause()
    rest()
    cluster.broker(broker).resume()


def isolate_and_reconnect(cluster: kafkalet.Cluster, broker: int, rest: Rest) -> None:
    cluster.broker(broker).cut_off("brokers", "controller")
    rest()
    cluster.broker(broker).reconnect()


def cut_off_from_the_controller(cluster: kafkalet.Cluster, broker: int, rest: Rest) -> None:
    cluster.broker(broker).cut_off("controller")
    rest()
    cluster.broker(broker).reconnect()


def cut_off_from_clients(cluster: kafkalet.Cluster, broker: int, rest: Rest) -> None:
    cluster.broker(broker).cut_off("clients")
    rest()
    cluster.broker(broker).reconnect()


def stop_the_controller(cluster: kafkalet.Cluster, broker: int, rest: Rest) -> None:
    with cluster.stop_controller():
        rest()


def kill_without_controller(cluster: kafkalet.Cluster, broker: int, rest: Rest) -> None:
    with cluster.stop_controller():
        cluster.broker(broker).kill()
        rest()
    rest()
    cluster.broker(broker).start()


def hold_a_follower(cluster: kafkalet.Cluster, broker: int, rest: Rest) -> None:
    with cluster.hold_replication(broker):
        rest()


def refuse_clients(cluster: kafkalet.Cluster, broker: int, rest: Rest) -> None:
    with cluster.refuse_connections(broker):
        for connection in cluster.connections:
            if connection.broker == broker:
                connection.reset()
        rest()


def move_leaders(cluster: kafkalet.Cluster, broker: int, rest: Rest) -> None:
    topic = cluster.topic(TOPIC)
    for partition in range(topic.partition_count):
        with suppress(KafkaError):  # its replica is not in sync
            topic.move_leader(broker, partition)
    rest()


def move_coordinators(cluster: kafkalet.Cluster, broker: int, rest: Rest) -> None:
    keys = [{"group": each.group_id} for each in cluster.groups()]
    keys += [{"transactional_id": each.transactional_id} for each in cluster.transactions()]
    for key in keys:
        with suppress(KafkaError, ValueError):  # no other replica is in sync
            cluster.move_coordinator(**key)
    rest()


def reset_connections(cluster: kafkalet.Cluster, broker: int, rest: Rest) -> None:
    for connection in cluster.connections:
        connection.reset()
    rest()


def roll(cluster: kafkalet.Cluster, broker: int, rest: Rest) -> None:
    cluster.roll()


def lose_the_leaders(cluster: kafkalet.Cluster, broker: int, rest: Rest) -> None:
    """Elect replicas that lack what the leader has acknowledged."""
    topic = cluster.topic(TOPIC)
    with cluster.hold_replication(broker):
        rest()
        for partition in range(topic.partition_count):
            topic.move_leader(broker, partition, unclean=True)


SAFE: tuple[Fault, ...] = (
    stop_and_start,
    kill_and_start,
    pause_and_resume,
    isolate_and_reconnect,
    cut_off_from_the_controller,
    cut_off_from_clients,
    stop_the_controller,
    kill_without_controller,
    hold_a_follower,
    refuse_clients,
    move_leaders,
    move_coordinators,
    reset_connections,
    roll,
)
UNSAFE: tuple[Fault, ...] = (*SAFE, lose_the_leaders)


def run(cluster: kafkalet.Cluster, chance: random.Random, faults: Sequence[Fault], ended: Event) -> dict[str, int]:
    """Provoke one fault after another until `ended` is set. Return how often each happened."""
    counts: dict[str, int] = {}
    while not ended.wait(chance.uniform(0.1, 3)):
        fault = chance.choice(faults)
        duration = chance.choice((0.1, 1.0, 3.0, 12.0))
        fault(cluster, chance.randint(1, 3), lambda duration=duration: ended.wait(duration) and None)  # type: ignore[misc]
        counts[fault.__name__] = counts.get(fault.__name__, 0) + 1
    return counts
