"""Who leads a partition, who follows, and who is in sync: what Kafka's controller and its replica fetchers decide.

A partition is led by the first of its replicas that is alive and in sync. When a leader goes, the next in-sync replica
leads in a new epoch; when none is left the partition has no leader, until one of the last in-sync replicas is back (or
any replica, where `unclean.leader.election.enable` allows to lose records).

Followers copy at once (replication.py), unless a test holds them back: a follower that has been behind for
`replica.lag.time.max.ms` leaves the in-sync replicas, and comes back when it has caught up.

Source: org.apache.kafka.controller.ReplicationControlManager, PartitionChangeBuilder; kafka.cluster.Partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kafkalet.clock import Clock
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.failures import StorageFailed

from .metadata import NO_LEADER, MetadataImage, PartitionState, TopicState
from .node import Node

if TYPE_CHECKING:  # a broker starts before it holds a partition
    from .partition import Partition


class Leadership:
    """Leaders and followers of one cluster. `nodes` holds the brokers that are alive."""

    def __init__(self, metadata: MetadataImage, nodes: dict[int, Node], clock: Clock) -> None:
        self.metadata = metadata
        self.nodes = nodes
        self.clock = clock
        self._held: set[tuple[int, str | None, int | None]] = set()

    # Leaders

    def begin(self, topic: TopicState, state: PartitionState) -> None:
        """Let the leader of a partition lead and the others follow, as the metadata says."""
        for node_id in state.replicas:
            replica = self._replica(node_id, topic.name, state.index)
            if replica is None:
                continue
            if replica.is_leader:
                replica.lead(self.clock.now_ms())
            else:
                replica.follow()
        leader = self._replica(state.leader, topic.name, state.index)
        if leader is not None:
            self.replicate(leader)
        if topic.is_internal:
            for node in self.nodes.values():
                node.observer.state_partition_changed(topic.name, state.index)

    def elect(
        self, topic: TopicState, state: PartitionState, preferred: int | None = None, *, unclean: bool = False
    ) -> bool:
        """Give the partition a leader: `preferred` if it can lead, else the present one, else the next that can.

        Says whether anything changed. A partition that nobody can lead is left without a leader; `unclean` lets one
        lead that is not in sync rather than nobody, which loses records.
        """
        alive = [
            node
            for node in state.replicas
            if node in self.nodes and (topic.name, state.index) not in self.nodes[node].offline
        ]
        isr = state.isr
        candidates = [node for node in alive if node in isr]
        if not candidates and alive and (unclean or self._may_lose_records(topic, state.index, alive[0])):
            candidates = isr = alive[:1]
        if preferred in candidates:
            leader = preferred
        elif state.leader in candidates:
            leader = state.leader
        else:
            leader = candidates[0] if candidates else NO_LEADER
        if leader is None or leader == state.leader:
            return False
        state.change_leader(leader, [node for node in isr if node in self.nodes] if candidates else None)
        self.begin(topic, state)
        self._wake(topic.name, state.index)
        return True

    def _may_lose_records(self, topic: TopicState, index: int, node_id: int) -> bool:
        replica = self._replica(node_id, topic.name, index)
        return replica is not None and replica.log.config.unclean_leader_election_enable

    def node_left(self, node_id: int) -> None:
        """Find new leaders for what a broker that is gone has led, and count it out of sync."""
        for topic, state in list(self.metadata.all_partitions()):
            if node_id not in state.replicas:
                continue
            if node_id in state.isr and len(state.isr) > 1:
                state.change_isr([node for node in state.isr if node != node_id])
            if state.leader == node_id:
                self.elect(topic, state)
            elif (leader := self._replica(state.leader, topic.name, state.index)) is not None:
                leader.advance_high_watermark()
                self._wake(topic.name, state.index)

    def take_leave(self) -> None:
        """Let nobody lead, in a new epoch: the brokers end all together, or have ended without a word."""
        for _, state in self.metadata.all_partitions():
            if state.leader != NO_LEADER:
                state.change_leader(NO_LEADER)

    def node_came(self, node_id: int) -> None:
        """Let a broker that is back follow what others lead, and lead what nobody could."""
        for topic, state in list(self.metadata.all_partitions()):
            if node_id not in state.replicas:
                continue
            if state.leader == NO_LEADER:
                self.elect(topic, state)
                continue
            leader = self._replica(state.leader, topic.name, state.index)
            if leader is not None and leader.node_id != node_id:
                self.replicate(leader)
                self._wake(topic.name, state.index)

    # Replicas that move

    def move(self, topic: TopicState, state: PartitionState, replicas: list[int]) -> None:
        """Let other brokers hold a partition, the first one preferred to lead (KIP-455).

        New replicas follow at once unless they are held back. When all are in sync those that are to go are dropped;
        until then the partition `is_moving`.
        """
        state.begin_move(replicas)
        for node_id in state.adding:
            if (node := self.nodes.get(node_id)) is not None:
                node.host(topic, state, node.config.log_config(topic.config), self.changed)
        leader = self._replica(state.leader, topic.name, state.index)
        if leader is not None:
            leader.add_followers(self.clock.now_ms())
            self.replicate(leader)

    def cancel_move(self, topic: TopicState, state: PartitionState) -> None:
        """Let those hold a partition who did before. NO_REASSIGNMENT_IN_PROGRESS where it does not move,
        INVALID_REPLICA_ASSIGNMENT where none of them is in sync (PartitionReassignmentRevert)."""
        if not state.is_moving:
            raise KafkaError(Code.NO_REASSIGNMENT_IN_PROGRESS)
        isr = [node for node in state.isr if node not in state.adding]
        if not isr:
            raise KafkaError(
                Code.INVALID_REPLICA_ASSIGNMENT,
                f"Unable to revert partition assignment for {topic.name}:{state.index} because it would require an "
                "unclean leader election.",
            )
        self._settle(topic, state, isr, dropped=state.adding)

    def _finish_move(self, topic: TopicState, state: PartitionState) -> None:
        """Drop the replicas that are to go, once all others are in sync (PartitionReassignmentReplicas)."""
        staying = set(state.replicas) - set(state.removing)
        if staying <= set(state.isr):
            self._settle(topic, state, [node for node in state.isr if node in staying], dropped=state.removing)

    def _settle(self, topic: TopicState, state: PartitionState, isr: list[int], dropped: list[int]) -> None:
        state.end_move(isr, dropped, alive=self.nodes)
        if not dropped:
            return
        for node_id in dropped:
            if (node := self.nodes.get(node_id)) is not None:
                node.drop(topic.name, state.index)
        self.begin(topic, state)
        self._wake(topic.name, state.index)

    # Followers

    def changed(self, partition: Partition) -> None:
        """A leader's log has changed: followers copy, and requests that wait look again."""
        if len(partition.state.replicas) > 1 and partition.is_leader:
            self.replicate(partition)
        self._wake(partition.topic, partition.index)

    def replicate(self, leader: Partition) -> None:
        """Bring every follower that is not held back to where the leader is."""
        from .replication import catch_up, take_over_marks

        now_ms = self.clock.now_ms()
        followers = [follower for follower in self._followers(leader) if not self._is_held(follower)]
        for follower in list(followers):
            try:
                catch_up(leader, follower)
            except StorageFailed:  # it leaves the in-sync replicas after a while, as if it did not fetch
                followers.remove(follower)
                continue
            leader.follower_has(follower.node_id, follower.log.log_end_offset, follower.log.log_start_offset, now_ms)
            self._maybe_in_sync(leader, follower.node_id)
        for follower in followers:
            take_over_marks(leader, follower)
            leader.followers[follower.node_id].log_start_offset = follower.log.log_start_offset
        if leader.state.is_moving:
            self._finish_move(self.metadata.topics[leader.topic], leader.state)

    def follower_fetched(self, leader: Partition, node_id: int, fetch_offset: int, log_start_offset: int) -> None:
        """A follower outside of this process has fetched: it holds all below `fetch_offset`."""
        moved = leader.follower_has(node_id, fetch_offset, log_start_offset, self.clock.now_ms())
        if moved or self._maybe_in_sync(leader, node_id):
            self._wake(leader.topic, leader.index)
        if leader.state.is_moving:
            self._finish_move(self.metadata.topics[leader.topic], leader.state)

    def hold(self, node_id: int, topic: str | None, index: int | None) -> None:
        """Stop a follower from copying one partition, a topic (index None) or everything (topic None)."""
        self._held.add((node_id, topic, index))
        for node in self.nodes.values():
            for leader in node.partitions.values():
                if leader.is_leader and node_id in leader.followers:
                    leader.followers[node_id].caught_up_ms = self.clock.now_ms()

    def release(self, node_id: int, topic: str | None, index: int | None) -> bool:
        """Take a `hold` of the same arguments back; the follower catches up. False if there was no such hold."""
        if (node_id, topic, index) not in self._held:
            return False
        self._held.discard((node_id, topic, index))
        node = self.nodes.get(node_id)
        for replica in list(node.partitions.values()) if node is not None else []:
            leader = self._replica(replica.state.leader, replica.topic, replica.index)
            if leader is not None and leader is not replica:
                self.replicate(leader)
                self._wake(replica.topic, replica.index)
        return True

    def drop_laggards(self, lag_time_max_ms: int) -> None:
        """Take followers out of sync that have been behind for longer than that (Partition.maybeShrinkIsr)."""
        oldest_ms = self.clock.now_ms() - lag_time_max_ms
        for topic, state in self.metadata.all_partitions():
            leader = self._replica(state.leader, topic.name, state.index)
            if leader is None:
                continue
            late = {
                node
                for node, follower in leader.followers.items()
                if node in state.isr
                and follower.log_end_offset < leader.log.log_end_offset
                and follower.caught_up_ms < oldest_ms
            }
            if late:
                state.change_isr(_in_sync([node for node in state.isr if node not in late], leader))
                leader.advance_high_watermark()
                self._wake(topic.name, state.index)

    def preferred_replica(self, leader: Partition, rack: str, fetch_offset: int) -> int | None:
        """The in-sync follower in a consumer's rack that has what it wants, the furthest one; None: the leader
        (RackAwareReplicaSelector, KIP-392)."""
        racks = {node: endpoint.rack for node, endpoint in self.metadata.endpoints.items()}
        if not rack or racks.get(leader.node_id) == rack:
            return None
        best: tuple[int, int] | None = None
        for node, follower in leader.followers.items():
            fits = node in leader.state.isr and racks.get(node) == rack
            if fits and follower.log_start_offset <= fetch_offset <= follower.log_end_offset:
                best = max(best or (-1, -1), (follower.log_end_offset, node))
        return None if best is None else best[1]

    def _maybe_in_sync(self, leader: Partition, node_id: int) -> bool:
        """Count a follower in sync again that has come to the high watermark and into this epoch
        (Partition.isFollowerInSync)."""
        state = leader.state
        if node_id in state.isr:
            return False
        reached = leader.followers[node_id].log_end_offset
        if reached < max(leader.log.high_watermark, leader.epoch_start_offset or 0):
            return False
        state.change_isr(_in_sync([*state.isr, node_id], leader))
        leader.advance_high_watermark()
        return True

    def _followers(self, leader: Partition) -> Iterator[Partition]:
        for node_id in leader.state.replicas:
            if node_id != leader.node_id and (follower := self._replica(node_id, leader.topic, leader.index)):
                yield follower

    def _is_held(self, follower: Partition) -> bool:
        node, topic, index = follower.node_id, follower.topic, follower.index
        return bool(self._held) and not self._held.isdisjoint(
            ((node, None, None), (node, topic, None), (node, topic, index))
        )

    def _replica(self, node_id: int, topic: str, index: int) -> Partition | None:
        node = self.nodes.get(node_id)
        return None if node is None else node.partitions.get((topic, index))

    def _wake(self, topic: str, index: int) -> None:
        """Let requests look again that wait for this partition, on whichever broker."""
        for node in self.nodes.values():
            node.purgatory.touch((topic, index))

    def leader_of(self, topic: str, index: int) -> Partition:
        """The leading replica. UNKNOWN_TOPIC_OR_PARTITION or LEADER_NOT_AVAILABLE if there is none."""
        state = self.metadata.existing_partition(topic, index)
        leader = self._replica(state.leader, topic, index)
        if leader is None:
            raise KafkaError(
                Code.LEADER_NOT_AVAILABLE,
                f"{topic}-{index} has no leader; in-sync replicas: {', '.join(map(str, state.isr))}",
            )
        return leader


def _in_sync(replicas: list[int], leader: Partition) -> list[int]:
    """The in-sync replicas as a leader tells them to the controller."""
    return sorted(replicas) if leader.release.sorts_in_sync_replicas else replicas
