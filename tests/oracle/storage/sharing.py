"""Random requests of share groups, and everything that a cluster says about them (KIP-932).

The requests are the same for kafkalet and Apache Kafka 4.4. All randomness comes from the seed, and what a member does
depends on the responses. So two brokers that open the same directory have the same conversation.
"""

import random
import time
from typing import Any
from uuid import UUID

from kafkalet.formats import uuid_text
from kafkalet_conformance.playing.connection import Connection

from .observing import EARLIEST, Answers, Asker

TOPICS = {"jobs": 2, "mails": 1}
GROUPS = ("share 0", "share 1", "share 2", "share 3")
TIMEOUT_S = 30.0
NOT_READY = {3, 5, 6, 14, 15, 16, 51}
"""Errors that pass: a topic is being created, or a leader or coordinator elected or loaded."""
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4

Place = tuple[str, int]
Body = dict[str, Any]

CONFIG = {
    "share.coordinator.state.topic.num.partitions": "3",
    "share.coordinator.snapshot.update.records.per.snapshot": "10",
    "group.share.max.session.timeout.ms": "3600000",
    "group.share.session.timeout.ms": "3600000",
    "group.share.assignment.interval.ms": "0",
}
"""Properties with which members outlive a restart, and snapshots are written."""


class _Session:
    """The share session of a member, with one partition, and the records of it that the member has acquired."""

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.epoch = 0
        self.held: list[tuple[int, int]] = []


