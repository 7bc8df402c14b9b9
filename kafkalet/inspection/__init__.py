"""Reads and checks the files of data directories, for `kafkalet inspect`. It never writes, and needs no broker.

    faults.py           what a check reports
    reading.py          read-only files, and iteration over the entries of a .log
    kinds.py            what a file is, by its name
    rows.py             batches and records as rows of fields
    internal_records.py records of the internal topics
    small_files.py      indexes, snapshots, checkpoints and the other small files as rows
    overview.py         what a partition or a data directory contains
    segment_check.py    checks one segment with its indexes, in one pass
    partition_check.py  checks the directory of a partition
    directory_check.py  checks a data directory

All functions are generators or keep only a summary, so that memory does not grow with the size of the files.
"""
