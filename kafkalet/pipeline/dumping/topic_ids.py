"""The ids of topics, by which a topic that was made anew under its name is known.

A directory has it in each partition.metadata, a broker in its Metadata answer; both since Kafka 2.8. The text is
Kafka's own: URL-safe base64 without padding.
"""

from __future__ import annotations

import base64
from collections.abc import Collection

from kafkalet.pipeline.broker_origin import properties
from kafkalet.pipeline.live.broker import LiveBroker
from kafkalet.pipeline.logs.directory import find
from kafkalet.pipeline.options import ReadOptions

_NONE = bytes(16)


def topic_ids(options: ReadOptions, topics: Collection[str]) -> dict[str, str | None]:
    """By topic; None where there is no id. Asks the broker or the directories that the options name."""
    if options.live:
        with LiveBroker(options.client["bootstrap.servers"], properties(options)) as broker:
            broker.topics(sorted(topics))
            return {topic: as_text(broker.metadata.topic_id(topic)) for topic in topics}
    logs = find(options.paths, lenient=options.mode != "FAILFAST", wanted=options.topics.contain)
    found = {log.topic: as_text(log.topic_id) for log in logs}
    return {topic: found.get(topic) for topic in topics}


def as_text(topic_id: bytes | None) -> str | None:
    """Of sixteen bytes; None of nothing, and of zeros, which are the absence of an id on the wire."""
    if topic_id is None or topic_id == _NONE:
        return None
    return base64.urlsafe_b64encode(topic_id).decode().rstrip("=")
