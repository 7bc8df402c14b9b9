"""Routes of the clock: read and advance it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from kafkalet.clock import SystemClock
from kafkalet.control.route import Call, Routes
from kafkalet.control.shapes import Field, Integer, Json, Number, Object

if TYPE_CHECKING:
    from kafkalet.testing.cluster import Cluster

routes = Routes("clock", "The clock of the brokers: real time plus an offset.")

MAX = 1e15
MAX_DAYS = 3650.0
"""A longer advance would block the brokers' event loop for more than half a minute."""

CLOCK = Object(
    "Clock",
    "The clock of the brokers.",
    Field("now_ms", Integer(), "The time of logs, in milliseconds since 1970 (UTC)."),
    Field("ahead_ms", Integer(), "How far it is ahead of the machine's clock, with an accuracy of two milliseconds."),
)


def read_clock(cluster: Cluster) -> Json:
    now_ms = cluster.clock.now_ms()
    return {"now_ms": now_ms, "ahead_ms": now_ms - SystemClock().now_ms()}


@routes.get("/v1/clock", response=CLOCK)
def get_clock(call: Call) -> Json:
    """Return the time of the brokers."""
    return read_clock(call.cluster)


@routes.post("/v1/clock/advance", "How far to advance the clock: the sum of these times.", response=CLOCK)
def advance_clock(
    call: Call,
    milliseconds: Annotated[float, Number(0, MAX), "Milliseconds."] = 0,
    seconds: Annotated[float, Number(0, MAX), "Seconds."] = 0,
    minutes: Annotated[float, Number(0, MAX), "Minutes."] = 0,
    hours: Annotated[float, Number(0, MAX), "Hours."] = 0,
    days: Annotated[float, Number(0, MAX), "Days."] = 0,
    sessions: Annotated[
        bool, "Whether the time of clients advances as well: sessions of members expire, and long polls end."
    ] = False,
) -> Json:
    """Advance the clock, and run everything that becomes due before the response: retention, timeouts, expiration."""
    if days + (hours + minutes / 60 + (seconds + milliseconds / 1000) / 3600) / 24 > MAX_DAYS:
        raise ValueError(f"the API advances the clock by at most {MAX_DAYS:g} days in one call")
    call.cluster.clock.advance(
        milliseconds=milliseconds, seconds=seconds, minutes=minutes, hours=hours, days=days, sessions=sessions
    )
    call.cluster._server.watchers.touch()
    return read_clock(call.cluster)
