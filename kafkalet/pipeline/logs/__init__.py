"""Read log directories without a broker: segments, indexes, transactions, timestamps.

    directory.py      lists the partitions of a log directory and their segments
    checkpoints.py    reads the checkpoint files of a log directory or partition
    indexes.py        .index, .timeindex and .txnindex as columns; snapshots.py: .snapshot files of producer state
    heads.py          iterates over batch headers without reading the records
    indexed.py        a segment with its indexes, and what to do if they are missing
    ends.py           the log end offset
    transactions.py   open and aborted transactions, the last stable offset, markers
    timestamps.py     finds the offset for a timestamp
    splits.py         cuts a log into tasks; index_stretches.py: one segment; planning.py: many logs

Log directories of every Apache Kafka release since 0.8.2 can be read, whether the broker is running, was stopped or was
killed. Nothing is written and no file stays open. A listing is a view of one moment: it records the file sizes at that
time, and later appends are not part of it. If the broker deletes or compacts segments meanwhile, the log is listed
again.
"""
