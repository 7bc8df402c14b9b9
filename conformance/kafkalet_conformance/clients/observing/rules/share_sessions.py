"""Share sessions and acknowledgements of the members of share groups (KIP-932).

A member has one session with each broker. A ShareFetch with epoch 0 opens it, the following ShareFetch and
ShareAcknowledge requests have the epochs 1, 2, 3, and so on, and epoch -1 ends it. A member acknowledges records that a
ShareFetch has acquired for it, until the broker has accepted an acknowledgement other than a renewal.
"""

from collections import defaultdict
from collections.abc import Iterator

from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from kafkalet.protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from kafkalet_conformance.clients.observing.finding import Claim
from kafkalet_conformance.clients.observing.sent import Closed, Fate, Sent

from .rule import Remark, Rule

_SOURCE = "KIP-932, ShareSessionHandler"
_RESTART = Claim(
    "share-session-restart",
    "After an error of its share session, a member opens another one.",
    "KIP-932, ShareSessionHandler.handleResponse",
)
_FORGOTTEN = Claim("share-session-forgotten", "A member forgets only partitions that are in its session.", _SOURCE)
_OPENING = Claim("share-acknowledge-opening", "A request that opens a share session acknowledges no records.", _SOURCE)
_ACQUIRED = Claim(
    "share-acknowledge-acquired",
    "A member acknowledges only records that it has acquired, and each once.",
    "KIP-932, ShareInFlightBatch",
)
_ERRORS = {Code.SHARE_SESSION_NOT_FOUND, Code.INVALID_SHARE_SESSION_EPOCH, Code.SHARE_SESSION_LIMIT_REACHED}
_LARGEST = (1 << 31) - 1
_RENEW = 4

_Request = ShareFetchRequest | ShareAcknowledgeRequest
_Response = ShareFetchResponse | ShareAcknowledgeResponse
_Fetched = ShareFetchResponse.Topic.Partition
Partition = tuple[bytes, int]


class _Session:
    """The session of a member with a broker, as the member knows it."""

    def __init__(self) -> None:
        self.connection = 0
        self.partitions: set[Partition] = set()
        self.next_epoch: int | None = None
        """None if the member does not know whether the last request has arrived."""
        self.failed: tuple[Sent, str] | None = None
        """The request that got a session error, and the error."""
        self.acquired: dict[Partition, set[int]] = defaultdict(set)


class ShareSessions(Rule):
    """Follows the sessions of each member."""

    CLAIM = Claim(
        "share-session-epoch",
        "The epochs of a share session are 0 for the ShareFetch that opens it, then 1, 2, 3, and so on.",
        "KIP-932, ShareRequestMetadata.nextEpoch",
    )

    def __init__(self) -> None:
        self._sessions: dict[tuple[int, str | None, str | None], _Session] = {}
        """The sessions, keyed by broker, group and member id."""

    def sent(self, sent: Sent) -> Iterator[str | Remark]:
        request = sent.request
        if not isinstance(request, _Request):
            return
        key = sent.place.broker, request.group_id, request.member_id
        epoch = request.share_session_epoch
        if epoch == 0:
            if isinstance(request, ShareAcknowledgeRequest):
                yield "a ShareAcknowledge has epoch 0, but only a ShareFetch opens a session"
            elif any(_acknowledged(request)):
                yield Remark(_OPENING, "a ShareFetch with epoch 0 has acknowledgements")
            self._sessions[key] = _Session()
        elif key not in self._sessions:
            if self.sees_everything:
                yield f"epoch {epoch} is sent without a session"
            self._sessions[key] = _Session()
        elif epoch > 0:
            yield from self._continued(self._sessions[key], epoch, sent)
        session = self._sessions[key]
        session.connection = sent.connection
        session.next_epoch = 1 if epoch == _LARGEST else epoch + 1
        if epoch != 0 and (self.sees_everything or session.acquired):
            yield from self._unknown(session, request)
        if isinstance(request, ShareFetchRequest):
            yield from self._listed(session, request)

    def _continued(self, session: _Session, epoch: int, sent: Sent) -> Iterator[str | Remark]:
        if session.failed is not None:
            earlier, error = session.failed
            if sent.follows(earlier):
                yield Remark(_RESTART, f"epoch {epoch} follows the error {error}")
        elif session.next_epoch is not None and epoch != session.next_epoch:
            yield f"the session continues with epoch {epoch}; {session.next_epoch} comes next"

    def _unknown(self, session: _Session, request: _Request) -> Iterator[Remark]:
        for partition, first, last, _ in _acknowledged(request):
            unknown = set(range(first, last + 1)) - session.acquired[partition]
            if unknown:
                text = f"offset {min(unknown)} of partition {partition[1]} is acknowledged, but is not acquired"
                yield Remark(_ACQUIRED, text)
                return

    def _listed(self, session: _Session, request: ShareFetchRequest) -> Iterator[Remark]:
        session.partitions |= {
            (topic.topic_id, each.partition_index) for topic in request.topics for each in topic.partitions
        }
        forgotten = {(topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions}
        missing = forgotten - session.partitions
        if missing and self.sees_everything and session.failed is None:
            yield Remark(_FORGOTTEN, f"partition {min(missing)[1]} is forgotten, but is not in the session")
        session.partitions -= forgotten

    def answered(self, sent: Sent) -> Iterator[str | Remark]:
        request, response = sent.request, sent.response
        if isinstance(request, _Request):
            session = self._sessions.get((sent.place.broker, request.group_id, request.member_id))
            if session is not None:
                self._answered(session, sent, request, response if isinstance(response, _Response) else None)
        yield from ()

    def _answered(self, session: _Session, sent: Sent, request: _Request, response: _Response | None) -> None:
        if response is None or sent.is_altered or sent.fate is not Fate.ANSWERED:
            session.next_epoch = None
        if response is None:
            return
        if response.error_code in _ERRORS:
            session.failed = sent, Code(response.error_code).name
        elif response.error_code != Code.NONE:
            session.next_epoch = None
        else:
            self._settled(session, request, response)
        if request.share_session_epoch == -1:
            session.failed = None
            session.acquired.clear()

    def _settled(self, session: _Session, request: _Request, response: _Response) -> None:
        refused = set()
        for topic in response.responses:
            for each in topic.partitions:
                if (each.acknowledge_error_code if isinstance(each, _Fetched) else each.error_code) != Code.NONE:
                    refused.add((topic.topic_id, each.partition_index))
        for partition, first, last, types in _acknowledged(request):
            if partition not in refused and _RENEW not in types:
                session.acquired[partition].difference_update(range(first, last + 1))
        if isinstance(response, ShareFetchResponse):
            for found in response.responses:
                for part in found.partitions:
                    for records in part.acquired_records:
                        offsets = range(records.first_offset, records.last_offset + 1)
                        session.acquired[found.topic_id, part.partition_index].update(offsets)

    def closed(self, closed: Closed) -> None:
        """Expect any epoch of the sessions of a connection: the broker has ended them."""
        for session in self._sessions.values():
            if session.connection == closed.connection:
                session.next_epoch = None


def _acknowledged(request: _Request) -> Iterator[tuple[Partition, int, int, list[int]]]:
    for topic in request.topics:
        for each in topic.partitions:
            for batch in each.acknowledgement_batches:
                yield (
                    (topic.topic_id, each.partition_index),
                    batch.first_offset,
                    batch.last_offset,
                    batch.acknowledge_types,
                )
