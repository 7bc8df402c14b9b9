"""The commands of `kafkalet ctl`. Each sends requests to the control API and shows the responses."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kafkalet.control.client import ControlClient, ControlError, Json

from .command_line import Failure, Option, UsageError, print_line, split
from .tables import cell, table

WAIT_S = 10.0
MAX_LINES = 10_000
"""The largest number of records that one request sends."""
MAX_JSON_BYTES = 8 << 20
"""Records whose JSON is larger than this together are sent in several requests. The API accepts 16 MiB."""


class Command(NamedTuple):
    """A command. `arguments` are its words, as in `TOPIC`, `[VALUE]` (optional) or `[API...]` (any number)."""

    name: str
    arguments: tuple[str, ...]
    help: str
    run: Callable[[ControlClient, Given], Json]
    show: Callable[[Json], str]
    options: tuple[Option, ...]

    @property
    def words(self) -> list[str]:
        return self.name.split()

    @property
    def usage(self) -> str:
        return " ".join([self.name, *self.arguments])


class Given:
    """The arguments and options of a command line. Raises UsageError if arguments are missing or superfluous."""

    def __init__(self, command: Command, arguments: Sequence[str], options: Mapping[str, list[str]]) -> None:
        self.arguments = list(arguments)
        self._options = options
        required = [name for name in command.arguments if not name.startswith("[")]
        most = None if any("..." in name for name in command.arguments) else len(command.arguments)
        if len(arguments) < len(required):
            raise UsageError(f"{required[len(arguments)]} is missing: kafkalet ctl {command.usage}")
        if most is not None and len(arguments) > most:
            raise UsageError(f"unknown argument {arguments[most]}: kafkalet ctl {command.usage}")

    def argument(self, index: int) -> str | None:
        return self.arguments[index] if index < len(self.arguments) else None

    def last(self, name: str) -> str | None:
        return self._options[name][-1] if name in self._options else None

    def every(self, name: str) -> list[str]:
        return self._options.get(name, [])

    def has(self, name: str) -> bool:
        return name in self._options

    def integer(self, name: str) -> int | None:
        """Return the value of an option that is an integer."""
        text = self.last(name)
        return None if text is None else integer(f"--{name}", text)

    def number(self, name: str) -> float | None:
        """Return the value of an option that is a number."""
        text = self.last(name)
        return None if text is None else number(f"--{name}", text)

    @property
    def timeout_s(self) -> float:
        """The value of --timeout, by default that of the API."""
        found = self.number("timeout")
        return WAIT_S if found is None else found


def integer(what: str, text: str) -> int:
    if not text.removeprefix("-").isdecimal() or not text.isascii():
        raise UsageError(f"{what} {text}: expected a whole number")
    return int(text)


def number(what: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{what} {text}: expected a number") from None


COMMANDS: dict[str, Command] = {}

Run = Callable[[ControlClient, Given], Json]


def _command(
    name: str,
    *arguments: str,
    help: str,  # noqa: A002 - the name of the field
    show: Callable[[Json], str],
    options: Iterable[Option] = (),
) -> Callable[[Run], Run]:
    def declare(run: Run) -> Run:
        COMMANDS[name] = Command(name, arguments, help, run, show, tuple(options))
        return run

    return declare


TIMEOUT = Option("--timeout", "SECONDS", "longest time to wait (10)")
PARTITION = Option("--partition", "N", "partition")
ISOLATION = Option("--isolation", "LEVEL", "read_uncommitted or read_committed (read_uncommitted)")
KEY = Option("--key", "TEXT", "key of the record")


def _nothing(found: Json) -> str:
    return str(found)


# Cluster and topics


def _show_brokers(found: Json) -> str:
    rows = (
        (each["node_id"], "running" if each["is_running"] else "stopped", each["host"], each["port"], each["rack"])
        for each in found["brokers"]
    )
    return table(("BROKER", "STATE", "HOST", "PORT", "RACK"), rows)


def _show_cluster(found: Json) -> str:
    lines = [
        f"cluster {found['cluster_id']}, Kafka {found['kafka_version']}, kafkalet {found['kafkalet_version']}",
        f"bootstrap servers {found['bootstrap_servers'] or '-'}, controller {cell(found['controller_id'])}",
    ]
    return "\n".join([*lines, _show_brokers(found)])


@_command("cluster", help="show the brokers, addresses and release", show=_show_cluster)
def _cluster(client: ControlClient, given: Given) -> Json:
    return client.ask("GET", "/v1/cluster")


def _show_topics(found: Json) -> str:
    rows = []
    for topic in found["topics"]:
        partitions = topic["partitions"]
        records = sum((each["high_watermark"] or 0) - (each["log_start_offset"] or 0) for each in partitions)
        size = sum(each["size_bytes"] or 0 for each in partitions)
        replicas = len(partitions[0]["replicas"]) if partitions else 0
        rows.append((topic["name"], len(partitions), replicas, records, size))
    return table(("TOPIC", "PARTITIONS", "REPLICAS", "OFFSETS", "BYTES"), rows)


def _show_topic(topic: Json) -> str:
    header = ("PARTITION", "LEADER", "EPOCH", "REPLICAS", "ISR", "START", "STABLE", "HIGH WATERMARK", "END", "BYTES")
    names = ["partition", "leader", "leader_epoch", "replicas", "isr", "log_start_offset", "last_stable_offset"]
    names += ["high_watermark", "log_end_offset", "size_bytes"]
    lines = [f"topic {topic['name']}", *(f"  {name}={value}" for name, value in sorted(topic["config"].items()))]
    return "\n".join([*lines, table(header, ([each[name] for name in names] for each in topic["partitions"]))])


@_command(
    "topics",
    help="list the topics",
    show=_show_topics,
    options=[Option("--internal", "", "include the topics of the brokers, like __consumer_offsets")],
)
def _topics(client: ControlClient, given: Given) -> Json:
    return client.ask("GET", "/v1/topics", query={"internal": given.has("internal")})


@_command("topic show", "TOPIC", help="show the partitions of a topic", show=_show_topic)
def _topic_show(client: ControlClient, given: Given) -> Json:
    return client.ask("GET", "/v1/topics/{}", given.arguments[0])


@_command(
    "topic create",
    "TOPIC",
    help="create a topic",
    show=_show_topic,
    options=[
        Option("--partitions", "N", "number of partitions"),
        Option("--replication-factor", "N", "number of replicas of each partition"),
        Option("--config", "KEY=VALUE", "property of the topic; repeatable", repeatable=True),
    ],
)
def _topic_create(client: ControlClient, given: Given) -> Json:
    config = dict(split("--config", "KEY=VALUE", text) for text in given.every("config"))
    body = {
        "name": given.arguments[0],
        "partitions": given.integer("partitions"),
        "replication_factor": given.integer("replication-factor"),
        "config": config or None,
    }
    return client.ask("POST", "/v1/topics", body=body)


@_command("topic delete", "TOPIC", help="delete a topic and its records", show=_nothing)
def _topic_delete(client: ControlClient, given: Given) -> Json:
    return client.ask("DELETE", "/v1/topics/{}", given.arguments[0])


# Records


def _show_sent(found: Json) -> str:
    return table(("PARTITION", "OFFSET"), ((each["partition"], each["offset"]) for each in found["records"]))


def _show_records(found: Json) -> str:
    rows = (
        (
            each["partition"],
            each["offset"],
            each["timestamp"],
            each["key"],
            ",".join(f"{header['name']}={header['value']}" for header in each["headers"]) or None,
            each["value"],
        )
        for each in found["records"]
    )
    text = table(("PARTITION", "OFFSET", "TIMESTAMP", "KEY", "HEADERS", "VALUE"), rows)
    return f"{text}\nthere are more records; read them with --offset or --limit" if found.get("has_more") else text


def data_fields(name: str, data: bytes | None) -> dict[str, Json]:
    """Return bytes as a field and its encoding: text if they are UTF-8, else base64."""
    if data is None:
        return {}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {name: base64.b64encode(data).decode(), f"{name}_encoding": "base64"}


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else os.fsencode(text)


@_command(
    "send",
    "TOPIC",
    "[VALUE]",
    help="send a record, or each line of stdin if VALUE is missing",
    show=_show_sent,
    options=[
        KEY,
        Option("--header", "NAME=VALUE", "header of the record; repeatable", repeatable=True),
        PARTITION,
        Option("--timestamp", "MS", "timestamp, in milliseconds since 1970 (now)"),
        Option("--compression", "CODEC", "none, gzip, snappy, lz4 or zstd (none)"),
    ],
)
def _send(client: ControlClient, given: Given) -> Json:
    headers = []
    for text in given.every("header"):
        name, content = split("--header", "NAME=VALUE", text)
        headers.append({"name": name, **data_fields("value", _bytes(content))})
    common = {
        **data_fields("key", _bytes(given.last("key"))),
        "headers": headers,
        "partition": given.integer("partition"),
        "timestamp": given.integer("timestamp"),
    }
    value = _bytes(given.argument(1))
    values = [value] if value is not None else _lines()
    sent: list[Json] = []
    for records in _parts({**common, **data_fields("value", each)} for each in values):
        body = {"records": records, "compression": given.last("compression")}
        try:
            sent += client.ask("POST", "/v1/topics/{}/records", given.arguments[0], body=body)["records"]
        except ControlError as error:
            if sent:
                error.message += f"; the first {len(sent)} records were sent"
            raise
    return {"records": sent}


def _parts(records: Iterable[dict[str, Json]]) -> Iterator[list[dict[str, Json]]]:
    """Distribute records to requests."""
    part: list[dict[str, Json]] = []
    size = 0
    for record in records:
        record_size = len(json.dumps(record))
        if part and (len(part) == MAX_LINES or size + record_size > MAX_JSON_BYTES):
            yield part
            part, size = [], 0
        part.append(record)
        size += record_size
    if part:
        yield part


def _lines() -> list[bytes]:
    if sys.stdin is None:
        raise Failure("there is no stdin to read records from; give a VALUE")
    return [line.rstrip(b"\n").removesuffix(b"\r") for line in sys.stdin.buffer]


@_command(
    "records",
    "TOPIC",
    help="show records",
    show=_show_records,
    options=[
        PARTITION,
        Option("--offset", "N", "first offset (the log start offset)"),
        Option("--time", "MS", "start at this time, in milliseconds since 1970"),
        Option("--last", "N", "start this many offsets before the end"),
        Option("--limit", "N", "most records of each partition (100)"),
        ISOLATION,
    ],
)
def _records(client: ControlClient, given: Given) -> Json:
    query = {
        "partition": given.integer("partition"),
        "offset": given.integer("offset"),
        "time_ms": given.integer("time"),
        "last": given.integer("last"),
        "limit": given.integer("limit"),
        "isolation": given.last("isolation"),
    }
    return client.ask("GET", "/v1/topics/{}/records", given.arguments[0], query=query)


@_command(
    "wait",
    "TOPIC",
    "[N]",
    help="wait for N records (1) that match the options, and show them",
    show=_show_records,
    options=[
        KEY,
        Option("--value", "TEXT", "value of the record"),
        Option("--contains", "TEXT", "text that the value contains"),
        Option("--since", "MS", "skip records with an older timestamp"),
        PARTITION,
        ISOLATION,
        TIMEOUT,
    ],
)
def _wait(client: ControlClient, given: Given) -> Json:
    count = given.argument(1)
    body = {
        "n": None if count is None else integer("N", count),
        **data_fields("key", _bytes(given.last("key"))),
        **data_fields("value", _bytes(given.last("value"))),
        "value_contains": given.last("contains"),
        "since_ms": given.integer("since"),
        "partition": given.integer("partition"),
        "isolation": given.last("isolation"),
        "timeout_s": given.timeout_s,
    }
    path = "/v1/topics/{}/wait"
    return client.ask("POST", path, given.arguments[0], body=body, timeout_s=given.timeout_s)


@_command(
    "settle",
    help="wait until there is no request in progress, no lag and no open transaction",
    show=_nothing,
    options=[
        Option(
            "--group", "GROUP", "group that must have no lag (all groups with members); repeatable", repeatable=True
        ),
        TIMEOUT,
    ],
)
def _settle(client: ControlClient, given: Given) -> Json:
    body = {"groups": given.every("group") or None, "timeout_s": given.timeout_s}
    return client.ask("POST", "/v1/settle", body=body, timeout_s=given.timeout_s)


# Groups and transactions


def _show_groups(found: Json) -> str:
    rows = (
        (each["group_id"], each["state"], each["protocol"], len(each["members"]), each["total_lag"])
        for each in found["groups"]
    )
    return table(("GROUP", "STATE", "PROTOCOL", "MEMBERS", "LAG"), rows)


def _show_group(group: Json) -> str:
    members = (
        (
            each["member_id"],
            each["client_id"],
            each["host"],
            ",".join(f"{place['topic']}-{place['partition']}" for place in each["assignment"]) or None,
        )
        for each in group["members"]
    )
    offsets = (
        (each["topic"], each["partition"], each["committed"], each["end"], each["lag"]) for each in group["offsets"]
    )
    return "\n".join(
        [
            f"group {group['group_id']}: {group['state']}, {group['protocol']}, lag {group['total_lag']}",
            table(("MEMBER", "CLIENT", "HOST", "ASSIGNMENT"), members),
            table(("TOPIC", "PARTITION", "COMMITTED", "END", "LAG"), offsets),
        ]
    )


@_command("groups", help="list the consumer groups with their lag", show=_show_groups)
def _groups(client: ControlClient, given: Given) -> Json:
    return client.ask("GET", "/v1/groups")


@_command("group show", "GROUP", help="show the members and offsets of a group", show=_show_group)
def _group_show(client: ControlClient, given: Given) -> Json:
    return client.ask("GET", "/v1/groups/{}", given.arguments[0])


@_command(
    "group wait",
    "GROUP",
    help="wait until a group has no lag, or a number of members",
    show=_show_group,
    options=[
        Option("--lag", "N", "largest lag (0)"),
        Option("--members", "N", "wait for this number of members instead"),
        TIMEOUT,
    ],
)
def _group_wait(client: ControlClient, given: Given) -> Json:
    if given.has("members"):
        path, body = "/v1/groups/{}/wait-until-stable", {"members": given.integer("members")}
    else:
        path, body = "/v1/groups/{}/wait-for-lag", {"lag": given.integer("lag")}
    timeout_s = given.timeout_s
    return client.ask("POST", path, given.arguments[0], body={**body, "timeout_s": timeout_s}, timeout_s=timeout_s)


@_command("group evict", "GROUP", "MEMBER", help="remove a member from a group", show=_show_group)
def _group_evict(client: ControlClient, given: Given) -> Json:
    return client.ask("POST", "/v1/groups/{}/evict", given.arguments[0], body={"member_id": given.arguments[1]})


@_command("group rebalance", "GROUP", help="start a rebalance of a group", show=_show_group)
def _group_rebalance(client: ControlClient, given: Given) -> Json:
    return client.ask("POST", "/v1/groups/{}/rebalance", given.arguments[0])


@_command(
    "group seek",
    "GROUP",
    "[OFFSET]",
    help="commit another offset (a number, earliest or latest) for a group without members",
    show=_show_group,
    options=[
        Option("--timestamp", "MS", "move to the first record at or after this time, instead of OFFSET"),
        Option("--topic", "TOPIC", "topic (all topics with committed offsets)"),
        PARTITION,
    ],
)
def _group_seek(client: ControlClient, given: Given) -> Json:
    offset = given.argument(1)
    body = {
        "offset": offset if offset in (None, "earliest", "latest") else integer("OFFSET", str(offset)),
        "timestamp": given.integer("timestamp"),
        "topic": given.last("topic"),
        "partition": given.integer("partition"),
    }
    return client.ask("POST", "/v1/groups/{}/seek", given.arguments[0], body=body)


@_command("group delete", "GROUP", help="delete a group and its offsets", show=_nothing)
def _group_delete(client: ControlClient, given: Given) -> Json:
    return client.ask("DELETE", "/v1/groups/{}", given.arguments[0])


def _show_transactions(found: Json) -> str:
    rows = (
        (
            each["transactional_id"],
            each["state"],
            each["producer_id"],
            each["producer_epoch"],
            ",".join(f"{place['topic']}-{place['partition']}" for place in each["partitions"]) or None,
        )
        for each in found["transactions"]
    )
    return table(("TRANSACTION", "STATE", "PRODUCER", "EPOCH", "PARTITIONS"), rows)


def _show_transaction(found: Json) -> str:
    return _show_transactions({"transactions": [found]})


@_command("transactions", help="list the transactional ids with their states", show=_show_transactions)
def _transactions(client: ControlClient, given: Given) -> Json:
    return client.ask("GET", "/v1/transactions")


@_command("transaction abort", "ID", help="abort the open transaction of a transactional id", show=_show_transaction)
def _transaction_abort(client: ControlClient, given: Given) -> Json:
    return client.ask("POST", "/v1/transactions/{}/abort", given.arguments[0])


# Journal, connections and faults


def _show_requests(found: Json) -> str:
    return "\n".join(f"{each['connection']:>4} {each['text']}" for each in found["requests"]) or "no requests"


@_command(
    "requests",
    help="show the latest requests of clients, with their responses",
    show=_show_requests,
    options=[
        Option("--api", "API", "API, such as Fetch (all); repeatable", repeatable=True),
        Option("--client-id", "ID", "client id"),
        Option("--topic", "TOPIC", "topic in the request or the response"),
        Option("--errors", "", "only responses with an error"),
        Option("--limit", "N", "most requests (100)"),
        Option("--messages", "", "with --json: include the decoded messages"),
    ],
)
def _requests(client: ControlClient, given: Given) -> Json:
    query = {
        "apis": given.every("api") or None,
        "client_id": given.last("client-id"),
        "topic": given.last("topic"),
        "errors": True if given.has("errors") else None,
        "limit": given.integer("limit"),
        "messages": True if given.has("messages") else None,
    }
    return client.ask("GET", "/v1/requests", query=query)


@_command("requests clear", help="forget all requests", show=_nothing)
def _requests_clear(client: ControlClient, given: Given) -> Json:
    return client.ask("DELETE", "/v1/requests")


def _show_unsupported(found: Json) -> str:
    rows = (
        (each["api"], each["version"], each["client_id"], each["count"], each["served"] or None)
        for each in found["requests"]
    )
    return table(("API", "VERSION", "CLIENT", "COUNT", "SERVED INSTEAD"), rows)


@_command("requests unsupported", help="show requests that the brokers do not serve", show=_show_unsupported)
def _requests_unsupported(client: ControlClient, given: Given) -> Json:
    return client.ask("GET", "/v1/requests/unsupported")


def _show_connections(found: Json) -> str:
    rows = ((each["id"], each["broker"], each["client_id"], each["last_request"]) for each in found["connections"])
    return table(("CONNECTION", "BROKER", "CLIENT", "LAST REQUEST"), rows)


@_command("connections", help="list the connections of clients", show=_show_connections)
def _connections(client: ControlClient, given: Given) -> Json:
    return client.ask("GET", "/v1/connections")


@_command("connection reset", "ID", help="close a connection with a TCP reset", show=_nothing)
def _connection_reset(client: ControlClient, given: Given) -> Json:
    return client.ask("POST", "/v1/connections/{}/reset", given.arguments[0])


def _show_faults(found: Json) -> str:
    rows = ((each["id"], each["fired"], each["text"]) for each in found["faults"])
    return table(("ID", "FIRED", "FAULT"), rows)


def _show_fault(fault: Json) -> str:
    text = _show_faults({"faults": [fault]})
    return f"{text}\n{fault['unfired']}" if fault["unfired"] else text


@_command("faults", help="list the faults, and how often each has fired", show=_show_faults)
def _faults(client: ControlClient, given: Given) -> Json:
    return client.ask("GET", "/v1/faults")


_INTEGERS = ["barrier", "corrupt", "truncate", "throttle-ms", "partition", "version", "max-version", "broker"]
_INTEGERS += ["times", "nth", "every", "seed"]
_NUMBERS = ("delay", "bandwidth", "probability")
_TEXTS = ("error", "disconnect", "topic", "group", "client-id")
_FLAGS = ("hang", "drop-response")


@_command(
    "fault add",
    "[API...]",
    help="make requests of these APIs (all) fail",
    show=_show_faults,
    options=[
        Option("--error", "ERROR", "respond with this error, such as NOT_LEADER_OR_FOLLOWER"),
        Option("--delay", "SECONDS", "handle the request later"),
        Option("--hang", "", "handle the request when the fault is released or removed"),
        Option("--barrier", "N", "hold requests until this number of them have arrived"),
        Option("--drop-response", "", "do not send the response"),
        Option("--disconnect", "WHEN", "close the connection before or after handling the request"),
        Option("--corrupt", "BYTES", "corrupt this number of bytes of the response"),
        Option("--truncate", "BYTES", "close the connection after this number of bytes of the response"),
        Option("--throttle-ms", "MS", "set the throttle time of the response"),
        Option("--bandwidth", "BYTES", "send this number of bytes of the response per second"),
        Option("--topic", "TOPIC", "only requests that name this topic"),
        Option("--partition", "N", "only requests that name this partition"),
        Option("--group", "GROUP", "only requests that name this group"),
        Option("--client-id", "ID", "only requests of this client"),
        Option("--version", "N", "only requests of this version"),
        Option("--max-version", "N", "with --version: only requests from that version to this one"),
        Option("--broker", "N", "only requests to this broker"),
        Option("--times", "N", "fire on this number of requests (all that match)"),
        Option("--nth", "N", "fire on the n-th request"),
        Option("--every", "N", "fire on every n-th request"),
        Option("--probability", "P", "fire on each request with this probability"),
        Option("--seed", "N", "seed for --probability (0)"),
    ],
)
def _fault_add(client: ControlClient, given: Given) -> Json:
    body: dict[str, Json] = {"api": given.arguments or None}
    body |= {name: given.integer(name) for name in _INTEGERS}
    body |= {name: given.number(name) for name in _NUMBERS}
    body |= {name: given.last(name) for name in _TEXTS}
    body |= {name: True for name in _FLAGS if given.has(name)}
    body = {name.replace("-", "_"): value for name, value in body.items()}
    return {"faults": [client.ask("POST", "/v1/faults", body=body)]}


@_command(
    "fault remove", "ID", help="remove a fault (all: every fault), and show how often it fired", show=_show_faults
)
def _fault_remove(client: ControlClient, given: Given) -> Json:
    if given.arguments[0] == "all":
        return client.ask("DELETE", "/v1/faults")
    return {"faults": [client.ask("DELETE", "/v1/faults/{}", integer("ID", given.arguments[0]))]}


@_command("fault release", "ID", help="handle the requests that a fault holds", show=_show_fault)
def _fault_release(client: ControlClient, given: Given) -> Json:
    return client.ask("POST", "/v1/faults/{}/release", integer("ID", given.arguments[0]))


# Clock and brokers


def _show_clock(found: Json) -> str:
    return f"{found['now_ms']} ms, {found['ahead_ms']} ms ahead of this machine"


@_command("clock", help="show the time of the brokers", show=_show_clock)
def _clock(client: ControlClient, given: Given) -> Json:
    return client.ask("GET", "/v1/clock")


_UNITS = {"ms": "ms", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def duration(text: str) -> dict[str, float]:
    """Return a duration such as `90m` or `1.5h` as a field of the API."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = _UNITS.get(text[len(digits) :])
    try:
        value = float(digits)
    except ValueError:
        unit = None
    if unit is None:
        raise UsageError(f"{text} is not a duration; expected a number and ms, s, m, h or d, as in 90m")
    return {unit: value}


