"""`cluster.requests`: the requests that clients sent to a cluster, with the responses.

    assert kafka.requests.count("Metadata") < 5
    [request] = kafka.requests.filter("Produce", topic="orders")
    request.response, request.error, request.duration_ms

The requests come from the journal of the brokers (kafkalet.broker.network.journal), which keeps the latest ones. Counts
by API and client id include dropped requests; other counts that would need them raise LookupError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from kafkalet.broker import arguments
from kafkalet.broker.network.exchange import Exchange, plain
from kafkalet.clock import elapsed_s
from kafkalet.protocol.api import BY_TITLE
from kafkalet.protocol.errors import Code
from kafkalet.suggestions import did_you_mean
from kafkalet.units import counted

from .waiting import timeout_s, wait

if TYPE_CHECKING:
    from kafkalet.broker.network.journal import Journal, Unsupported
    from kafkalet.embedded import EmbeddedCluster

SHOWN = 10
"""How many requests the message of a failed wait shows."""


class Moment(NamedTuple):
    """A moment, for `Requests.between`."""

    elapsed_s: float


AnyMoment = Moment | datetime | int
"""The result of `Requests.mark`, a datetime, or milliseconds since 1970."""


class Request:
    """A request of a client, and its response. Messages are decoded when they are first used."""

    def __init__(self, exchange: Exchange, began_ms: float) -> None:
        self._exchange = exchange
        self._began_ms = began_ms
        self._seen_s = elapsed_s()

    def __repr__(self) -> str:
        return f"<{self.text}>"

    @property
    def api(self) -> str:
        """The name of the API, such as "Fetch"; `API 999` if Kafka has no API with the key 999."""
        return self._exchange.api

    @property
    def version(self) -> int:
        """The version that the client chose."""
        return self._exchange.version

    @property
    def correlation_id(self) -> int:
        """The correlation id of the request."""
        return self._exchange.correlation_id

    @property
    def client_id(self) -> str:
        """The client id; "" if the client sent none."""
        return self._exchange.client_id

    @property
    def connection(self) -> int:
        """The number of the connection, which is unique in this process."""
        return self._exchange.connection.number

    @property
    def peer(self) -> tuple[str, int]:
        """The host and port of the client."""
        return self._exchange.connection.peer

    @property
    def broker(self) -> int:
        """The id of the broker that received the request."""
        return self._exchange.connection.broker

    @property
    def time(self) -> datetime:
        """The time at which the broker received the request, by the clock of this machine, with its time zone."""
        return datetime.fromtimestamp((self._began_ms + self._exchange.began_s * 1000) / 1000).astimezone()

    @property
    def duration_ms(self) -> float:
        """The time until the response in milliseconds, or until now if the request is still waiting."""
        ended_s = self._exchange.ended_s
        return ((self._seen_s if ended_s is None else ended_s) - self._exchange.began_s) * 1000

    @property
    def is_waiting(self) -> bool:
        """Whether the request was still waiting for its response, like a long poll, when it was read from the
        journal.
        """
        return self._exchange.is_waiting

    @property
    def has_waited(self) -> bool:
        """Whether the broker delayed the response, as in a long poll."""
        return self._exchange.has_waited

    @property
    def size_bytes(self) -> int:
        """The size of the request."""
        return self._exchange.frame_bytes

    @cached_property
    def request(self) -> dict[str, Any] | None:
        """The request as plain data, with Kafka's names of the fields in lower case (`replica_id`).

        UUIDs are strings. Records are a dict with `size_bytes` and, unless they were too large to be kept, `batches`.
        Credentials are None. The whole value is None if the request is malformed, unknown or was too large.
        """
        message = self._exchange.request()
        return None if message is None else plain(message, self.version)

    @cached_property
    def response(self) -> dict[str, Any] | None:
        """The response as plain data, like `request`. None if there is none, or if it was too large to be kept."""
        message = self._exchange.response()
        return None if message is None else plain(message, self._exchange.response_version)

    @cached_property
    def errors(self) -> tuple[str, ...]:
        """The names of the errors in the response, each one once, such as ("UNKNOWN_TOPIC_OR_PARTITION",)."""
        return tuple(self._exchange.errors())

    @property
    def error(self) -> str | None:
        """The name of the first error in the response; None if there is no error."""
        return self.errors[0] if self.errors else None

    @property
    def closed(self) -> str | None:
        """Why the broker closed the connection instead of sending a response; None if it did not."""
        return self._exchange.closed

    @property
    def fault(self) -> int | None:
        """The number of the fault that has fired on the request (`Fault.number`); None if there is none."""
        return self._exchange.fault or None

    @cached_property
    def topics(self) -> frozenset[str]:
        """The topics that the request or the response names."""
        return frozenset(self._exchange.topics())

    @property
    def text(self) -> str:
        """The request and its response on one line, as in the request log."""
        return self._exchange.text(self._seen_s)


class _Filter(NamedTuple):
    """Selects the requests in a `Requests`."""

    apis: tuple[str, ...] = ()
    client_id: str | None = None
    topic: str | None = None
    errors: bool | tuple[str, ...] | None = None
    start_s: float = float("-inf")
    end_s: float = float("inf")

    @property
    def can_count(self) -> bool:
        """Whether the counters by API and client are sufficient."""
        return self[2:] == _Filter()[2:]

    def has(self, api: str, client_id: str) -> bool:
        return (not self.apis or api in self.apis) and self.client_id in (None, client_id)

    def matches(self, exchange: Exchange) -> bool:
        if not self.start_s <= exchange.began_s <= self.end_s or not self.has(exchange.api, exchange.client_id):
            return False
        if self.topic is not None and self.topic not in exchange.topics():
            return False
        if self.errors is None:
            return True
        errors = exchange.errors()
        return bool(errors) is self.errors if isinstance(self.errors, bool) else any(e in self.errors for e in errors)

    def __str__(self) -> str:
        words = [" or ".join(self.apis) if self.apis else "requests"]
        words += [
            f"{name}={value!r}" for name, value in zip(self._fields[1:4], self[1:4], strict=True) if value is not None
        ]
        return " ".join(words)


class Requests:
    """The requests to a cluster, oldest first: all of them, or those that a filter selects."""

    def __init__(self, cluster: EmbeddedCluster, chosen: _Filter | None = None) -> None:
        self._cluster = cluster
        self._filter = chosen or _Filter()

    def __iter__(self) -> Iterator[Request]:
        began_ms = self._journal.began_ms
        return iter([Request(exchange, began_ms) for exchange in self._exchanges()])

    def __len__(self) -> int:
        """Return how many requests are kept."""
        return len(self._exchanges())

    def __bool__(self) -> bool:
        return bool(self._exchanges())

    def __repr__(self) -> str:
        try:
            return f"<{self._filter}: {len(self)} kept>"
        except RuntimeError as error:
            return f"<{self._filter}: {error}>"

    @property
    def _journal(self) -> Journal:
        journal = self._cluster._server.journal
        if journal is None:
            raise RuntimeError("this cluster does not record its requests, because its journal was removed")
        return journal

    def _exchanges(self) -> list[Exchange]:
        every = self._cluster._server.call(self._journal.exchanges)
        return [exchange for exchange in every if self._filter.matches(exchange)]

    # Selecting

    def filter(
        self,
        *apis: str,
        client_id: str | None = None,
        topic: str | None = None,
        errors: bool | str | Iterable[str] | None = None,
    ) -> Requests:
        """Select requests by API (any of those named), client id, topic, and errors in the response.

        `topic` selects requests that name the topic in the request or the response. A Fetch in a session may name only
        topics with new data. `errors` is True for responses with any error, False for those without, or names of
        errors. Raises ValueError if an API or an error does not exist.
        """
        old = self._filter
        names = tuple(dict.fromkeys(map(_api, apis)))
        if old.apis and names:
            names = tuple(name for name in names if name in old.apis) or ("",)
        return Requests(
            self._cluster,
            old._replace(
                apis=names or old.apis,
                client_id=old.client_id if client_id is None else arguments.text("client_id", client_id),
                topic=old.topic if topic is None else arguments.text("topic", topic),
                errors=old.errors if errors is None else _errors(errors),
            ),
        )

    def between(self, start: AnyMoment, end: AnyMoment | None = None) -> Requests:
        """Select the requests that arrived in a period. Without `end`, it has no end.

        `start` and `end` are marks (see `mark`), datetimes, or milliseconds since 1970, by the clock of this machine.
        A datetime without a time zone is local time.
        """
        start_s = self._moment("start", start)
        end_s = float("inf") if end is None else self._moment("end", end)
        if end_s < start_s:
            raise ValueError(f"end ({end}) is before start ({start})")
        old = self._filter
        return Requests(self._cluster, old._replace(start_s=max(old.start_s, start_s), end_s=min(old.end_s, end_s)))

    def _moment(self, name: str, moment: AnyMoment) -> float:
        if isinstance(moment, Moment):
            return moment.elapsed_s
        if isinstance(moment, datetime):
            return (moment.timestamp() * 1000 - self._journal.began_ms) / 1000
        if isinstance(moment, bool) or not isinstance(moment, int):
            raise TypeError(
                f"{name} must be a mark, a datetime or milliseconds since 1970, not {arguments.shown(moment)}"
            )
        return (moment - self._journal.began_ms) / 1000

    def mark(self) -> Moment:
        """Return the current moment, for `between`. Later requests arrive after it."""
        return self._cluster._server.call(lambda: Moment(elapsed_s()))

    @overload
    def last(self, *, client_id: str | None = None) -> Request: ...
    @overload
    def last(self, n: int, *, client_id: str | None = None) -> list[Request]: ...
    def last(self, n: int | None = None, *, client_id: str | None = None) -> Request | list[Request]:
        """Return the last request, or a list of the last `n` requests, oldest first.

        Raises LookupError without `n` if there is no request.
        """
        chosen = self if client_id is None else self.filter(client_id=client_id)
        if n is not None:
            arguments.at_least(1, "n", n)
        found = list(chosen)
        if n is not None:
            return found[-n:]
        if not found:
            raise LookupError(f"no {chosen._filter} in the journal")
        return found[-1]

    # Counting

    def count(
        self,
        *apis: str,
        client_id: str | None = None,
        topic: str | None = None,
        errors: bool | str | Iterable[str] | None = None,
    ) -> int:
        """Return the number of requests since the start or the last `clear`. The arguments are those of `filter`.

        Raises LookupError if the number is unknown because the journal has dropped requests. A count by API and client
        id is always known.
        """
        chosen = self.filter(*apis, client_id=client_id, topic=topic, errors=errors)
        wanted, journal = chosen._filter, self._journal
        if wanted.can_count:
            counts = self._cluster._server.call(journal.counts)
            return sum(count for (api, client), count in counts.items() if wanted.has(api, client))

        def look() -> tuple[list[Exchange], float]:
            return journal.exchanges(), journal.dropped_until_s

        every, dropped_until_s = self._cluster._server.call(look)
        if dropped_until_s and wanted.start_s <= dropped_until_s:
            raise LookupError(
                f"the number of {wanted} is unknown: the journal keeps the last {journal.most_requests} requests or "
                f"{journal.most_bytes} bytes and had to drop some; call clear() before the part that matters, "
                "or count by API and client_id only"
            )
        return sum(map(wanted.matches, every))

    def clear(self) -> None:
        """Forget all requests and counts, including those of unsupported requests. Requests in progress remain."""
        self._cluster._server.call(self._journal.clear)

    @property
    def unsupported(self) -> list[Unsupported]:
        """The requests for APIs or versions that the broker does not serve; each client, API and version once.

        They do not depend on the selection. ApiVersions is an exception: a client may send it in any version to find
        out which versions are served.
        """
        return sorted(self._cluster._server.call(self._journal.unsupported.copy))

    # Waiting

    def wait_for(
        self,
        *apis: str,
        n: int = 1,
        client_id: str | None = None,
        topic: str | None = None,
        errors: bool | str | Iterable[str] | None = None,
        where: Callable[[Request], object] | None = None,
        timeout: float | None = None,
    ) -> list[Request]:
        """Wait until there are at least `n` requests, and return them. The arguments are those of `filter`.

        A request counts when it arrives, even if it has no response yet. `where` is called with each request and
        returns whether it counts. Requests from before the call count as well; use `clear` or `between` to exclude
        them. Raises AssertionError with the last requests after `timeout` seconds (by default `cluster.timeout`).
        """
        __tracebackhide__ = True
        chosen = self.filter(*apis, client_id=client_id, topic=topic, errors=errors)
        return chosen._wait(arguments.at_least(1, "n", n), where, timeout)

    def _wait(self, n: int, where: Callable[[Request], object] | None, timeout: float | None) -> list[Request]:
        __tracebackhide__ = True
        journal, server, wanted = self._journal, self._cluster._server, self._filter
        sequence = arrived = 0
        done: list[Request] = []

        def read() -> tuple[list[Exchange], int, list[Exchange]]:
            return *journal.since(sequence), journal.waiting()

        def chosen(exchanges: Iterable[Exchange]) -> list[Request]:
            found = [Request(each, journal.began_ms) for each in exchanges if wanted.matches(each)]
            return [request for request in found if where is None or where(request)]

        def look() -> list[Request] | None:
            nonlocal arrived, sequence
            new, sequence, waiting = server.call(read)
            done.extend(chosen(new))
            found = done + chosen(waiting)
            arrived = len(found)
            return found if arrived >= n else None

        def failure() -> str:
            seconds = timeout_s(self._cluster, timeout)
            lines = [f"requests: waited {seconds:g} s for {n} {wanted}: {arrived} arrived"]
            last = Requests(self._cluster).last(SHOWN)
            lines += ["The last requests:", *(f"  {request.text}" for request in last)] if last else ["No requests."]
            return "\n".join(lines)

        end = server.call(lambda: journal.listen(lambda exchange: server.watchers.touch()))
        try:
            return wait(self._cluster, look, timeout, failure)
        finally:
            end()


def assert_no_unsupported(cluster: EmbeddedCluster) -> None:
    """Raise AssertionError if a client sent a request that the broker does not serve."""
    __tracebackhide__ = True
    found = cluster._server.call(Requests(cluster)._journal.unsupported.copy)
    if not found:
        return
    release = cluster._server.release.name
    lines = [
        f"clients sent {counted(sum(found.values()), 'request')} that the broker (Kafka {release}) does not serve:"
    ]
    for unsupported, times in sorted(found.items()):
        what = f"it serves {unsupported.served}" if unsupported.served else "it does not serve this API"
        lines.append(
            f"  client {unsupported.client_id!r}: {unsupported.api} v{unsupported.version}, "
            f"{counted(times, 'time')}; {what}"
        )
    raise AssertionError("\n".join(lines))


def _api(name: str) -> str:
    """Return the name of an API as Kafka writes it. Raises ValueError with similar names if it does not exist."""
    arguments.text("the name of an API", name)
    if name in BY_TITLE:
        return name
    raise ValueError(f"no API is named {name!r}; {_similar(name, BY_TITLE)}")


def _errors(errors: bool | str | Iterable[str]) -> bool | tuple[str, ...]:
    if isinstance(errors, bool):
        return errors
    names = (errors,) if isinstance(errors, str) else tuple(errors)
    for name in names:
        arguments.text("the name of an error", name)
        if name not in Code.__members__:
            raise ValueError(f"no error is named {name!r}; {_similar(name, Code.__members__)}")
    return names


def _similar(name: str, known: Iterable[str]) -> str:
    return did_you_mean(name, known, most=3, shown=str) or "use the names of Kafka's protocol"
