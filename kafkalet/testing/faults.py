"""Faults: requests that fail, wait, or lose their responses, to test how an application reacts.

    with kafka.fault("Produce", error="NOT_LEADER_OR_FOLLOWER", times=2):
        app.publish("x")                                  # has to retry twice

At the end of the block, the test fails if the fault has fired less often than expected. The message says what happened
instead.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeVar

from kafkalet.broker import arguments
from kafkalet.broker.network.faults.refusals import PARTITIONS_IN_RESPONSE, ROOT, can_refuse, places
from kafkalet.broker.network.faults.rule import Actions, FaultRule, Filters, Selection
from kafkalet.broker.network.request_items import GROUP, PARTITION, TOPIC, nameable
from kafkalet.broker.served import SERVED
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import Code, name_of
from kafkalet.protocol.messages import response_type
from kafkalet.protocol.releases import versions_of
from kafkalet.suggestions import did_you_mean
from kafkalet.units import counted

from .waiting import wait

if TYPE_CHECKING:
    from kafkalet.embedded import EmbeddedCluster


T = TypeVar("T")

_LOG = logging.getLogger("kafkalet.requests")

BEFORE, AFTER = "before", "after"
SHOWN = 10
"""How many lines of each kind are shown if a fault did not fire."""


class FaultOption(NamedTuple):
    """An option of `Cluster.fault`."""

    name: str
    group: Literal["effect", "filter", "selection", "report"]
    kind: Literal["choice", "flag", "function", "integer", "name", "number", "text", "versions"]
    """A `number` is greater than `least`, an `integer` at least `least`. A `name` may be a pattern in Python."""
    meaning: str
    least: int = 0
    choices: tuple[str, ...] = ()
    default: Any = None


FAULT_OPTIONS = {
    option.name: option
    for option in (
        FaultOption("error", "effect", "text", "The error of the response, such as `NOT_LEADER_OR_FOLLOWER`."),
        FaultOption("delay", "effect", "number", "The request is handled after this number of seconds."),
        FaultOption(
            "hang", "effect", "flag", "The request is handled when the fault is released or removed.", default=False
        ),
        FaultOption("barrier", "effect", "integer", "Hold requests until this number of them have arrived.", 2),
        FaultOption(
            "drop_response", "effect", "flag", "The request is handled, but its response is not sent.", default=False
        ),
        FaultOption(
            "disconnect",
            "effect",
            "choice",
            "Close the connection before or after the request is handled.",
            choices=(BEFORE, AFTER),
        ),
        FaultOption(
            "corrupt",
            "effect",
            "integer",
            "Corrupt this number of bytes of the response; for Fetch, of its records.",
            default=False,
        ),
        FaultOption(
            "truncate", "effect", "integer", "The connection is closed after this number of bytes of the response."
        ),
        FaultOption(
            "throttle",
            "effect",
            "number",
            "The response has this throttle time in seconds, and the broker reads no requests of the client for so "
            "long.",
        ),
        FaultOption("bandwidth", "effect", "number", "The response is sent at this number of bytes per second."),
        FaultOption("respond", "effect", "function", "Change, replace or drop the response."),
        FaultOption("topic", "filter", "name", "Only requests that name this topic."),
        FaultOption("partition", "filter", "integer", "Only requests that name this partition."),
        FaultOption("group", "filter", "name", "Only requests that name this group."),
        FaultOption("client_id", "filter", "name", "Only requests of this client."),
        FaultOption("version", "filter", "versions", "Only requests of this version."),
        FaultOption("broker", "filter", "integer", "Only requests to this broker."),
        FaultOption("when", "filter", "function", "Only requests for which this function is true."),
        FaultOption(
            "times", "selection", "integer", "Fire on this number of requests. The default is all that match.", 1
        ),
        FaultOption("nth", "selection", "integer", "Fire on the n-th request, counted from 1.", 1),
        FaultOption("every", "selection", "integer", "Fire on every n-th request.", 1),
        FaultOption("probability", "selection", "number", "Fire on each request with this probability."),
        FaultOption(
            "seed", "selection", "integer", "Makes the choice by `probability` reproducible.", -sys.maxsize, default=0
        ),
        FaultOption("strict", "report", "flag", "Whether the fault has to fire.", default=True),
    )
}
"""The options of `Cluster.fault` by name, in the order of its parameters."""

EXCLUSIVE = (
    ("hang", "barrier", "delay"),
    ("error", "drop_response", "disconnect", "corrupt", "truncate"),
    *(
        (outcome, other)
        for outcome in ("drop_response", "disconnect")
        for other in ("throttle", "bandwidth", "respond")
    ),
    ("truncate", "throttle"),
    ("nth", "every", "probability"),
    ("nth", "times"),
    ("barrier", "times"),
    ("barrier", "nth"),
)
"""A fault may have only one of these options."""


class Fault:
    """A fault that is set in a cluster until `remove` is called, or until its `with` block ends."""

    def __init__(
        self, cluster: EmbeddedCluster, options: Mapping[str, Any], rule: FaultRule, forget: Callable[[Fault], None]
    ) -> None:
        """`forget` is called at the end of the fault's `with` block."""
        self._cluster = cluster
        self.options = options
        """The arguments of `Cluster.fault` that were given."""
        self._rule = rule
        self._forget = forget
        self.is_in_block = False
        """Whether the fault's `with` block has begun and not ended."""

    def __repr__(self) -> str:
        return f"<{self.text}, fired {counted(self.fired, 'time')}>"

    @property
    def number(self) -> int:
        """The number of the fault, from 1 on. Requests on which it fires are marked with it, as in `(fault 1)`."""
        return self._rule.number

    @property
    def text(self) -> str:
        """The call that has set the fault, as in `fault('Produce', times=2)`."""
        given = [repr(value) if name == "api" else f"{name}={value!r}" for name, value in self.options.items()]
        return f"fault({', '.join(given)})"

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
        wanted = arguments.at_least(1, "n", n)
        wait(
            self._cluster,
            lambda: True if self.fired >= wanted else None,
            timeout,
            lambda: self._text(f"fired {counted(self.fired, 'time')}, not {wanted}"),
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
            return self._text(f"called a function that raised {type(rule.problem).__name__}: {rule.problem}")
        if not self.options.get("strict", True) or rule.fired >= rule.expected:
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
        return self._in_loop(lambda: f"{self.text} {what}\n{self._instead()}")

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
            lines.append("no request arrived in the meantime; methods of the kit, such as topic.send(), send none")
        return "\n".join(lines)

    def _in_loop(self, function: Callable[[], T]) -> T:
        server = self._cluster._server
        return server.call(function) if server.host.is_running else function()


def set_fault(
    cluster: EmbeddedCluster, api: str | Iterable[str] | None, given: Mapping[str, Any], forget: Callable[[Fault], None]
) -> Fault:
    """Check the options, and set the fault. Raises TypeError or ValueError if they are invalid."""
    arguments.check_names("fault()", given, FAULT_OPTIONS)
    apis = _apis(api)
    raw = {name: value for name, value in given.items() if not _is_default(value, FAULT_OPTIONS[name].default)}
    options = {name: _checked(FAULT_OPTIONS[name], value) for name, value in raw.items()}
    for names in EXCLUSIVE:
        if len(both := [name for name in names if name in options]) > 1:
            raise ValueError(f"{' and '.join(both)} cannot be combined in one fault; set two faults, or choose one")
    actions, versions = _actions(options), options.get("version")
    filters = Filters(None if apis is None else frozenset(apis), **_of_group(options, "filter"))
    selection = Selection(**_of_group(options, "selection"))
    server = cluster._server
    served = versions_of(server.release.name)
    for one in apis or ():
        if one not in served:
            raise ValueError(f"Kafka {server.release.name} does not serve {one}, so a fault could never fire")
        low, high = served[one]
        possible = [v for v in range(low, high + 1) if versions is None or v in versions]
        if not possible:
            raise ValueError(
                f"version is {given['version']}; Kafka {server.release.name} serves {one} v{low} to v{high}"
            )
        _check_possible(one, possible, filters, actions)

    rule = FaultRule(filters, actions, selection)

    def add() -> None:
        if filters.broker is not None:
            server.check_node(filters.broker)
        server.faults.add(rule)

    server.call(add)
    fault = Fault(cluster, raw if api is None else {"api": api, **raw}, rule, forget)
    _LOG.debug("fault %d is set: %s", fault.number, fault.text)
    return fault


def _of_group(options: Mapping[str, Any], group: str) -> dict[str, Any]:
    return {name: value for name, value in options.items() if FAULT_OPTIONS[name].group == group}


def _is_default(value: object, default: object) -> bool:
    return value is None or value is default or (value == default and type(value) is type(default))


def _checked(option: FaultOption, value: Any) -> Any:
    """Return the value of an option in the form that the broker expects. Raises TypeError or ValueError."""
    name = option.name
    if name == "error":
        return _code(value)
    if name == "corrupt":
        return 1 if value is True else arguments.at_least(1, name, value)
    if name == "probability" and not 0 < _positive(name, value) <= 1:
        raise ValueError(f"probability is {value}; it must be greater than 0 and at most 1")
    match option.kind:
        case "integer":
            return arguments.at_least(option.least, name, value)
        case "number":
            return _positive(name, value)
        case "flag":
            return bool(value)
        case "name":
            return value if isinstance(value, re.Pattern) else arguments.text(name, value)
        case "versions":
            return _versions(value)
        case "choice":
            if value not in option.choices:
                raise ValueError(f"{name} is {value!r}; it must be {' or '.join(map(_quoted, option.choices))}")
            return value
        case _:
            if not callable(value):
                takes = "a decoded request" if name == "when" else "a decoded request and its response"
                raise TypeError(f"{name} must be a function that takes {takes}, not {arguments.shown(value)}")
            return value


def _quoted(text: str) -> str:
    return f'"{text}"'


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


def _code(given: str | int) -> Code:
    if isinstance(given, Code):
        code = given
    elif isinstance(given, int):
        raise TypeError(f"error must be a name, not {given}, which is the code of {name_of(given)}")
    elif arguments.text("error", given) in Code.__members__:
        code = Code[given]
    else:
        raise ValueError(f"unknown error {given!r}; {_suggestion(given, Code.__members__)}")
    if code is Code.NONE:
        raise ValueError("error is NONE, which is not an error; omit it")
    return code


def _suggestion(name: str, known: Iterable[str]) -> str:
    return did_you_mean(name, known, most=3, cutoff=0.5, shown=str) or f"known are {', '.join(sorted(known))}"


def _positive(what: str, given: float) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise TypeError(f"{what} must be a number, not {arguments.shown(given)}")
    if not (given > 0 and isfinite(given)):
        raise ValueError(f"{what} is {given}; it must be greater than 0")
    return float(given)


def _versions(given: int | range) -> range:
    if isinstance(given, range):
        if not given:
            raise ValueError("version is an empty range")
        return given
    number = arguments.number("version, an int or a range,", given)
    return range(number, number + 1)


def _actions(options: Mapping[str, Any]) -> Actions:
    given = _of_group(options, "effect")
    if "delay" in given:
        given["delay_ms"] = 1000 * given.pop("delay")
    if "throttle" in given:
        given["throttle_ms"] = max(1, round(1000 * given.pop("throttle")))
    actions = Actions(**given)
    if actions == Actions():
        effects = ", ".join(option.name for option in FAULT_OPTIONS.values() if option.group == "effect")
        raise ValueError(f"a fault without an effect; give at least one of {effects}")
    return actions


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
        raise ValueError(f"throttle= is given, but {api} responses{_with(versions)} have no throttle time")


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
