"""The logs of a broker on disk. This package knows nothing about requests, sockets or leadership.

data directory/                         directory.py
  meta.properties                       identity.py
  recovery-point-offset-checkpoint      checkpoints.py
  replication-offset-checkpoint
  log-start-offset-checkpoint
  cleaner-offset-checkpoint             cleaner_state.py
  .kafka_cleanshutdown
  <topic>-<partition>/                  log.py
    00000000000000000000.log            segment.py: record batches as they were sent
    00000000000000000000.index          offset_index.py: offset -> position
    00000000000000000000.timeindex      time_index.py: timestamp -> offset
    00000000000000000000.txnindex       txn_index.py: aborted transactions
    00000000000000000042.snapshot       producer_snapshot.py: producer states up to that offset
    leader-epoch-checkpoint             epochs.py
    partition.metadata                  checkpoints.py

log.py                log start offset, high watermark, last stable offset and the rules for moving them;
                      append as leader or follower, read, roll, truncate, delete old segments
  local_log.py        the segments as one sequence, the log end offset
    segments.py       the segments in order
      segment.py      one segment file with its indexes
  validation.py       validate appended records, assign offsets and timestamps
  replicated.py       check records that a follower fetched
  producers.py        sequences, epochs, transactions; replay.py rebuilds them from the log
  lookup.py           find offsets by timestamp
  retention.py        select segments to delete
cleaning/             the log cleaner
recovery.py           open a log from its directory; progress.py logs how far a long recovery is
directories.py        the log directories of a broker, and which of them are offline
files.py              opens files; flushing.py runs fsync, deletion.py deletes after a delay
file_system.py        the calls of the operating system; overlay.py redirects those of read-only brokers
failures.py           how a log reacts to I/O errors
"""
