"""Coordinators that move to another broker, and rolling restarts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkalet.broker import arguments
from kafkalet.broker.cluster.state_topics import CONSUMER_OFFSETS, TRANSACTION_STATE, partition_of

from .waiting import wait

if TYPE_CHECKING:
    from kafkalet.embedded import EmbeddedCluster


def move_coordinator(cluster: EmbeddedCluster, group: str | None, transactional_id: str | None, to: int | None) -> int:
    """Make another broker the coordinator of a group or a transactional id. Return the id of that broker."""
    if (group is None) == (transactional_id is None):
        raise TypeError("move_coordinator() takes either group= or transactional_id=")
    if group is not None:
        state_topic, key = CONSUMER_OFFSETS, arguments.text("group", group)
    else:
        state_topic, key = TRANSACTION_STATE, arguments.text("transactional_id", transactional_id or "")
    arguments.optional(arguments.number, "to, the id of a broker,", to)
    server = cluster._server

    def move() -> int:
        topic = server.controller.state_topic(state_topic)
        state = topic.partitions[partition_of(key, len(topic.partitions))]
        others = [node_id for node_id in state.isr if node_id != state.leader]
        target = (others[0] if others else None) if to is None else to
        if target is None:
            raise ValueError(
                f"broker {state.leader} coordinates {key!r}, and no other broker can; start a cluster with more brokers"
            )
        server.check_node(target)
        if target == state.leader:
            raise ValueError(f"broker {target} already coordinates {key!r}; name another broker in to=")
        server.elect_leader(topic.name, state.index, target)
        return target

    return server.call(move)


def roll(cluster: EmbeddedCluster, timeout: float | None) -> None:
    """Restart every broker, one after the other."""
    for node_id in sorted(cluster._server.nodes):
        cluster._server.call(partial(cluster._server.stop_broker, node_id))
        cluster._server.call(partial(cluster._server.start_broker, node_id))
        _wait_until_in_sync(cluster, node_id, timeout)


def _wait_until_in_sync(cluster: EmbeddedCluster, node_id: int, timeout: float | None) -> None:
    server = cluster._server

    def lagging() -> list[str]:
        return server.call(
            lambda: [
                f"{topic.name}-{state.index}"
                for topic, state in server.metadata.all_partitions()
                if node_id in state.replicas and node_id not in state.isr
            ]
        )

    wait(
        cluster,
        lambda: True if not lagging() else None,
        timeout,
        lambda: f"broker {node_id} was restarted, but its replicas are not in sync: {', '.join(lagging())}",
    )
