"""Which offsets a run dumps: those after the manifest's, for partitions that it knows; all that are asked for, else.

A dump is of one log per partition. That it still is that log is checked before anything is read; each of these is a
loss, an error unless `failOnDataLoss=false`:

    the log begins after the offset to go on at      retention or DeleteRecords took what lies between
    the log ends before that offset                  it was truncated; go on at its end
    the topic has another id                         it was deleted and made again; begin at the new beginning
    the partition is not there                       its topic was deleted; what was dumped of it stays
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from kafkalet.formats import uuid_text
from kafkalet.pipeline.broker_origin import properties
from kafkalet.pipeline.live.broker import LiveBroker
from kafkalet.pipeline.logs.directory import find
from kafkalet.pipeline.options import Limit, ReadOptions, TopicPartition
from kafkalet.pipeline.origin import Origin
from kafkalet.pipeline.positions import DataLoss, check_order, resolved, warn_of_missing

from .dump_runs import Covered
from .manifest import Manifest

_NONE = bytes(16)


def topic_ids(options: ReadOptions, topics: Collection[str]) -> dict[str, str | None]:
    """By topic; None where there is no id. Asks the broker or the directories that the options name.

    A directory has the id in each partition.metadata, a broker in its Metadata answer; both since Kafka 2.8.
    """
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
    return uuid_text(topic_id)


SHOWN = 5


class KnownOffsets(NamedTuple):
    """What the origin says of the partitions."""

    earliest: Mapping[TopicPartition, int]
    latest: Mapping[TopicPartition, int]
    topic_ids: Mapping[str, str | None]


def new_offsets(
    origin: Origin, options: ReadOptions, manifest: Manifest, topic_ids: Mapping[str, str | None]
) -> tuple[list[Covered], list[str]]:
    """What is to be dumped, and what was lost, in words. Raises DataLoss and BadOption.

    A partition of which nothing is new is left out; one that is seen for the first time is in, though it be empty.
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
    losses += [f"{_name(key)} was dumped to offset {manifest.partitions[key].next_offset} and is gone" for key in gone]
    if losses and options.fail_on_data_loss:
        more = f"; and {len(losses) - SHOWN} more" if len(losses) > SHOWN else ""
        raise DataLoss(f"{'; '.join(losses[:SHOWN])}{more}; with failOnDataLoss=false what is left is dumped")
    return covered, losses


def _first_offsets(
    origin: Origin,
    options: ReadOptions,
    fresh: Sequence[TopicPartition],
    known: KnownOffsets,
    ends: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """Where partitions begin that have not been dumped before: as the options say, as far as it is there.

    A start after the end is refused, as by the source; only a later run may have passed the end.
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
                f"{_name(key)} has offsets {known.earliest[key]} to {known.latest[key]}, and is to be dumped from "
                f"{start}; with failOnDataLoss=false what is left is dumped"
            )
    return {key: min(max(start, known.earliest[key]), known.latest[key]) for key, start in starts.items()}


def _go_on(key: TopicPartition, manifest: Manifest, known: KnownOffsets) -> tuple[int, int, str]:
    """Where to go on with a partition, how many offsets were lost before, and how, in words."""
    next_offset = manifest.partitions[key].next_offset
    earliest, latest = known.earliest[key], known.latest[key]
    before, now = manifest.topic_ids.get(key[0]), known.topic_ids.get(key[0])
    dumped = f"{_name(key)} was dumped to offset {next_offset}"
    if before is not None and now is not None and before != now:
        return earliest, 0, f"{dumped}, and its topic was made anew (its id was {before} and is {now})"
    if next_offset > latest:
        return latest, 0, f"{dumped}, and ends at {latest}: it was truncated, or made anew"
    if next_offset < earliest:
        return earliest, earliest - next_offset, f"{dumped}, and begins at {earliest}: what lies between is gone"
    return next_offset, 0, ""


def _name(key: TopicPartition) -> str:
    return f"{key[0]}-{key[1]}"
