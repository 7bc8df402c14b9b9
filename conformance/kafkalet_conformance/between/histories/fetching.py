"""Histories of fetches with varying limits, offsets, epochs, topic ids and sessions."""

from typing import Any

from kafkalet_conformance.building import MEBIBYTE, UNKNOWN_TOPIC_ID, Step

from .history import History
from .logs import changed


def fetching(h: History) -> None:
    h.make_topics(1, 3)
    for _ in range(h.dice.randint(2, 12)):
        h.write()
    for _ in range(h.dice.randint(6, 20)):
        h.weighted((3, h.write), (1, h.delete), (1, lambda: changed(h)), (1, h.epoch_end), (12, lambda: fetch(h)))


def size(h: History) -> int:
    size_bytes: int = h.of(0, 1, 60, 75, 100, 150, 300, 1000, MEBIBYTE, MEBIBYTE, MEBIBYTE, -1)
    return size_bytes


def wanted(h: History, version: int, most: int = 4) -> list[tuple[str, Step]]:
    out = []
    for _ in range(h.dice.randint(1, most)):
        place = h.place()
        asked = {"partition": place[1], "fetch_offset": h.offset(place), "partition_max_bytes": size(h)}
        if version >= 9 and h.chance(0.2):
            asked["current_leader_epoch"] = h.of(0, 0, 1, -2)
        if version >= 12 and h.chance(0.2):
            asked["last_fetched_epoch"] = h.of(0, 0, 1, 2, -2)
        if version >= 5 and h.chance(0.1):
            asked["log_start_offset"] = h.of(0, 1, 5)
        out.append((place[0], asked))
    return out


def named(h: History, version: int, chosen: list[tuple[str, Any]]) -> list[Step]:
    """Return the topics of a request, named by topic id since v13, and by name before."""
    if version < 13:
        return h.grouped(chosen, "topic")
    ids = {place[0] for place in h.places}
    by_id = [
        (f"{name}.id" if name in ids else h.of(UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_ID, "ZERO"), p) for name, p in chosen
    ]
    return h.grouped(by_id, "topic_id")


def limits(h: History, version: int) -> Step:
    out: Step = {"max_wait_ms": h.of(0, 0, 0, 20), "min_bytes": h.of(0, 0, 1, 100, 10**6)}
    if version >= 3:
        out["max_bytes"] = h.of(2**31 - 1, 2**31 - 1, 1, 100, 200, 500, 0)
    if version >= 4:
        out["isolation_level"] = h.of(0, 0, 1)
    if version >= 11 and h.chance(0.2):
        out["rack_id"] = h.of("", "r")
    if h.chance(0.1):
        replica = h.of(-2, 1, 5, -3)
        out |= (
            {"replica_id": replica} if version < 15 else {"replica_state": {"replica_id": replica, "replica_epoch": -1}}
        )
    return out


def fetch(h: History) -> None:
    version = h.version("Fetch")
    body = limits(h, version) | {"topics": named(h, version, wanted(h, version))}
    h.ask("Fetch", version, body)


def sessions(h: History) -> None:
    h.make_topics(1, 3)
    for _ in range(h.dice.randint(1, 6)):
        h.write()
    session = Session(h)
    session.open()
    for _ in range(h.dice.randint(6, 25)):
        h.weighted((4, h.write), (1, h.delete), (12, session.go_on), (1, session.odd), (1, session.open))
    session.close()


class Session:
    """An incremental fetch session, which can be closed and reopened."""

    def __init__(self, h: History) -> None:
        self.h, self.opened, self.epoch, self.version = h, 0, 0, 7
        self.members: list[tuple[str, int]] = []

    @property
    def name(self) -> str:
        return f"$S{self.opened}"

    def ask(self, body: Step, **more: Any) -> None:
        self.h.ask("Fetch", self.version, limits(self.h, self.version) | body, **more)

    def distinct(self, most: int = 4) -> list[tuple[str, Step]]:
        chosen = {(topic, asked["partition"]): (topic, asked) for topic, asked in wanted(self.h, self.version, most)}
        return list(chosen.values())

    def open(self) -> None:
        if self.opened and self.h.chance(0.5):
            self.close()
        self.version = self.h.version("Fetch", 7)
        self.opened += 1
        chosen = self.distinct(5)
        self.members = [(topic, asked["partition"]) for topic, asked in chosen]
        body = {"session_id": 0, "session_epoch": 0, "topics": named(self.h, self.version, chosen)}
        if self.h.chance(0.1):
            body["forgotten_topics_data"] = self.forgotten()
        self.epoch = 1
        self.ask(body, bind={self.name[1:]: "session_id"})

    def forgotten(self) -> list[Step]:
        if not self.members:
            return []
        chosen = [self.h.dice.choice(self.members) for _ in range(self.h.of(1, 1, 2))]
        return named(self.h, self.version, chosen)

    def go_on(self) -> None:
        body: Step = {"session_id": self.name, "session_epoch": self.epoch, "topics": []}
        if self.h.chance(0.4):
            chosen = self.distinct(2)
            body["topics"] = named(self.h, self.version, chosen)
            self.members += [(topic, asked["partition"]) for topic, asked in chosen]
        if self.h.chance(0.2):
            body["forgotten_topics_data"] = self.forgotten()
        self.epoch += 1
        self.ask(body)

    def odd(self) -> None:
        """Use a wrong epoch, an unknown session id, a full fetch request, or another version."""
        kind = self.h.of("epoch", "id", "full", "version")
        if kind == "version":
            self.version = self.h.version("Fetch", 7, 12) if self.version < 13 else self.h.version("Fetch", 12)
            self.go_on()
            return
        body: Step = {"session_id": self.name, "session_epoch": self.epoch, "topics": []}
        if kind == "epoch":
            body["session_epoch"] = self.h.of(self.epoch + 1, max(self.epoch - 1, 1), 2**31 - 1, -2)
        elif kind == "id":
            body["session_id"] = self.h.of(0, 1, -1)
        else:
            body["session_epoch"] = 0
            body["topics"] = named(self.h, self.version, self.distinct())
            self.opened += 1
            self.epoch = 1
            self.ask(body, bind={self.name[1:]: "session_id"})
            return
        self.ask(body)

    def close(self) -> None:
        body: Step = {"session_id": self.name, "session_epoch": -1, "topics": []}
        if self.h.chance(0.5):
            body["topics"] = named(self.h, self.version, self.distinct())
        self.ask(body)
