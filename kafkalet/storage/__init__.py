"""One partition's log on disk. This room knows no request, no socket and no other partition.

data directory/                         directory.py
  meta.properties                       identity.py
  recovery-point-offset-checkpoint      checkpoints.py
  replication-offset-checkpoint
  log-start-offset-checkpoint
  .kafka_cleanshutdown
  <topic>-<partition>/                  log.py
    00000000000000000000.log            segment.py: record batches as they came
    00000000000000000000.index          offset_index.py: offset -> position
    00000000000000000000.timeindex      time_index.py: timestamp -> offset
    00000000000000000000.txnindex       txn_index.py: aborted transactions
    00000000000000000042.snapshot       producer_snapshot.py: the producers up to that offset
    leader-epoch-checkpoint             epochs.py
    partition.metadata                  checkpoints.py

log.py                log start, high watermark, last stable offset and the rules by which they move;
                      append as leader and follower, read, roll, truncate, give up old segments
  local_log.py        the segments as one sequence, the log end offset
    segments.py       the segments in order
      segment.py      one file with its indexes
  validation.py       may this be appended, and with which offsets and times
  replicated.py       what a follower takes
  producers.py        sequences, epochs, transactions; replay.py brings them up to date
  lookup.py           an offset for a time
  retention.py        which segments are old
recovery.py           opens the log that lies in a directory
files.py              opens files, and nobody else does; flushing.py forces them to the disk, deletion.py deletes later
failures.py           what a log does when its files fail
"""
