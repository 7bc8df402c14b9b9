"""Histories with faults: brokers stop, crash, pause and are cut off, and so does the controller, and they return.

The first broker runs on. It is never the coordinator of the transactions.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from kafkalet_conformance.building import T0, TRANSACTION_ERRORS, Step, filled
from kafkalet_conformance.playing.player import UNDONE_BY

from .clusters import REPLICATION_MS, WAIT_MS, describe, epoch_end, fetch, lookup, replicate, replicated, vote
from .history import History

CONTROLLER = 0
"""Stands for the id of the controller."""
REACHED = ("brokers", "brokers controller", "controller")
"""What a broker is cut off from if clients still reach it."""
FAULT_MS = 6000
"""The time after a fault until the controllers have fenced the broker and the ISR has settled. It requires a
broker.session.timeout.ms and replica.lag.time.max.ms of at most three seconds.
"""
MOVE_MS = 2500
"""The time in which a partition of some large batches is copied."""
EXPIRES_MS, EXPIRY_MS = 1000, 12_500
"""The shortest timeout of a transaction, and more than the time until the coordinator has noticed it: the default of
transaction.abort.timed.out.transaction.cleanup.interval.ms is 10 seconds.
"""
STATE = "__transaction_state"
COORDINATORS = [2, 3, 1]
"""The replicas of its partition: the first broker, which runs on, is the last one to lead it."""
RATE = "follower.replication.throttled.rate"
LARGE_BATCHES = 6
"""Enough that a follower with the lowest rate does not copy them all during a history."""


def faults(h: History) -> None:
    """Compare a partition with several replicas."""
    replicated(h)
    replicate(h)
    for away in disturbances(h, ("clients", *REACHED)):
        for _ in range(h.dice.randint(2, 6)):
            h.weighted(
                (5, lambda: replicate(h)),
                (4, lambda: fetch(h)),
                (2, lambda: lookup(h)),
                (2, lambda: epoch_end(h)),
                (3, lambda: describe(h)),
                (CONTROLLER not in away, lambda: vote(h)),
            )
        describe(h)


def disturbances(h: History, cuts: Sequence[str] = REACHED) -> Iterator[dict[int, str]]:
    """Add a fault or the end of one, several times, and then the ends of all. `cuts` says from what brokers are cut
    off.

    Yields what is done to each broker after every change, when it has taken effect.
    """
    every, away = list(h.nodes), dict[int, str]()
    for left in reversed(range(h.dice.randint(3, 5))):
        if not left or (away and (CONTROLLER in away or len(away) == len(every) - 1 or h.chance(0.6))):
            for node in sorted(away) if not left else [min(away) if CONTROLLER in away else h.dice.choice(list(away))]:
                h.broker(node, UNDONE_BY.get(away.pop(node), "reconnect"))
        else:
            node = h.dice.choice([node for node in (CONTROLLER, *every[1:]) if node not in away])
            away[node] = "kill" if node == CONTROLLER else h.of(*UNDONE_BY)
            if away[node] == "cut_off":
                away[node] = h.of(*cuts)
                h.broker(node, "cut_off", peers=away[node].split())
            else:
                h.broker(node, away[node])
        h.step("sleep", ms=FAULT_MS)
        h.reached("a fault")
        h.nodes = [node for node in every if node not in away or away[node] in REACHED]
        yield away


def moves_and_transactions(h: History) -> None:
    """Reassign partitions, throttled or not, and end, fence and abandon transactions that write to them."""
    every = {"follower_replication_throttled_replicas": "*"} if h.chance(0.6) else {}
    topic = replicated(h, 1, 2, 2, **every)
    producers = [Writer(h, number) for number in range(1, h.of(2, 3))]
    coordinate(h, producers[0].id)
    if every:
        for partition in (partition for _, partition in h.places):
            for n in range(LARGE_BATCHES):
                entry = {"index": partition, "records": [filled(n, 900_000)]}
                body = {"acks": -1, "timeout_ms": WAIT_MS, "topics": [{"name": topic, "partitions": [entry]}]}
                for node in h.nodes:
                    h.step("request", setup=True, api="Produce", version=9, body=body, conn=f"at-{node}")
            h.ends[topic, partition] = LARGE_BATCHES
        throttle(h, "1")
    for producer in producers:
        producer.init()
    for away in disturbances(h):
        for _ in range(h.dice.randint(3, 7)):
            producer = h.dice.choice(producers)
            h.weighted(
                (4, producer.write),
                (3, producer.end),
                (1, producer.init),
                (1, producer.expire),
                (2, producer.describe),
                (4 * (CONTROLLER not in away), lambda: move(h, topic)),
                (CONTROLLER not in away and bool(every), lambda: throttle(h, h.of("1", None))),
                (2, lambda: committed(h)),
                (1, lambda: describe(h)),
            )
        describe(h)
        committed(h)
        for producer in producers:
            producer.describe()


def coordinate(h: History, transactional_id: str) -> None:
    """Let the second broker be the coordinator. Epochs of coordinators are compared, so clusters create the topic of
    their states in the same way.
    """
    configs = {"cleanup.policy": "compact", "compression.type": "uncompressed", "min.insync.replicas": "2"}
    made: Step = {"name": STATE, "num_partitions": -1, "replication_factor": -1}
    made["assignments"] = [{"partition_index": 0, "broker_ids": COORDINATORS}]
    made["configs"] = [{"name": name, "value": value} for name, value in configs.items()]
    h.setup("CreateTopics", 5, {"topics": [made], "timeout_ms": WAIT_MS}, must_succeed=False)
    h.coordinator(transactional_id, 1)
    vote = {"topic_partitions": [{"topic": STATE, "partitions": [0]}], "timeout_ms": WAIT_MS}
    h.setup("ElectLeaders", 0, vote, must_succeed=False)
    h.step("sleep", ms=MOVE_MS)


def throttle(h: History, rate: str | None) -> None:
    """Set or remove the rate at which throttled replicas copy."""
    change = {"name": RATE, "config_operation": 0 if rate else 1, "value": rate}
    resource = {"resource_type": 4, "resource_name": "", "configs": [change]}
    h.ask("IncrementalAlterConfigs", 1, {"resources": [resource], "validate_only": False})
    h.step("sleep", ms=MOVE_MS)


def move(h: History, topic: str) -> None:
    """Reassign a partition, or cancel its reassignment, and compare what is in progress then."""
    replicas = h.of(h.dice.sample([1, 2, 3], h.of(1, 2, 2, 3)), h.dice.sample([1, 2, 3], 2), None)
    moved = {"partition_index": h.dice.choice(h.places)[1], "replicas": replicas}
    body = {"topics": [{"name": topic, "partitions": [moved]}], "timeout_ms": WAIT_MS}
    h.ask("AlterPartitionReassignments", 0, body)
    h.step("sleep", ms=MOVE_MS)
    h.ask("ListPartitionReassignments", 0, {"topics": None, "timeout_ms": WAIT_MS})
    describe(h)
    h.reached("a reassignment")


def committed(h: History) -> None:
    """Compare what consumers see of a partition, at each broker."""
    topic, partition = h.dice.choice(h.places)
    for node in h.nodes:
        for level in (0, 1):
            asked = {"partition_index": partition, "timestamp": -1}
            body = {"replica_id": -1, "isolation_level": level, "topics": [{"name": topic, "partitions": [asked]}]}
            h.ask("ListOffsets", 5, body, conn=f"at-{node}")
        entry = {"partition": partition, "fetch_offset": h.end_of((topic, partition)), "partition_max_bytes": 1 << 20}
        body = {"isolation_level": 1, "topics": [{"topic": topic, "partitions": [entry]}]}
        h.ask("Fetch", 12, body, conn=f"at-{node}")


class Writer:
    """A transactional id with a producer that does not know whether it is fenced."""

    def __init__(self, h: History, number: int) -> None:
        self.h, self.number = h, number
        self.id = h.let(f"X{number}", f"c<unique>.h.X{number}")
        self.sequences: dict[tuple[str, int], int] = {}

    def ask(self, api: str, version: int, **more: Any) -> Any:
        """Send a request to the coordinator of now."""
        asked = {"key": self.id, "key_type": 1}
        self.h.setup("FindCoordinator", 2, asked, bind={"C": "node_id"}, retry_errors=TRANSACTION_ERRORS)
        options = {key: more.pop(key) for key in ("bind", "part") if key in more}
        retried = {"retry_errors": TRANSACTION_ERRORS} if "bind" in options else {}
        self.h.ask(api, version, more, conn="at-$C", **options, **retried)

    @property
    def identity(self) -> Step:
        ids = {"transactional_id": self.id, "producer_id": f"$P{self.number}", "producer_epoch": f"$E{self.number}"}
        return ids | ({"producer_epoch": 0} if self.h.chance(0.1) else {})

    def init(self, timeout_ms: int = 60_000) -> None:
        """Initialize the producer, which aborts its transaction and fences an earlier one."""
        bind = {f"P{self.number}": "producer_id", f"E{self.number}": "producer_epoch"}
        body = {"transactional_id": self.id, "transaction_timeout_ms": timeout_ms}
        self.ask("InitProducerId", 3, **body, bind=bind)
        self.sequences.clear()

    def write(self) -> None:
        """Write a record in a transaction, at each broker, of which one leads the partition."""
        place = topic, partition = self.h.dice.choice(self.h.places)
        who = self.identity
        self.ask("AddPartitionsToTxn", 3, **who, topics=[{"name": topic, "partitions": [partition]}])
        batch = {"magic": 2, "records": [{"ts": T0, "key": None, "value": "x"}], "transactional": True}
        batch |= {"producer_id": who["producer_id"], "producer_epoch": who["producer_epoch"]}
        batch["base_sequence"] = self.sequences.get(place, 0)
        self.sequences[place] = self.sequences.get(place, 0) + 1
        body = {"transactional_id": self.id, "acks": -1, "timeout_ms": 4000}
        body["topics"] = [{"name": topic, "partitions": [{"index": partition, "records": [batch]}]}]
        for node in self.h.nodes:
            self.h.ask("Produce", 9, body, conn=f"at-{node}")
        self.h.step("sleep", ms=REPLICATION_MS)

    def end(self) -> None:
        self.ask("EndTxn", 3, **self.identity, committed=self.h.chance(0.6))
        self.h.step("sleep", ms=REPLICATION_MS)

    def expire(self) -> None:
        """Write in a transaction, and wait until the coordinator has aborted it."""
        self.init(EXPIRES_MS)
        self.write()
        self.h.step("sleep", ms=EXPIRY_MS)
        self.describe()

    def describe(self) -> None:
        """Compare single fields: if InitProducerId has failed, the id of the producer is not known."""
        field = self.h.of("transaction_state", "producer_epoch", "topics")
        self.ask("DescribeTransactions", 0, transactional_ids=[self.id], part=f"transaction_states.0.{field}")
        topic, partition = self.h.dice.choice(self.h.places)
        field = self.h.of(
            "error_code", "active_producers.0.current_txn_start_offset", "active_producers.0.last_sequence"
        )
        for node in self.h.nodes:
            body = {"topics": [{"name": topic, "partition_indexes": [partition]}]}
            self.h.ask("DescribeProducers", 0, body, conn=f"at-{node}", part=f"topics.0.partitions.0.{field}")
