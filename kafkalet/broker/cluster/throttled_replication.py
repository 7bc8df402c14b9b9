"""Throttled replication (KIP-73): replicas that are being added copy no faster than the rates of their brokers.

A replica that is not in sync is throttled in two cases: its leader is listed in the topic's
`leader.replication.throttled.replicas` and the leader's broker has a `leader.replication.throttled.rate`; or the
replica itself is listed in `follower.replication.throttled.replicas` and its broker has a
`follower.replication.throttled.rate`. It copies the records of one fetch, and then waits until the rate over the last
seconds is below the limit.

Source: kafka.server.ReplicationQuotaManager, kafka.server.ReplicaManager.shouldLeaderThrottle.
"""

from typing import NamedTuple

from kafkalet.broker.quotas.meters import SampledRate

from .metadata import MetadataImage
from .partition import Partition

WINDOWS, WINDOW_MS = 11, 1000
"""The defaults of replication.quota.window.num and replication.quota.window.size.seconds."""
EVERY_REPLICA = "*"
ALMOST_NOTHING = 1e-6


class Quota(NamedTuple):
    """A limit that applies to a replica: the rate of the leader's broker, or of the broker with the replica."""

    rate: int
    meter: SampledRate

    def is_exceeded(self, now_ms: int) -> bool:
        return self.meter.throttle_ms(max(self.rate, ALMOST_NOTHING), now_ms) > 0


class ThrottledReplication:
    """The limits of all brokers, and the amount of data that they have replicated recently."""

    def __init__(self, metadata: MetadataImage) -> None:
        self._metadata = metadata
        self._meters: dict[tuple[int, str], SampledRate] = {}

    def quotas(self, leader: Partition, follower: Partition) -> list[Quota]:
        """Return the limits that apply to a follower; there are none once it is in sync."""
        if follower.node_id in leader.state.isr:
            return []
        quotas = []
        for side, replica, listed in (
            ("leader", leader, leader.log.config.leader_replication_throttled_replicas),
            ("follower", follower, follower.log.config.follower_replication_throttled_replicas),
        ):
            if EVERY_REPLICA in listed or f"{replica.index}:{replica.node_id}" in listed:
                given = self._metadata.broker_config.get(replica.node_id, {}).get(f"{side}.replication.throttled.rate")
                if given is not None and given.strip().isdecimal():
                    key = replica.node_id, side
                    if (meter := self._meters.get(key)) is None:
                        meter = self._meters[key] = SampledRate(WINDOWS, WINDOW_MS)
                    quotas.append(Quota(int(given), meter))
        return quotas
