"""Histories of transactions: producers that start, end and are fenced, and commit offsets, with odd ids and epochs.

Like Apache Kafka, kafkalet responds to EndTxn before the markers are written. A history therefore waits until the
transaction is complete before it continues.
"""

from typing import Any

from kafkalet_conformance.building import T0, Step

from .history import History

NO_ID = 987_654_321
RETRIED = [14, 15, 16]
COMPLETES_MS = 120


class Producer:
    """A transactional id with the epoch and the sequence numbers that its producer assumes."""

    def __init__(self, h: History, number: int) -> None:
        self.number = number
        self.id = h.let(f"X{number}", f"c<unique>.h.X{number}")
        self.producer_id: Any = f"$P{number}"
        self.epoch = 0
        self.sequences: dict[tuple[str, int], int] = {}
        self.is_open = False
        h.coordinator(self.id, 1)


def transactions(h: History) -> None:
    h.make_topics(1, 2, dict)
    h.coordinator(h.let("G", "c<unique>.h.G"))
    producers = [Producer(h, number) for number in range(1, h.of(2, 3))]
    for producer in producers:
        init(h, producer, odd=False)
    for _ in range(h.dice.randint(6, 22)):
        producer = h.dice.choice(producers)
        h.weighted(
            (2, lambda producer=producer: init(h, producer)),  # type: ignore[misc]
            (5, lambda producer=producer: add(h, producer)),  # type: ignore[misc]
            (7, lambda producer=producer: produce(h, producer)),  # type: ignore[misc]
            (4, lambda producer=producer: end(h, producer)),  # type: ignore[misc]
            (2, lambda producer=producer: send_offsets(h, producer)),  # type: ignore[misc]
            (2, lambda producer=producer: describe(h, producer)),  # type: ignore[misc]
            (1, lambda: h.write()),
            (1, lambda: markers(h, producers)),
            (1, lambda: offsets(h)),
            (1, lambda: listing(h)),
        )
    for producer in producers:
        describe(h, producer)
    look(h)
    offsets(h)


def ids(h: History, producer: Producer) -> Step:
    """Return the producer's identity for a request; usually the correct one."""
    epoch: Any = producer.epoch
    producer_id = producer.producer_id
    if h.chance(0.12):
        epoch += h.of(-1, 1, 1, 2, -2, 100)
    if h.chance(0.04):
        producer_id = h.of(NO_ID, -1, "$P1", "$P1")
    name = producer.id if h.chance(0.96) else h.of("$X1", "", "c.nobody")
    return {"transactional_id": name, "producer_id": producer_id, "producer_epoch": epoch}


def settle(h: History) -> None:
    """Wait until the transaction is complete."""
    h.step("sleep", ms=COMPLETES_MS)


def init(h: History, producer: Producer, odd: bool = True) -> None:
    version = h.version("InitProducerId", 0, 5)
    body: dict[str, Any] = {"transactional_id": producer.id, "transaction_timeout_ms": 60000}
    if odd and h.chance(0.05):
        body["transaction_timeout_ms"] = h.of(0, -1, 900001)
    odd = odd and version >= 3 and producer.is_open is False and h.chance(0.3)
    if odd:
        body |= {"producer_id": h.of(producer.producer_id, producer.producer_id, NO_ID, -1)}
        body |= {"producer_epoch": h.of(producer.epoch, producer.epoch, producer.epoch - 1, producer.epoch + 1, -1)}
    if producer.is_open:  # aborts the transaction; the error tells the client to retry
        h.ask("InitProducerId", version, body, retry_errors=RETRIED)
        settle(h)
        producer.is_open = False
        producer.epoch += 1
    refused = odd or body["transaction_timeout_ms"] != 60000
    bind = {} if refused else {"bind": {f"P{producer.number}": "producer_id"}}
    told = {"only": ["error_code", "producer_epoch"]} if odd else bind  # the producer id may be new
    h.ask("InitProducerId", version, body, retry_errors=RETRIED, **told)
    settle(h)
    producer.epoch += 1 if producer.sequences or h.cases > 3 else 0
    producer.sequences.clear()


def topics_of(h: History) -> list[Step]:
    places = [h.place() for _ in range(h.of(1, 1, 2))]
    return [{"name": topic, "partitions": [partition]} for topic, partition in dict.fromkeys(places)]


def add(h: History, producer: Producer) -> None:
    version = h.version("AddPartitionsToTxn", 0, 5)
    body = ids(h, producer) | {"topics": topics_of(h)}
    if version >= 4:
        transactions = [body | {"verify_only": h.chance(0.5)}]
        h.ask("AddPartitionsToTxn", version, {"transactions": transactions})
    else:
        h.ask("AddPartitionsToTxn", version, body)
    producer.is_open = True


