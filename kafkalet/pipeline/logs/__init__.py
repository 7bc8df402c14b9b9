"""What lies in a log directory, and what its files say: the questions that a broker would answer, without one.

    directory.py      which logs there are, and their segments
    checkpoints.py    the small text files beside them
    indexes.py        .index, .timeindex and .txnindex in columns; snapshots.py: the producers' .snapshot
    heads.py          the headers of the entries of a file, without the rest
    indexed.py        a segment with its indexes, and what to do where they are missing
    ends.py           where a log ends
    transactions.py   what is open, what was aborted, where read_committed ends; what the markers say
    timestamps.py     which offset belongs to a time
    splits.py         how a log is cut into tasks; index_stretches.py: a segment; planning.py: many logs at once

Directories of every Apache Kafka since 0.8.2 are read, whether the broker that writes them runs, has stopped or was
killed. Nothing is written, and nothing is kept open. What is listed once is a view of that moment: a log is as long as
its files were then, whatever is appended later. What the broker deletes or compacts meanwhile is looked for anew.
"""
