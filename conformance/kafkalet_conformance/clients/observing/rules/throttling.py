"""Throttling: a client that gets a throttle time waits that long before it sends again (KIP-219)."""

from collections.abc import Iterator

from kafkalet.protocol.api import Api
from kafkalet_conformance.clients.observing.finding import Claim
from kafkalet_conformance.clients.observing.sent import Closed, Fate, Sent

from .rule import Remark, Rule

SINCE: dict[Api, int] = {
    Api.PRODUCE: 6,
    Api.FETCH: 8,
    Api.LIST_OFFSETS: 3,
    Api.METADATA: 6,
    Api.OFFSET_COMMIT: 4,
    Api.OFFSET_FETCH: 4,
    Api.FIND_COORDINATOR: 2,
    Api.JOIN_GROUP: 3,
    Api.HEARTBEAT: 2,
    Api.LEAVE_GROUP: 2,
    Api.SYNC_GROUP: 2,
    Api.DESCRIBE_GROUPS: 2,
    Api.LIST_GROUPS: 2,
    Api.API_VERSIONS: 2,
    Api.CREATE_TOPICS: 3,
    Api.DELETE_TOPICS: 2,
    Api.DELETE_RECORDS: 1,
    Api.INIT_PRODUCER_ID: 1,
    Api.ADD_PARTITIONS_TO_TXN: 1,
    Api.ADD_OFFSETS_TO_TXN: 1,
    Api.END_TXN: 1,
    Api.TXN_OFFSET_COMMIT: 1,
    Api.CREATE_PARTITIONS: 1,
    Api.DELETE_GROUPS: 1,
}
"""The first version in which the client has to wait (`shouldClientThrottle`). Before, the broker delays the
response.
"""
MARGIN_S = 0.05
"""Requests that are sent this soon after the response, or this soon before the end of the throttle time, are accepted:
they may have crossed with the response.
"""


class Throttling(Rule):
    """Looks for requests on a connection while the broker throttles it."""

    CLAIM = Claim(
        "throttle-time",
        "A client sends nothing on a connection during throttle_time_ms of a response.",
        "KIP-219, NetworkClient.throttle",
    )

    def __init__(self) -> None:
        self._throttled: dict[int, tuple[Sent, int]] = {}
        """The last throttled request, with its throttle time, keyed by connection."""

    def sent(self, sent: Sent) -> Iterator[str | Remark]:
        throttled = self._throttled.get(sent.connection)
        if throttled is None:
            return
        earlier, throttle_ms = throttled
        passed_s = sent.at_s - (earlier.ended_s or 0.0)
        if passed_s >= throttle_ms / 1000 - MARGIN_S:
            if passed_s >= throttle_ms / 1000:
                del self._throttled[sent.connection]
        elif passed_s > MARGIN_S:
            text = f"the response to {earlier.place} has throttle_time_ms={throttle_ms}"
            yield f"{text}, but a request follows after {passed_s * 1000:.0f} ms"

    def answered(self, sent: Sent) -> Iterator[str | Remark]:
        if sent.fate is Fate.ANSWERED and sent.api in SINCE and sent.version >= SINCE[sent.api] and not sent.is_altered:
            throttle_ms = getattr(sent.response, "throttle_time_ms", 0)
            if throttle_ms > 2 * MARGIN_S * 1000:
                self._throttled[sent.connection] = sent, throttle_ms
        yield from ()

    def closed(self, closed: Closed) -> None:
        self._throttled.pop(closed.connection, None)
