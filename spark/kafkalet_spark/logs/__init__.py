"""Read log directories without a broker: segments, indexes, transactions, timestamps.

    directory.py      lists the partitions of a log directory and their segments
    running_broker.py        detects a running broker
    checkpoints.py    reads the checkpoint files of a log directory or partition
    indexes.py        reads .index, .timeindex and .txnindex files as columns
    snapshots.py      reads .snapshot files, which hold producer state, as columns
    heads.py          iterates over batch headers without reading the records
    indexed.py        gives access to a segment through its indexes, and handles missing ones
    ends.py           finds the log end offset
    transactions.py   finds open and aborted transactions, the last stable offset, and markers
    timestamps.py     finds the offset for a timestamp
    splits.py         divides a log among tasks; index_stretches.py does it for one segment, planning.py for many logs

The log directories of every Apache Kafka release since 0.8.2 can be read, whether the broker is running, was stopped or
was killed. Nothing is written, and no file is kept open. A listing is a snapshot: it records the file sizes at one
moment, and later appends are not part of it. If the broker deletes or compacts segments after that, the log is listed
again.
"""
