"""Throttled replication (KIP-73): replicas that are being added copy no faster than the rates of their brokers.

A replica that is not in sync is throttled in two cases: its leader is listed in the topic's
`leader.replication.throttled.replicas` and the leader's broker has a `leader.replication.throttled.rate`; or the
replica itself is listed in `follower.replication.throttled.replicas` and its broker has a
`follower.replication.throttled.rate`. It copies the records of one fetch, and then waits until the rate over the last
seconds is at most the limit. Replicas in sync are never throttled, but what they copy counts if they are listed.

Source: kafka.server.ReplicationQuotaManager, kafka.server.ReplicaManager.shouldLeaderThrottle.
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


class Quota(NamedTuple):
    """A limit that applies to a replica: the rate of the leader's broker, or of the broker with the replica."""

    rate: float
    meter: SimpleRate

    def is_exceeded(self, now_ms: int) -> bool:
        return self.meter.throttle_ms(max(self.rate, ALMOST_NOTHING), now_ms) > 0


class ThrottledReplication:
    """The limits of all brokers, and the amount of data that they have replicated recently."""

    def __init__(self, metadata: MetadataImage) -> None:
        self._metadata = metadata
        self._meters: dict[tuple[int, str], SimpleRate] = {}

    def quotas(self, leader: Partition, follower: Partition) -> list[Quota]:
        """Return the limits of the brokers on whose lists a follower, or its leader, is."""
        rates, quotas = self._metadata.broker_config, []
        for side, replica, listed in (
            ("leader", leader, leader.log.config.leader_replication_throttled_replicas),
            ("follower", follower, follower.log.config.follower_replication_throttled_replicas),
        ):
            if EVERY_REPLICA in listed or f"{replica.index}:{replica.node_id}" in listed:
                name = f"{side}.replication.throttled.rate"
                given = rates.get(replica.node_id, {}).get(name) or rates.get(None, {}).get(name)
                meter = self._meters.setdefault((replica.node_id, side), SimpleRate(WINDOWS, WINDOW_MS))
                quotas.append(Quota(math.inf if given is None else int(given), meter))
        return quotas
