"""Share groups whose brokers are killed, lose their power, stop, or give their leaderships away.

Members of a group fetch and acknowledge records of a topic. Whatever happens to the brokers:

* a record is not delivered again after the response to its acknowledgement;
* a record that was produced and not acknowledged is delivered;
* its delivery count never exceeds the limit, and never goes back behind a release that was responded to.

Requests without a response are in doubt: they may have had an effect or not.

    kill_processes    `kafkalet serve --data-dir` runs as a process, which gets SIGKILL
    crash_disks       the disk of a broker in this process is recorded, and restored as it was at random moments
    move_leaders      brokers of a cluster in this process stop and start, and leaders move
"""

import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from kafkalet.protocol.errors import Code
from kafkalet.testing.cluster import Cluster
from kafkalet_conformance.playing.connection import Closed, Connection, NoAnswer
from tests.oracle.storage.observing import Asker

from .disk import Crash, RecordingDisk
from .processes import Lost, Serving

TOPIC = "s"
GROUP = "g"
PARTITIONS = 2
ACTIONS = 150
MEMBERS = tuple(name * 22 for name in "ABC")
LIMIT = 4
TIMEOUT_S = 60.0
WAIT_MS = 200
ACCEPT, RELEASE, REJECT = 1, 2, 3
TYPES = (ACCEPT, RELEASE, RELEASE, REJECT)
CONFIG = {
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.snapshot.update.records.per.snapshot": "7",
    "group.share.assignment.interval.ms": "0",
    "offsets.topic.num.partitions": "1",
    "log.segment.bytes": "1048576",
}

Where = tuple[int, int]
"""A record: partition and offset."""
Sent = tuple[tuple[str, int], int, dict[Where, int], dict[Where, int]]
"""An acknowledgement: its session, its correlation id, and for each record its type, and how often it was delivered."""
GONE = (Closed, NoAnswer, OSError)


class Model:
    """What has to be true of the records."""

    def __init__(self) -> None:
        self.produced = [0] * PARTITIONS
        """How many records of each partition were acknowledged to the producer."""
        self.done: set[Where] = set()
        self.released: dict[Where, int] = {}
        """How often records had been delivered when a response confirmed their release."""
        self.delivered: Counter[Where] = Counter()
        self.in_doubt: set[Where] = set()
        """Records that may be done."""
        self.unseen: Counter[int] = Counter()
        """How many fetches of a partition had no response."""

    def deliver(self, where: Where, count: int) -> None:
        if where in self.done:
            raise Lost(f"record {where} was acknowledged, and is delivered again")
        if count > LIMIT:
            raise Lost(f"record {where} is delivered {count} times")
        if count <= self.released.get(where, 0):
            raise Lost(f"the delivery count of record {where} goes back to {count} from {self.released[where]}")
        if count > self.delivered[where] + 1 + self.unseen[where[0]]:
            raise Lost(f"record {where} is delivered for the first time, with a count of {count}")
        self.delivered[where] = max(self.delivered[where], count)
        self.in_doubt.discard(where)

    def acknowledge(self, where: Where, count: int, *, is_released: bool) -> None:
        """Note the response to an acknowledgement of a record that was delivered `count` times."""
        if is_released and count < LIMIT:
            self.released[where] = count
            self.in_doubt.discard(where)
        else:
            self.done.add(where)

    def crashed(self, after: "Model") -> "Model":
        """Return what has to be true after a crash between the responses that led to this model and to `after`."""
        model = deepcopy(self)
        model.in_doubt |= after.in_doubt | (after.done - self.done)
        model.delivered |= after.delivered
        return model

    def expected(self) -> set[Where]:
        """Return the records that have to be delivered."""
        every = {(partition, offset) for partition, end in enumerate(self.produced) for offset in range(end)}
        return every - self.done - self.in_doubt


