"""Histories of share groups (KIP-932): readers that fetch, acknowledge and lose records, and members of groups.

Which records a fetch acquires is known only when it is performed: a reader binds the offsets of the first batches that
it acquires, and acknowledges ranges relative to them.
"""

from typing import Any

from kafkalet_conformance.building import MEBIBYTE, T0, UNKNOWN_TOPIC_ID, Step
from kafkalet_conformance.shares import (
    ACCEPT,
    GAP,
    GONE,
    GROUP_RESOURCE,
    OPEN,
    REJECT,
    RELEASE,
    RENEW,
    Acknowledged,
    Share,
    part,
)

from .history import NEVER, History

SLOTS = (0, 1)
"""The batches of a response whose offsets are bound."""
SETTLES_MS = 150
"""How long a broker may take to initialize a share partition, to release the records of a closed session, to follow a
changed configuration, or to write a dead letter."""
WAIT_MS = 100
OPEN_WAIT_MS = 1000
"""The longest wait of the first fetch of a session, for which a share partition may have to read its state."""
LOCK_MS = 2000
NO_LIMITS: Step = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0}
"""The limits of a ShareFetch that renews locks."""


class Reader:
    """A member of a share group, and its share session.

    The epoch of its session is bound to `$Ea`, and the first and the last offset of the batches that it acquired last
    to `$Fa0` and `$La0`, `$Fa1` and `$La1`.
    """

    def __init__(self, h: History, group: Share, letter: str) -> None:
        self.h, self.group, self.letter = h, group, letter
        self.id = letter * 22
        self.places: list[tuple[str, int]] = []
        self.is_open = False
        h.let(f"E{letter}", OPEN)
        for slot in SLOTS:
            h.let(f"F{letter}{slot}", 0)
            h.let(f"L{letter}{slot}", 0)

    def ask(self, api: str, version: int, body: Step, epoch: Any = None, **more: Any) -> None:
        """Send a request in the session, usually with its epoch; the epoch grows if the request is not odd."""
        h, name = self.h, f"E{self.letter}"
        who = {"group_id": self.group.id, "member_id": self.id}
        h.ask(api, version, who | {"share_session_epoch": f"${name}" if epoch is None else epoch} | body, **more)
        if epoch is None:
            h.let(name, f"${name}+1")

    def limits(self, version: int) -> Step:
        h = self.h
        out: Step = {"max_wait_ms": WAIT_MS, "min_bytes": h.of(1, 1, 1, 1, 0, 100, 500)}
        out |= {"max_bytes": h.of(*[MEBIBYTE] * 6, 1, 150, 300), "max_records": h.of(1, 2, 5, 20, 500, 500)}
        out["batch_size"] = h.of(1, 3, 10, 500)
        return out | ({"share_acquire_mode": h.of(0, 0, 1)} if version >= 2 else {})

    def open(self) -> None:
        """Open a session for some of the partitions."""
        h = self.h
        if self.is_open and h.chance(0.7):
            self.close()
        h.let(f"E{self.letter}", OPEN)
        self.is_open = True
        self.places = [h.place() for _ in range(h.of(1, 1, 1, 2, 3))]
        self.fetch(list(dict.fromkeys(self.places)), max_wait_ms=OPEN_WAIT_MS)

    def fetch(self, places: Any = (), with_acknowledgements: bool = False, **limits: Any) -> None:
        version = self.h.version("ShareFetch")
        topics = self.acknowledged() if with_acknowledgements else []
        topics += named(self.h, [(topic, part(partition)) for topic, partition in places])
        batch = "responses.0.partitions.0.acquired_records"
        said = {f"F{self.letter}{slot}": f"{batch}.{slot}.first_offset" for slot in SLOTS}
        said |= {f"L{self.letter}{slot}": f"{batch}.{slot}.last_offset" for slot in SLOTS}
        if len(self.places) > 1:  # the order of partitions in a response is not defined
            said = {}
        self.ask("ShareFetch", version, self.limits(version) | limits | {"topics": topics}, bind_said=said)

    def go_on(self) -> None:
        """Fetch, and sometimes add partitions to the session, or forget some."""
        places = []
        if self.h.chance(0.05):
            places = [self.h.place()]
            self.places += places
        self.fetch(places, with_acknowledgements=self.h.chance(0.3))

    def forget(self) -> None:
        topic, partition = self.h.dice.choice(self.places)
        version = self.h.version("ShareFetch")
        forgotten = [{"topic_id": id_of(self.h, topic), "partitions": [partition]}]
        self.ask("ShareFetch", version, self.limits(version) | {"topics": [], "forgotten_topics_data": forgotten})

    def acknowledge(self) -> None:
        version = self.h.version("ShareAcknowledge")
        renews = {"is_renew_ack": self.h.chance(0.1)} if version >= 2 else {}
        self.ask("ShareAcknowledge", version, {"topics": self.acknowledged()} | renews)

    def renew(self) -> None:
        """Renew the locks of records with either of the two requests."""
        h, slot = self.h, self.h.of(*SLOTS)
        kept = part(self.places[0][1], (self.first(slot), self.last(slot), RENEW))
        body: Step = {"topics": named(h, [(self.places[0][0], kept)]), "is_renew_ack": h.chance(0.9)}
        api = h.of("ShareFetch", "ShareAcknowledge")
        limits = NO_LIMITS | {"batch_size": 0} if h.chance(0.9) else self.limits(2)
        self.ask(api, h.version(api, 2), body | (limits if api == "ShareFetch" else {}))

    def odd(self) -> None:
        """Use a wrong epoch, an unknown member or group, or send acknowledgements when a session opens."""
        h = self.h
        kind = h.of("epoch", "epoch", "member", "group", "opens")
        body: Step = {"topics": self.acknowledged()}
        api = h.of("ShareFetch", "ShareAcknowledge")
        version = h.version(api)
        body |= self.limits(version) if api == "ShareFetch" else {}
        odd_epoch = f"$E{self.letter}{h.of('+1', '+5', '-1')}"
        match kind:
            case "epoch":
                self.ask(api, version, body, epoch=odd_epoch)
            case "member":
                self.ask(api, version, body | {"member_id": h.of("", "x" * 37, "D" * 22, None)}, epoch=h.of(0, 1, -1))
            case "group":
                self.ask(api, version, body | {"group_id": h.of("", None, "$nobody")}, epoch=h.of(0, 1))
            case "opens":
                self.ask(api, version, body, epoch=OPEN if api == "ShareAcknowledge" or body["topics"] else odd_epoch)

    def close(self) -> None:
        """Close the session with either of the two requests; the records that it holds are released."""
        h = self.h
        topics = self.acknowledged() if h.chance(0.4) else []
        api = h.of("ShareFetch", "ShareAcknowledge")
        version = h.version(api)
        limits = self.limits(version) | {"max_wait_ms": 0} if api == "ShareFetch" else {}
        self.ask(api, version, limits | {"topics": topics}, epoch=GONE)
        h.step("sleep", ms=SETTLES_MS)
        self.is_open = False

    # Acknowledgements

    def first(self, slot: int, more: int = 0) -> str:
        return f"$F{self.letter}{slot}" + (f"{more:+}" if more else "")

    def last(self, slot: int, more: int = 0) -> str:
        return f"$L{self.letter}{slot}" + (f"{more:+}" if more else "")

    def acknowledged(self) -> list[Step]:
        """Return acknowledgements of records that the reader may have acquired."""
        h = self.h
        place = self.places[0] if self.places and h.chance(0.97) else h.place()
        if len(self.places) > 1:
            place = h.dice.choice(self.places)
            first = h.offset(place)
            batches: list[Acknowledged] = [(first, first + h.of(0, 0, 1, 2, 4), self.kind())]
        else:
            batches = self.batches()
        return named(h, [(place[0], part(place[1], *batches))])

    def kind(self) -> int:
        kind: int = self.h.of(*[ACCEPT] * 4, *[RELEASE] * 5, REJECT, REJECT, GAP)
        return kind if self.h.chance(0.98) else self.h.of(RENEW, 5, -1)

    def batches(self) -> list[Acknowledged]:
        """Return ranges of the batches that were acquired last: whole ones, parts, and ranges that do not fit."""
        h, slot, size = self.h, self.h.of(0, 0, 1), self.h.of(1, 2, 3)
        first, last, kind = self.first(slot), self.last(slot), self.kind()
        each = [self.kind() for _ in range(size)]
        odd = [
            (first, self.last(slot, 1), kind),
            (self.first(slot, -1), last, kind),
            (last, first, kind),
            (self.first(slot, 3), self.first(slot, 3), kind),
            (first, self.first(slot, size), each),
            (first, last, []),
        ]
        chosen: list[Acknowledged] = h.of(
            [(first, last, kind)],
            [(first, last, kind)],
            [(first, first, kind)],
            [(last, last, kind)],
            [(first, self.first(slot, size - 1), each)],
            [(first, self.first(slot, size - 1), each), (self.first(slot, size), last, self.kind())],
            [(self.first(0), self.last(0), kind), (self.first(1), self.last(1), self.kind())],
            [h.of(*odd)],
        )
        return chosen


