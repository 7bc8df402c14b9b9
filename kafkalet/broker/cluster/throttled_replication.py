"""Throttled replication (KIP-73): replicas that are being added copy no faster than the rates of their brokers.

A replica that is not in sync is throttled in two cases: its leader is listed in the topic's
`leader.replication.throttled.replicas` and the leader's broker has a `leader.replication.throttled.rate`; or the
replica itself is listed in `follower.replication.throttled.replicas` and its broker has a
`follower.replication.throttled.rate`. It copies the records of one fetch, and then waits until the rate over the last
seconds is at most the limit. Replicas in sync are never throttled, but what they copy counts if they are listed.

The rate of a leader's broker includes empty responses: each broker that follows one of its partitions gets one every
`replica.fetch.wait.max.ms`. With a limit below their rate, throttled replicas copy nothing.

Source: kafka.server.ReplicationQuotaManager, ReplicaManager.shouldLeaderThrottle, KafkaApis.sizeOfThrottledPartitions.
"""

import math
from typing import NamedTuple

from kafkalet.broker.quotas.meters import SimpleRate

from .metadata import MetadataImage
from .partition import Partition

WINDOWS, WINDOW_MS = 11, 1000
"""The defaults of replication.quota.window.num and replication.quota.window.size.seconds."""
EVERY_REPLICA = "*"
ALMOST_NOTHING = 1e-6
EMPTY_RESPONSE_BYTES = 16
"""The size of a Fetch response without partitions."""


class Quota(NamedTuple):
    """A limit that applies to a replica: the rate of the leader's broker, or of the broker with the replica.

    `rate` is what empty responses leave of it, or negative if they exceed it.
    """

    rate: float
    meter: SimpleRate

    def is_exceeded(self, now_ms: int) -> bool:
        return self.rate < 0 or self.meter.throttle_ms(max(self.rate, ALMOST_NOTHING), now_ms) > 0


class ThrottledReplication:
    """The limits of all brokers, and the amount of data that they have replicated recently."""

    def __init__(self, metadata: MetadataImage) -> None:
        self._metadata = metadata
        self._meters: dict[tuple[int, str], SimpleRate] = {}

    def quotas(self, leader: Partition, follower: Partition, wait_ms: int) -> list[Quota]:
        """Return the limits of the brokers on whose lists a follower, or its leader, is. `wait_ms` is the time between
        empty responses.
        """
        rates, quotas = self._metadata.broker_config, []
        for side, replica, listed in (
            ("leader", leader, leader.log.config.leader_replication_throttled_replicas),
            ("follower", follower, follower.log.config.follower_replication_throttled_replicas),
        ):
            if EVERY_REPLICA in listed or f"{replica.index}:{replica.node_id}" in listed:
                name = f"{side}.replication.throttled.rate"
                given = rates.get(replica.node_id, {}).get(name) or rates.get(None, {}).get(name)
                meter = self._meters.setdefault((replica.node_id, side), SimpleRate(WINDOWS, WINDOW_MS))
                rate = math.inf if given is None else float(given)
                if replica is leader and given is not None:
                    rate -= self._idle_followers(leader, follower) * EMPTY_RESPONSE_BYTES * 1000 / max(wait_ms, 1)
                quotas.append(Quota(rate, meter))
        return quotas

    def _idle_followers(self, leader: Partition, follower: Partition) -> int:
        """Return the number of brokers that fetch from the leader's broker, whether or not there are records."""
        of_broker = (state for _, state in self._metadata.all_partitions() if state.leader == leader.node_id)
        fetching = {node for state in of_broker for node in state.isr}
        if follower.log.log_end_offset:
            fetching.add(follower.node_id)
        return len(fetching - {leader.node_id})
