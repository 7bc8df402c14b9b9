"""The route of the server-sent events."""

from __future__ import annotations

from kafkalet.control.events import KINDS, stream
from kafkalet.control.route import EVENT_STREAM, Call, Routes
from kafkalet.control.shapes import Field, Json, ListOf, Text

routes = Routes("events", "Live data as server-sent events.")


@routes.get(
    "/v1/events",
    Field(
        "only",
        ListOf(Text(*[kind.name for kind in KINDS])),
        "The kinds of events, separated by commas; by default all. "
        + " ".join(f"`{kind.name}`: {kind.description}" for kind in KINDS),
        [],
    ),
    response=None,
    produces=EVENT_STREAM,
)
def stream_events(call: Call) -> Json:
    """Stream changes as server-sent events.

    The stream begins with one event of each kind, which contains the full state. Later events contain the items that
    have changed, and `removed` the names of those that no longer exist. Without changes, a comment is sent every 15
    seconds. The stream ends if the client does not read for 10 seconds.
    """
    kinds = [kind for kind in KINDS if not call.query["only"] or kind.name in call.query["only"]]
    return stream(call.cluster, kinds, call.ended)
