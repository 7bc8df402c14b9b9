"""Perform the steps of a scenario against a broker: bound names, connections and requests.

Each step is performed by the method for its `op`, which returns the response in the notation of `expect`. Responses are
not compared here: judging/ compares them, and recording/ records them.

With a broker on a manual clock, a step that waits advances the clock instead of sleeping.

`deadline`, a time of `time.monotonic`, limits all steps together: after it, they raise OutOfTime.
"""

import math
import os
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from socket import SHUT_RDWR
from typing import Any, NamedTuple, TypeVar

from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet_conformance.notation import values as notation

from .connection import Closed, Connection, Garbage, NoAnswer, OutOfTime, decode_answer
from .matching import NAME, resolve
from .placement import (
    GROUP,
    TRANSACTION,
    auto_created,
    coordinated,
    is_about_groups,
    renamed,
    renumbered,
    with_assignments,
)
from .state_records import LEADER_EPOCH_VERSION, TRANSACTION_STATE, leader_epoch, state_records
from .target import Target
from .tolerances import WAITED

RETRY_S = 60.0
PAUSE_MS = 20
POLL_S = 0.001
"""How long to wait for a response before advancing the manual clock by another `PAUSE_MS`."""
ANSWER_S = 15.0
"""The time that a broker has for a response, in addition to the wait that the request allows."""
LONGEST_S = 40.0
COORDINATOR_TRIES = 100
COORDINATORS = 12
"""The number of names whose coordinators are looked up to find a broker that coordinates some of them."""
NOT_YET = frozenset({14, 15, 19, 51})
"""Errors while a coordinator or its topic is not ready or still writes the markers of the previous transaction, and
while the leader has not received the new in-sync replicas. The broker has changed nothing."""
LOADING_S = 5.0
"""How long a request is repeated if its coordinator is not ready, but was ready when the response was recorded."""
UNDONE_BY = {"stop": "start", "kill": "start", "pause": "resume", "cut_off": "reconnect"}
"""What can be done to a broker, and what undoes it."""
WAITS = frozenset({"max_wait_ms", "timeout_ms", "rebalance_timeout_ms", "session_timeout_ms"})
"""The fields of requests that make the broker wait."""

AT_BROKER = re.compile(r"(?P<where>at|not)-(?P<node>\d+|\$\w+)")
"""The name of a connection to a certain broker, given by its id or a name bound to the id; `not` means another
broker.
"""
AS_CLIENT = re.compile(r"as-\$(?P<name>\w+)")
"""The name of a connection whose client id is bound to a name."""

T = TypeVar("T")


class SetupFailed(Exception):
    """A preparation step failed."""


class Sent(NamedTuple):
    """A request whose response is received in a later step."""

    connection: Connection
    correlation_id: int
    began_ms: int
    data: bytes
    limit_s: float


