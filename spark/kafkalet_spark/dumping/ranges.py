"""Determine the offsets of a run: for known partitions, those after the manifest; for new ones, all requested offsets.

Before anything is read, each partition is checked against the manifest. Each of these cases is a data loss, which is an
error unless `failOnDataLoss=false`:

    the log starts after the next offset     Retention or DeleteRecords deleted the offsets in between.
    the log ends before the next offset      The log was truncated. The run continues at its end.
    the topic has a different id             The topic was deleted and created again. The run starts at its beginning.
    the partition is missing                 The topic was deleted. The files dumped from it are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from kafkalet.formats import uuid_text
from kafkalet_spark.broker_origin import properties
from kafkalet_spark.live.broker import LiveBroker
from kafkalet_spark.logs.directory import find
from kafkalet_spark.options import Limit, ReadOptions, TopicPartition
from kafkalet_spark.origin import Origin
from kafkalet_spark.positions import DataLoss, check_order, resolved, warn_of_missing

from .dump_runs import Covered
from .manifest import Manifest

_NONE = bytes(16)


def topic_ids(options: ReadOptions, topics: Collection[str]) -> dict[str, str | None]:
    """Return the ids of topics, from the broker or the log directories; None for a topic without an id.

    In a log directory, they are in the partition.metadata files; a broker returns them in its Metadata response. This
    requires Kafka 2.8 or later.
    """
    if options.live:
        with LiveBroker(options.client["bootstrap.servers"], properties(options)) as broker:
            broker.topics(sorted(topics))
            return {topic: as_text(broker.metadata.topic_id(topic)) for topic in topics}
    logs = find(options.paths, lenient=options.mode != "FAILFAST", wanted=options.topics.contain)
    found = {log.topic: as_text(log.topic_id) for log in logs}
    return {topic: found.get(topic) for topic in topics}


def as_text(topic_id: bytes | None) -> str | None:
    """Return the text form of a topic id. If it is None or all zeros, which means "no id" in the protocol, return
    None."""
    if topic_id is None or topic_id == _NONE:
        return None
    return uuid_text(topic_id)


SHOWN = 5


class KnownOffsets(NamedTuple):
    """The offsets and topic ids of the source."""

    earliest: Mapping[TopicPartition, int]
    latest: Mapping[TopicPartition, int]
    topic_ids: Mapping[str, str | None]


def new_offsets(
    origin: Origin, options: ReadOptions, manifest: Manifest, topic_ids: Mapping[str, str | None]
) -> tuple[list[Covered], list[str]]:
    """Return the offsets to dump, and a message for each data loss. Raises DataLoss and BadOption.

    A partition without new offsets is left out, unless the partition itself is new.
    """
    partitions = origin.partitions()
    warn_of_missing(options.topics, partitions)
    known = KnownOffsets(origin.earliest(partitions), origin.latest(partitions), topic_ids)
    ends = resolved(origin, options.ending, partitions, known.earliest, known.latest, "latest")
    fresh = [key for key in partitions if key not in manifest.partitions]
    starts = _first_offsets(origin, options, fresh, known, ends)
    covered, losses = [], []
    for key in partitions:
        start, lost, loss = (starts[key], 0, "") if key in starts else _go_on(key, manifest, known)
        end = max(start, min(ends[key], known.latest[key]))
        if loss:
            losses.append(loss)
        if end > start or loss or key in starts:
            covered.append(Covered(*key, topic_ids.get(key[0]), start, end, lost))
    gone = [key for key in sorted(manifest.partitions.keys() - set(partitions)) if options.topics.contain(*key)]
    losses += [
        f"{_name(key)} was dumped to offset {manifest.partitions[key].next_offset} and is missing" for key in gone
    ]
    if losses and options.fail_on_data_loss:
        more = f"; and {len(losses) - SHOWN} more" if len(losses) > SHOWN else ""
        raise DataLoss(f"{'; '.join(losses[:SHOWN])}{more}; set failOnDataLoss=false to dump what is left")
    return covered, losses


def _first_offsets(
    origin: Origin,
    options: ReadOptions,
    fresh: Sequence[TopicPartition],
    known: KnownOffsets,
    ends: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """Return the start offsets of new partitions: the offsets given by the options, limited to the existing ones.

    A start that is after the end is rejected, as in the source; this is allowed only for known partitions.
    """
    if not fresh:
        return {}
    starting = options.starting
    if starting.offsets is not None:
        starting = Limit(offsets={key: at for key, at in starting.offsets.items() if key in fresh})
    if starting.timestamps_ms is not None:
        starting = Limit(timestamps_ms={key: at for key, at in starting.timestamps_ms.items() if key in fresh})
    starts = resolved(origin, starting, fresh, known.earliest, known.latest, options.no_match)
    for key, start in starts.items():
        check_order(key, start, ends[key])
        if options.fail_on_data_loss and not known.earliest[key] <= start <= known.latest[key]:
            raise DataLoss(
                f"{_name(key)} has offsets {known.earliest[key]} to {known.latest[key]}, but the dump should start at "
                f"{start}; set failOnDataLoss=false to dump what is left"
            )
    return {key: min(max(start, known.earliest[key]), known.latest[key]) for key, start in starts.items()}


def _go_on(key: TopicPartition, manifest: Manifest, known: KnownOffsets) -> tuple[int, int, str]:
    """Return the next offset of a known partition, the number of offsets lost before it, and a message about the loss,
    which is empty if there is none."""
    next_offset = manifest.partitions[key].next_offset
    earliest, latest = known.earliest[key], known.latest[key]
    before, now = manifest.topic_ids.get(key[0]), known.topic_ids.get(key[0])
    dumped = f"{_name(key)} was dumped to offset {next_offset}"
    if before is not None and now is not None and before != now:
        return earliest, 0, f"{dumped}, but its topic was recreated (topic id {before}, now {now})"
    if next_offset > latest:
        return latest, 0, f"{dumped}, but ends at {latest}: it was truncated or recreated"
    if next_offset < earliest:
        return earliest, earliest - next_offset, f"{dumped}, but starts at {earliest}: the offsets between are lost"
    return next_offset, 0, ""


def _name(key: TopicPartition) -> str:
    return f"{key[0]}-{key[1]}"