def id_of(h: History, topic: str) -> str:
    known = {name for name, _ in h.places}
    return f"{topic}.id" if topic in known else h.of(UNKNOWN_TOPIC_ID, "ZERO")


def named(h: History, wanted: list[tuple[str, Step]]) -> list[Step]:
    """Return the topics of a request."""
    return h.grouped([(id_of(h, topic), entry) for topic, entry in wanted], "topic_id")


def deliveries(h: History) -> None:
    """Let readers of one group fetch and acknowledge, while records are written, deleted, committed and aborted."""
    h.make_topics(1, 2, h.of(dict, dict, dict, h.topic_configs))
    group = Share(h)
    h.unique("nobody")
    configure(h, group)
    letters = delivered_letters(h, group)
    topics = sorted(h.configs)
    for _ in range(h.of(0, 1, 3, 6)):
        write(h)
    joined(h, group, *topics)
    readers = [Reader(h, group, letter) for letter in "ABC"[: h.of(1, 2, 2, 3)]]
    open_transaction = ""
    for number in range(h.dice.randint(15, 40)):
        reader = h.dice.choice(readers)
        if not reader.is_open:
            reader.open()
            continue
        if h.chance(0.05):
            open_transaction = in_transaction(h, open_transaction, number)
        h.weighted(
            (3, lambda: write(h)),
            (1, lambda: delete(h)),
            (7, reader.go_on),
            (7, reader.acknowledge),
            (1, reader.renew),
            (1, reader.forget),
            (1, reader.odd),
            (1, reader.open),
            (1, reader.close),
            (1, lambda: look(h, group)),
            (1, lambda: set_one(h, group)),
        )
    for reader in readers:
        reader.close()
    look(h, group)
    if letters:
        h.step("sleep", ms=SETTLES_MS)
        fetch = {"topics": [{"topic": letters, "partitions": [{"partition": 0, "fetch_offset": 0}]}]}
        h.ask("Fetch", h.version("Fetch", 11, 12), {"max_bytes": MEBIBYTE} | fetch)


