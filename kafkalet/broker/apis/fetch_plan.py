"""The fast path of Fetch: a request that repeats an earlier one of its connection, at another offset.

A consumer of one partition sends almost the same bytes again and again. Only the correlation id, the fetch offset and
the session epoch change. When the general handler (fetch.py) has answered two such requests, `learn` takes the layouts
of the request (repetitions.py) and of its response, and later requests are answered without decoding and encoding:

    | size | correlation id | ... | high watermark, last stable offset, log start offset | ... | records | ...

The layouts are not written down here: they are found by encoding the messages with different values. This requires a
session epoch (v7) and a log start offset (v5); the general handler learns only plain requests, of v10 and later. The
records are read as in the general handler. Everything that depends on more than the offset is left to that handler: an
error, too few records, an aborted transaction, a session that has changed. In these cases, `answer` changes nothing and
returns None.
"""

from struct import Struct
from typing import cast

from kafkalet.broker.cluster.partition import Read
from kafkalet.broker.context import Context
from kafkalet.broker.fetch_sessions import (
    FINAL_EPOCH,
    NO_SESSION,
    FetchContext,
    FetchSession,
    IncrementalContext,
    Key,
    RequestedPartition,
    identity_of,
)
from kafkalet.broker.repetitions import Outdated
from kafkalet.protocol.api import Api
from kafkalet.protocol.errors import KafkaError
from kafkalet.protocol.frame import RequestHeader, response_head
from kafkalet.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkalet.protocol.tags import write_uvarint
from kafkalet.protocol.wire import Buffer, Chunk
from kafkalet.storage.files import FileRange
from kafkalet.storage.segment import SMALL_READ_BYTES
from kafkalet.storage.values import Isolation

CONSUMER = -1
READ_BYTES = SMALL_READ_BYTES
"""Records of up to this many bytes are copied into the response. Larger ranges are sent straight from the file."""
OFFSETS_BYTES = 3 * 8
"""The size of the high watermark, the last stable offset and the log start offset."""


class FetchPlan:
    """Answers the requests that repeat `request`, which has one partition."""

    __slots__ = (
        *("_head", "_is_flexible", "_middle", "_response", "_tail"),
        *("_client_id", "_identity", "_isolation", "_leader_epoch", "_max_bytes", "_min_bytes"),
        *("_only_leader", "_parameters", "_partition", "_route", "_session", "_version"),
    )

    def __init__(
        self,
        request: FetchRequest,
        response: FetchResponse,
        context: Context,
        session: FetchSession | None,
        key: Key,
        requested: RequestedPartition,
        isolation: Isolation,
        *,
        only_leader: bool,
    ) -> None:
        """`session` is None if the request has no session. `requested` are the parameters of the partition `key`."""
        self._version = context.version
        self._client_id = context.client_id
        self._route = context.route
        self._session = session
        self._identity = identity_of(key)
        self._parameters = requested[1:]  # all but the fetch offset
        self._partition = context.node.partition(key[0], key[2])
        limit = min(request.max_bytes, context.node.config.fetch_max_bytes)
        self._max_bytes = min(requested.max_bytes, limit)
        self._min_bytes = max(1, min(request.min_bytes, limit))
        self._isolation = isolation
        self._only_leader = only_leader
        self._leader_epoch = requested.current_leader_epoch
        self._learn_response(response)

    def _learn_response(self, response: FetchResponse) -> None:
        """Find the positions of the log's three offsets, which are adjacent, and of the records."""
        [answer] = response.responses[0].partitions
        kept = answer.records, answer.high_watermark, answer.last_stable_offset, answer.log_start_offset
        heads = []
        answer.records = records = bytearray()
        for value in (0, -1):
            answer.high_watermark = answer.last_stable_offset = answer.log_start_offset = value
            pieces = response.encode_into([], self._version)
            at = next(index for index, piece in enumerate(pieces) if piece is records)
            heads.append(b"".join(cast(list[bytes], pieces[:at])))
        self._tail = b"".join(cast(list[bytes], pieces[at + 1 :]))
        answer.records, answer.high_watermark, answer.last_stable_offset, answer.log_start_offset = kept

        self._is_flexible = self._version in Api.FETCH.flexible
        start = _first_difference(*heads)
        self._head, self._middle = heads[0][:start], heads[0][start + OFFSETS_BYTES : -1 if self._is_flexible else -4]
        header = response_head(Api.FETCH, self._version).format
        self._response = Struct(f"{header}{len(self._head)}sqqq{len(self._middle)}s{'' if self._is_flexible else 'i'}")

    def answer(self, numbers: tuple[int, ...], context: Context, out: list[Chunk]) -> int | None:
        """See Plan. The numbers are the correlation id, the session epoch and the fetch offset."""
        correlation_id, epoch, offset = numbers
        session, partition, sessions = self._session, self._partition, context.broker.fetch_sessions
        if session is not None and not sessions.has_only(session, self._identity):
            raise Outdated
        if epoch != (FINAL_EPOCH if session is None else session.epoch):
            return None
        try:
            read = partition.read(
                offset, self._max_bytes, self._isolation, True, self._leader_epoch, None, self._only_leader
            )
            assert read.result is not None, "requests with a last fetched epoch are not learned"
            records = read.result.records
            size = len(records)
            if size < self._min_bytes or read.result.aborted:
                return None
            if isinstance(records, FileRange) and size <= READ_BYTES:
                records = records.read()
        except (KafkaError, OSError):
            return None
        if session is not None:
            requested = RequestedPartition(offset, *self._parameters)
            sessions.repeat(session, requested, read.high_watermark, read.log_start_offset)
        context.route = self._route
        context.api, context.version, context.client_id = Api.FETCH, self._version, self._client_id
        context.correlation_id = correlation_id
        context.reads_committed = self._isolation is Isolation.LAST_STABLE
        return self._respond(correlation_id, read, records, size, out)

    def _respond(
        self, correlation_id: int, read: Read, records: Buffer | FileRange, size: int, out: list[Chunk]
    ) -> int:
        layout, offsets = self._response, (read.high_watermark, read.last_stable_offset, read.log_start_offset)
        if self._is_flexible:
            records_size = write_uvarint(size + 1)
            total = layout.size + len(records_size) + size + len(self._tail)
            out.append(layout.pack(total - 4, correlation_id, self._head, *offsets, self._middle) + records_size)
        else:
            total = layout.size + size
            out.append(layout.pack(total - 4, correlation_id, self._head, *offsets, self._middle, size))
        out.append(records)
        if self._tail:
            out.append(self._tail)
        return total


