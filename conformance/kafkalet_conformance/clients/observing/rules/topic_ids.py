"""Topic ids: a client uses only those that it has received (KIP-516)."""

from collections.abc import Iterator

from kafkalet.protocol.api import Api
from kafkalet.protocol.wire import ZERO_UUID
from kafkalet_conformance.clients.observing.finding import Claim
from kafkalet_conformance.clients.observing.sent import Closed, Sent

from .partitions import told_topics, topic_ids
from .rule import Remark, Rule

_STALE = Claim(
    "topic-id-stale",
    "A client that has received a new id of a topic does not use the old one.",
    "KIP-516, Metadata.update",
)
MARGIN_S = 2.0
"""How long a client may take to apply a response."""


class TopicIds(Rule):
    """Compares the topic ids in requests with those in earlier responses."""

    CLAIM = Claim(
        "topic-id-told",
        "A client uses only topic ids that it has received from the cluster.",
        "KIP-516, ConsumerMetadata",
    )

    def __init__(self) -> None:
        self._names: dict[bytes, str] = {}
        """The names of topics, keyed by id; "" if the name is unknown."""
        self._ids: dict[int, dict[str, tuple[bytes, Sent]]] = {}
        """The latest id of each topic, keyed by connection."""

    def sent(self, sent: Sent) -> Iterator[str | Remark]:
        if sent.place.position == 1 and sent.api is not Api.API_VERSIONS:
            self.sees_everything = False
        for topic_id in topic_ids(sent):
            name = self._names.get(topic_id)
            if name is None:
                if self.sees_everything and topic_id != ZERO_UUID:
                    yield f"no response contained the topic id {topic_id.hex()}"
                continue
            latest = self._ids.get(sent.connection, {}).get(name)
            if name and latest is not None and latest[0] != topic_id and sent.follows(latest[1], MARGIN_S):
                text = f"the id {topic_id.hex()} of {name!r} is sent, but it is {latest[0].hex()} since the response to"
                yield Remark(_STALE, f"{text} {latest[1].place}")

    def answered(self, sent: Sent) -> Iterator[str | Remark]:
        for name, topic_id in told_topics(sent):
            if name or topic_id not in self._names:
                self._names[topic_id] = name
            if name and not sent.is_altered:
                self._ids.setdefault(sent.connection, {})[name] = topic_id, sent
        yield from ()

    def closed(self, closed: Closed) -> None:
        self._ids.pop(closed.connection, None)
