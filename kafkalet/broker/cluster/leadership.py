"""Management of leaders, followers and in-sync replicas, as in Kafka's controller and replica fetchers.

The leader of a partition is the first of its replicas that is alive and in sync. If the leader stops, the next in-sync
replica becomes leader in a new epoch. If none is left, the partition has no leader until one of its last in-sync
replicas comes back. (If `unclean.leader.election.enable` permits the loss of records, any replica can become leader.)

With eligible leader replicas (KIP-966), replicas that leave the ISR while it is smaller than min.insync.replicas stay
eligible: the high watermark does not advance meanwhile, so they have all records below it. If the ISR is empty, one of
them is elected. A replica loses its eligibility when its broker is killed. If neither list has a replica, the last
leader is elected when it comes back.

Followers replicate immediately (replication.py), unless a test holds them back. A follower that lags for longer than
`replica.lag.time.max.ms` is removed from the in-sync replicas, and added again once it has caught up.

Source: org.apache.kafka.controller.ReplicationControlManager, PartitionChangeBuilder; kafka.cluster.Partition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, get_args

from kafkalet.broker.watchers import Watchers
from kafkalet.clock import Clock
from kafkalet.protocol.errors import Code, KafkaError
from kafkalet.storage.failures import StorageFailed

from .metadata import NO_LEADER, MetadataImage, PartitionState, TopicState
from .node import Node

if TYPE_CHECKING:  # avoids loading the log when a broker without partitions starts
    from .partition import Partition
    from .throttled_replication import ThrottledReplication

Peer = Literal["brokers", "clients", "controller"]
"""What a broker can be cut off from."""
PEERS = frozenset[Peer](get_args(Peer))
CONTROLLER = "controller"
"""The key of the requests in a purgatory that wait for the controller."""


class Leadership:
    """The leaders and followers of a cluster. `nodes` contains the running brokers.

    Brokers without an endpoint in the metadata are unregistered: their replicas follow, but neither lead nor join the
    ISR.
    """

    def __init__(
        self,
        metadata: MetadataImage,
        nodes: dict[int, Node],
        clock: Clock,
        watchers: Watchers | None = None,
        eligible_below: Callable[[TopicState], int] = lambda topic: 0,
    ) -> None:
        self.metadata = metadata
        self.nodes = nodes
        self.clock = clock
        self.watchers = watchers or Watchers()
        self._eligible_below = eligible_below
        """Returns min.insync.replicas of a topic, or 0 if there are no eligible leader replicas."""
        self._held_followers: set[tuple[int, str | None, int | None]] = set()
        self.cut_off: dict[int, frozenset[Peer]] = {}
        """The PEERS that brokers do not reach, and that do not reach them, keyed by broker id."""
        self.has_controller = True
        """Whether a controller is active."""
        self._throttled: set[tuple[str, int]] = set()
        """The partitions that have a follower whose replication is throttled."""
        self._throttles: ThrottledReplication | None = None

    # Leaders

    def begin(self, topic: TopicState, state: PartitionState) -> None:
        """Start the leader and the followers of a partition as assigned in the metadata."""
        for node_id in state.replicas:
            replica = self._replica(node_id, topic.name, state.index)
            if replica is None or replica.state is not state:  # an isolated broker does not know of the change
                continue
            if replica.is_leader:
                replica.lead(self.clock.now_ms())
            else:
                replica.follow()
        leader = self._replica(state.leader, topic.name, state.index)
        if leader is not None:
            self.replicate(leader)
        if topic.is_internal:
            for node in self.informed():
                node.observer.state_partition_changed(topic.name, state.index)

    def elect(
        self, topic: TopicState, state: PartitionState, preferred: int | None = None, *, unclean: bool = False
    ) -> bool:
        """Elect a leader: `preferred` if it is eligible, else the current leader, else the first eligible replica.

        Returns whether anything has changed. Only live in-sync replicas are eligible or, if no replica is in sync,
        eligible leader replicas. If there are none of these either, the partition has no leader, unless the last known
        leader is alive or `unclean` allows another replica to become leader, which loses records.
        """
        alive = [
            node
            for node in state.replicas
            if node in self.metadata.endpoints and not self._is_offline(node, topic.name, state.index)
        ]
        candidates = [node for node in alive if node in state.may_lead]
        is_clean = bool(candidates and (state.isr or state.elr))
        if not candidates and alive and (unclean or self._may_lose_records(topic, state.index, alive[0])):
            candidates = alive[:1]
        if preferred in candidates:
            leader = preferred
        elif state.leader in candidates:
            leader = state.leader
        else:
            leader = candidates[0] if candidates else NO_LEADER
        if leader is None or leader == state.leader:
            return False
        if leader == NO_LEADER:
            if self._eligible_below(topic) and not state.last_known_elr:
                state.last_known_elr = [state.leader]
            state.change_leader(NO_LEADER)
        elif is_clean and state.isr:
            isr = [node for node in state.isr if node in self.metadata.endpoints]
            state.change_leader(leader, isr, self._eligible(topic, state, isr))
        else:
            others = [node for node in state.elr if node != leader]
            state.change_leader(leader, [leader], others if is_clean else ())
        self.begin(topic, state)
        self._wake(topic.name, state.index)
        return True

    def _change_isr(self, topic: TopicState, state: PartitionState, isr: list[int]) -> None:
        state.change_isr(isr, self._eligible(topic, state, isr))

    def _eligible(self, topic: TopicState, state: PartitionState, isr: list[int]) -> list[int]:
        """Return the eligible leader replicas that a partition will have with this ISR (maybePopulateTargetElr)."""
        if len(isr) >= min(self._eligible_below(topic), len(state.replicas)):
            return []
        return sorted({*state.elr, *state.isr}.difference(isr))

    def clear_eligible(self, topics: Iterable[TopicState]) -> None:
        """Forget eligible leader replicas because min.insync.replicas has changed (ClearElrRecord)."""
        for topic in topics:
            for state in topic.partitions:
                if state.elr or state.last_known_elr:
                    state.last_known_elr = []
                    state.change_isr(state.isr)

    def node_was_killed(self, node_id: int) -> None:
        """Remove a broker from the ISR and the eligible leader replicas when it comes back after an unclean shutdown.

        Source: ReplicationControlManager.handleBrokerUncleanShutdown.
        """
        for topic, state in self.metadata.all_partitions():
            if self._eligible_below(topic) and node_id in (*state.isr, *state.elr):
                isr = [node for node in state.isr if node != node_id]
                state.change_isr(isr, [node for node in self._eligible(topic, state, isr) if node != node_id])

    def begin_epoch(self, topic: TopicState, state: PartitionState, leader: int, isr: list[int] | None = None) -> None:
        """Let a replica lead in a new epoch, with these in-sync replicas if given. Followers truncate to its log."""
        state.change_leader(leader, isr)
        self.begin(topic, state)
        self._wake(topic.name, state.index)

    def shrink_isr(self, leader: Partition, node_ids: Collection[int]) -> None:
        """Hold followers back and remove them from the ISR at once, as if they had not fetched for a long time."""
        state = leader.state
        for node_id in node_ids:
            self.hold(node_id, leader.topic, leader.index)
        isr = _in_sync([node for node in state.isr if node not in node_ids], leader)
        self._change_isr(self.metadata.topics[leader.topic], state, isr)
        self._isr_changed(leader)

    def expand_isr(self, topic: str, index: int) -> None:
        """Release all held-back followers of a partition. They catch up and join the ISR."""
        for held in [held for held in self._held_followers if held[1:] == (topic, index)]:
            self.release(*held)

    def _may_lose_records(self, topic: TopicState, index: int, node_id: int) -> bool:
        replica = self._replica(node_id, topic.name, index)
        return replica is not None and replica.log.config.unclean_leader_election_enable

    def node_left(self, node_id: int) -> None:
        """Remove a stopped broker from the in-sync replicas, and elect new leaders for the partitions it led."""
        for topic, state in list(self.metadata.all_partitions()):
            if node_id in state.replicas:
                self.replica_left(topic, state, node_id)

    def replica_left(self, topic: TopicState, state: PartitionState, node_id: int) -> None:
        """Remove a replica that has become unavailable from the ISR. If it was the leader, elect a new one."""
        if node_id in state.isr and (len(state.isr) > 1 or self._eligible_below(topic)):
            self._change_isr(topic, state, [node for node in state.isr if node != node_id])
        if state.leader == node_id:
            self.elect(topic, state)
        elif (leader := self._replica(state.leader, topic.name, state.index)) is not None:
            self._isr_changed(leader)

    def leave_out_missing(self, topic: TopicState, state: PartitionState) -> None:
        """Remove stopped brokers from the ISR if other brokers are in it, as Kafka does when it fences them.

        Otherwise, the high watermark of a directory that is opened without the other brokers could not advance.
        """
        in_sync = [node for node in state.isr if node in self.nodes]
        if len(in_sync) < len(state.isr) and (in_sync or self._eligible_below(topic)):
            self._change_isr(topic, state, in_sync)

    def leave_all_without_leader(self) -> None:
        """Leave all partitions without a leader, in a new epoch, because all brokers stop together or have crashed."""
        for _, state in self.metadata.all_partitions():
            if state.leader != NO_LEADER:
                state.change_leader(NO_LEADER)

    def node_came(self, node_id: int) -> None:
        """Let a restarted broker follow its partitions. It leads those that have no leader if it is eligible."""
        for topic, state in list(self.metadata.all_partitions()):
            if node_id in state.replicas:
                self.replica_came(topic, state, node_id)

    def replica_came(self, topic: TopicState, state: PartitionState, node_id: int) -> None:
        """Let a replica that is available again follow the leader.

        If there is no leader and the replica is eligible, it leads.
        """
        if state.leader == NO_LEADER:
            self.elect(topic, state)
            return
        leader = self._replica(state.leader, topic.name, state.index)
        if leader is not None:
            self.replicate(leader)
            self._wake(topic.name, state.index)

    # Reassignment

    def move(self, topic: TopicState, state: PartitionState, replicas: list[int]) -> None:
        """Reassign a partition to other brokers, the first of which is the preferred leader (KIP-455).

        New replicas start to follow immediately unless they are held back. Once all of them are in sync, the old
        replicas are dropped. Until then, `is_moving` is True for the partition.
        """
        state.begin_move(replicas)
        for node in self.informed(state.adding):
            if (topic.name, state.index) not in node.partitions:
                node.add_replica(topic, state, node.config.log_config(topic.config), self.changed)
        leader = self._replica(state.leader, topic.name, state.index)
        if leader is not None:
            leader.add_followers(self.clock.now_ms())
            self.replicate(leader)

    def cancel_move(self, topic: TopicState, state: PartitionState) -> None:
        """Cancel the reassignment of a partition (PartitionReassignmentRevert).

        Raises NO_REASSIGNMENT_IN_PROGRESS if there is none, and INVALID_REPLICA_ASSIGNMENT if no original replica is in
        sync.
        """
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

    def _maybe_finish_move(self, leader: Partition) -> None:
        """Drop the old replicas if enough of the others are in sync (PartitionReassignmentReplicas)."""
        state = leader.state
        staying = set(state.replicas).difference(state.removing)
        isr = [node for node in state.isr if node in staying]
        lets_some_be_away = leader.release.completes_moves_without_staying_replicas
        needed = state.adding if lets_some_be_away and len(state.adding) >= len(state.removing) else staying
        if state.is_moving and isr and set(needed) <= set(isr):
            self._settle(self.metadata.topics[leader.topic], state, isr, dropped=state.removing)

    def _settle(self, topic: TopicState, state: PartitionState, isr: list[int], dropped: list[int]) -> None:
        state.end_move(isr, dropped, alive=self.metadata.endpoints)
        if not dropped:
            return
        for node in self.informed(dropped):
            node.delete_replica(topic.name, state.index)
            node.sync_deletions()
        self.begin(topic, state)
        self._wake(topic.name, state.index)

    # Followers

    def changed(self, partition: Partition) -> None:
        """Handle a change of a leader's log: let the followers replicate it, and check the waiting requests again."""
        if len(partition.state.replicas) > 1 and partition.is_leader:
            self.replicate(partition)
        self._wake(partition.topic, partition.index)

    def _isr_changed(self, leader: Partition) -> None:
        """Advance the high watermark, which no longer has to wait for some replica, on all brokers."""
        leader.advance_high_watermark()
        self.changed(leader)

    def replicate(self, leader: Partition) -> None:
        """Let every follower that is not held back catch up with the leader."""
        from .replication import copy_watermarks

        now_ms = self.clock.now_ms()
        followers = [follower for follower in self._followers(leader) if self._reaches(leader, follower)]
        for follower in list(followers):
            try:
                self._catch_up(leader, follower, now_ms)
            except KafkaError:
                # The disk of the follower failed, or an entry of the leader is corrupt: the follower will leave the
                # in-sync replicas, as if it had stopped fetching.
                followers.remove(follower)
                continue
            leader.follower_has(follower.node_id, follower.log.log_end_offset, follower.log.log_start_offset, now_ms)
            if follower.node_id in self.metadata.endpoints:
                self._maybe_in_sync(leader, follower.node_id)
        for follower in followers:
            copy_watermarks(leader, follower)
            leader.followers[follower.node_id].log_start_offset = follower.log.log_start_offset
        self._maybe_finish_move(leader)

    def _catch_up(self, leader: Partition, follower: Partition, now_ms: int) -> None:
        """Copy the records that the follower lacks, or as many as the replication limits permit (KIP-73)."""
        from .replication import catch_up

        topic = leader.log.config
        if not (topic.leader_replication_throttled_replicas or topic.follower_replication_throttled_replicas):
            catch_up(leader, follower)
            return
        if self._throttles is None:
            from .throttled_replication import ThrottledReplication

            self._throttles = ThrottledReplication(self.metadata)
        config = self.nodes[follower.node_id].config
        quotas = self._throttles.quotas(leader, follower, config.replica_fetch_wait_max_ms)
        is_limited = follower.node_id not in leader.state.isr
        while follower.log.log_end_offset != leader.log.log_end_offset:
            if is_limited and any(quota.is_exceeded(now_ms) for quota in quotas):
                self._throttled.add((leader.topic, leader.index))
                return
            copied = catch_up(leader, follower, config.replica_fetch_max_bytes)
            if not copied:
                return
            for quota in quotas:
                quota.meter.record(copied, now_ms)

    def replicate_throttled(self) -> None:
        """Let throttled followers continue if their limits permit it by now, or have been removed."""
        throttled, self._throttled = self._throttled, set()
        for topic, index in throttled:
            state = self.metadata.partition(topic, index)
            leader = None if state is None else self._replica(state.leader, topic, index)
            if leader is not None:
                self.replicate(leader)
                self._wake(topic, index)

    @property
    def may_replicate_throttled(self) -> bool:
        """Whether a follower is throttled."""
        return bool(self._throttled)

    def follower_fetched(self, leader: Partition, node_id: int, fetch_offset: int, log_start_offset: int) -> None:
        """Handle a fetch by a follower in another process. The follower has all records below `fetch_offset`."""
        moved = leader.follower_has(node_id, fetch_offset, log_start_offset, self.clock.now_ms())
        if moved or self._maybe_in_sync(leader, node_id):
            self._wake(leader.topic, leader.index)
        self._maybe_finish_move(leader)

    def append_as_given(self, leader: Partition, records: bytes) -> None:
        """Append entries exactly as they are to the leader, and to the followers that are neither held back nor behind.

        Unlike `catch_up`, this ignores wrong checksums. Raises ValueError.
        """
        end = leader.log.log_end_offset
        followers = [
            follower
            for follower in self._followers(leader)
            if follower.log.log_end_offset == end and self._reaches(leader, follower)
        ]
        leader.append_as_given(records)
        for follower in followers:
            with suppress(StorageFailed):
                follower.log.append_as_given(records, leader.leader_epoch)
        self.changed(leader)

    def roll(self, leader: Partition, base_offset: int) -> None:
        """Begin a new segment at `base_offset`, or at the log end if that is larger, in all replicas."""
        for replica in (leader, *self._followers(leader)):
            if replica.log.segments.active.size_bytes:
                replica.log.roll(base_offset)

    def release_high_watermark(self, topic: str, index: int) -> None:
        """Let the high watermark advance again after `Partition.hold_high_watermark`; no effect if it is not held."""
        state = self.metadata.existing_partition(topic, index)
        state.high_watermark_limit = None
        if (leader := self._replica(state.leader, topic, index)) is not None:
            self._isr_changed(leader)

    def hold(self, node_id: int, topic: str | None, index: int | None) -> None:
        """Stop a follower from replicating a partition, a topic (index None) or everything (topic None)."""
        self._note_caught_up()
        self._held_followers.add((node_id, topic, index))

    def cut(self, node_id: int, peers: frozenset[Peer]) -> None:
        """Let a broker no longer reach the peers, nor be reached by them."""
        self._note_caught_up()
        self.cut_off[node_id] = peers

    def reaches_controller(self, node_id: int) -> bool:
        """Return whether a broker reaches an active controller."""
        return self.has_controller and "controller" not in self.cut_off.get(node_id, ())

    def informed(self, node_ids: Iterable[int] | None = None) -> list[Node]:
        """Return the running brokers, or those of them with these ids, that know the metadata of now."""
        running = self.nodes.values() if node_ids is None else (self.nodes.get(node_id) for node_id in node_ids)
        return [node for node in running if node is not None and node.metadata is self.metadata]

    def _note_caught_up(self) -> None:
        """Let followers that will no longer replicate lag from now on."""
        now_ms = self.clock.now_ms()
        for node in self.nodes.values():
            for leader in node.partitions.values():
                for follower in self._followers(leader) if leader.followers else ():
                    if self._reaches(leader, follower):
                        leader.followers[follower.node_id].caught_up_ms = now_ms

    def release(self, node_id: int, topic: str | None, index: int | None) -> bool:
        """Undo a `hold` with the same arguments and let the follower catch up. Returns False if there was none."""
        if (node_id, topic, index) not in self._held_followers:
            return False
        self._held_followers.discard((node_id, topic, index))
        node = self.nodes.get(node_id)
        for replica in list(node.partitions.values()) if node is not None else []:
            leader = self._replica(replica.state.leader, replica.topic, replica.index)
            if leader is not None and leader is not replica:
                self.replicate(leader)
                self._wake(replica.topic, replica.index)
        return True

    def forget_holds(self, topic: str) -> None:
        """Forget which followers of a deleted topic are held back, so that a new topic of this name is replicated."""
        self._held_followers = {held for held in self._held_followers if held[1] != topic}

    @property
    def imbalanced(self) -> list[tuple[TopicState, PartitionState]]:
        """The partitions that are not led by their first replicas, if there is a controller."""
        every = self.metadata.all_partitions() if self.has_controller else ()
        return [found for found in every if found[1].replicas[:1] != [found[1].leader]]

    def elect_preferred(self) -> None:
        """Let the first replicas lead if they are in sync (maybeBalancePartitionLeaders)."""
        for topic, state in self.imbalanced:
            if state.leader != NO_LEADER:
                self.elect(topic, state, state.replicas[0])

    @property
    def leaderless(self) -> list[tuple[TopicState, PartitionState]]:
        """The partitions without a leader, if there is a controller."""
        return [found for found in self.imbalanced if found[1].leader == NO_LEADER]

    def elect_unclean(self) -> None:
        """Elect leaders, out of sync if topics allow it, of all partitions without one (maybeElectUncleanLeaders)."""
        for topic, state in self.leaderless:
            self.elect(topic, state)

    def drop_laggards(self, lag_time_max_ms: int) -> None:
        """Remove followers that have lagged for too long from the in-sync replicas (Partition.maybeShrinkIsr)."""
        oldest_ms = self.clock.now_ms() - lag_time_max_ms
        for topic, state in self.metadata.all_partitions():
            leader = self._replica(state.leader, topic.name, state.index)
            if leader is None or not self.reaches_controller(leader.node_id):
                continue
            late = {
                node
                for node, follower in leader.followers.items()
                if node in state.isr
                and follower.log_end_offset < leader.log.log_end_offset
                and follower.caught_up_ms < oldest_ms
            }
            if late:
                self._change_isr(topic, state, _in_sync([node for node in state.isr if node not in late], leader))
                self._isr_changed(leader)

    @property
    def may_drop_laggards(self) -> bool:
        """Whether a follower in the ISR lags, or is held back and will lag after the next append."""
        for topic, state in self.metadata.all_partitions():
            leader = self._replica(state.leader, topic.name, state.index)
            if leader is None:
                continue
            for node_id in set(leader.followers).intersection(state.isr):
                follower = self._replica(node_id, topic.name, state.index)
                if (
                    follower is None
                    or not self._reaches(leader, follower)
                    or follower.log.log_end_offset < leader.log.log_end_offset
                ):
                    return True
        return False

    def preferred_replica(self, leader: Partition, rack: str, fetch_offset: int) -> int | None:
        """Return an in-sync follower that is in the consumer's rack and has the offset, or None for the leader.

        If there are several such followers, the one with the highest log end offset is returned
        (RackAwareReplicaSelector, KIP-392).
        """
        racks = self.metadata.racks
        if not rack or racks.get(leader.node_id) == rack:
            return None
        best: tuple[int, int] | None = None
        for node, follower in leader.followers.items():
            fits = node in leader.state.isr and racks.get(node) == rack
            if fits and follower.log_start_offset <= fetch_offset <= follower.log_end_offset:
                best = max(best or (-1, -1), (follower.log_end_offset, node))
        return None if best is None else best[1]

    def _maybe_in_sync(self, leader: Partition, node_id: int) -> bool:
        """Add a follower to the in-sync replicas if it has caught up (Partition.isFollowerInSync).

        To be caught up, its log must reach the high watermark and the start of the current leader epoch.
        """
        state = leader.state
        if node_id in state.isr or not self.reaches_controller(leader.node_id):
            return False
        reached = leader.followers[node_id].log_end_offset
        if reached < max(leader.log.high_watermark, leader.epoch_start_offset or 0):
            return False
        self._change_isr(self.metadata.topics[leader.topic], state, _in_sync([*state.isr, node_id], leader))
        leader.advance_high_watermark()
        return True

    def _followers(self, leader: Partition) -> Iterator[Partition]:
        for node_id in leader.state.replicas:
            if node_id != leader.node_id and (follower := self._replica(node_id, leader.topic, leader.index)):
                yield follower

    def _reaches(self, leader: Partition, follower: Partition) -> bool:
        """Return whether a replica follows this leader, which both know, and is not kept from doing so."""
        node, topic, index = follower.node_id, follower.topic, follower.index
        if follower.state is not leader.state and (
            (follower.state.leader, follower.leader_epoch) != (leader.node_id, leader.leader_epoch)
        ):
            return False
        if not self.nodes[leader.node_id].reaches(self.nodes[node]):
            return False
        return self._held_followers.isdisjoint(((node, None, None), (node, topic, None), (node, topic, index)))

    def _replica(self, node_id: int, topic: str, index: int) -> Partition | None:
        node = self.nodes.get(node_id)
        return None if node is None else node.partitions.get((topic, index))

    def _wake(self, topic: str, index: int) -> None:
        """On all brokers, recheck the requests that wait for this partition."""
        for node in self.nodes.values():
            node.purgatory.touch((topic, index))
        self.watchers.touch(topic)

    def offline_replicas(self, topic: str, state: PartitionState, known: MetadataImage | None = None) -> list[int]:
        """Return the replicas whose log is offline or whose broker is fenced or unregistered (KRaftMetadataCache).

        `known` is the image of the broker that is asked, which is old if the broker is isolated.
        """
        registered = (known or self.metadata).endpoints
        return [id_ for id_ in state.replicas if id_ not in registered or self._is_offline(id_, topic, state.index)]

    def _is_offline(self, node_id: int, topic: str, index: int) -> bool:
        node = self.nodes.get(node_id)  # a killed broker has none
        return node is not None and (topic, index) in node.offline

    def leader_of(self, topic: str, index: int) -> Partition:
        """Return the leader of a partition.

        Raises UNKNOWN_TOPIC_OR_PARTITION or LEADER_NOT_AVAILABLE if there is none.
        """
        state = self.metadata.existing_partition(topic, index)
        leader = self._replica(state.leader, topic, index)
        if leader is None:
            reason = f"has no leader; replicas that can lead: {_listed(state.may_lead)}"
            if state.leader != NO_LEADER:
                reason = f"is led by broker {state.leader}, which was killed, until its session expires"
            raise KafkaError(Code.LEADER_NOT_AVAILABLE, f"{topic}-{index} {reason}")
        return leader


def _listed(nodes: Iterable[int]) -> str:
    return ", ".join(map(str, nodes)) or "none"


def _in_sync(replicas: list[int], leader: Partition) -> list[int]:
    """Return the in-sync replicas in the order in which a leader reports them to the controller."""
    return sorted(replicas) if leader.release.sorts_in_sync_replicas else replicas
