"""One partition's log on disk. This room knows no request, no socket and no other partition.

    data directory/                         directory.py
      meta.properties                       checkpoints.py
      recovery-point-offset-checkpoint      checkpoints.py
      replication-offset-checkpoint
      log-start-offset-checkpoint
      .kafka_cleanshutdown                  recovery.py
      <topic>-<partition>/                  log.py
        00000000000000000000.log            segment.py: record batches as they came
        00000000000000000000.index          offset_index.py: offset -> position
        00000000000000000000.timeindex      time_index.py: timestamp -> offset
        00000000000000000000.txnindex       txn_index.py: aborted transactions
        00000000000000000042.snapshot       producers.py: producer state up to that offset
        leader-epoch-checkpoint             epochs.py
        partition.metadata                  checkpoints.py

Files are opened by files.py alone; an offset for a time comes from lookup.py; what may go is decided by retention.py.
"""
