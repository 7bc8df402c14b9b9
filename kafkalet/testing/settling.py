"""Waits until a cluster is quiet, so that a test can check that a record is missing.

Quiet means: no request is in progress, no group has a lag, no transaction is open, and every partition has a leader.
These are in progress:

* a request without a response: a handler is running, or the request waits for replicas, for other members of its
  group or for its quota. A Fetch that waits for records is idle until enough records are available;
* data in a socket or buffer that the broker has not handled yet, and responses that the client has not received yet.

A group counts while it has members: their topics must have no lag, and the group must not be rebalancing. In a share
group, a record counts until it is acknowledged or archived. A group without members processes no records, so it counts
only if it is named. A partition without a leader hides its records and the lag of its groups, and producers wait for
its leader; one of the brokers' internal topics hides its groups or transactions.

The broker cannot see a client that is between two requests, or that consumes without a group. Wait for an application
to start (`Group.wait_until_stable`) before `settle`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from kafkalet.broker import arguments

from .clients import MOST_LINES, open_transactions
from .group import all_shards, described, find_shard, is_share_group, see
from .reading import without_leader
from .waiting import timeout_s, wait

if TYPE_CHECKING:
    from kafkalet.broker.groups.shard import Shard
    from kafkalet.embedded import EmbeddedCluster

Groups = bool | Collection[str]


def settle(
    cluster: EmbeddedCluster, timeout: float | None, groups: Groups, *, transactions: bool, requests: bool
) -> None:
    """Wait until the cluster is quiet. See `Cluster.settle`."""
    __tracebackhide__ = True
    names = _checked_groups(groups)
    leaderless = _Leaderless(cluster)

    def reasons() -> Iterator[str]:
        if requests:
            yield from _requests(cluster)
            yield from leaderless()
        if transactions:
            yield from _transactions(cluster)
        yield from _groups(cluster, names)

    def look() -> bool | None:
        return cluster._server.call(lambda: next(reasons(), None) is None) or None

    def failure() -> str:
        found = cluster._server.call(lambda: list(islice(reasons(), MOST_LINES + 1)))
        if len(found) > MOST_LINES:
            found[MOST_LINES:] = ["and more"]
        seconds = timeout_s(cluster, timeout)
        return "\n".join([f"waited {seconds:g} s for the brokers to be quiet:", *(f"  {each}" for each in found)])

    wait(cluster, look, timeout, failure, requests=True)


def _checked_groups(groups: Groups) -> Collection[str] | None:
    """Return the ids of the groups to wait for, or None for all groups with members."""
    if isinstance(groups, bool):
        return None if groups else ()
    if isinstance(groups, str) or not isinstance(groups, Collection):
        raise TypeError(f"groups must be True, False or a list of group ids, not {arguments.shown(groups)}")
    return [arguments.text("the id of a group", each) for each in groups]


# Functions that run in the event loop


def _requests(cluster: EmbeddedCluster) -> Iterator[str]:
    """Describe each request in progress."""
    for broker in list(cluster._server.brokers.values()):
        now_ms = broker.node.client_clock.now_ms()
        if any(listener.has_waiting_client for listener in broker.listeners):
            yield f"broker {broker.node.node_id}: a client is connecting"
        if broker.node.purgatory.is_checking:
            broker.node.call_soon(cluster._server.watchers.touch)  # once the requests have been checked
            yield f"broker {broker.node.node_id}: waiting requests are about to complete"
        for connection in broker.connections:
            if (activity := connection.activity) is not None:
                context = connection.context
                client = context.client_id if context is not None else ""
                host, port = connection.peer
                seconds = max(0, now_ms - connection.last_active_ms) / 1000
                yield f"client {client!r} at {host}:{port}: {activity}, for {seconds:.1f} s"


def _transactions(cluster: EmbeddedCluster) -> Iterator[str]:
    """Describe each open transaction."""
    from kafkalet.broker.cluster.state_topics import TRANSACTION_STATE

    yield from _leaderless(cluster, TRANSACTION_STATE.name)
    yield from (f"transaction {each}" for each in open_transactions(cluster))


class _Leaderless:
    """Describes the topics with a partition that has no leader, so that the contents of the partition are unknown."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._cluster = cluster
        self._seen: object = None
        self._found: list[str] = []

    def __call__(self) -> list[str]:
        metadata = self._cluster._server.metadata
        seen = metadata, metadata.revision.number
        if self._seen != seen:  # there may be many partitions
            self._seen = seen
            topics = [state.name for state in metadata.topics.values() if not state.is_internal]
            self._found = [text for topic in topics for text in _leaderless(self._cluster, topic)]
        return self._found


def _leaderless(cluster: EmbeddedCluster, topic: str) -> Iterator[str]:
    """Describe a topic that has partitions without a leader."""
    state = cluster._server.metadata.topics.get(topic)
    if state is not None:
        found = [each.index for each in state.partitions if each.leader not in cluster._server.nodes]
        if text := without_leader(found, len(state.partitions)):
            yield f"topic {topic}: {text}"


def _groups(cluster: EmbeddedCluster, names: Collection[str] | None) -> Iterator[str]:
    """Describe each group that has a lag or rebalances."""
    if names is None:
        from kafkalet.broker.cluster.state_topics import CONSUMER_OFFSETS

        yield from _leaderless(cluster, CONSUMER_OFFSETS.name)
        for shard in all_shards(cluster):
            for group_id, group in list(shard.groups.items()):
                if not group.is_empty:
                    yield from _group(cluster, shard, group_id, only_assigned=True)
        return
    for group_id in names:
        found = find_shard(cluster, group_id)
        if found is not None:
            yield from _group(cluster, found, group_id, only_assigned=False)
        else:
            yield f"group {group_id}: does not exist"


def _group(cluster: EmbeddedCluster, shard: Shard, group_id: str, *, only_assigned: bool) -> Iterator[str]:
    group = shard.groups.get(group_id)
    is_share = group is not None and is_share_group(group)
    seen = see(cluster, shard, group_id, is_share=is_share)
    if group is None:
        yield f"group {group_id}: does not exist"
        return
    behind = [each for each in seen.positions if each.lag and (each.is_current or not only_assigned)]
    unknown = [each for each in seen.unknown if each.is_current or not only_assigned]
    if behind or unknown or not seen.is_settled:
        behind_only = seen._replace(positions=behind, unknown=unknown)
        title = f"{'share ' if is_share else ''}group {group_id}"
        yield "\n  ".join([f"{title}: {seen.state}, lag {behind_only.lag}", *described(behind_only)])
