"""Requests of the members of a share group (KIP-932), for the scenarios of share groups.

group = Share(ask)
group.joined(M, t)
reader = Reader(group, M)
reader.fetch("all records", of("$t.id"))
reader.acknowledge("accept the first", of("$t.id", (0, 0, ACCEPT)))
"""

from collections.abc import Sequence
from typing import Any

from kafkalet_conformance.building import ScenarioBuilder, Step

M, N = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"
"""Member ids; since KIP-932, clients choose them, as UUIDs in base64."""
GAP, ACCEPT, RELEASE, REJECT, RENEW = 0, 1, 2, 3, 4
GONE, OPEN = -1, 0
BY_BATCH, BY_RECORD_LIMIT = 0, 1
"""The modes in which ShareFetch acquires records (KIP-1206)."""
GROUP_RESOURCE = 32
STATE = "g:AAAAAAAAAAAAAAAAAAAAAQ:0"
"""The key of a share partition: when it has a coordinator, the topic with the state of share groups exists."""


class Share:
    """A share group: requests of its members."""

    def __init__(self, ask: ScenarioBuilder, name: str = "g") -> None:
        self.ask = ask
        self.id = ask.group(name)
        key = {"key_type": 2, "coordinator_keys": [STATE]}
        ask.until("FindCoordinator", 6, key, "coordinators.0.error_code", 0)
        ask.steps[-1]["timeout_ms"] = 40000

    def beat(self, case: str, member: str, epoch: int, *topics: str, **more: Any) -> None:
        self.ask.request(case, "ShareGroupHeartbeat", 1, self.beating(member, epoch, *topics) | more)

    def beating(self, member: str, epoch: int, *topics: str) -> Step:
        wanted = list(topics) or None
        return {"group_id": self.id, "member_id": member, "member_epoch": epoch, "subscribed_topic_names": wanted}

    def configure(self, **configs: Any) -> None:
        """Set properties of the group; `share_isolation_level="read_committed"` sets share.isolation.level."""
        named = {"resource_type": GROUP_RESOURCE, "resource_name": self.id}
        changes = [
            {"name": key.replace("_", "."), "config_operation": 0, "value": str(value)}
            for key, value in configs.items()
        ]
        self.ask.setup("IncrementalAlterConfigs", 1, {"resources": [named | {"configs": changes}]})

    def joined(self, member: str, *topics: str, **configs: Any) -> None:
        """Join, and read from the beginning of the topics, or as the properties of the group say."""
        self.configure(**{"share_auto_offset_reset": "earliest"} | configs)
        asked = self.beating(member, 0, *topics)
        self.ask.until("ShareGroupHeartbeat", 1, asked, "assignment.topic_partitions.0.partitions.0", 0)

    def left(self, member: str) -> None:
        self.ask.setup("ShareGroupHeartbeat", 1, self.beating(member, GONE))

    def fetching(self, member: str, session: int, *topics: Step, **more: Any) -> Step:
        limits = {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1 << 20, "max_records": 100, "batch_size": 100}
        who = {"group_id": self.id, "member_id": member, "share_session_epoch": session}
        return who | limits | {"topics": list(topics)} | more

    def fetch(self, case: str, member: str, session: int, *topics: Step, version: int = 1, **more: Any) -> None:
        body = self.fetching(member, session, *topics, **more)
        self.ask.request(case, "ShareFetch", version, body)

    def acknowledge(self, case: str, member: str, session: int, *topics: Step, version: int = 1, **more: Any) -> None:
        body = {"group_id": self.id, "member_id": member, "share_session_epoch": session, "topics": list(topics)}
        self.ask.request(case, "ShareAcknowledge", version, body | more)

    def state(self, topic_id: str, leader_epoch: int = 0) -> Step:
        """Return a request for the state of partition 0 of a topic."""
        wanted = [{"partition": 0, "leader_epoch": leader_epoch}]
        return {"group_id": self.id, "topics": [{"topic_id": topic_id, "partitions": wanted}]}

    def offsets(self, case: str, *topics: str, partitions: Sequence[int] = (0,), version: int = -1) -> None:
        """Describe the start offsets of partitions."""
        wanted = [{"topic_name": topic, "partitions": list(partitions)} for topic in topics] or None
        version = self.ask.versions("DescribeShareGroupOffsets")[version]
        asked = {"groups": [{"group_id": self.id, "topics": wanted}]}
        self.ask.request(case, "DescribeShareGroupOffsets", version, asked)