class Player:
    """Performs steps against a broker. `unique` is part of the names of all topics, groups and ids that it creates."""

    def __init__(self, target: Target, unique: str, deadline: float = math.inf) -> None:
        self.target, self.unique, self.deadline = target, unique, deadline
        self.names: dict[str, Any] = {}
        self.connections: dict[tuple[str, int | None], Connection] = {}
        self.waiting: dict[str, Sent] = {}
        self.request_bytes = self.answer_bytes = b""
        """The last request and its response, without their sizes."""
        self.home: int | None = None
        """The broker for connections whose name contains no broker; None means the bootstrap address."""
        self.homes: dict[int, int] = {}
        """The brokers that coordinate the groups and transactional ids of the steps: the home broker, if possible."""
        self.coordinated: dict[str, set[int]] = {}
        """The groups and transactional ids that the home brokers must coordinate."""
        self.is_placed = False
        self.auto_created: set[str] = set()
        """The topics, in the notation of the steps, that the cluster creates on brokers of its choice."""
        self.uniques = {unique}
        """The unique parts in the names of this player."""
        self.renamed: dict[str, str] = {}
        self.enlarged: dict[str, int] = {}
        """The number of partitions of each topic that CreatePartitions has extended."""
        self.may_be_throttled = False
        """Whether quotas apply to the connections, or the steps change quotas."""
        self.transactional_ids: dict[int, str] = {}
        """The transactional ids of producer ids, except for those whose markers the steps write themselves."""
        self.coordinator_epochs: dict[str, int | None] = {}
        self.disturbed: dict[int, str] = {}
        """What undoes the fault of each broker that is stopped or paused."""

    def close(self) -> None:
        """Close all connections, and let all brokers run again."""
        for node_id, undo in list(self.disturbed.items()):
            self.op_broker({"node": node_id, "do": undo})
        self._close_connections()

    def _close_connections(self) -> None:
        for connection in list(self.connections.values()):
            connection.close()
        self.connections.clear()

    def interrupt(self) -> None:
        """End the step in progress, which another thread performs: its receive fails at once."""
        self.deadline = 0
        for connection in list(self.connections.values()):
            connection.deadline = 0
            with suppress(OSError):
                connection.socket.shutdown(SHUT_RDWR)

    def reopen(self) -> None:
        """Close all connections, because the state of one of them is unknown. They are reopened when they are
        needed.
        """
        self._close_connections()
        self.waiting.clear()

    def perform(self, step: dict[str, Any]) -> Any:
        """Perform a step and return its result in the notation of `expect`."""
        perform = getattr(self, f"op_{step['op']}", None)
        if perform is None:
            raise ValueError(f"unknown op: {step['op']!r}")
        self.check_time()
        if self.target.clock is not None:
            self.target.clock.advance(milliseconds=1)  # as with Apache Kafka, no two steps have the same time
        self.request_bytes = self.answer_bytes = b""
        return perform(step)

    def check_time(self, waits_for: str = "") -> None:
        """Raise OutOfTime if the deadline has passed; `waits_for` says what has not arrived."""
        if time.monotonic() >= self.deadline:
            raise OutOfTime(waits_for)

    def wait(self, ms: float, waits_for: str = "") -> None:
        """Wait, at most until the deadline."""
        self.target.wait(min(ms, max((self.deadline - time.monotonic()) * 1000, 0)))
        self.check_time(waits_for)

    def op_note(self, step: dict[str, Any]) -> None: ...

    def op_let(self, step: dict[str, Any]) -> None:
        value = step["value"]
        if isinstance(value, str):
            value = value.replace("<unique>", self.unique_of(step["name"], value))
        self.names[step["name"]] = resolve(value, self.names)

    def op_bind_now(self, step: dict[str, Any]) -> None:
        self.names[step["bind"]] = self.target.now_ms()

    def op_sleep(self, step: dict[str, Any]) -> None:
        self.wait(step["ms"])

    def op_restart(self, step: dict[str, Any]) -> None:
        if self.target.restart is None:
            raise SetupFailed("there is no command that restarts the broker")
        self.reopen()
        self.target.restart()

    def op_broker(self, step: dict[str, Any]) -> None:
        node_id, do = step["node"], step["do"]
        if self.target.brokers is None or do not in {*UNDONE_BY, *UNDONE_BY.values()}:
            raise SetupFailed(f"broker {node_id}: {do} is not possible here")
        if do == "start":  # the connections to the process that has ended
            for place in [place for place in self.connections if place[1] == node_id]:
                self.connections.pop(place).close()
        getattr(self.target.brokers, do)(node_id, *step.get("peers", ()))
        self.disturbed.pop(node_id, None)
        if do in UNDONE_BY:
            self.disturbed[node_id] = UNDONE_BY[do]

    def op_request(self, step: dict[str, Any]) -> Any:
        name = self.place_of(step)
        deadline, loaded = time.monotonic() + RETRY_S, time.monotonic() + LOADING_S
        is_known = "expect" in step or step.get("must_succeed")
        unready = NOT_YET - set(error_codes(step.get("expect"))) if is_known else frozenset()
        while True:
            began_ms = self.target.now_ms()
            try:
                answer = self.ask(name, step)
            except Closed:
                self.drop(name)
                answer = {"connection": "closed"}
            except NoAnswer:
                self.drop(name)
                answer = {"connection": "no answer"}
            codes = set(error_codes(answer))
            repeated = codes & set(step.get("retry_errors", ())) and time.monotonic() < deadline
            if not repeated and not (codes & unready and time.monotonic() < loaded):
                break
            self.wait(PAUSE_MS, f"{step['api']} v{step['version']} returns {error_names(codes)}")
        self.time(step, answer, began_ms)
        self.bind(step, answer)
        if self.is_placed and step["api"] == "CreatePartitions":
            self.count_partitions(step, answer)
        if step.get("must_succeed") and (codes - {0} or "connection" in answer):
            raise SetupFailed(f"{step['api']} v{step['version']} must succeed, but the response is {answer}")
        return answer

    def op_poll_until(self, step: dict[str, Any]) -> None:
        deadline = time.monotonic() + step["timeout_ms"] / 1000
        wanted = resolve(step["equals"], self.names)
        answer = None
        while time.monotonic() < deadline:
            try:
                answer = self.ask(self.place_of(step), step)
            except (Closed, NoAnswer) as error:
                raise SetupFailed(f"{step['api']} v{step['version']}: {type(error).__name__}") from error
            found = at_path(answer, step["path"])
            if found == wanted or (step.get("any_order") and found is not None and sorted(found) == wanted):
                return
            self.wait(PAUSE_MS, f"{step['path']} of {step['api']} does not become {wanted!r}")
        raise SetupFailed(f"{step['path']} of {step['api']} did not become {wanted!r}; last response: {answer}")

    def op_send(self, step: dict[str, Any]) -> None:
        connection, body = self.connection(self.place_of(step)), self.body(step)
        sent = connection.send(step["api"], step["version"], body)
        self.request_bytes = connection.last_request
        self.waiting[step["id"]] = Sent(
            connection, sent, self.target.now_ms(), connection.last_request, answer_limit_s(body)
        )

    def op_is_pending(self, step: dict[str, Any]) -> Any:
        connection, sent, *_ = self.waiting[step["id"]]
        try:
            answer = self.receive_within(lambda wait_s: connection.receive(sent, wait_s), step["wait_ms"] / 1000)
        except NoAnswer:
            return {"answered": False}
        connection.put_back(sent, answer)
        return {"answered": True}

    def op_receive(self, step: dict[str, Any]) -> Any:
        connection, sent, began_ms, self.request_bytes, limit_s = self.waiting.pop(step["id"])
        try:
            answer = self.receive(connection, sent, limit_s)
        except Closed:
            return {"connection": "closed"}
        except NoAnswer:
            return {"connection": "no answer"}
        self.time(step, answer, began_ms)
        self.bind(step, answer)
        return answer

    def op_request_then_apiversions(self, step: dict[str, Any]) -> Any:
        name = self.place_of(step)
        connection = self.connection(name)
        answered = False
        try:
            first = connection.send(step["api"], step["version"], self.body(step))
            self.request_bytes = connection.last_request
            self.receive(connection, connection.send("ApiVersions", 0, {}), ANSWER_S)
        except (Closed, NoAnswer):
            self.drop(name)
            return {"answered": first in connection.answers, "connection": "closed"}
        answered = first in connection.answers
        return {"answered": answered, "connection": "open"}

    def op_raw(self, step: dict[str, Any]) -> Any:
        name = step.get("conn", "main")
        connection = self.target.connect(name, self.node_of(name), self.deadline)
        data = bytes.fromhex(step["hex"])
        try:
            self.request_bytes = data
            if step["framed"]:
                connection.send_frame(data, step.get("size_prefix"))
            else:
                connection.send_bytes(data)
            self.answer_bytes = frame = self.receive_within(
                lambda wait_s: connection.receive_frame(time.monotonic() + wait_s), step["timeout_ms"] / 1000
            )
            if len(frame) < 4:
                raise Garbage(f"a response of {len(frame)} bytes has no correlation id", frame)
            answer: dict[str, Any] = {"correlation_id": int.from_bytes(frame[:4], "big", signed=True)}
            if "decode" in step:
                api, version = step["decode"]
                answer["response"] = decode_answer(api, version, frame)
            if step.get("follow"):
                answer["then"] = self.follow(connection)
            return answer
        except Closed:
            return {"connection": "closed"}
        except NoAnswer:
            return {"connection": "no answer"}
        finally:
            connection.close()

    def op_token(self, step: dict[str, Any]) -> Any:
        name = step["conn"]
        try:
            connection = self.connection(name)
            connection.send_frame(notation.to_bytes(step["data"]) or b"")
            self.request_bytes = connection.last_request
            self.answer_bytes = frame = self.receive_within(
                lambda wait_s: connection.receive_frame(time.monotonic() + wait_s), ANSWER_S
            )
        except Closed:
            self.drop(name)
            return {"connection": "closed"}
        except NoAnswer:
            self.drop(name)
            return {"connection": "no answer"}
        return {"token": notation.from_bytes(frame)}

    def follow(self, connection: Connection) -> str:
        try:
            connection.ask("ApiVersions", 0, {})
        except Closed:
            return "connection closed"
        return "connection usable"

    def op_state_records(self, step: dict[str, Any]) -> Any:
        of = resolve(step["of"], self.names)
        producers = {value for name, value in self.names.items() if name.startswith("P")}
        batches = state_records(self.connection("state"), step["topic"], of, producers)
        if step.get("flat"):
            records = [record for batch in batches for record in batch["records"]]
            return {"records": sorted(records, key=lambda record: record["key"])}
        return {"batches": batches}

    def ask(self, name: str, step: dict[str, Any]) -> dict[str, Any]:
        """Send the request of a step on the connection `name`, and return the response."""
        connection, body = self.connection(name), self.body(step)
        self.answer_bytes = b""
        sent = connection.send(step["api"], step["version"], body)
        self.request_bytes = connection.last_request
        answer = self.receive(connection, sent, answer_limit_s(body))
        if (of := body.get("transactional_id")) is not None and "producer_id" in answer:
            self.transactional_ids[answer["producer_id"]] = of
        for marker in body.get("markers") or ():
            self.transactional_ids.pop(marker["producer_id"], None)
        return answer

    def coordinator_epoch(self, producer_id: int) -> int | None:
        """Return the coordinator epoch in the markers of a producer: the leader epoch of its coordinator's partition.

        None if the producer has no coordinator, or if the broker does not return its leader epoch.
        """
        of = self.transactional_ids.get(producer_id)
        if of is None or self.target.versions.get(Api.METADATA, (0, 0))[1] < LEADER_EPOCH_VERSION:
            return None
        if of not in self.coordinator_epochs:
            self.coordinator_epochs[of] = leader_epoch(self.connection("state"), TRANSACTION_STATE, of)
        return self.coordinator_epochs[of]

    def receive(self, connection: Connection, sent: int, limit_s: float) -> dict[str, Any]:
        """Return the response to a request that was sent. Raises NoAnswer after `limit_s`."""
        limit_s = limit_s if self.target.clock is None else connection.timeout_s
        try:
            answer = self.receive_within(lambda wait_s: connection.receive(sent, wait_s), limit_s)
        except OutOfTime:
            api, version = connection.in_flight.pending.get(sent, ("the request", ""))
            raise OutOfTime(f"{api} v{version} got no response") from None
        self.answer_bytes = connection.last_answer
        return answer

    def receive_within(self, receive: Callable[[float], T], timeout_s: float) -> T:
        """Return the result of `receive` (called with a timeout in seconds), or raise NoAnswer after `timeout_s`."""
        if self.target.clock is None:
            return receive(timeout_s)
        give_up_ms = self.target.now_ms() + timeout_s * 1000
        while True:
            try:
                return receive(POLL_S)
            except NoAnswer:
                pass
            # Once the broker has responded to another request, only requests that have to wait have no response.
            self.connection("idle").ask("ApiVersions", 0, {})
            try:
                return receive(POLL_S)
            except NoAnswer:
                if self.target.now_ms() >= give_up_ms:
                    raise
            self.target.clock.advance(milliseconds=PAUSE_MS)

    def connection(self, name: str) -> Connection:
        """Return the connection of this name. It is opened when it is first used."""
        place = name, self.node_of(name)  # a name may be bound to another broker later
        if place not in self.connections:
            self.connections[place] = self.target.connect(*place, deadline=self.deadline)
            if (client := AS_CLIENT.search(name)) is not None:
                self.connections[place].in_flight.client_id = self.names[client["name"]]
        return self.connections[place]

    def node_of(self, name: str) -> int | None:
        """Return the broker to which a connection of this name leads; None means the bootstrap address."""
        match = AT_BROKER.match(name)
        if match is None:
            return self.home
        bound = match["node"].startswith("$")
        node = self.names.get(match["node"][1:]) if bound else int(match["node"])
        if match["where"] == "not":
            node = next((other for other in sorted(self.target.nodes) if other != node), None)
        if node not in self.target.nodes:
            raise SetupFailed(f"connection {name!r}: the cluster has no such broker; it has {self.target.nodes}")
        return node

    def drop(self, name: str) -> None:
        """Close the connection of this name."""
        place = name, self.node_of(name)
        if place in self.connections:
            self.connections.pop(place).close()

    def body(self, step: dict[str, Any]) -> dict[str, Any]:
        """Return the body of a step with the values of its names. Raises SetupFailed if a name is not bound."""
        body: dict[str, Any] = resolve(step["body"], self.names)
        if left := sorted(unbound(body)):
            raise SetupFailed(f"unbound names: {', '.join(left)}")
        if self.is_placed and self.home is not None:
            body = self.here(with_assignments(step["api"], body, self.home, self.partition_count))
        return body

    def place(self, steps: Iterable[dict[str, Any]]) -> None:
        """Prepare a cluster of several brokers for steps that were recorded with one."""
        self.is_placed, self.coordinated = True, coordinated(steps)
        self.homes = self.coordinating_brokers({kind for kinds in self.coordinated.values() for kind in kinds})
        self.home = self.homes.get(TRANSACTION, self.homes.get(GROUP, self.target.main))
        self.auto_created = auto_created(steps)
        for text, kinds in list(self.coordinated.items()):
            if not text.startswith("$"):
                self.coordinated[f"${text}"] = kinds
                at_home = all(self.coordinator(kind, text) == self.homes[kind] for kind in kinds)
                self.renamed[text] = text if at_home else f"{text}-{self.unique_of(text, f'{text}-<unique>')}"

    def here(self, value: Any) -> Any:
        """Replace the values in a recording that depend on its broker, and the names of groups that do not exist."""
        if not self.is_placed or self.home is None:
            return value
        return renamed(renumbered(value, self.home), self.renamed)

    def unique_of(self, name: str, value: str) -> str:
        """Return the unique part of a name. If it is coordinated, a home broker is its coordinator."""
        kinds = self.coordinated.get(f"${name}", ()) if "<unique>" in value else ()
        unique = self.unique
        for _ in range(COORDINATOR_TRIES):
            if all(self.coordinator(kind, value.replace("<unique>", unique)) == self.homes[kind] for kind in kinds):
                break
            unique = os.urandom(4).hex()
        else:
            raise SetupFailed(f"no home broker coordinates one of {COORDINATOR_TRIES} names such as {value}")
        self.uniques.add(unique)
        return unique

    def coordinating_brokers(self, kinds: Iterable[int]) -> dict[int, int]:
        """Return a broker that coordinates names of each kind: one for all kinds if possible, and the main broker if it
        is among the candidates.
        """
        names = [f"{self.unique}-{number}" for number in range(COORDINATORS)]
        found = {kind: {self.coordinator(kind, name) for name in names} for kind in kinds}
        common = set(self.target.nodes).intersection(*found.values())
        main = self.target.main
        return {kind: main if main in (common or nodes) else min(common or nodes) for kind, nodes in found.items()}

    def coordinator(self, kind: int, key: str) -> int:
        """Return the broker that coordinates a group or a transactional id."""
        high = self.target.versions.get(Api.FIND_COORDINATOR, (0, 0))[1]
        step = {"api": "FindCoordinator", "version": min(high, 2), "body": {"key": key, "key_type": kind}}
        if high < 1:
            step["body"] = {"key": key}
        while True:
            answer = self.ask("main", step)
            if answer["error_code"] not in NOT_YET:
                node: int = answer["node_id"]
                return node
            self.wait(PAUSE_MS, f"FindCoordinator returns {error_names([answer['error_code']])}")

    def place_of(self, step: dict[str, Any]) -> str:
        """Return the connection for a step: to the leader of its topic if the cluster created the topic automatically,
        or to the coordinator of its groups if the home broker does not coordinate groups.
        """
        name: str = step.get("conn", "main")
        groups_home = self.homes.get(GROUP, self.home)
        if groups_home != self.home and AT_BROKER.match(name) is None and is_about_groups(step):
            return f"at-{groups_home} {name}"
        topics = (
            [topic["name"] for topic in step["body"].get("topics") or ()] if step.get("api") == "ListOffsets" else []
        )
        if not self.auto_created.intersection(topics):
            return name
        body = {"topics": [{"name": resolve(topics[0], self.names)}], "allow_auto_topic_creation": False}
        [found] = self.ask(name, {"api": "Metadata", "version": 4, "body": body})["topics"]
        leaders = [partition["leader_id"] for partition in found["partitions"]]
        return f"at-{leaders[0]}" if leaders and leaders[0] in self.target.nodes else name

    def partition_count(self, topic: str) -> int | None:
        """Return the number of partitions of a topic, or None if it does not exist.

        The broker's metadata may be older than its CreatePartitions response.
        """
        body = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
        [found] = self.ask("main", {"api": "Metadata", "version": 4, "body": body})["topics"]
        return None if found["error_code"] else max(len(found["partitions"]), self.enlarged.get(topic, 0))

    def count_partitions(self, step: dict[str, Any], answer: dict[str, Any]) -> None:
        """Record the numbers of partitions that a CreatePartitions request has set."""
        body = resolve(step["body"], self.names)
        counts = {topic["name"]: topic["count"] for topic in body.get("topics") or ()}
        for result in answer.get("results", ()) if not body.get("validate_only") else ():
            if result["error_code"] == 0 and result["name"] in counts:
                self.enlarged[result["name"]] = counts[result["name"]]

    def bind(self, step: dict[str, Any], answer: dict[str, Any]) -> None:
        """Bind the names of a step to values in the response."""
        if "connection" not in answer:
            self.names |= {name: at_path(answer, path) for name, path in step.get("bind", {}).items()}
            said = {name: at_path(answer, path) for name, path in step.get("bind_said", {}).items()}
            self.names |= {name: value for name, value in said.items() if value is not None}

    def time(self, step: dict[str, Any], answer: dict[str, Any], began_ms: int) -> None:
        """Add to a response whether the broker waited, if the step has `timing_max_wait_ms`."""
        if "timing_max_wait_ms" in step and "connection" not in answer:
            elapsed_ms = self.target.now_ms() - began_ms
            answer["elapsed"] = "waited" if elapsed_ms >= WAITED * step["timing_max_wait_ms"] else "not waited"
            answer["#elapsed_ms"] = elapsed_ms