class _Session:
    """The share session of a member, with one partition, and how often the records were delivered that it holds."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.epoch = 0
        self.held: dict[Where, int] = {}


class Load:
    """Requests of a producer and of members. `act` raises one of GONE if the broker is gone."""

    def __init__(self, chance: random.Random, model: Model) -> None:
        self.chance = chance
        self.model = model
        self.sessions: dict[tuple[str, int], _Session] = {}
        self.asker: Asker | None = None
        self.topic_id = ""
        self.errors: Counter[int] = Counter()

    def connect(self, bootstrap: str) -> None:
        self.asker = Asker(bootstrap)

    def close(self) -> None:
        for key in list(self.sessions):
            self._end(key)
        if self.asker is not None:
            self.asker.close()
        self.asker = None

    def _end(self, key: tuple[str, int]) -> None:
        """Close the connection of a session. What it holds is released, or archived after the last delivery."""
        session = self.sessions.pop(key)
        session.connection.close()
        self.model.in_doubt |= {where for where, count in session.held.items() if count >= LIMIT}

    def _ask(self, api: str, version: int, body: dict[str, Any]) -> Any:
        assert self.asker is not None
        return self.asker.until_ready(api, version, body)

    def create(self, replicas: int) -> None:
        """Create the topic and the group."""
        topic = {"name": TOPIC, "num_partitions": PARTITIONS, "replication_factor": replicas}
        topic["configs"] = [{"name": "min.insync.replicas", "value": str(min(replicas, 2))}]
        self._ask("CreateTopics", 5, {"topics": [topic], "timeout_ms": 10_000})
        values = {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": str(LIMIT)}
        configs = [{"name": key, "config_operation": 0, "value": value} for key, value in values.items()]
        self._ask(
            "IncrementalAlterConfigs",
            1,
            {"resources": [{"resource_type": 32, "resource_name": GROUP, "configs": configs}]},
        )
        self._join()

    def _join(self) -> None:
        """Send heartbeats until the group has initialized all partitions."""
        assert self.asker is not None
        epoch, assigned = 0, 0
        deadline = time.monotonic() + TIMEOUT_S
        while assigned < PARTITIONS:
            node = self.asker.coordinator(GROUP, 0)
            body = {
                "group_id": GROUP,
                "member_id": MEMBERS[0],
                "member_epoch": epoch,
                "subscribed_topic_names": [TOPIC],
            }
            answer = self.asker.until_ready("ShareGroupHeartbeat", 1, body, node)
            epoch = answer["member_epoch"]
            topics = (answer["assignment"] or {"topic_partitions": []})["topic_partitions"]
            assigned = sum(len(topic["partitions"]) for topic in topics)
            if time.monotonic() > deadline:
                raise Lost(f"the group gets no assignment: {answer}")
            time.sleep(0.01)

    # Where to ask

    def _leader(self, index: int) -> int:
        """Return the leader of a partition; wait until it has one."""
        assert self.asker is not None
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            (found,) = self.asker.ask("Metadata", 12, {"topics": [{"name": TOPIC}]})["topics"]
            self.topic_id = found["topic_id"]
            leaders = {each["partition_index"]: each["leader_id"] for each in found["partitions"]}
            if leaders.get(index, -1) >= 0:
                return int(leaders[index])
            if time.monotonic() > deadline:
                raise Lost(f"partition {index} has no leader")

    def _session(self, key: tuple[str, int]) -> _Session:
        if key not in self.sessions:
            assert self.asker is not None
            node = self._leader(key[1])
            brokers = self.asker.ask("Metadata", 12, {"topics": []})["brokers"]
            [(host, port)] = [(each["host"], each["port"]) for each in brokers if each["node_id"] == node]
            self.sessions[key] = _Session(Connection(host, port))
        return self.sessions[key]

    # What happens

    def act(self) -> None:
        """Send a random request, and wait for the response."""
        self.chance.choices((self.produce, self.fetch, self.acknowledge, self.leave), (3, 6, 8, 1))[0]()

    def produce(self) -> None:
        index, count = self.chance.randrange(PARTITIONS), self.chance.choice((1, 2, 5, 12))
        record = {"ts": int(time.time() * 1000), "key": None, "value": "v"}
        topic = {
            "name": TOPIC,
            "partitions": [{"index": index, "records": [{"magic": 2, "records": [record] * count}]}],
        }
        assert self.asker is not None
        body = {"transactional_id": None, "acks": -1, "topics": [topic]}
        (answer,) = self.asker.ask("Produce", 9, body, self._leader(index))["responses"]
        (partition,) = answer["partitions"]
        if partition["error_code"] == 0:
            self.model.produced[index] = max(self.model.produced[index], partition["base_offset"] + count)

    def fetch(self, key: tuple[str, int] | None = None) -> int:
        """Fetch records, and return how many have been acquired."""
        key = key or (self.chance.choice(MEMBERS), self.chance.randrange(PARTITIONS))
        session = self._session(key)
        body: dict[str, Any] = {
            "max_wait_ms": 0 if session.epoch else WAIT_MS,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": self.chance.choice((1, 4, 500)),
            "batch_size": self.chance.choice((1, 500)),
            "share_acquire_mode": self.chance.randrange(2),
            "forgotten_topics_data": [],
        }
        self.model.unseen[key[1]] += 1
        answer = session.connection.receive(self._send("ShareFetch", key, {}, body))
        self.model.unseen[key[1]] -= 1
        if self._has_failed(key, answer):
            return 0
        found = 0
        for partition in (each for topic in answer["responses"] for each in topic["partitions"]):
            for acquired in partition["acquired_records"]:
                for offset in range(acquired["first_offset"], acquired["last_offset"] + 1):
                    self.model.deliver((key[1], offset), acquired["delivery_count"])
                    session.held[key[1], offset] = acquired["delivery_count"]
                    found += 1
        return found

    def acknowledge(self) -> None:
        sent = self.send_acknowledgement()
        if sent is not None:
            self.receive_acknowledgement(*sent)

    def send_acknowledgement(self, types: Sequence[int] = TYPES) -> Sent | None:
        """Acknowledge some records of a session. They are in doubt until the response arrives."""
        keys = [key for key, session in self.sessions.items() if session.held]
        if not keys:
            return None
        key = self.chance.choice(keys)
        held = sorted(self.sessions[key].held)
        first = self.chance.randrange(len(held))
        given = {where: self.chance.choice(types) for where in held[first : first + self.chance.choice((1, 3, 30))]}
        counts = {where: self.sessions[key].held.pop(where) for where in given}
        self.model.in_doubt |= given.keys()
        return key, self._send("ShareAcknowledge", key, given, {}), given, counts

    def receive_acknowledgement(
        self, key: tuple[str, int], correlation_id: int, given: dict[Where, int], counts: dict[Where, int]
    ) -> None:
        answer = self.sessions[key].connection.receive(correlation_id)
        if not self._has_failed(key, answer):
            for where, type_ in given.items():
                self.model.acknowledge(where, counts[where], is_released=type_ == RELEASE)

    def leave(self) -> None:
        """End a session without a request."""
        if self.sessions:
            self._end(self.chance.choice(list(self.sessions)))

    def _has_failed(self, key: tuple[str, int], answer: Any) -> bool:
        """Return whether a response has an error. The member then begins again."""
        partitions = [each for topic in answer["responses"] for each in topic["partitions"]]
        codes = {answer["error_code"], *(each["error_code"] for each in partitions)} - {0}
        if codes:
            self.errors.update(codes)
            self._end(key)
        return bool(codes)

    def _send(self, api: str, key: tuple[str, int], given: dict[Where, int], body: dict[str, Any]) -> int:
        """Send a request of a session, and return its correlation id."""
        name, index = key
        session = self.sessions[key]
        batches = [
            {"first_offset": offset, "last_offset": offset, "acknowledge_types": [type_]}
            for (_, offset), type_ in given.items()
        ]
        partition = {"partition_index": index, "acknowledgement_batches": batches}
        body |= {"group_id": GROUP, "member_id": f"{name}-{index}", "share_session_epoch": session.epoch}
        session.epoch += 1
        return session.connection.send(
            api, 2, body | {"topics": [{"topic_id": self.topic_id, "partitions": [partition]}]}
        )

    def drain(self) -> None:
        """Accept all records that have to be delivered. Raises Lost if one is not."""
        deadline = time.monotonic() + TIMEOUT_S
        while expected := self.model.expected():
            key = MEMBERS[0], self.chance.choice(sorted({index for index, _ in expected}))
            if not self.fetch(key):
                time.sleep(0.005)
            while (sent := self.send_acknowledgement((ACCEPT,))) is not None:
                self.receive_acknowledgement(*sent)
            if time.monotonic() > deadline:
                raise Lost(f"records are not delivered: {sorted(expected)[:20]}")


class Tried(NamedTuple):
    """The result of a run."""

    what: str
    records: int
    done: int
    seconds: float
    errors: dict[int, int]

    def __str__(self) -> str:
        errors = ", ".join(f"{Code(code).name} {count} times" for code, count in self.errors.items())
        return (
            f"share groups: {self.what} in {self.seconds:.0f} s: {self.records:,} records, {self.done:,} acknowledged; "
            f"errors: {errors or 'none'}"
        )


class _Run:
    """The load of a run, and when it began."""

    def __init__(self, seed: int) -> None:
        self.began = time.monotonic()
        self.chance = random.Random(seed)
        self.model = Model()
        self.load = Load(self.chance, self.model)

    def act(self, times: int, unanswered: int) -> None:
        """Send requests, the last ones without waiting for the response."""
        for _ in range(times):
            self.load.act()
        for _ in range(unanswered):
            self.load.send_acknowledgement()

    def result(self, what: str) -> Tried:
        seconds = time.monotonic() - self.began
        return Tried(what, sum(self.model.produced), len(self.model.done), seconds, dict(self.load.errors))


@contextmanager
def _explained(how: str) -> Iterator[None]:
    try:
        yield
    except Lost as error:
        raise Lost(f"{how}\n{error}") from error


def torture_share_groups(count: int, seed: int) -> Iterator[Tried]:
    """Crash disks and move leaders this many times, and kill a fifth as many processes. Raises Lost."""
    with tempfile.TemporaryDirectory(prefix="kafkalet-torture-") as root:
        yield crash_disks(Path(root) / "disk", count, seed)
        yield move_leaders(count, seed)
        for brokers in (1, 3):
            yield kill_processes(Path(root) / str(brokers), brokers, max(1, count // 10), seed)


def kill_processes(directory: Path, brokers: int, kills: int, seed: int) -> Tried:
    """Kill a process this many times while members acknowledge. Raises Lost."""
    run = _Run(seed)
    options = [f"--set={name}={value}" for name, value in CONFIG.items()]
    directory.mkdir(parents=True)
    serving = Serving(directory, brokers, options)
    try:
        run.load.connect(serving.servers)
        run.load.create(brokers)
        for kill in range(kills):
            with _explained(f"seed {seed}, {brokers} brokers, kill {kill}"):
                run.act(run.chance.randrange(60), run.chance.randrange(4))
                time.sleep(run.chance.random() / 500)
                serving.kill()
                run.load.close()
                serving = Serving(directory, brokers, options)
                run.load.connect(serving.servers)
                if kill % 10 == 9 or kill == kills - 1:
                    run.load.drain()
    finally:
        run.load.close()
        serving.close()
    return run.result(f"{brokers} broker{'s' * (brokers > 1)} killed {kills} times")


def move_leaders(moves: int, seed: int) -> Tried:
    """Move leaders, and stop and start brokers of a cluster this many times. Raises Lost."""
    run = _Run(seed)
    with Cluster(3, config=CONFIG | {"default.replication.factor": "3"}) as cluster, closing(run.load):
        run.load.connect(cluster.bootstrap_servers)
        run.load.create(3)
        for move in range(moves):
            with _explained(f"seed {seed}, before move {move}"):
                try:
                    run.act(run.chance.randrange(30), run.chance.randrange(4))
                except GONE:
                    run.load.close()
                    run.load.connect(cluster.bootstrap_servers)
                _move(cluster, run.chance)
        run.load.close()
        for node in cluster.brokers():
            if not node.is_running:
                node.start()
        run.load.connect(cluster.bootstrap_servers)
        with _explained(f"seed {seed}, after {moves} moves"):
            run.load.drain()
    return run.result(f"{moves} moves of leaders, stops and starts of 3 brokers")


def _move(cluster: Cluster, chance: random.Random) -> None:
    node = cluster.broker(chance.randint(1, 3))
    stopped = [each for each in cluster.brokers() if not each.is_running]
    if stopped:
        stopped[0].start()
    elif chance.random() < 0.3:
        node.stop()
    else:
        topic = cluster.topic(chance.choice((TOPIC, "__share_group_state")))
        topic.move_leader(node.node_id, chance.randrange(2))


def crash_disks(root: Path, crashes: int, seed: int) -> Tried:
    """Crash the disk of a broker at this many moments, and continue with what is left. Raises Lost."""
    run = _Run(seed)
    config = CONFIG | {"log.flush.interval.messages": "1"}
    path, crashed = root / "recorded", root / "crashed"
    path.mkdir(parents=True)
    cluster = Cluster(data_dir=path, config=config)
    disk = cluster._server.file_system = RecordingDisk(path)
    marks: list[tuple[int, Model]] = []
    with cluster, closing(run.load):
        run.load.connect(cluster.bootstrap_servers)
        run.load.create(1)
        for _ in range(ACTIONS):
            marks.append((len(disk.record.calls), deepcopy(run.model)))
            run.load.act()
    for number in range(crashes):
        chance = random.Random(seed * 1_000_000 + number)
        at, power = chance.randint(marks[0][0], marks[-1][0]), chance.random() < 0.7
        before = [model for calls, model in marks if calls <= at][-1]
        after = next((model for calls, model in marks if calls > at), before)
        shutil.rmtree(crashed, ignore_errors=True)
        crash = Crash(disk.record, at, power=power, chance=chance)
        crash.write_to(crashed)
        load = Load(chance, before.crashed(after))
        with (
            Cluster(data_dir=crashed, config=config) as cluster,
            closing(load),
            _explained(f"seed {seed}, crash {number}: {crash}"),
        ):
            load.connect(cluster.bootstrap_servers)
            for _ in range(10):
                load.act()
            load.drain()
    return run.result(f"{crashes} crashes of a disk")
