"""Dump topics to Parquet or JSON Lines incrementally: each run adds the records since the previous run.

    dump.py         the job: determines the offsets, reads and writes with Spark, commits
    ranges.py       the offsets of a run, and data loss since the previous run; topics that were recreated
    dump_files.py   the work of a task: writes rows to files by date, in its own directory
    sink.py         the same as a Spark sink, and how its results reach the driver
    merging.py      merges the small files of a run before the commit
    lines.py        encodes a record as a line of JSON
    manifest.py     the next offset of each partition; atomic writes of small files
    dump_runs.py    the files of a run, before and after they are in place; recovery of a run that was killed
    OUT/_manifest.json
    OUT/_runs/000001.json
    OUT/topic=flights/partition=0/date=2013-01-01/00000000000000000000-00000000000000000841.000001.parquet
    OUT/_staging/                                                    during a run

The directories are those of a partitioned table, and readers of such tables ignore names that begin with an underscore:
spark.read.parquet(OUT) returns the dump, with topic, partition and date as columns.

A run can be killed at any moment:

1. Tasks write to OUT/_staging, each attempt to its own directory, and return the list of their files. The files of
   failed or superseded attempts are in no such list. Small files are merged by tasks that work in the same way.
2. The driver writes OUT/_runs/N.json with the files, their destinations and the offsets. This is the commit, a single
   rename.
3. The files are renamed into place, the manifest is updated to run N, and the staging directory is deleted.

If a run finds an OUT/_runs/N.json that is newer than the manifest, it repeats step 3, which is idempotent; if it finds
staged files without such a record, it deletes them. So there are no partial files and no duplicate records, and no
manual cleanup is needed after a run that was killed.
"""
