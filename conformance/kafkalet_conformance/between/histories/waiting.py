"""Histories of several Fetch requests that wait at the same time, while records, markers and deletions arrive."""

from kafkalet_conformance.building import MEBIBYTE, Step

from .history import History

WAIT_MS = 3000
BEGUN_MS = 25
"""How long a sent request may take until it waits in the broker."""
TOLD_MS = 60
"""How long the response to a waiting request may take after an event has completed it."""


def waiting(h: History) -> None:
    """Let one to four requests wait, change the logs, and compare which of them complete, and with which response."""
    h.make_topics(1, 2, dict)
    topic = h.places[0][0]
    h.write()
    number = 10  # idempotent producers have the numbers below
    for round_number in range(h.dice.randint(2, 5)):
        is_open = h.chance(0.4) and bool(h.versions("EndTxn", 0, 3))
        if is_open:
            number += 1
            batch = {"magic": 2, "records": [h.record(topic, h.timestamp()) for _ in range(h.of(1, 5))]}
            producer = h.transaction(topic, f"X{number}")
            h.write_at((topic, 0), [batch | producer | {"base_sequence": 0}], 9, transactional_id=f"$X{number}")
        sent = [send(h, f"w{round_number}.{each}") for each in range(h.of(1, 2, 3, 4))]
        if len(sent) > 1:
            h.reached("several waiting requests")
        h.step("sleep", ms=BEGUN_MS)
        look(h, sent)
        for _ in range(h.of(0, 1, 1, 2)):
            h.weighted((5, h.write), (1, h.delete))
            look(h, sent)
        if is_open:
            h.end(f"X{number}", committed=h.chance(0.5))
            h.ends[topic, 0] = h.end_of((topic, 0)) + 1
            h.stable_at(topic, h.end_of((topic, 0)))
            look(h, sent)
        for name in sent:
            h.receive(f"{name} is answered", name)


def send(h: History, name: str) -> str:
    """Send a Fetch request that may wait; return its name."""
    version = h.version("Fetch", 4, 12)
    wanted = []
    for _ in range(h.of(1, 1, 2)):
        place = h.dice.choice(h.places)
        offset = max(h.end_of(place) + h.of(0, 0, 0, -1, -3), 0)
        wanted.append((place[0], {"partition": place[1], "fetch_offset": offset, "partition_max_bytes": MEBIBYTE}))
    body: Step = {"max_wait_ms": WAIT_MS, "min_bytes": h.of(1, 1, 1, 100, 150, 500), "isolation_level": h.of(0, 1)}
    h.send(name, "Fetch", version, body | {"topics": h.grouped(wanted, "topic")}, conn=name)
    return name


def look(h: History, sent: list[str]) -> None:
    """Compare which requests still wait."""
    for name in sent:
        h.cases += 1
        h.pending(f"{h.cases} {name} waits", name, TOLD_MS)