def answer_limit_s(body: dict[str, Any]) -> float:
    """Return how long to wait for the response to a request, based on the longest wait that the request allows."""
    waits = [value for field, value in body.items() if field in WAITS and type(value) is int]
    return min(ANSWER_S + max(0, *waits, 0) / 1000, LONGEST_S)


def compared_part(step: dict[str, Any], answer: Any, names: dict[str, Any]) -> Any:
    """Return the part of a response to compare: the fields in `only`, and of the lists in `keep`, only items of this
    scenario. Bytes in the fields of `as` are decoded as the given kind.
    """
    if not isinstance(answer, dict) or "connection" in answer:
        return answer
    if "part" in step:
        return {"part": at_path(answer, step["part"])}
    out = {key: value for key, value in answer.items() if key in step.get("only", answer)}
    own = set(map(str, names.values()))
    for field, name in step.get("keep", {}).items():
        out[field] = sorted((item for item in out[field] or () if item[name] in own), key=lambda item: str(item[name]))
    return _read(out, step["as"]) if "as" in step else out


def _read(value: Any, kinds: dict[str, str]) -> Any:
    match value:
        case dict():
            return {
                key: notation.embedded(kinds[key], item) if key in kinds else _read(item, kinds)
                for key, item in value.items()
            }
        case list():
            return [_read(item, kinds) for item in value]
    return value


def at_path(answer: Any, path: str) -> Any:
    """Return the value at a path such as `topics.0.error_code`, or None if the response has no such path."""
    for part in path.split("."):
        try:
            answer = answer[int(part)] if isinstance(answer, list) else answer[part]
        except (KeyError, IndexError, TypeError):
            return None
    return answer


def error_codes(answer: Any) -> list[int]:
    """Return all values of `error_code` in a response."""
    match answer:
        case dict():
            own = [answer["error_code"]] if "error_code" in answer else []
            return own + [code for item in answer.values() for code in error_codes(item)]
        case list():
            return [code for item in answer for code in error_codes(item)]
    return []


def error_names(codes: Iterable[int]) -> str:
    """Return the names of error codes other than 0."""
    names = {int(code): code.name for code in Code}
    return ", ".join(names.get(code, str(code)) for code in sorted({*codes} - {0}))


def unbound(value: Any) -> set[str]:
    """Return the names in a value that are not bound yet."""
    match value:
        case dict():
            return {name for key, item in value.items() if not key.startswith("#") for name in unbound(item)}
        case list():
            return {name for item in value for name in unbound(item)}
        case str() if NAME.fullmatch(value):
            return {value}
    return set()