def learn(
    request: FetchRequest,
    response: FetchResponse,
    context: Context,
    session: FetchContext,
    isolation: Isolation,
    *,
    only_leader: bool,
) -> None:
    """Prepare the connection for repetitions of a plain request. `response` is the response to it."""
    if (
        len(session.requested) != 1
        or len(request.topics) != 1
        or len(request.topics[0].partitions) != 1
        or request.forgotten_topics_data
        or response.error_code
        or len(response.responses) != 1
    ):
        return
    [(key, requested)] = session.requested
    [answer] = response.responses[0].partitions
    if (
        requested.last_fetched_epoch is not None
        or answer.error_code
        or answer.aborted_transactions
        or (repetitions := context.repetitions_of((Api.FETCH, key, isolation))) is None
    ):
        return
    kept: FetchSession | None = None
    if isinstance(session, IncrementalContext):
        kept = session.session
    elif not session.is_stateless or request.session_id != NO_SESSION:
        return
    plan = FetchPlan(request, response, context, kept, key, requested, isolation, only_leader=only_leader)
    repetitions.add(*_layout_of(request, context), plan)


def _layout_of(request: FetchRequest, context: Context) -> tuple[Struct, bytes]:
    """Return the layout of a request (repetitions.py), and the request. Encoding different numbers shows their
    positions.
    """
    header = RequestHeader(Api.FETCH, context.version, 0, context.client_id).encode()
    [requested] = request.topics[0].partitions
    kept = request.session_epoch, requested.fetch_offset
    frames = []
    for values in ((0, 0), (-1, 0), (0, -1)):
        request.session_epoch, requested.fetch_offset = values
        frames.append(header + request.encode(context.version))
    request.session_epoch, requested.fetch_offset = kept
    frame = frames[0]
    epoch_at, offset_at = (_first_difference(frame, other) for other in frames[1:])
    between, after = offset_at - epoch_at - 4, len(frame) - offset_at - 8
    return Struct(f">4si{epoch_at - 8}si{between}sq{after}s"), frame


def _first_difference(one: bytes, other: bytes) -> int:
    return next(at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
