"""Leader epochs: a client sends the newest one that it knows, and validates its position when it changes (KIP-320)."""

from collections.abc import Iterator
from typing import NamedTuple

from kafkalet.protocol.messages.fetch import FetchRequest
from kafkalet.protocol.messages.list_offsets import ListOffsetsRequest
from kafkalet.protocol.messages.offset_fetch import OffsetFetchRequest
from kafkalet.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kafkalet_conformance.clients.observing.finding import Claim, Severity
from kafkalet_conformance.clients.observing.sent import Closed, Sent

from .partitions import FetchedPartition, partitions_with_epochs, told_epochs, told_topics
from .rule import Remark, Rule

MARGIN_S = 2.0
"""How long a client may take to apply a response."""


class LeaderEpochs(Rule):
    """Compares the leader epochs in requests with those in Metadata responses on the same connection."""

    CLAIM = Claim(
        "leader-epoch-old",
        "A client sends no leader epoch that is older than the newest one that it has received.",
        "KIP-320, Metadata.updateLastSeenEpochIfNewer",
    )

    def __init__(self) -> None:
        self._told: dict[int, dict[tuple[str, int], tuple[int, Sent]]] = {}
        """The latest epoch of each partition, with the Metadata request for it, keyed by connection."""
        self._names: dict[bytes, str] = {}

    def sent(self, sent: Sent) -> Iterator[str | Remark]:
        told = self._told.get(sent.connection)
        if told is None:
            return
        for each in partitions_with_epochs(sent):
            topic = each.topic or self._names.get(each.topic_id, "")
            latest = told.get((topic, each.partition))
            if latest is None or each.current_leader_epoch < 0:
                continue
            epoch, asked = latest
            if each.current_leader_epoch < epoch and sent.follows(asked, MARGIN_S):
                text = f"partition {each.partition} of {topic!r} is sent with leader epoch {each.current_leader_epoch}"
                yield f"{text}, but the response to {asked.place} had {epoch}"

    def answered(self, sent: Sent) -> Iterator[str | Remark]:
        for name, topic_id in told_topics(sent):
            if name:
                self._names[topic_id] = name
        for each in told_epochs(sent):
            told = self._told.setdefault(sent.connection, {})
            key = (each.topic, each.partition)
            if key not in told or told[key][0] != each.epoch:  # the margin begins at the first response
                told[key] = each.epoch, sent
        yield from ()

    def closed(self, closed: Closed) -> None:
        self._told.pop(closed.connection, None)


class _Position(NamedTuple):
    """The latest fetch of a partition."""

    sent: Sent
    epoch: int
    offset: int
    has_advanced: bool
    """Whether the client has received records since it began, so that it knows their leader epoch."""


class PositionValidation(Rule):
    """Looks for OffsetForLeaderEpoch between two fetches of a partition with different leader epochs.

    Only a client that has received records knows the epoch of its position, so validation is expected only from such a
    client. A new position, from ListOffsets or OffsetFetch, need not be validated. Between two connections, a missing
    validation is only a note: the fetches may belong to two consumers with the same client id, or the application may
    have moved the position.
    """

    CLAIM = Claim(
        "position-validation",
        "When the leader epoch has changed, a consumer validates its position before it fetches again.",
        "KIP-320, SubscriptionState.maybeValidatePositionForCurrentLeader",
    )
    _MAYBE = Claim(*CLAIM[:3], Severity.NOTE)

    def __init__(self) -> None:
        self._positions: dict[tuple[str | None, str | bytes, int], _Position] = {}
        """The latest fetches, keyed by client id, topic and partition."""

    def sent(self, sent: Sent) -> Iterator[str | Remark]:
        client, request = sent.place.client_id, sent.request
        if isinstance(request, FetchRequest) and sent.version >= 9:
            for each in partitions_with_epochs(sent):
                yield from self._fetch(sent, each)
        elif isinstance(request, OffsetForLeaderEpochRequest | ListOffsetsRequest | OffsetFetchRequest):
            # Fetch names topics by ids since version 13; therefore all partitions of the client are forgotten.
            for key in [key for key in self._positions if key[0] == client]:
                del self._positions[key]

    def _fetch(self, sent: Sent, each: FetchedPartition) -> Iterator[Remark]:
        key = (sent.place.client_id, each.topic or each.topic_id, each.partition)
        before = self._positions.get(key)
        has_advanced = False
        if before is not None:
            has_advanced = before.has_advanced or each.offset > before.offset
            changed = 0 <= before.epoch < each.current_leader_epoch
            if changed and before.has_advanced and each.offset >= before.offset:
                same = sent.connection == before.sent.connection
                text = f"partition {each.partition} is fetched from offset {each.offset} with leader epoch"
                text += f" {each.current_leader_epoch} after {before.epoch}, without a validation in between"
                yield Remark(self.CLAIM if same else self._MAYBE, text)
        self._positions[key] = _Position(sent, each.current_leader_epoch, each.offset, has_advanced)