def locks(h: History) -> None:
    """Let locks expire; the brokers need a smaller group.share.min.record.lock.duration.ms than the default."""
    h.make_topics(1, 1, dict)
    group = Share(h)
    set_config(h, group, "share.record.lock.duration.ms", str(LOCK_MS))
    set_config(h, group, "share.delivery.count.limit", str(h.of(2, 3, 5)))
    for _ in range(h.of(2, 3)):
        write(h)
    joined(h, group, *h.configs)
    readers = [Reader(h, group, letter) for letter in "AB"]
    for _ in range(h.of(2, 3, 4)):
        for _ in range(h.of(2, 3, 4)):
            reader = h.dice.choice(readers)
            if not reader.is_open:
                reader.open()
            else:
                h.weighted((2, reader.go_on), (2, reader.acknowledge), (1, reader.renew), (1, lambda: write(h)))
        h.step("sleep", ms=LOCK_MS + 500)
        look(h, group)


def write(h: History) -> None:
    """Produce a valid batch of up to twelve records."""
    place = h.dice.choice(h.places)
    batch: Step = {
        "magic": 2,
        "records": [{"ts": T0 + n, "key": "k", "value": "v"} for n in range(h.dice.randint(1, 12))],
    }
    if h.chance(0.1):
        batch["codec"] = h.of("gzip", "lz4")
    h.write_at(place, [batch], h.version("Produce", 3, 11))


