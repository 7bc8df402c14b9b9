"""Faults: requests that fail, wait, or lose their responses, to test how an application reacts.

    with kafka.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", times=2):
        app.publish("x")                                  # has to retry twice

At the end of the block, the test fails if the fault has fired less often than expected. The message says what happened
instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from math import isfinite
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from kafkalet.broker import arguments
from kafkalet.broker.network.faults.refusals import PARTITIONS_IN_RESPONSE, ROOT, can_refuse, places
from kafkalet.broker.network.faults.rule import Actions, FaultRule, Filters, Selection, Text
from kafkalet.broker.network.request_items import GROUP, PARTITION, TOPIC, nameable
from kafkalet.broker.served import SERVED
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages import response_type
from kafkalet.protocol.releases import versions_of
from kafkalet.suggestions import did_you_mean

from .waiting import wait

if TYPE_CHECKING:
    from .operations import ClusterOperations
    from .options import FaultOptions

T = TypeVar("T")

BEFORE, AFTER = "before", "after"
SHOWN = 10
"""The number of lines of each kind in the text of a fault that did not fire."""


class GivenFault(NamedTuple):
    """The arguments of `Cluster.fault`, which describes them."""

    api: str | Iterable[str] | None = None
    error: str | Code | None = None
    delay: float | None = None
    hang: bool = False
    barrier: int | None = None
    drop_response: bool = False
    disconnect: str | None = None
    corrupt: bool | int = False
    truncate: int | None = None
    throttle_ms: int | None = None
    bandwidth: float | None = None
    topic: Text | None = None
    partition: int | None = None
    group: Text | None = None
    client_id: Text | None = None
    version: int | range | None = None
    broker: int | None = None
    when: Callable[[Any], object] | None = None
    times: int | None = None
    nth: int | None = None
    every: int | None = None
    probability: float | None = None
    seed: int = 0
    strict: bool = True

    def __str__(self) -> str:
        default = GivenFault()
        given = [] if self.api is None else [repr(self.api)]
        given += [
            f"{name}={value!r}"
            for name, value in self._asdict().items()
            if name != "api" and value != getattr(default, name)
        ]
        return f"fault({', '.join(given)})"


class Fault:
    """A fault that is set in a cluster until `remove` is called, or until its `with` block ends."""

    def __init__(
        self, cluster: ClusterOperations, options: GivenFault, rule: FaultRule, forget: Callable[[Fault], None]
    ) -> None:
        """`forget` is called at the end of the fault's `with` block."""
        self._cluster = cluster
        self.options = options
        """The arguments of `Cluster.fault`."""
        self._rule = rule
        self._forget = forget
        self.is_in_block = False
        """Whether the fault's `with` block has begun and not ended."""

    def __repr__(self) -> str:
        return f"<{self.options}, fired {self.fired} times>"

    @property
    def fired(self) -> int:
        """How often the fault has fired."""
        return self._rule.fired

    @property
    def seen(self) -> list[str]:
        """The latest requests that matched, as in `Produce v9 from 'app' for t-0`, whether the fault fired or not."""
        return self._in_loop(lambda: list(self._rule.seen))

    def wait_until_fired(self, n: int = 1, timeout: float | None = None) -> Fault:
        """Wait until the fault has fired `n` times, and return it.

        Raises AssertionError after `timeout` seconds (by default `cluster.timeout`).
        """
        wanted = _at_least(1, "n", n)
        wait(
            self._cluster,
            lambda: True if self.fired >= wanted else None,
            timeout,
            lambda: self._text(f"fired {self.fired} times, not {wanted}"),
        )
        return self

    def release(self) -> None:
        """Handle the requests that the fault holds (`hang`, `barrier`, `delay`). This ends a fault with `hang`."""
        self._in_loop(self._rule.release)

    def remove(self) -> None:
        """Remove the fault. Requests that it holds are handled, and slow responses are completed.

        A second call has no effect.
        """
        self._in_loop(lambda: self._cluster._server.faults.remove(self._rule))

    def unfired(self) -> str | None:
        """Return what happened instead if the fault has fired less often than expected, else None."""
        rule = self._rule
        if rule.problem is not None:
            return self._text(f"called when=, which raised {type(rule.problem).__name__}: {rule.problem}")
        if not self.options.strict or rule.fired >= rule.expected:
            return None
        if not rule.fired:
            return self._text("never fired")
        return self._text(f"fired {rule.fired} of {rule.expected} times")

    def __enter__(self) -> Self:
        self.is_in_block = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self.is_in_block = False
        self.remove()
        self._forget(self)
        text = self.unfired() if kind is None else None
        if text is not None:
            raise AssertionError(text) from self._rule.problem

    def _text(self, what: str) -> str:
        return self._in_loop(lambda: f"{self.options} {what}\n{self._instead()}")

    def _instead(self) -> str:
        rule = self._rule
        lines = []
        passed = rule.matched - rule.fired
        if passed:
            lines.append(
                f"{passed} of {rule.matched} matching requests were not selected. The latest matching requests:"
            )
            lines += [f"    {text}" for text in list(rule.seen)[-SHOWN:]]
        if rule.misses:
            lines.append("requests that did not match:")
            lines += [f"    {text}{_times(count)}" for text, count in rule.misses.most_common(SHOWN)]
        if rule.requests:
            counts = ", ".join(f"{api}{_times(count)}" for api, count in rule.requests.most_common())
            lines.append(f"all requests in the meantime: {counts}")
        else:
            lines.append("no request arrived in the meantime")
        return "\n".join(lines)

    def _in_loop(self, function: Callable[[], T]) -> T:
        server = self._cluster._server
        return server.call(function) if server.host.is_running else function()