@_command(
    "clock advance",
    "DURATION",
    help="advance the clock, by 90m or 7d for example, and run everything that becomes due",
    show=_show_clock,
    options=[Option("--sessions", "", "also advance the time of clients: their sessions expire")],
)
def _clock_advance(client: ControlClient, given: Given) -> Json:
    body = {**duration(given.arguments[0]), "sessions": given.has("sessions")}
    return client.ask("POST", "/v1/clock/advance", body=body)


@_command("brokers", help="list the brokers", show=_show_brokers)
def _brokers(client: ControlClient, given: Given) -> Json:
    return client.ask("GET", "/v1/brokers")


def _show_broker(found: Json) -> str:
    return _show_brokers({"brokers": [found]})


@_command("broker stop", "ID", help="stop a broker", show=_show_broker)
def _broker_stop(client: ControlClient, given: Given) -> Json:
    return client.ask("POST", "/v1/brokers/{}/stop", integer("ID", given.arguments[0]))


@_command("broker start", "ID", help="start a broker again, on the same port", show=_show_broker)
def _broker_start(client: ControlClient, given: Given) -> Json:
    return client.ask("POST", "/v1/brokers/{}/start", integer("ID", given.arguments[0]))


@_command("roll", help="restart every broker, one after the other", show=_show_brokers, options=[TIMEOUT])
def _roll(client: ControlClient, given: Given) -> Json:
    body = {"timeout_s": given.timeout_s}
    return client.ask("POST", "/v1/roll", body=body, timeout_s=60 * (1 + given.timeout_s))