class Reader:
    """A member that fetches and acknowledges in one session, on a connection of its own, with the newest versions.

    The epoch of the session grows with each request.
    """

    def __init__(self, group: Share, member: str = M, conn: str = "main") -> None:
        self.group, self.member = group, member
        self.ask = group.ask
        self.conn = {} if conn == "main" else {"conn": conn}
        self.epoch = OPEN

    def fetch(self, case: str, *topics: Step, version: int = 0, **more: Any) -> None:
        """Fetch, and wait up to five seconds for records. Without `case`, the response is not compared."""
        body = self.group.fetching(self.member, self.epoch, *topics, **{"max_wait_ms": 5000} | more)
        version = version or self.ask.versions("ShareFetch")[-1]
        if case:
            self.ask.request(case, "ShareFetch", version, body, **self.conn)
        else:
            self.ask.setup("ShareFetch", version, body, **self.conn)
        self.epoch += 1

    def open(self, *topics: Step) -> None:
        """Open a session, and give the share partitions the time to read their state."""
        self.fetch("", *topics, max_wait_ms=500)

    def poll(self, case: str, *topics: Step, **more: Any) -> None:
        """Fetch without waiting."""
        self.fetch(case, *topics, **{"max_wait_ms": 0} | more)

    def send(self, name: str, *topics: Step, **more: Any) -> None:
        """Send a request to fetch that waits for records; `ask.receive` reads the response."""
        body = self.group.fetching(self.member, self.epoch, *topics, **{"max_wait_ms": 10000} | more)
        self.ask.send(name, "ShareFetch", self.ask.versions("ShareFetch")[-1], body, self.conn.get("conn", "waiting"))
        self.epoch += 1

    def acknowledge(self, case: str, *topics: Step, version: int = 0, **more: Any) -> None:
        """Acknowledge records. Without `case`, the response is not compared."""
        who = {"group_id": self.group.id, "member_id": self.member, "share_session_epoch": self.epoch}
        version = version or self.ask.versions("ShareAcknowledge")[-1]
        body = who | {"topics": list(topics)} | more
        if case:
            self.ask.request(case, "ShareAcknowledge", version, body, **self.conn)
        else:
            self.ask.setup("ShareAcknowledge", version, body, **self.conn)
        self.epoch += 1

    def close(self, case: str, *topics: Step, **more: Any) -> None:
        """Close the session with ShareAcknowledge; the next request opens another one."""
        self.epoch = GONE
        self.acknowledge(case, *topics, **more)


Acknowledged = tuple[int | str, int | str, int | Sequence[int]]
"""First offset, last offset, and the type for all records, or one type for each. A name may stand for an offset."""


def of(topic: str, *acknowledged: Acknowledged, partition: int = 0) -> Step:
    """Return a partition to fetch or acknowledge."""
    return {"topic_id": topic, "partitions": [part(partition, *acknowledged)]}


def part(index: int, *acknowledged: Acknowledged) -> Step:
    """Return a partition of a topic to fetch or acknowledge."""
    batches = [
        {
            "first_offset": first,
            "last_offset": last,
            "acknowledge_types": [kinds] if isinstance(kinds, int) else [*kinds],
        }
        for first, last, kinds in acknowledged
    ]
    return {"partition_index": index, "acknowledgement_batches": batches}


def parts(topic: str, *indexes: int) -> Step:
    """Return several partitions of a topic to fetch."""
    return {"topic_id": topic, "partitions": [part(index) for index in indexes]}
