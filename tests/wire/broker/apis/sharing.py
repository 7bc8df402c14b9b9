"""A share group "jobs" on a broker with a topic "t" of two partitions."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import kafkalet
from tests.wire.brokers import Plain, Wire

A = "a" * 22
CONFIG = {"group.share.assignment.interval.ms": "0"}


class Jobs:
    """Requests of a member of the group, and requests for the group."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        wire.ask("FindCoordinator", 3, {"key": "jobs", "key_type": 0})

    def beat(self, epoch: int, *topics: str, member_id: str = A, **more: Any) -> Plain:
        body = {"group_id": "jobs", "member_id": member_id, "member_epoch": epoch, **more}
        if topics:
            body["subscribed_topic_names"] = list(topics)
        return self.wire.ask("ShareGroupHeartbeat", 1, body)

    def share(self) -> None:
        """Join, and get the partitions of the topic assigned."""
        for epoch in (0, 2, 3):
            assert self.beat(epoch, "t")["error_code"] == 0

    def leave(self) -> None:
        assert self.beat(-1)["error_code"] == 0

    def describe(self, *group_ids: str) -> list[Plain]:
        body = {"group_ids": list(group_ids or ("jobs",)), "include_authorized_operations": False}
        return list(self.wire.ask("ShareGroupDescribe", 1, body)["groups"])

    def offsets(self, *topics: Plain, group_id: str = "jobs", version: int = 1) -> Plain:
        asked = {"group_id": group_id, "topics": list(topics) or None}
        [group] = self.wire.ask("DescribeShareGroupOffsets", version, {"groups": [asked]})["groups"]
        return dict(group)

    def starts(self) -> dict[int, int]:
        """Return the start offsets of the topic."""
        topics = self.offsets()["topics"]
        return {each["partition_index"]: each["start_offset"] for topic in topics for each in topic["partitions"]}

    def alter(self, offsets: dict[int, int], topic: str = "t", group_id: str = "jobs") -> Plain:
        partitions = [{"partition_index": index, "start_offset": offset} for index, offset in offsets.items()]
        topics = [{"topic_name": topic, "partitions": partitions}]
        return self.wire.ask("AlterShareGroupOffsets", 0, {"group_id": group_id, "topics": topics})

    def delete(self, *topics: str, group_id: str = "jobs") -> Plain:
        named = [{"topic_name": topic} for topic in topics]
        return self.wire.ask("DeleteShareGroupOffsets", 0, {"group_id": group_id, "topics": named})


@contextmanager
def jobs(version: str = "newest", **more: str) -> Iterator[Jobs]:
    with kafkalet.Cluster(version=version, config=CONFIG | more) as cluster:
        cluster.topic("t").create(2)
        wire = Wire(cluster)
        try:
            yield Jobs(wire)
        finally:
            wire.close()


def change_share_version(wire: Wire, level: int, upgrade_type: int) -> int:
    """Change the feature `share.version`, and return the error code."""
    update = {"feature": "share.version", "max_version_level": level, "upgrade_type": upgrade_type}
    return int(wire.ask("UpdateFeatures", 1, {"timeout_ms": 5000, "feature_updates": [update]})["error_code"])
