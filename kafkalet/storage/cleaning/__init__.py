"""The log cleaner: removes records of compacted logs whose key has a newer record (Kafka's LogCleaner).

    selection.py      which log to clean next, and which of its offsets (LogCleanerManager)
    offset_map.py     the newest offset of each key (SkimpyOffsetMap)
    transactions.py   which transactions are aborted, and which markers are no longer needed
    record_filter.py  which records of a batch stay, and the batch that is written for them (MemoryRecords.filterTo)
    cleaner.py        one round: build the offset map, write the cleaned segments, swap them in (Cleaner)
    log_cleaner.py    the rounds of a broker, one after the other (CleanerThread)

`storage/cleaner_state.py` has the checkpoint, the cleanings in progress and the uncleanable logs of a data directory.

A round reads segments that no longer change, and writes new ones, in a worker thread. The event loop selects the log,
prepares each step, and swaps the new segments in. Truncating, deleting or closing a log aborts its round.
"""
