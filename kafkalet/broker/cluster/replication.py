"""Replication of a partition from its leader to its followers.

In Apache Kafka a follower fetches from its leader. After a change of leader, it requests the end offset of its last
epoch, truncates records that the new leader never had, and continues from there. Here, leaders and followers run in one
process, so a follower replicates as soon as the leader's log changes, and acks=-1 never has to wait. A test can hold
followers back. In that case, as in Kafka, the leader's high watermark does not advance beyond the records that all
in-sync replicas have.

The steps are the same as in Kafka (ReplicaFetcherThread): truncate to the end of the last common epoch (KIP-101,
KIP-279), start again if the leader's log starts later, append batches with the leader's offsets and epochs, and adopt
the leader's high watermark and log start offset.
"""

from typing import Protocol

from kafkalet.storage.log import Log
from kafkalet.storage.replicated import UnexpectedOffset
from kafkalet.storage.values import Isolation

from .partition import EpochEnd

COPY_BYTES = 1 << 20


class Replica(Protocol):
    """A replica, or a copy of its log that will replace it."""

    @property
    def log(self) -> Log:
        """The log."""

    def end_of_epoch(self, leader_epoch: int) -> EpochEnd:
        """Return the largest known epoch not above `leader_epoch` and its end offset."""


def catch_up(leader: Replica, follower: Replica, fetch_bytes: int | None = None) -> int:
    """Make the follower's log equal to the leader's. With `fetch_bytes`, copy only the records of one such fetch.

    Returns the number of bytes that were copied.
    """
    copied = 0
    _truncate_divergent_records(leader, follower)
    source, target = leader.log, follower.log
    if target.log_end_offset < source.local_log_start_offset:
        target.start_like(source)
    while target.log_end_offset < source.log_end_offset:
        offset = max(target.log_end_offset, source.local_log_start_offset)  # which may be within an entry
        read = source.read(
            offset, COPY_BYTES if fetch_bytes is None else fetch_bytes, Isolation.LOG_END, at_least_one=True
        )
        try:
            records = read.records if isinstance(read.records, bytes) else read.records.read()
        except OSError as error:
            raise source.failures.answer(error) from error
        if not records:
            break  # the leader was truncated within an entry; the follower catches up with the next one
        try:
            target.append_as_follower(records)
            copied += len(records)
            if fetch_bytes is not None:
                break
        except UnexpectedOffset:  # the follower was truncated, or begins, within an entry that the leader still has
            base_offset = int.from_bytes(records[:8], "big")
            if not 0 <= base_offset < target.log_end_offset:
                raise
            target.truncate_to(base_offset)
    copy_watermarks(leader, follower)
    return copied


def copy_watermarks(leader: Replica, follower: Replica) -> None:
    """Set a follower's high watermark and log start offset to those of the leader."""
    follower.log.update_high_watermark(leader.log.high_watermark)
    follower.log.maybe_increment_log_start_offset(min(leader.log.log_start_offset, follower.log.high_watermark))


def _truncate_divergent_records(leader: Replica, follower: Replica) -> None:
    """Truncate a follower's log to the last offset at which it agrees with the leader's."""
    log = follower.log
    while (epoch := log.latest_epoch) is not None:
        end = leader.end_of_epoch(epoch)
        if end.leader_epoch == epoch:
            cut = end.end_offset
        else:  # the leader never had this epoch: continue with the previous epoch
            own = follower.end_of_epoch(end.leader_epoch)
            cut = leader.log.log_start_offset if own.end_offset < 0 else min(end.end_offset, own.end_offset)
        if cut >= log.log_end_offset:
            return
        log.truncate_to(max(cut, 0))
        if log.latest_epoch == epoch:
            return
