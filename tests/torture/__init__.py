"""Crash the storage, and check the remaining data: `python -m tests.torture`.

    disk.py         a file system that records every call, and what a disk may contain after a crash at any of them
    faults.py       disks that fail, write less than they should, or are full
    workload.py     seeded random operations on logs, and what has to survive each of them
    model.py        what a log must contain, computed from its batches alone
    verifying.py    compares a log that was opened after a crash with the model
    campaign.py     runs: record a workload, crash it at many places, open, verify, continue, crash again
    compaction.py   crashes while a log is compacted
    processes.py    real brokers that are killed while producers write
    sharing.py      share groups whose brokers are killed, lose their power, stop, or give their leaderships away

A crash is either the end of the process (all calls made so far survive, the current one may be done in part) or the
loss of power (what was synced survives; everything else may be lost, torn or reordered).

Every failure names its seed and its crash; `python -m tests.torture --seed S --crash K` repeats it.
"""