# Log cleaner and retention


def _show_cleaned(found: Json) -> str:
    return table(
        ["TOPIC", "PARTITION", "BROKER", "OFFSETS", "RECORDS", "BYTES"],
        [
            [
                each["topic"],
                each["partition"],
                each["broker"],
                f"{each['first_dirty_offset']}-{each['end_offset']}",
                f"{each['records_before']} -> {each['records_after']}",
                f"{each['bytes_before']} -> {each['bytes_after']}",
            ]
            for each in found["cleaned"]
        ],
    )


@_command(
    "cleaner run",
    help="compact all logs for which it is time, and show what was removed",
    show=_show_cleaned,
    options=[Option("--roll", "", "roll the active segments first; they are never compacted")],
)
def _cleaner_run(client: ControlClient, given: Given) -> Json:
    return client.ask("POST", "/v1/cleaner/run", body={"roll": given.has("roll")}, timeout_s=3600)


def _show_retained(found: Json) -> str:
    names = ("topic", "partition", "broker", "deleted_segments", "log_start_offset")
    header = ("TOPIC", "PARTITION", "BROKER", "DELETED SEGMENTS", "LOG START OFFSET")
    return table(header, ([each[name] for name in names] for each in found["retained"]))


@_command("retention run", help="delete all expired segments now", show=_show_retained)
def _retention_run(client: ControlClient, given: Given) -> Json:
    return client.ask("POST", "/v1/retention/run")