def delete(h: History) -> None:
    """Delete some of the first records. Beyond all records in flight, kafkalet differs: see docs/differences.md."""
    topic, partition = h.dice.choice(h.places)
    first = {"partition_index": partition, "offset": h.dice.randint(0, h.end_of((topic, partition)) // 4)}
    body = {"topics": [{"name": topic, "partitions": [first]}], "timeout_ms": 5000}
    h.ask("DeleteRecords", h.version("DeleteRecords"), body)


def in_transaction(h: History, opened: str, number: int) -> str:
    """Write in a new transaction, or end the one that is open; return the name of the open one."""
    topic = h.places[0][0]
    if opened:
        state = h.of("CompleteCommit", "CompleteAbort")
        h.end(opened, committed=state == "CompleteCommit")
        asked = {"transactional_ids": [f"${opened}"]}
        h.until("DescribeTransactions", 0, asked, "transaction_states.0.transaction_state", state)
        h.ends[topic, 0] = h.end_of((topic, 0)) + 1
        return ""
    name = f"X{number + 10}"
    batch = {"magic": 2, "records": [{"ts": T0, "key": "k", "value": "t"} for _ in range(h.of(1, 3, 5))]}
    batch |= h.transaction(topic, name) | {"base_sequence": 0}
    h.write_at((topic, 0), [batch], h.version("Produce", 9, 11), transactional_id=f"${name}")
    return name


# The group

CONFIGS: dict[str, tuple[str, ...]] = {
    "share.auto.offset.reset": ("latest", "by_duration:P9000D", "by_duration:-PT1H", "none"),
    "share.delivery.count.limit": ("2", "3", "4", "10", "1", "11"),
    "share.isolation.level": ("read_committed", "read_committed", "read_uncommitted", "READ_COMMITTED"),
    "share.partition.max.record.locks": ("100", "200", "99"),
    "share.renew.acknowledge.enable": ("false", "true", "no"),
    "share.record.lock.duration.ms": ("30000", "60000", "100", "70000"),
    "share.heartbeat.interval.ms": ("5000", "15000", "1"),
    "share.session.timeout.ms": ("45000", "60000", "1"),
}


def set_config(h: History, group: Share, name: str, value: str | None) -> None:
    change = {"name": name, "config_operation": 0 if value is not None else 1, "value": value}
    resource = {"resource_type": GROUP_RESOURCE, "resource_name": group.id, "configs": [change]}
    h.ask("IncrementalAlterConfigs", 1, {"resources": [resource]})
    h.step("sleep", ms=SETTLES_MS)


def set_one(h: History, group: Share) -> None:
    name = h.of(*CONFIGS)
    set_config(h, group, name, h.of(*CONFIGS[name]))


def configure(h: History, group: Share) -> None:
    """Let the group read from the beginning, and change some of its other configurations."""
    set_config(h, group, "share.auto.offset.reset", "earliest")
    for name, values in CONFIGS.items():
        if h.chance(0.25 if name != "share.auto.offset.reset" else 0.1):
            set_config(h, group, name, h.of(*values))


def delivered_letters(h: History, group: Share) -> str:
    """Sometimes, give the group a dead-letter topic; return its name (KIP-1191)."""
    if h.release < "4.4" or h.chance(0.7):
        return ""
    name = h.let("d", "dlq.<unique>")
    configs = {
        "retention.ms": "-1",
        "segment.ms": NEVER,
        "errors.deadletterqueue.group.enable": h.of("true", "true", "false"),
    }
    topic: Step = {"name": name, "num_partitions": 1, "replication_factor": 1}
    topic["configs"] = [{"name": key, "value": value} for key, value in configs.items()]
    h.setup("CreateTopics", 5, {"topics": [topic]})
    h.wait_for_leader(name)
    set_config(h, group, "errors.deadletterqueue.topic.name", name)
    if h.chance(0.5):
        set_config(h, group, "errors.deadletterqueue.copy.record.enable", "true")
    return name


def joined(h: History, group: Share, *topics: str) -> None:
    """Let a member join, so that the share partitions of these topics are initialized."""
    asked = group.beating("A" * 22, OPEN, *topics)
    h.until("ShareGroupHeartbeat", 1, asked, "assignment.topic_partitions.0.partitions.0", 0)
    h.step("sleep", ms=SETTLES_MS)


def look(h: History, group: Share) -> None:
    """Compare the offsets of the group, and the states of the records in flight of a partition."""
    offsets(h, group)
    topic, partition = h.dice.choice(h.places)
    asked = [{"topic_id": f"{topic}.id", "partitions": [{"partition": partition, "leader_epoch": 0}]}]
    h.ask("ReadShareGroupState", h.version("ReadShareGroupState"), {"group_id": group.id, "topics": asked})


def offsets(h: History, group: Share) -> None:
    asked = h.grouped([(topic, partition) for topic, partition in h.places], "topic_name")
    wanted: Any = asked if h.chance(0.8) else None
    body = {"groups": [{"group_id": group.id, "topics": wanted}]}
    h.ask("DescribeShareGroupOffsets", h.version("DescribeShareGroupOffsets"), body)


class Member:
    """A member of a share group; its epoch is bound to `$Ma`."""

    def __init__(self, h: History, group: Share, letter: str) -> None:
        self.h, self.group, self.epoch = h, group, f"M{letter}"
        self.id = letter * 22
        self.is_away = True
        h.let(self.epoch, 0)

    def beat(self, epoch: Any, *topics: str, **more: Any) -> None:
        said = {self.epoch: "member_epoch"}
        body = self.group.beating(self.id, epoch, *topics) | more
        self.h.ask("ShareGroupHeartbeat", self.h.version("ShareGroupHeartbeat"), body, bind_said=said)

    def join(self) -> None:
        """Join, wait until the partitions are initialized, and get them."""
        self.is_away = False
        self.beat(0, *self.wanted(), **({"rack_id": "r"} if self.h.chance(0.1) else {}))
        self.settle()

    def wanted(self) -> list[str]:
        topics = sorted(self.h.configs)
        return (
            self.h.dice.sample(topics, self.h.dice.randint(1, len(topics)))
            + [self.h.unknown_topic()][: self.h.of(0, 0, 1)]
        )

    def settle(self) -> None:
        self.h.step("sleep", ms=SETTLES_MS)
        self.heartbeat()

    def heartbeat(self) -> None:
        self.beat(f"${self.epoch}")

    def full_heartbeat(self) -> None:
        self.beat(f"${self.epoch}", *self.wanted())
        self.settle()

    def odd(self) -> None:
        h = self.h
        epoch = h.of(f"${self.epoch}-1", f"${self.epoch}+1", f"${self.epoch}+7", -2, 0)
        who = h.of({}, {}, {}, {"member_id": h.of("", "x" * 37)}, {"group_id": h.of("", "$nobody")}, {"rack_id": ""})
        self.beat(epoch, **who | h.of({}, {"subscribed_topic_names": []}))
        self.settle()

    def leave(self) -> None:
        self.beat(GONE)
        self.h.let(self.epoch, 0)
        self.h.step("sleep", ms=SETTLES_MS)
        self.is_away = True


def members(h: History) -> None:
    """Let members join and leave, topics grow, and administrators change the offsets of the group.

    If there are several members, they share one partition: which of them get which of several partitions depends on the
    hashes of topic ids.
    """
    letters = "ABCD"[: h.of(1, 1, 2, 3, 4)]
    if len(letters) == 1:
        h.make_topics(1, 3, dict)
    else:
        topic = h.topic("t0")
        h.configs[topic] = {}
        h.places.append((topic, 0))
    group = Share(h)
    h.unique("nobody")
    for _ in range(h.of(0, 3)):
        write(h)
    walkers = [Member(h, group, letter) for letter in letters]
    for _ in range(h.dice.randint(10, 30)):
        member = h.dice.choice(walkers)
        if member.is_away and h.chance(0.6):
            member.join()
            continue
        h.weighted(
            (6, member.heartbeat),
            (3, member.full_heartbeat),
            (2, member.odd),
            (3, member.leave),
            (1, member.join),
            (1, lambda: write(h)),
            (1 if len(letters) == 1 else 0, lambda: grow(h)),
            (2, lambda: alter_offsets(h, group)),
            (2, lambda: delete_offsets(h, group)),
            (1, lambda: delete_group(h, group)),
            (1, lambda: set_one(h, group)),
            (1, h.delete),
        )
        if h.chance(0.4):
            h.weighted((2, lambda: describe(h, group)), (2, lambda: offsets(h, group)), (1, lambda: listed(h)))
    describe(h, group)
    offsets(h, group)


def describe(h: History, group: Share) -> None:
    wanted = [group.id, *[h.of("", "$nobody")][: h.of(0, 0, 1)]]
    body = {"group_ids": wanted, "include_authorized_operations": h.chance(0.2)}
    h.ask("ShareGroupDescribe", h.version("ShareGroupDescribe"), body)


def listed(h: History) -> None:
    filters = {"states_filter": h.of([], ["Stable"], ["Empty"]), "types_filter": h.of([], ["share"], ["consumer"])}
    h.ask("ListGroups", h.version("ListGroups", 5), filters, keep={"groups": "group_id"})


def grow(h: History) -> None:
    """Add a partition to a topic."""
    topic = h.dice.choice(sorted(h.configs))
    count = 1 + max(partition for name, partition in h.places if name == topic)
    h.places.append((topic, count))
    body = {"topics": [{"name": topic, "count": count + 1, "assignments": None}], "timeout_ms": 10000}
    h.setup("CreatePartitions", 2, body | {"validate_only": False})
    h.wait_for_leader(topic, count + 1)
    h.step("sleep", ms=SETTLES_MS)


def alter_offsets(h: History, group: Share) -> None:
    topics = h.grouped(
        [
            (topic, {"partition_index": partition, "start_offset": h.offset((topic, partition))})
            for topic, partition in [h.place() for _ in range(h.of(1, 1, 2))]
        ],
        "topic_name",
    )
    who = group.id if h.chance(0.95) else h.of("", "$nobody")
    h.ask("AlterShareGroupOffsets", h.version("AlterShareGroupOffsets"), {"group_id": who, "topics": topics})
    offsets(h, group)


def delete_offsets(h: History, group: Share) -> None:
    topics = [{"topic_name": h.place()[0]} for _ in range(h.of(1, 1, 2))]
    who = group.id if h.chance(0.95) else h.of("", "$nobody")
    h.ask("DeleteShareGroupOffsets", h.version("DeleteShareGroupOffsets"), {"group_id": who, "topics": topics})
    offsets(h, group)


def delete_group(h: History, group: Share) -> None:
    h.ask("DeleteGroups", h.version("DeleteGroups"), {"groups_names": [group.id]})
    h.step("sleep", ms=SETTLES_MS)
