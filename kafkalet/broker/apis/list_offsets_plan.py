"""The fast path of ListOffsets: a request that a connection repeats, for one partition.

Clients that watch lag request the same offset again and again. Their requests differ only in the correlation id, and
the responses only in the offset, its timestamp and its leader epoch. As in fetch_plan.py, the layouts are learned from
the general encoder. Errors, and timestamps other than latest and earliest, are left to the general handler
(list_offsets.py).
"""

from struct import Struct

from kafkalet.broker.context import Context
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.frame import RequestHeader, response_head
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkalet.protocol.wire import Chunk
from kafkalet.storage.lookup import EARLIEST, LATEST
from kafkalet.storage.values import Isolation

CONSUMER = -1
_API = Api.LIST_OFFSETS  # in Python 3.11, looking up a member of an enum is slow


class ListOffsetsPlan:
    """Answers the repetitions of `request`, which has one partition."""

    __slots__ = (
        *("_client_id", "_isolation", "_leader_epoch", "_partition", "_place", "_route", "_timestamp", "_version"),
        *("_has_epoch", "_head", "_layout", "_tail"),
    )

    def __init__(
        self, request: ListOffsetsRequest, response: ListOffsetsResponse, context: Context, isolation: Isolation
    ) -> None:
        [topic] = request.topics
        [requested] = topic.partitions
        self._version = context.version
        self._client_id = context.client_id
        self._route = context.route
        self._place = (topic.name, requested.partition_index)
        self._partition = context.node.partition(*self._place)
        self._timestamp = requested.timestamp
        self._isolation = isolation
        self._leader_epoch = requested.current_leader_epoch if requested.current_leader_epoch >= 0 else None
        self._learn_response(response)

    def _learn_response(self, response: ListOffsetsResponse) -> None:
        """Find the position of the timestamp, the offset and, since version 4, the leader epoch, which are adjacent."""
        [answer] = response.topics[0].partitions
        kept = answer.timestamp, answer.offset, answer.leader_epoch
        bodies = []
        for value in (0, -1):
            answer.timestamp = answer.offset = answer.leader_epoch = value
            bodies.append(response.encode(self._version))
        answer.timestamp, answer.offset, answer.leader_epoch = kept
        places = [at for at, (one, other) in enumerate(zip(*bodies, strict=True)) if one != other]
        start, end = places[0], places[-1] + 1
        self._head, self._tail, self._has_epoch = bodies[0][:start], bodies[0][end:], end - start > 16
        values = "qqi" if self._has_epoch else "qq"
        header = response_head(_API, self._version).format
        self._layout = Struct(f"{header}{len(self._head)}s{values}{len(self._tail)}s")

    def answer(self, numbers: tuple[int, ...], context: Context, out: list[Chunk]) -> int | None:
        """See Plan. The number is the correlation id."""
        try:
            found = self._partition.end_offset(self._timestamp, self._isolation, self._leader_epoch, True)
        except KafkaError:
            return None
        context.remember_offset(self._place, found.offset)
        [correlation_id] = numbers
        context.route, context.api, context.version = self._route, _API, self._version
        context.client_id, context.correlation_id = self._client_id, correlation_id
        layout = self._layout
        values = found if self._has_epoch else found[:2]
        out.append(layout.pack(layout.size - 4, correlation_id, self._head, *values, self._tail))
        return layout.size


def learn(
    request: ListOffsetsRequest, response: ListOffsetsResponse, context: Context, isolation: Isolation | None
) -> None:
    """If `request` has one partition, prepare the connection for its repetitions. `response` is the response to it."""
    if (
        not context.is_plain
        or len(request.topics) != 1
        or len(request.topics[0].partitions) != 1
        or request.replica_id != CONSUMER
        or isolation is None
    ):
        return
    [topic] = request.topics
    [requested] = topic.partitions
    [answer] = response.topics[0].partitions
    if requested.timestamp not in (LATEST, EARLIEST) or answer.error_code:
        return
    repetitions = context.repetitions_of((_API, topic.name, requested.partition_index, requested.timestamp, isolation))
    if repetitions is not None:
        frame = RequestHeader(_API, context.version, 0, context.client_id).encode() + request.encode(context.version)
        plan = ListOffsetsPlan(request, response, context, isolation)
        repetitions.add(Struct(f">4si{len(frame) - 8}s"), frame, plan)
