"""Routes of faults: set, watch, release and remove them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from kafkalet.control.failures import Refusal
from kafkalet.control.fields import Timeout
from kafkalet.control.patch import Patch
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
    Shape,
    Text,
)
from kafkalet.protocol.api import Api
from kafkalet.testing.faults import FAULT_OPTIONS, FaultOption

if TYPE_CHECKING:
    from kafkalet.testing.cluster import Cluster
    from kafkalet.testing.faults import Fault

routes = Routes("faults", "Faults: requests that fail, wait, or lose their responses.")

SEEN = 20
"""The largest number of matching requests in a `Fault` object; the latest are kept."""

FaultId = Annotated[int, Integer(1), "The id of the fault."]


PATCH = Object(
    "PatchOperation",
    "An operation of a JSON Patch (RFC 6902) on a decoded response.",
    Field("op", Text("add", "remove", "replace"), "What to do."),
    Field("path", Text(least=1), "The field, as in `/topics/0/partitions/0/error_code`."),
    Field("value", AnyJson(), "The new value: a number, a string, a boolean, null, or a list of those.", None),
)
MOST = {"delay": 3600, "throttle": 3600, "probability": 1}
"""The largest numbers."""
MEANINGS = {"respond": "Change fields of the response. The journal shows their names."}
ONLY_IN_PYTHON = {
    "strict": "the API reports faults that have not fired, but fails no test",
    "when": "a function of the request",
}


def _shape(option: FaultOption) -> Shape:
    match option.kind:
        case "choice":
            return Text(*option.choices)
        case "flag":
            return Boolean()
        case "integer":
            return Integer() if option.least < 0 else Integer(option.least, INT32_MAX)
        case "number":
            return Number(0, MOST.get(option.name, 1e12))
        case "versions":
            return Integer(0, 32767)
        case "function":
            return ListOf(PATCH, least=1)
    return Text()


def _fields() -> Iterator[Field]:
    """Yield the options of a fault, as the kit declares them."""
    apis = AnyOf([Text(), ListOf(Text(), least=1, most=len(Api))], lambda value: int(isinstance(value, list)))
    yield Field("api", Nullable(apis), "The API, such as `Produce`, or a list of APIs. The default is all.", None)
    for option in FAULT_OPTIONS.values():
        if option.name in ONLY_IN_PYTHON:
            continue
        meaning = MEANINGS.get(option.name, option.meaning)
        is_nullable = option.default is None or (option.kind == "integer" and option.default is False)
        shape = _shape(option)
        yield Field(
            option.name, Nullable(shape) if is_nullable else shape, meaning, None if is_nullable else option.default
        )
        if option.kind == "versions":
            meaning = f"With `{option.name}`: only requests from that version to this one."
            yield Field(f"max_{option.name}", Nullable(shape), meaning, None)


NEW_FAULT = Object(
    "NewFault",
    "A fault: which requests match, on which of them it fires, and what happens to them. Names match exactly.",
    *_fields(),
)
FAULT = Object(
    "Fault",
    "A fault that is set.",
    Field("id", Integer(1), "The id. The first fault of the brokers has 1."),
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


def read_faults(cluster: Cluster) -> list[Json]:
    """Return the faults of a cluster. May be called from any thread."""
    return [_json(fault) for fault in cluster.faults]


def _json(fault: Fault) -> Json:
    return {
        "id": fault.number,
        "text": fault.text,
        "options": {
            name: value.operations
            if isinstance(value, Patch)
            else value
            if isinstance(value, str | int | float | list)
            else str(value)
            for name, value in fault.options.items()
        },
        "fired": fault.fired,
        "unfired": fault.unfired(),
        "seen": fault.seen[-SEEN:],
    }


def _existing(call: Call, fault_id: int) -> Fault:
    for fault in call.cluster.faults:
        if fault.number == fault_id:
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
    `throttle`, `bandwidth` and `respond` must be given.
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
    if "respond" in given:
        given["respond"] = Patch(given["respond"])
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
    timeout: Timeout = None,
) -> Json:
    """Wait until a fault has fired."""
    fault = _existing(call, fault_id)
    fault.wait_until_fired(n, timeout)
    return _json(fault)
