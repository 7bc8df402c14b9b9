"""Routes of faults: set, watch, release and remove them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Annotated, Any
from weakref import WeakKeyDictionary

from kafkalet.control.failures import Refusal
from kafkalet.control.fields import Timeout
from kafkalet.control.route import Call, Routes
from kafkalet.control.shapes import (
    INT32_MAX,
    AnyJson,
    AnyOf,
    Boolean,
    Field,
    Integer,
    Json,
    ListOf,
    MapOf,
    Nullable,
    Number,
    Object,
    Text,
)
from kafkalet.protocol.api import Api

if TYPE_CHECKING:
    from kafkalet.testing.cluster import Cluster
    from kafkalet.testing.faults import Fault

routes = Routes("faults", "Faults: requests that fail, wait, or lose their responses.")

SEEN = 20
"""The largest number of matching requests in a `Fault` object; the latest are kept."""

FaultId = Annotated[int, Integer(1), "The id of the fault."]


def _optional(name: str, shape: Any, description: str) -> Field:
    return Field(name, Nullable(shape), description, None)


NEW_FAULT = Object(
    "NewFault",
    "A fault: which requests match, on which of them it fires, and what happens to them. Names match exactly.",
    _optional(
        "api",
        AnyOf([Text(), ListOf(Text(), least=1, most=len(Api))], lambda value: int(isinstance(value, list))),
        "The API, such as `Produce`, or a list of APIs. The default is all.",
    ),
    _optional("error", Text(), "The error of the response, such as `NOT_LEADER_OR_FOLLOWER`."),
    _optional("delay", Number(0, 3600), "The request is handled after this number of seconds."),
    Field("hang", Boolean(), "The request is handled when the fault is released or removed.", False),
    _optional("barrier", Integer(2, INT32_MAX), "Hold requests until this number of them have arrived."),
    Field("drop_response", Boolean(), "The request is handled, but its response is not sent.", False),
    _optional("disconnect", Text("before", "after"), "Close the connection before or after the request is handled."),
    _optional(
        "corrupt", Integer(1, INT32_MAX), "Corrupt this number of bytes of the response; for Fetch, of its records."
    ),
    _optional(
        "truncate", Integer(0, INT32_MAX), "The connection is closed after this number of bytes of the response."
    ),
    _optional(
        "throttle",
        Number(0, 3600),
        "The response has this throttle time in seconds, and the broker reads no requests of the client for so long.",
    ),
    _optional("bandwidth", Number(0, 1e12), "The response is sent at this number of bytes per second."),
    _optional("topic", Text(), "Only requests that name this topic."),
    _optional("partition", Integer(0, INT32_MAX), "Only requests that name this partition."),
    _optional("group", Text(), "Only requests that name this group."),
    _optional("client_id", Text(), "Only requests of this client."),
    _optional("version", Integer(0, 32767), "Only requests of this version."),
    _optional("max_version", Integer(0, 32767), "With `version`: only requests from that version to this one."),
    _optional("broker", Integer(0, INT32_MAX), "Only requests to this broker."),
    _optional("times", Integer(1, INT32_MAX), "Fire on this number of requests. The default is all that match."),
    _optional("nth", Integer(1, INT32_MAX), "Fire on the n-th request, counted from 1."),
    _optional("every", Integer(1, INT32_MAX), "Fire on every n-th request."),
    _optional("probability", Number(0, 1), "Fire on each request with this probability."),
    Field("seed", Integer(), "Makes the choice by `probability` reproducible.", 0),
)
FAULT = Object(
    "Fault",
    "A fault that is set.",
    Field("id", Integer(1), "The id."),
    Field("text", Text(), "The fault on one line."),
    Field("options", MapOf(AnyJson()), "The options that were given."),
    Field("fired", Integer(0), "How often the fault has fired."),
    Field(
        "unfired",
        Nullable(Text()),
        "What happened instead, if the fault has fired less often than expected, else null.",
    ),
    Field("seen", ListOf(Text()), f"The latest {SEEN} requests that matched."),
)
FAULTS = Object("Faults", "The faults.", Field("faults", ListOf(FAULT), "In the order in which they were set."))

_ids: WeakKeyDictionary[Fault, int] = WeakKeyDictionary()
_next_id = itertools.count(1)


def read_faults(cluster: Cluster) -> list[Json]:
    """Return the faults of a cluster. May be called from any thread."""
    return [_json(fault) for fault in cluster.faults]


def _json(fault: Fault) -> Json:
    return {
        "id": _id(fault),
        "text": fault.text,
        "options": {
            name: value if isinstance(value, str | int | float | list) else str(value)
            for name, value in fault.options.items()
        },
        "fired": fault.fired,
        "unfired": fault.unfired(),
        "seen": fault.seen[-SEEN:],
    }


def _id(fault: Fault) -> int:
    found = _ids.get(fault)
    return _ids.setdefault(fault, next(_next_id)) if found is None else found


def _existing(call: Call, fault_id: int) -> Fault:
    for fault in call.cluster.faults:
        if _id(fault) == fault_id:
            return fault
    raise Refusal(404, f"there is no fault {fault_id}; GET /v1/faults lists them")


@routes.get("/v1/faults", response=FAULTS)
def list_faults(call: Call) -> Json:
    """Return the faults that are set, and how often each has fired."""
    return {"faults": read_faults(call.cluster)}


@routes.post("/v1/faults", NEW_FAULT, response=FAULT, status=201)
def add_fault(call: Call, body: Json) -> Json:
    """Set a fault. It stays until it is removed.

    At least one of `error`, `delay`, `hang`, `barrier`, `drop_response`, `disconnect`, `corrupt`, `truncate`,
    `throttle` and `bandwidth` must be given.
    """
    given = {name: value for name, value in body.items() if value is not None}
    api = given.pop("api", None)
    if isinstance(api, list) and len(api) == 1:
        [api] = api
    most = given.pop("max_version", None)
    if most is not None:
        if "version" not in given:
            raise ValueError(f"max_version is {most}, but version is missing")
        given["version"] = range(given["version"], most + 1)
    fault = call.cluster.fault(api, **given)
    call.cluster._server.watchers.touch()
    return _json(fault)


@routes.delete("/v1/faults", response=FAULTS)
def remove_faults(call: Call) -> Json:
    """Remove all faults, and return how often they have fired. Requests that they hold are handled."""
    found = call.cluster.faults
    for fault in found:
        fault.remove()
    removed = [_json(fault) for fault in found]
    for fault in found:
        call.cluster._forget_fault(fault)
    call.cluster._server.watchers.touch()
    return {"faults": removed}


@routes.get("/v1/faults/{fault_id}", response=FAULT)
def get_fault(call: Call, fault_id: FaultId) -> Json:
    """Return a fault, and how often it has fired."""
    return _json(_existing(call, fault_id))


@routes.delete("/v1/faults/{fault_id}", response=FAULT)
def remove_fault(call: Call, fault_id: FaultId) -> Json:
    """Remove a fault, and return how often it has fired. Requests that it holds are handled.

    If `unfired` is not null, the fault has fired less often than expected, and the test should fail.
    """
    fault = _existing(call, fault_id)
    fault.remove()
    call.cluster._forget_fault(fault)
    call.cluster._server.watchers.touch()
    return _json(fault)


@routes.post("/v1/faults/{fault_id}/release", response=FAULT)
def release_fault(call: Call, fault_id: FaultId) -> Json:
    """Handle the requests that a fault holds (`hang`, `barrier`, `delay`). This ends a fault with `hang`."""
    fault = _existing(call, fault_id)
    fault.release()
    return _json(fault)


@routes.post("/v1/faults/{fault_id}/wait", "How often the fault must have fired.", response=FAULT, waits=True)
def wait_for_fault(
    call: Call,
    fault_id: FaultId,
    n: Annotated[int, Integer(1, INT32_MAX), "The number of times."] = 1,
    timeout_s: Timeout = None,
) -> Json:
    """Wait until a fault has fired."""
    fault = _existing(call, fault_id)
    fault.wait_until_fired(n, timeout_s)
    return _json(fault)