def set_fault(
    cluster: ClusterOperations, api: str | Iterable[str] | None, given: FaultOptions, forget: Callable[[Fault], None]
) -> Fault:
    """Check the options, and set the fault. Raises TypeError or ValueError if they are invalid."""
    for name in given:
        if name not in GivenFault._fields[1:]:
            raise TypeError(f"fault() has no option {name!r}; {_suggestion(name, GivenFault._fields[1:])}")
    options = GivenFault(api, **given)
    apis = _apis(api)
    actions = _actions(options)
    versions = _versions(options.version)
    filters = Filters(
        None if apis is None else frozenset(apis),
        _name("topic", options.topic),
        None if options.partition is None else _at_least(0, "partition", options.partition),
        _name("group", options.group),
        _name("client_id", options.client_id),
        versions,
        None if options.broker is None else arguments.number("broker", options.broker),
        _predicate(options.when),
    )
    selection = _selection(options)
    server = cluster._server
    served = versions_of(server.release.name)
    for one in apis or ():
        if one not in served:
            raise ValueError(f"Kafka {server.release.name} does not serve {one}, so a fault could never fire")
        low, high = served[one]
        possible = [v for v in range(low, high + 1) if versions is None or v in versions]
        if not possible:
            raise ValueError(
                f"version is {options.version}; Kafka {server.release.name} serves {one} v{low} to v{high}"
            )
        _check_possible(one, possible, filters, actions)

    rule = FaultRule(filters, actions, selection)

    def add() -> None:
        if filters.broker is not None:
            server.check_node(filters.broker)
        server.faults.add(rule)

    server.call(add)
    return Fault(cluster, options, rule, forget)


def _apis(given: str | Iterable[str] | None) -> list[Api] | None:
    if given is None:
        return None
    names = [given] if isinstance(given, str) else list(given)
    if not names:
        raise ValueError("api is empty; name at least one API, or omit it for all APIs")
    return [_api(name) for name in names]


def _api(name: str) -> Api:
    titles = {str(api): api for api in SERVED}
    if arguments.text("the name of an API", name) in titles:
        return titles[name]
    raise ValueError(f"unknown API {name!r}; {_suggestion(name, titles)}")


def _code(given: str | Code) -> Code:
    if isinstance(given, Code):
        code = given
    elif arguments.text("error", given) in Code.__members__:
        code = Code[given]
    else:
        raise ValueError(f"unknown error {given!r}; {_suggestion(given, Code.__members__)}")
    if code is Code.NONE:
        raise ValueError("error is NONE, which is not an error; omit it")
    return code


def _suggestion(name: str, known: Iterable[str]) -> str:
    return did_you_mean(name, known, most=3, cutoff=0.5, shown=str) or f"known are {', '.join(sorted(known))}"


def _name(what: str, given: Text | None) -> Text | None:
    return given if given is None or isinstance(given, re.Pattern) else arguments.text(what, given)


def _at_least(least: int, what: str, given: int) -> int:
    if arguments.number(what, given) < least:
        raise ValueError(f"{what} is {given}; it must be at least {least}")
    return given.__index__()


def _positive(what: str, given: float) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise TypeError(f"{what} must be a number, not {arguments.shown(given)}")
    if not (given > 0 and isfinite(given)):
        raise ValueError(f"{what} is {given}; it must be greater than 0")
    return float(given)


def _versions(given: int | range | None) -> range | None:
    if given is None:
        return None
    if isinstance(given, range):
        if not given:
            raise ValueError("version is an empty range")
        return given
    number = arguments.number("version, an int or a range,", given)
    return range(number, number + 1)


def _predicate(given: Callable[[Any], object] | None) -> Callable[[Any], object] | None:
    if given is not None and not callable(given):
        raise TypeError(f"when must be a function that takes a decoded request, not {arguments.shown(given)}")
    return given