def produce(h: History, producer: Producer) -> None:
    place = h.place()
    implicit = h.release >= "4" and h.chance(0.4)
    version = h.version("Produce", 12, 12) if implicit else h.version("Produce", 3, 11)
    count = h.of(1, 1, 2, 3)
    who = ids(h, producer)
    sequence = producer.sequences.get(place, 0) + (h.of(-1, 1, 5, -count) if h.chance(0.1) else 0)
    batch = {
        "magic": 2,
        "records": [{"ts": T0 + n, "key": None, "value": "x"} for n in range(count)],
        "transactional": h.chance(0.95),
        "producer_id": who["producer_id"],
        "producer_epoch": who["producer_epoch"],
        "base_sequence": sequence,
    }
    producer.sequences[place] = sequence + count
    if not implicit and h.chance(0.8):
        added = who | {"topics": [{"name": place[0], "partitions": [place[1]]}]}
        h.ask("AddPartitionsToTxn", h.version("AddPartitionsToTxn", 0, 3), added)
    h.write_at(place, [batch], version, transactional_id=who["transactional_id"] or None)
    producer.is_open = True


def end(h: History, producer: Producer) -> None:
    version = h.version("EndTxn", 0, 5)
    body = ids(h, producer) | {"committed": h.chance(0.6)}
    for _ in range(h.of(1, 1, 1, 2)):
        bind = {"bind": {"P99": "producer_id"}} if version >= 5 else {}
        h.ask("EndTxn", version, body, **bind)
        settle(h)
        if h.chance(0.3):
            body = body | {"committed": not body["committed"]}
    if version >= 5:
        producer.epoch += 1
        producer.sequences.clear()
    producer.is_open = False
    look(h)


def send_offsets(h: History, producer: Producer) -> None:
    who = ids(h, producer) | {"group_id": "$G"}
    if h.chance(0.8):
        h.ask("AddOffsetsToTxn", h.version("AddOffsetsToTxn", 0, 4), who)
    version = h.version("TxnOffsetCommit", 0, 5)
    topic, partition = h.place()
    entry = {"partition_index": partition, "committed_offset": h.of(0, 1, 5, 77), "committed_metadata": h.of("", "m")}
    body = who | {"topics": [{"name": topic, "partitions": [entry]}]}
    if version >= 3:
        body["generation_id_or_member_epoch"] = h.of(-1, -1, -1, 0, 3)
        body["member_id"] = h.of("", "", "", "nobody")
    h.ask("TxnOffsetCommit", version, body)
    producer.is_open = True


def offsets(h: History) -> None:
    asked = [{"name": topic, "partition_indexes": [partition]} for topic, partition in h.places]
    version = h.version("OffsetFetch", 7, 8)
    group = {"group_id": "$G", "topics": asked}
    body: Step = {"groups": [group]} if version >= 8 else dict(group)
    h.ask("OffsetFetch", version, body | {"require_stable": h.chance(0.5)})


def describe(h: History, producer: Producer) -> None:
    name = producer.id if h.chance(0.95) else h.of("", "c.nobody")
    h.ask("DescribeTransactions", 0, {"transactional_ids": [name]})
    topic, partition = h.place()
    h.ask("DescribeProducers", 0, {"topics": [{"name": topic, "partition_indexes": [partition]}]})


def listing(h: History) -> None:
    states = h.of([], ["Ongoing"], ["CompleteCommit", "CompleteAbort"], ["Nonsense"], ["Empty"])
    body = {"state_filters": states, "producer_id_filters": ["$P1"]}
    h.ask("ListTransactions", 0, body)


def markers(h: History, producers: list[Producer]) -> None:
    """Write markers as a coordinator would; rarely, because they bypass the coordinator's state."""
    if not h.chance(0.3):
        return
    producer = h.dice.choice(producers)
    topic, partition = h.place()
    marker = {
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        "transaction_result": h.chance(0.5),
        "topics": [{"name": topic, "partition_indexes": [partition]}],
        "coordinator_epoch": h.of(0, 0, 1, -1),
    }
    h.ask("WriteTxnMarkers", h.version("WriteTxnMarkers"), {"markers": [marker]})


def look(h: History) -> None:
    topic, partition = h.dice.choice(h.places)
    for level in (0, 1):
        asked = {"partition_index": partition, "timestamp": -1}
        body = {"replica_id": -1, "isolation_level": level, "topics": [{"name": topic, "partitions": [asked]}]}
        h.ask("ListOffsets", h.version("ListOffsets", 4, 7), body)
        entry = {"partition": partition, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
        fetch = {"isolation_level": level, "topics": [{"topic": topic, "partitions": [entry]}]}
        h.ask("Fetch", h.version("Fetch", 4, 11), fetch)