# Security


def _show_acls(found: Json) -> str:
    return "\n".join(found["acls"])


@_command("acls", help="list the ACLs", show=_show_acls)
def _acls(client: ControlClient, given: Given) -> Json:
    return client.ask("GET", "/v1/acls")


@_command("acl add", "ACL...", help="create ACLs, such as alice:read,describe:topic:orders*", show=_show_acls)
def _acl_add(client: ControlClient, given: Given) -> Json:
    return client.ask("POST", "/v1/acls", body={"acls": given.arguments})


@_command("acl remove", "ACL", help="delete an ACL, and list those that are left", show=_show_acls)
def _acl_remove(client: ControlClient, given: Given) -> Json:
    return client.ask("DELETE", "/v1/acls", query={"acl": given.arguments[0]})


def _show_users(found: Json) -> str:
    return "\n".join(found["users"])


@_command("users", help="list the users who can log in with a password", show=_show_users)
def _users(client: ControlClient, given: Given) -> Json:
    return client.ask("GET", "/v1/users")


@_command("user add", "NAME", help="create a user with the password on stdin, or change it", show=_show_users)
def _user_add(client: ControlClient, given: Given) -> Json:
    password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise UsageError("user add: the password is missing; expected it on stdin: kafkalet ctl user add NAME < FILE")
    return client.ask("POST", "/v1/users", body={"name": given.arguments[0], "password": password})