def _actions(options: GivenFault) -> Actions:
    if options.disconnect not in (None, BEFORE, AFTER):
        raise ValueError(f'disconnect is {options.disconnect!r}; it must be "before" or "after"')
    _one_of(options, "hang", "barrier", "delay")
    _one_of(options, "error", "drop_response", "disconnect", "corrupt", "truncate")
    for outcome in ("drop_response", "disconnect"):
        for other in ("throttle_ms", "bandwidth"):
            _one_of(options, outcome, other)
    _one_of(options, "truncate", "throttle_ms")
    actions = Actions(
        error=None if options.error is None else _code(options.error),
        delay_ms=0 if options.delay is None else 1000 * _positive("delay", options.delay),
        hang=bool(options.hang),
        barrier=0 if options.barrier is None else _at_least(2, "barrier", options.barrier),
        drop_response=bool(options.drop_response),
        disconnect=options.disconnect or "",
        corrupt=1 if options.corrupt is True else _at_least(0, "corrupt", int(options.corrupt)),
        truncate=None if options.truncate is None else _at_least(0, "truncate", options.truncate),
        throttle_ms=0 if options.throttle_ms is None else _at_least(1, "throttle_ms", options.throttle_ms),
        bandwidth=0 if options.bandwidth is None else _positive("bandwidth", options.bandwidth),
    )
    if actions == Actions():
        raise ValueError(
            "a fault without an effect; give at least one of error, delay, hang, barrier, drop_response, disconnect, "
            "corrupt, truncate, throttle_ms, bandwidth"
        )
    return actions


def _selection(options: GivenFault) -> Selection:
    _one_of(options, "nth", "every", "probability")
    _one_of(options, "nth", "times")
    for other in ("times", "nth"):
        _one_of(options, "barrier", other)
    if options.probability is not None and not 0 < _positive("probability", options.probability) <= 1:
        raise ValueError(f"probability is {options.probability}; it must be greater than 0 and at most 1")
    return Selection(
        None if options.times is None else _at_least(1, "times", options.times),
        None if options.nth is None else _at_least(1, "nth", options.nth),
        1 if options.every is None else _at_least(1, "every", options.every),
        options.probability,
        arguments.number("seed", options.seed),
    )


def _one_of(options: GivenFault, *names: str) -> None:
    """Raise ValueError if more than one of these options is given."""
    given = [name for name in names if getattr(options, name) not in (None, False)]
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} cannot be combined in one fault; set two faults, or choose one")


def _check_possible(api: Api, versions: list[int], filters: Filters, actions: Actions) -> None:
    """Raise ValueError if no request of an API can match, or if its responses have no field for the error."""
    named = set().union(*(nameable(api, version) for version in versions))
    if api in PARTITIONS_IN_RESPONSE:
        named.add(PARTITION)
    given = {TOPIC: filters.topic, PARTITION: filters.partition, GROUP: filters.group}
    for kind in (kind for kind, value in given.items() if value is not None):
        if kind not in named:
            names = ", ".join(kind for kind in (TOPIC, PARTITION, GROUP) if kind in named)
            allowed = f"of {TOPIC}, {PARTITION} and {GROUP}, use only {names}" if names else "leave it out"
            raise ValueError(f"{kind}= is given, but {api} requests name no {kind}; {allowed}")
    if actions.error is not None:
        _check_error(api, versions, filters)
    if actions.throttle_ms and not any(
        field.name == "throttle_time_ms" and any(version in field.versions for version in versions)
        for field in response_type(api).FIELDS
    ):
        raise ValueError(f"throttle_ms= is given, but {api} responses{_with(versions)} have no throttle time")


def _check_error(api: Api, versions: list[int], filters: Filters) -> None:
    wanted = {kind: getattr(filters, kind) is not None for kind in (TOPIC, PARTITION, GROUP)}
    if any(can_refuse(api, version, **wanted) for version in versions):
        return
    where = set().union(*(places(api, version) for version in versions))
    if not where:
        raise ValueError(f"{api} responses{_with(versions)} have no field for an error; use another fault")
    known = ", ".join("the whole request" if kind == ROOT else f"a {kind}" for kind in sorted(where))
    kind = max((kind for kind, given in wanted.items() if given), key=[GROUP, TOPIC, PARTITION].index)
    raise ValueError(
        f"{api} responses{_with(versions)} have no error for a {kind}, only for {known}; leave {kind}= out"
    )


def _with(versions: list[int]) -> str:
    return f" v{versions[0]}" if len(versions) == 1 else f" v{versions[0]} to v{versions[-1]}"


def _times(count: int) -> str:
    return f" ({count} times)" if count > 1 else ""