class Sharing:
    """Members of the groups in a cluster. `transcript` has what they were answered."""

    def __init__(self, bootstrap: str, seed: int) -> None:
        self.random = random.Random(seed)
        self.asker = Asker(bootstrap)
        self.sessions: dict[tuple[str, str, Place], _Session] = {}
        self.transcript: dict[str, str] = {}
        self.opened: set[tuple[str, Place]] = set()
        self.topic_ids: dict[str, str] = {}

    def close(self) -> None:
        """Close all connections. What members have acquired is released."""
        for session in self.sessions.values():
            if session.connection is not None:
                session.connection.close()
        self.asker.close()

    def _until_ready(
        self, api: str, version: int, body: Body, group: str | None = None, place: Place | None = None
    ) -> Any:
        """Repeat a request until its response has no temporary error."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            node = self.asker.coordinator(group, 0) if group else self._leader(place) if place else None
            answer = self.asker.ask(api, version, body, node)
            if not NOT_READY & set(codes(answer)):
                return answer
            assert time.monotonic() < deadline, (api, body, answer)
            time.sleep(0.05)

    def _leader(self, place: Place) -> int:
        topic, index = place
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            (found,) = self.asker.ask("Metadata", 12, {"topics": [{"name": topic}]})["topics"]
            self.topic_ids[topic] = found["topic_id"]
            leaders = {each["partition_index"]: each["leader_id"] for each in found["partitions"]}
            if leaders.get(index, -1) >= 0:
                return int(leaders[index])
            assert time.monotonic() < deadline, found
            time.sleep(0.05)

    # Groups

    def create(self, replicas: int = 1) -> None:
        """Create the topics, and groups with members, without members, and one that is deleted again."""
        for name, partitions in TOPICS.items():
            topic = {"name": name, "num_partitions": partitions, "replication_factor": replicas}
            self._until_ready("CreateTopics", 5, {"topics": [topic], "timeout_ms": 10_000})
        for group in (*GROUPS, "deleted"):
            values = {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": "4"}
            configs = [{"name": key, "config_operation": 0, "value": value} for key, value in values.items()]
            resource = {"resource_type": 32, "resource_name": group, "configs": configs}
            self._until_ready("IncrementalAlterConfigs", 1, {"resources": [resource]})
            self.join(group, "first")
        self.beat("share 1", "second", 0, list(TOPICS))
        for group in ("share 2", "share 3", "deleted"):
            self.beat(group, "first", -1)
        topics = [{"topic_name": "jobs", "partitions": [{"partition_index": 0, "start_offset": 3}]}]
        self._until_ready("AlterShareGroupOffsets", 0, {"group_id": "share 3", "topics": topics}, "share 3")
        body = {"group_id": "share 3", "topics": [{"topic_name": "mails"}]}
        self._until_ready("DeleteShareGroupOffsets", 0, body, "share 3")
        self._until_ready("DeleteGroups", 2, {"groups_names": ["deleted"]}, "deleted")

    def join(self, group: str, name: str) -> None:
        """Send heartbeats until the member has all partitions."""
        epoch, left = 0, sum(TOPICS.values())
        deadline = time.monotonic() + TIMEOUT_S
        while left:
            assert time.monotonic() < deadline, (group, name)
            answer = self.beat(group, name, epoch, list(TOPICS))
            epoch = answer["member_epoch"]
            assigned = (answer["assignment"] or {"topic_partitions": []})["topic_partitions"]
            left = sum(TOPICS.values()) - sum(len(each["partitions"]) for each in assigned)
            time.sleep(0.02)

    def beat(self, group: str, name: str, epoch: int, topics: list[str] | None = None) -> Any:
        body = {
            "group_id": group,
            "member_id": member_id(name),
            "member_epoch": epoch,
            "subscribed_topic_names": topics,
        }
        return self._until_ready("ShareGroupHeartbeat", 1, body, group)

    # Records

    def produce(self) -> None:
        topic = self.random.choice(list(TOPICS))
        place = topic, self.random.randrange(TOPICS[topic])
        count = self.random.choice((1, 2, 5, 9))
        now_ms = int(time.time() * 1000)
        batch = {"magic": 2, "records": [{"ts": now_ms, "key": None, "value": "v"}] * count}
        partition = {"index": place[1], "records": [batch]}
        body = {"transactional_id": None, "topics": [{"name": topic, "partitions": [partition]}]}
        self._until_ready("Produce", 9, body, place=place)

    def delete_records(self) -> None:
        """Delete the first records of a partition; members may have acquired some of them."""
        topic, index = place = self._a_place()
        wanted = {"partition_index": index, "current_leader_epoch": -1, "timestamp": EARLIEST}
        body = {"replica_id": -1, "topics": [{"name": topic, "partitions": [wanted]}]}
        answer = self._until_ready("ListOffsets", 7, body, place=place)
        start = answer["topics"][0]["partitions"][0]["offset"]
        deleted = {"partition_index": index, "offset": start + self.random.randrange(3)}
        body = {"topics": [{"name": topic, "partitions": [deleted]}], "timeout_ms": 10_000}
        self._note("DeleteRecords", codes(self._until_ready("DeleteRecords", 2, body, place=place)))

    def _a_place(self) -> Place:
        topic = self.random.choice(list(TOPICS))
        return topic, self.random.randrange(TOPICS[topic])

    # Members

    def fetch(self) -> None:
        """Acquire records of a partition for a member.

        The request acknowledges nothing: whether it would acquire the records that it releases depends on how fast
        Kafka stores this.
        """
        key = *self._a_member(), self._a_place()
        session = self.sessions.setdefault(key, _Session())
        is_first = (key[0], key[2]) not in self.opened
        self.opened.add((key[0], key[2]))
        body: Body = {
            "max_wait_ms": 3000 if is_first else 250,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": self.random.choice((1, 3, 500)),
            "batch_size": self.random.choice((1, 500)),
            "share_acquire_mode": self.random.randrange(2),
            "forgotten_topics_data": [],
        }
        answer = self._ask("ShareFetch", key, [], body)
        session.held += [(first, last) for first, last, _ in answer["acquired"]]

    def acknowledge(self) -> None:
        """Acknowledge what a member has acquired of a partition, or part of it."""
        held = [key for key, session in self.sessions.items() if session.held]
        if held:
            key = self.random.choice(held)
            self._ask("ShareAcknowledge", key, self._some_held(self.sessions[key]), {})

    def end_session(self) -> None:
        """Close a session: what the member has acquired is released."""
        if opened := self._opened():
            self._end(self.random.choice(opened))

    def end_sessions(self) -> None:
        for key in self._opened():
            self._end(key)

    def _opened(self) -> list[tuple[str, str, Place]]:
        return [key for key, session in self.sessions.items() if session.epoch > 0]

    def _end(self, key: tuple[str, str, Place]) -> None:
        session = self.sessions[key]
        session.held, session.epoch = [], -1
        self._ask("ShareAcknowledge", key, [], {"topics": []})

    def _a_member(self) -> tuple[str, str]:
        return self.random.choice(GROUPS), self.random.choice(("first", "second"))

    def _some_held(self, session: _Session) -> list[Body]:
        """Take some of the records that are held, in ascending order, with the types of their acknowledgement."""
        given, kept = [], []
        for first, last in sorted(session.held):
            if self.random.random() < 0.3:
                kept.append((first, last))
                continue
            end = self.random.randint(first, last)
            if end < last:
                kept.append((end + 1, last))
            each = self.random.random() < 0.5
            types = self.random.choices((ACCEPT, ACCEPT, RELEASE, RELEASE, REJECT), k=end - first + 1 if each else 1)
            given.append({"first_offset": first, "last_offset": end, "acknowledge_types": types})
        session.held = kept
        return given

    def _ask(self, api: str, key: tuple[str, str, Place], given: list[Body], body: Body) -> Body:
        """Send a request of a session, and return what the response says."""
        group, name, place = key
        session = self.sessions[key]
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            if session.connection is None:
                session.connection = self._connect(self._leader(place))
            partition = {"partition_index": place[1], "acknowledgement_batches": given}
            request = {
                "group_id": group,
                "member_id": member_id(f"{name}-{place[0]}-{place[1]}"),
                "share_session_epoch": session.epoch,
                "topics": [{"topic_id": self.topic_ids[place[0]], "partitions": [partition]}],
            }
            answer = session.connection.ask(api, 2, request | body)
            session.epoch += 1
            if not NOT_READY & set(codes(answer)) or time.monotonic() > deadline:
                found = _shown(answer)
                self._note(f"{api} {key} {given}", found)
                return found
            time.sleep(0.05)

    def _connect(self, node: int) -> Connection:
        brokers = self.asker.ask("Metadata", 12, {"topics": []})["brokers"]
        [(host, port)] = [(each["host"], each["port"]) for each in brokers if each["node_id"] == node]
        return Connection(host, port)

    def _note(self, what: str, answer: Any) -> None:
        self.transcript[f"{len(self.transcript)} {what}"] = str(answer)

    def run(self, steps: int) -> dict[str, str]:
        """Take random steps, and return what happened."""
        actions = (
            [self.produce] * 4 + [self.fetch] * 8 + [self.acknowledge] * 6 + [self.delete_records, self.end_session]
        )
        for _ in range(steps):
            self.random.choice(actions)()
        return self.transcript


def member_id(name: str) -> str:
    return name.ljust(22, "A")


def _shown(answer: Any) -> Body:
    """Return what a response says: errors, and what was acquired."""
    partitions = [each for topic in answer.get("responses", ()) for each in topic["partitions"]]
    return {
        "error": answer["error_code"],
        "partitions": [(each["error_code"], each.get("acknowledge_error_code")) for each in partitions],
        "acquired": [tuple(each.values()) for one in partitions for each in one.get("acquired_records", ())],
    }


def codes(answer: Any) -> list[int]:
    if isinstance(answer, dict):
        own = [value for name, value in answer.items() if name.endswith("error_code")]
        return own + [code for value in answer.values() for code in codes(value)]
    if isinstance(answer, list):
        return [code for value in answer for code in codes(value)]
    return []


# What there is


def observe_sharing(bootstrap: str) -> Answers:
    """Return everything that a cluster says about the share groups, and what it has stored of them."""
    sharing = Sharing(bootstrap, 0)
    asker = sharing.asker
    try:
        found: Answers = {}
        for group in (*GROUPS, "deleted"):
            node = asker.coordinator(group, 0)
            (described,) = asker.until_ready("ShareGroupDescribe", 1, {"group_ids": [group]}, node)["groups"]
            body = {"groups": [{"group_id": group, "topics": None}]}
            (offsets,) = asker.until_ready("DescribeShareGroupOffsets", 1, body, node)["groups"]
            found[f"{group} members"] = _sorted(described)
            found[f"{group} offsets"] = _sorted(offsets)
            listed = asker.ask("ListGroups", 5, {"types_filter": ["share"]}, node)["groups"]
            found[f"{group} listed"] = [each for each in listed if each["group_id"] == group]
            for place in [(topic, index) for topic, count in TOPICS.items() for index in range(count)]:
                found[f"{group} {place}"] = _stored(sharing, group, place)
        return found
    finally:
        sharing.close()


def _stored(sharing: Sharing, group: str, place: Place) -> Any:
    """Return the state of a share partition."""
    sharing._leader(place)
    topic_id = sharing.topic_ids[place[0]]
    key = f"{group}:{uuid_text(UUID(topic_id).bytes)}:{place[1]}"
    coordinators = sharing.asker.until_ready("FindCoordinator", 6, {"key_type": 2, "coordinator_keys": [key]})
    node = coordinators["coordinators"][0]["node_id"]
    (found,) = sharing.asker.ask("Metadata", 12, {"topics": [{"name": place[0]}]})["topics"]
    (epoch,) = [each["leader_epoch"] for each in found["partitions"] if each["partition_index"] == place[1]]
    asked = {"topic_id": topic_id, "partitions": [{"partition": place[1], "leader_epoch": epoch}]}
    result = {}
    for api, version in (("ReadShareGroupStateSummary", 1), ("ReadShareGroupState", 0)):
        answer = sharing.asker.until_ready(api, version, {"group_id": group, "topics": [asked]}, node)
        (partition,) = answer["results"][0]["partitions"]
        result[api] = {name: value for name, value in partition.items() if name != "leader_epoch"}
    return result


def _sorted(value: Any) -> Any:
    """Sort lists, whose order may be that of a hash table, and leave out leader epochs."""
    if isinstance(value, dict):
        return {name: _sorted(each) for name, each in value.items() if name not in ("leader_epoch", "client_host")}
    if isinstance(value, list):
        return sorted((_sorted(each) for each in value), key=str)
    return value