@_command("user remove", "NAME", help="remove a user, and list those who are left", show=_show_users)
def _user_remove(client: ControlClient, given: Given) -> Json:
    return client.ask("DELETE", "/v1/users/{}", given.arguments[0])


def _show_client_config(found: Json) -> str:
    return str(found["properties"]).rstrip("\n")


@_command(
    "client-config",
    "[USER]",
    help="print the settings with which a client logs in, as a properties file",
    show=_show_client_config,
    options=[
        Option("--client", "CLIENT", "java or confluent-kafka, for librdkafka (java)"),
        Option("--mechanism", "NAME", "SASL mechanism (the first one that is enabled)"),
        Option("--listener", "NAME", "listener (the first one that fits)"),
    ],
)
def _client_config(client: ControlClient, given: Given) -> Json:
    query = {"user": given.argument(0), **{name: given.last(name) for name in ("client", "mechanism", "listener")}}
    return client.ask(
        "GET", "/v1/client-config", query={name: value for name, value in query.items() if value is not None}
    )


# Contents and events


@_command("reset", help="remove all topics, groups, transactions and faults", show=_nothing)
def _reset(client: ControlClient, given: Given) -> Json:
    return client.ask("POST", "/v1/reset")


@_command("snapshot", "FILE", help="write a copy of the contents to a file", show=_nothing)
def _snapshot(client: ControlClient, given: Given) -> Json:
    data = client.ask("GET", "/v1/snapshot")
    try:
        with open(given.arguments[0], "wb") as file:
            file.write(data)
    except OSError as error:
        raise Failure(f"{given.arguments[0]}: {error.strerror}") from error
    return None


@_command("restore", "FILE", help="replace the contents with those of a snapshot", show=_nothing)
def _restore(client: ControlClient, given: Given) -> Json:
    try:
        with open(given.arguments[0], "rb") as file:
            data = file.read()
    except OSError as error:
        raise Failure(f"{given.arguments[0]}: {error.strerror}") from error
    return client.ask("POST", "/v1/restore", data=data)


@_command(
    "events",
    help="print changes as JSON Lines until interrupted",
    show=_nothing,
    options=[Option("--only", "KIND,...", "kinds of events, such as topics,requests (all)")],
)
def _events(client: ControlClient, given: Given) -> Json:
    for name, data in client.events(given.last("only") or ""):
        print_line(json.dumps({"event": name, **data}, ensure_ascii=False))
    return None
