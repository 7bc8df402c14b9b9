"""A scenario in progress: the brokers, the client, and the actions of the scenario."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from kafkalet.broker.network.faults.rule import Actions, FaultRule, Filters, Selection
from kafkalet.clock import elapsed_s
from kafkalet.protocol.api import BY_TITLE
from kafkalet.testing.faults import Fault
from kafkalet.testing.waiting import WaitCancelled, cancelled, wait

from .command import Command
from .output import Output
from .scenario import Role, Scenario

if TYPE_CHECKING:
    from kafkalet.testing.cluster import Cluster
    from kafkalet.testing.record import Record
    from kafkalet.testing.requests import Request
    from kafkalet.testing.topic import Topic

TOPIC = "conformance"
INPUT_TOPIC_SUFFIX = "-output"
NOT_SUPPORTED = 64
"""The exit status of a command that does not support a role or a setting."""
NO_LIBRARY = 69
"""The exit status of a driver whose client is not installed."""
GRACE_S = 2.0
"""How long the command may take to end after its time limit before it is killed."""
REQUEST_TIMEOUT_MS = 2000
DELIVERY_TIMEOUT_MS = 25_000
"""Longer than four retries of franz-go, which waits five seconds for new metadata before each."""
SESSION_TIMEOUT_MS = 6000
HEARTBEAT_INTERVAL_MS = 200
AUTO_COMMIT_INTERVAL_MS = 200
METADATA_MAX_AGE_MS = 5000


class Missed(Exception):
    """The client did not do what the scenario waits for. The message says what."""


class Stage:
    """A scenario in progress. Its methods are called in the thread of the scenario."""

    def __init__(
        self,
        scenario: Scenario,
        cluster: Cluster,
        words: Sequence[str],
        environment: Mapping[str, str],
        timeout_s: float,
        directory: str | None = None,
    ) -> None:
        """`words` are the command, `environment` is what it inherits, and `timeout_s` is its time limit."""
        self.scenario = scenario
        self.cluster = cluster
        self.topic: Topic = cluster.topic(TOPIC)
        self.words = words
        self.timeout_s = timeout_s
        self.command: Command | None = None
        self.missed: str | None = None
        """What the scenario waited for in vain."""
        self.expected: list[Record] | None = None
        """The records that a consumer should return, if they are not those in the log at the end."""
        self.output = Output([])
        self.held: Fault
        """The fault that holds a request, in scenarios that hold one."""
        self._inherited = environment
        self._directory = directory
        self._stop = threading.Event()
        self._is_aborted = False
        self._began_s = 0.0
        self._ended_s: float | None = None
        self._sent = 0

    # Prepare

    def create_topic(
        self, partitions: int = 1, replicas: int | None = None, config: Mapping[str, str | int | bool] | None = None
    ) -> Topic:
        """Create the topic; by default every broker has a replica, and broker 1 is the leader."""
        count = self.scenario.brokers if replicas is None else replicas
        if self.scenario.brokers == 1:
            self.cluster.topic(TOPIC).create(partitions, config=config, replication_factor=1)
        else:
            ids = [1 + index % self.scenario.brokers for index in range(count)]
            self.cluster.topic(TOPIC).create(config=config, assignments=[ids] * partitions)
        return self.topic

    def send(self, count: int, partition: int | None = 0) -> None:
        """Append records in batches of one record; key and value are the next number."""
        for number in range(self._sent, self._sent + count):
            self.topic.send(f"{number}", key=f"{number}", partition=partition)
        self._sent += count

    def commit(self, offset: int, partition: int = 0) -> None:
        """Commit an offset of the scenario's group while the group has no members."""
        assert self.scenario.group is not None
        self.cluster.group(self.scenario.group).seek(offset, TOPIC, partition)

    def expect(self, condition: Callable[[Record], object]) -> None:
        """Expect a consumer to return only records that meet a condition, from those in the log and earlier ones."""
        known = self.expected or []
        seen = {(record.partition, record.offset) for record in known}
        more = [record for record in self.topic.records() if (record.partition, record.offset) not in seen]
        self.expected = [record for record in known + more if condition(record)]

    # Start and end

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of the contract."""
        scenario = self.scenario
        numbers = {
            "COUNT": scenario.count,
            "TIMEOUT_S": max(1, int(self.timeout_s)),
            "REQUEST_TIMEOUT_MS": REQUEST_TIMEOUT_MS,
            "DELIVERY_TIMEOUT_MS": DELIVERY_TIMEOUT_MS,
            "SESSION_TIMEOUT_MS": SESSION_TIMEOUT_MS,
            "HEARTBEAT_INTERVAL_MS": HEARTBEAT_INTERVAL_MS,
            "AUTO_COMMIT_INTERVAL_MS": AUTO_COMMIT_INTERVAL_MS,
            "METADATA_MAX_AGE_MS": METADATA_MAX_AGE_MS,
            **scenario.settings,
        }
        texts: dict[str, str | None] = {"ROLE": scenario.role, "TOPIC": TOPIC}
        if scenario.role is Role.PRODUCE:
            texts |= {"ACKS": scenario.acks, "IDEMPOTENCE": str(scenario.idempotence).lower()}
        else:
            texts |= {"ISOLATION": scenario.isolation, "RESET": scenario.reset, "GROUP": scenario.group}
            texts |= {"INSTANCE_ID": scenario.instance_id}
        if scenario.role is Role.TRANSFORM:
            texts["OUTPUT_TOPIC"] = TOPIC + INPUT_TOPIC_SUFFIX
        texts["TRANSACTIONAL_ID"] = scenario.transactional_id
        named = {f"KAFKALET_{name}": value for name, value in texts.items() if value is not None}
        named |= {f"KAFKALET_{name}": str(value) for name, value in numbers.items()}
        return {"KAFKA_BOOTSTRAP_SERVERS": self.cluster.bootstrap_servers, **named}

    @property
    def is_started(self) -> bool:
        return self.command is not None

    def start(self) -> None:
        """Start the client. Raises OSError if that is not possible."""
        if self._stop.is_set():
            raise WaitCancelled
        inherited = {name: value for name, value in self._inherited.items() if not name.startswith("KAFKALET_")}
        self._began_s = elapsed_s()
        self.cluster.timeout = self.timeout_s
        self.command = Command(self.words, {**inherited, **self.environment}, self._client_ended, self._directory)
        self._timer = threading.Timer(self.timeout_s + GRACE_S, self.command.kill)
        self._timer.daemon = True
        self._timer.start()
        if self._is_aborted:  # while the client was being started
            self.command.kill()

    def _client_ended(self) -> None:
        self._ended_s = elapsed_s()
        self._stop.set()
        self.cluster._server.watchers.touch()

    def play(self) -> None:
        """Run the scenario, start the client if the scenario does not, and wait for its end; kill it at the deadline.

        Raises OSError if the client cannot be started.
        """
        token = cancelled.set(self._stop)
        try:
            self._play()
        finally:
            cancelled.reset(token)
            if self.command is not None:
                self.command.wait()
                self._timer.cancel()
                self.output = Output(list(self.command.lines))

    def _play(self) -> None:
        try:
            self.scenario.play(self)
        except WaitCancelled:
            self.missed = self.missed or "the client ended before the scenario was complete"
        except Missed as missed:
            self.missed = str(missed)
        except AssertionError as error:
            if not self.is_started:
                raise
            self.missed = str(error)
        if not self.is_started and not self._stop.is_set():
            self.start()

    def abort(self) -> None:
        """End the scenario now: kill the client. May be called in any thread."""
        self._is_aborted = True
        self._stop.set()
        if self.command is not None:
            self.command.kill()
        self.cluster._server.watchers.touch()

    @property
    def status(self) -> int | None:
        """The exit status of the client, negative for a signal."""
        return None if self.command is None else self.command.status

    @property
    def was_late(self) -> bool:
        """Whether the client exceeded its time limit, and was killed or ended late."""
        return self.command is not None and (self.command.was_killed or self.duration_s >= self.timeout_s)

    @property
    def duration_s(self) -> float:
        """The time from the start of the client to its end, or until now; 0 before it is started."""
        if not self.is_started:
            return 0.0
        return (elapsed_s() if self._ended_s is None else self._ended_s) - self._began_s

    # What the client does

    def wait_for_request(
        self, *apis: str, n: int = 1, where: Callable[[Request], object] | None = None
    ) -> list[Request]:
        """Wait until the client has sent `n` matching requests."""
        return self.cluster.requests.wait_for(*apis, n=n, where=where)

    def wait_for_answer(self, api: str, n: int = 1, errors: str | None = None) -> None:
        """Wait until `n` requests have responses; with `errors`, only responses with one of them count."""

        def answered() -> bool:
            found = [request for request in self.cluster.requests.filter(api, errors=errors) if not request.is_waiting]
            return len(found) >= n

        self.wait_until(answered, f"fewer than {n} {api} requests got a response{f' with {errors}' if errors else ''}")

    def wait_for_end(self) -> None:
        """Wait until the client has ended; the scenario ends with it."""
        assert self.command is not None
        self.command.wait()

    @contextmanager
    def may_end(self) -> Iterator[None]:
        """Allow the client to end while the block waits: a correct client may report an error."""
        with suppress(WaitCancelled):
            yield

    def wait_for_position(self, offset: int, partition: int = 0) -> None:
        """Wait until the client has fetched from this offset on: it has received all records before."""
        self.wait_for_request("Fetch", where=lambda request: offset in fetch_offsets(request, partition))

    def wait_for_commit(self, offset: int, partition: int = 0) -> None:
        """Wait until the group of the client has committed this offset."""
        assert self.scenario.group is not None
        self.cluster.group(self.scenario.group).wait_for_commit(TOPIC, partition, offset)

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        """Wait until a condition holds. It is checked after each change and each request."""
        wait(self.cluster, lambda: True if condition() else None, None, lambda: what, requests=True)

    # What the broker does

    def fault(self, api: str | list[str], **options: Any) -> Fault:
        """Set a fault until the end of the scenario. If it does not fire, the scenario counts as not run."""
        return self.cluster.fault(api, **options)

    def rewrite(self, api: str, change: Callable[[Any], object], *, times: int | None = None, **filters: Any) -> Fault:
        """Change responses before they are encoded. `change` gets the decoded response, in the loop of the broker.

        A response for which `change` returns False does not count.
        """
        return self._add(api, Actions(rewrite=change), times, filters)

    def rewrite_frames(
        self, api: str, change: Callable[[bytearray], bytearray], *, times: int | None = None, **filters: Any
    ) -> Fault:
        """Change encoded responses. `change` gets a frame with its size field, and returns the one to send."""
        return self._add(api, Actions(rewrite_frame=change), times, filters)

    def _add(self, api: str, actions: Actions, times: int | None, filters: dict[str, Any]) -> Fault:
        rule = FaultRule(Filters(frozenset([BY_TITLE[api]]), **filters), actions, Selection(times=times))
        fault = Fault(self.cluster, {"api": api, "times": times}, rule, self.cluster._forget_fault)
        self.cluster._server.call(lambda: self.cluster._server.faults.add(rule))
        self.cluster._faults = (*self.cluster._faults, fault)
        return fault


def fetches_from(offset: int, partition: int = 0) -> Callable[[Any], bool]:
    """Return a predicate for the option `when` of a fault: a Fetch request that reads a partition from an offset on."""

    def matches(request: Any) -> bool:
        return any(
            each.partition == partition and each.fetch_offset == offset
            for topic in request.topics
            for each in topic.partitions
        )

    return matches


def fetch_offsets(request: Request, partition: int = 0) -> list[int]:
    """Return the offsets from which a Fetch request reads a partition."""
    body = request.request
    if body is None:
        return []
    return [
        each["fetch_offset"]
        for topic in body["topics"]
        for each in topic["partitions"]
        if each["partition"] == partition
    ]
