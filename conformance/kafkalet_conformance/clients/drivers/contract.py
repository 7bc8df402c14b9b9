"""The task of a driver, as the environment variables describe it, and the lines and exit statuses that report it.

A driver defines functions for the roles and passes them to `run`:

    run("kafka-python 3.0.12", KafkaError, produce=produce, consume=consume, transform=transform)

docs/conform-clients.md describes the contract for drivers in any language.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

NOT_SUPPORTED = 64
"""The exit status of a driver whose client does not support the role or a setting (EX_USAGE of sysexits.h)."""

NO_LIBRARY = 69
"""The exit status of a driver whose client is not installed (EX_UNAVAILABLE)."""

CLOSING_S = 1
"""The seconds after the timeout in which a driver closes its client. The process then ends, whatever blocks it."""

PAUSE_S = 0.2


@dataclass(frozen=True)
class Task:
    """The values of the environment variables. A setting is None if its variable is not set."""

    bootstrap_servers: str
    role: str
    topic: str
    count: int
    timeout_s: float
    output_topic: str | None = None
    group: str | None = None
    instance_id: str | None = None
    acks: str = "all"
    idempotence: bool = True
    transactional_id: str | None = None
    isolation: str = "read_uncommitted"
    reset: str = "earliest"
    request_timeout_ms: int | None = None
    delivery_timeout_ms: int | None = None
    session_timeout_ms: int | None = None
    heartbeat_interval_ms: int | None = None
    metadata_max_age_ms: int | None = None
    auto_commit_interval_ms: int | None = None
    _started_s: float = field(default_factory=time.monotonic)

    @property
    def left_s(self) -> float:
        """The seconds until the timeout; 0 after it."""
        return max(0.0, self._started_s + self.timeout_s - time.monotonic())

    def values(self) -> Iterator[bytes]:
        """Yield the values to produce, which are the keys as well."""
        return (b"%d" % number for number in range(self.count))

    def pause(self) -> None:
        """Sleep for a short time, at most until the timeout."""
        time.sleep(min(PAUSE_S, self.left_s))


class Deliveries:
    """Reports what happened to each record of a producer."""

    def __init__(self, task: Task) -> None:
        self._count = task.count
        self._acked = 0

    @property
    def complete(self) -> bool:
        """Whether every record was acknowledged."""
        return self._acked == self._count

    def acked(self, value: bytes, partition: int, offset: int) -> None:
        """Report an acknowledged record. `offset` is -1 if the client does not know it."""
        self._acked += 1
        tell("acked", value.decode(), partition, offset)

    def failed(self, value: bytes, error: object) -> None:
        """Report a record that was not acknowledged."""
        tell("failed", value.decode(), reason(error))


def tell(*words: object) -> None:
    """Print one line and flush it."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def tell_record(partition: int, offset: int, value: bytes | None) -> None:
    """Report a record that the client returned."""
    tell("record", partition, offset, shown(value))


def acknowledgement(value: bytes | None, delivery_count: int) -> str:
    """Return what a share consumer does with a record: it releases the first delivery of values that end in 0, rejects
    values that end in 7, and accepts the others.
    """
    last = (value or b"")[-1:]
    return "RELEASE" if last == b"0" and delivery_count == 1 else "REJECT" if last == b"7" else "ACCEPT"


def shown(value: bytes | None) -> str:
    r"""Return a value without blanks and control characters: `\xNN` for such bytes, `\N` for null."""
    if value is None:
        return r"\N"
    return "".join(chr(byte) if 0x20 < byte < 0x7F and byte != 0x5C else f"\\x{byte:02x}" for byte in value)


def reason(error: object) -> str:
    """Return the type and the message of an error in one line."""
    text = " ".join(str(error).split())
    name = type(error).__name__
    return text if text.startswith(name) else f"{name}: {text}"


def given(**settings: Any) -> dict[str, Any]:
    """Return the settings that are not None; the others keep the client's default."""
    return {name: value for name, value in settings.items() if value is not None}


def task_of(environment: Mapping[str, str]) -> Task:
    """Return the task that environment variables describe. Raises KeyError if a required one is missing."""
    get = environment.get

    def number(name: str) -> int | None:
        return int(environment[name]) if get(name) else None

    acks = get("KAFKALET_ACKS") or "all"
    return Task(
        bootstrap_servers=environment["KAFKA_BOOTSTRAP_SERVERS"],
        role=environment["KAFKALET_ROLE"],
        topic=environment["KAFKALET_TOPIC"],
        count=int(environment["KAFKALET_COUNT"]),
        timeout_s=float(environment["KAFKALET_TIMEOUT_S"]),
        output_topic=get("KAFKALET_OUTPUT_TOPIC") or None,
        group=get("KAFKALET_GROUP") or None,
        instance_id=get("KAFKALET_INSTANCE_ID") or None,
        acks=acks,
        idempotence=(get("KAFKALET_IDEMPOTENCE") or ("true" if acks == "all" else "false")) == "true",
        transactional_id=get("KAFKALET_TRANSACTIONAL_ID") or None,
        isolation=get("KAFKALET_ISOLATION") or "read_uncommitted",
        reset=get("KAFKALET_RESET") or "earliest",
        request_timeout_ms=number("KAFKALET_REQUEST_TIMEOUT_MS"),
        delivery_timeout_ms=number("KAFKALET_DELIVERY_TIMEOUT_MS"),
        session_timeout_ms=number("KAFKALET_SESSION_TIMEOUT_MS"),
        heartbeat_interval_ms=number("KAFKALET_HEARTBEAT_INTERVAL_MS"),
        metadata_max_age_ms=number("KAFKALET_METADATA_MAX_AGE_MS"),
        auto_commit_interval_ms=number("KAFKALET_AUTO_COMMIT_INTERVAL_MS"),
    )


def run(client: str, error_type: type[Exception], **roles: Callable[[Task], bool]) -> NoReturn:
    """Play the role named by KAFKALET_ROLE, and exit with the status that the contract prescribes: 0 if the role
    returned True, else 1.

    `error_type` is the type of the client's errors. An error that a role does not handle is final, and is reported.
    """
    try:
        task = task_of(os.environ)
    except KeyError as missing:
        sys.exit(f"the environment variable {missing} is not set; `kafkalet conform client` sets it for a driver")
    tell("client", client)
    end = threading.Timer(task.timeout_s + CLOSING_S, _end, [task])
    end.daemon = True
    end.start()
    if task.role not in roles:
        tell(f"log the role {task.role} is not supported; supported are {', '.join(roles)}")
        sys.exit(NOT_SUPPORTED)
    try:
        succeeded = roles[task.role](task)
    except error_type as error:
        tell("error", reason(error))
        sys.exit(1)
    if not succeeded and not task.left_s:
        tell(f"log the timeout of {task.timeout_s:g} s has passed")
    sys.exit(0 if succeeded else 1)


def _end(task: Task) -> NoReturn:
    tell(f"log the client did not close within {CLOSING_S} s after the timeout of {task.timeout_s:g} s")
    os._exit(1)


def library_is_missing(package: str) -> NoReturn:
    """Exit with the status for a client that is not installed."""
    sys.stderr.write(f"this driver needs {package}: pip install {package}\n")
    sys.exit(NO_LIBRARY)
