"""Fetch sessions: ids, epochs and forgotten partitions (KIP-227).

A full fetch (epoch 0) requests a session. The broker returns an id, and the client sends that id with the epochs 1, 2,
3, and so on. Epoch -1 ends the session, and epoch 0 with the id of a session replaces it.
"""

from collections.abc import Iterator

from kafkalet.protocol.errors import Code
from kafkalet.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkalet.units import counted
from kafkalet_conformance.clients.observing.finding import Claim, Severity
from kafkalet_conformance.clients.observing.sent import Fate, Sent

from .rule import Remark, Rule

_SOURCE = "KIP-227, FetchSessionHandler"
_RESTART = Claim(
    "fetch-session-restart",
    "After a session error, a client begins with a full fetch.",
    "KIP-227, FetchSessionHandler.handleResponse",
)
_ID = Claim(
    "fetch-session-id", "A session id is sent only to the broker that gave it, until the session ends.", _SOURCE
)
_FORGOTTEN = Claim("fetch-session-forgotten", "A client forgets only partitions that are in the session.", _SOURCE)
_FORGOTTEN_FULL = Claim("fetch-session-forgotten", "A full fetch has no forgotten partitions.", _SOURCE, Severity.NOTE)
_ERRORS = {
    Code.FETCH_SESSION_ID_NOT_FOUND,
    Code.INVALID_FETCH_SESSION_EPOCH,
    Code.FETCH_SESSION_TOPIC_ID_ERROR,
}
_LARGEST = (1 << 31) - 1

Partition = tuple[str | bytes, int]


class _Session:
    """A session as the client knows it."""

    def __init__(self, partitions: set[Partition]) -> None:
        self.partitions = partitions
        self.next_epoch: int | None = 1
        """None if the response to the last request is unknown to the client."""
        self.failed: tuple[Sent, str] | None = None
        """The request that got a session error, and the error."""
        self.is_over = False


class FetchSessions(Rule):
    """Follows the sessions of each broker."""

    CLAIM = Claim(
        "fetch-session-epoch",
        "The epochs of a fetch session are 0 for a full fetch, then 1, 2, 3, and so on.",
        "KIP-227, FetchMetadata.nextEpoch",
    )

    def __init__(self) -> None:
        self._sessions: dict[tuple[int, int], _Session] = {}
        """The sessions, keyed by broker and session id."""
        self._brokers: dict[int, int] = {}
        """The broker that last assigned a session id."""

    def sent(self, sent: Sent) -> Iterator[str | Remark]:
        request = sent.request
        if not isinstance(request, FetchRequest) or sent.version < 7:
            return
        number, epoch, broker = request.session_id, request.session_epoch, sent.place.broker
        session = self._sessions.get((broker, number))
        if number == 0:
            if epoch > 0:
                yield f"session id 0 is sent with epoch {epoch}; without a session, the epoch is 0 or -1"
        elif session is None:
            other = self._brokers.get(number)
            if other is not None and other != broker:
                yield Remark(_ID, f"the session {number} of broker {other} is sent to broker {broker}")
        elif session.is_over and epoch > 0:
            yield Remark(_ID, f"epoch {epoch} of session {number} is sent after the end of the session")
        elif epoch > 0:
            yield from self._incremental(session, request, sent)
        if epoch <= 0:
            if session is not None:
                session.is_over = True
            if request.forgotten_topics_data:
                count = sum(len(topic.partitions) for topic in request.forgotten_topics_data)
                yield Remark(_FORGOTTEN_FULL, f"a full fetch forgets {counted(count, 'partition')}")

    def _incremental(self, session: _Session, request: FetchRequest, sent: Sent) -> Iterator[str | Remark]:
        number, epoch = request.session_id, request.session_epoch
        if session.failed is not None:
            earlier, error = session.failed
            if sent.follows(earlier):
                yield Remark(_RESTART, f"epoch {epoch} of session {number} follows the error {error}")
        elif session.next_epoch is not None and epoch != session.next_epoch:
            yield f"session {number} continues with epoch {epoch}; {session.next_epoch} comes next"
        session.next_epoch = 1 if epoch == _LARGEST else epoch + 1
        listed, forgotten = _listed(request), _forgotten(request)
        missing = forgotten - session.partitions - listed
        if missing and session.failed is None:
            yield Remark(_FORGOTTEN, f"{_text(missing)} is forgotten, but is not in session {number}")
        session.partitions = (session.partitions | listed) - forgotten

    def answered(self, sent: Sent) -> Iterator[str | Remark]:
        request, response = sent.request, sent.response
        if isinstance(request, FetchRequest) and sent.version >= 7:
            self._answered(sent, request, response if isinstance(response, FetchResponse) else None)
        yield from ()

    def _answered(self, sent: Sent, request: FetchRequest, response: FetchResponse | None) -> None:
        broker = sent.place.broker
        session = self._sessions.get((broker, request.session_id))
        if response is None or sent.is_altered or sent.fate is not Fate.ANSWERED:
            if session is not None:
                session.next_epoch = None
        elif response.error_code in _ERRORS:
            if session is not None and request.session_epoch > 0:
                session.failed = sent, Code(response.error_code).name
        elif response.error_code == Code.NONE and response.session_id != 0 and request.session_epoch == 0:
            self._sessions[broker, response.session_id] = _Session(_listed(request))
            self._brokers[response.session_id] = broker


def _listed(request: FetchRequest) -> set[Partition]:
    return {
        (topic.topic or topic.topic_id, partition.partition)
        for topic in request.topics
        for partition in topic.partitions
    }


def _forgotten(request: FetchRequest) -> set[Partition]:
    return {
        (topic.topic or topic.topic_id, partition)
        for topic in request.forgotten_topics_data
        for partition in topic.partitions
    }


def _text(partitions: set[Partition]) -> str:
    topic, partition = min(partitions, key=repr)
    return f"partition {partition} of topic {topic.hex() if isinstance(topic, bytes) else topic}"
