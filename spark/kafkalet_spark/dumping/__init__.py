"""Dump topics to Parquet or JSON Lines incrementally: each run adds the records since the previous run.

    dump.py         runs the job: determines the offsets, reads and writes the records with Spark, commits
    ranges.py       determines the offsets of a run; detects data loss since the previous run, and recreated topics
    dump_files.py   does the work of a task: writes rows to files by date, in the task's own directory
    sink.py         is the Spark sink that runs dump_files.py, and passes the list of files to the driver
    merging.py      merges the small files of a run before the commit
    lines.py        encodes a record as a line of JSON
    manifest.py     stores the next offset of each partition; writes small files atomically
    dump_runs.py    records the files of a run and moves them into place; recovers a run that was killed

A dump consists of these files:

    OUT/_manifest.json
    OUT/_runs/000001.json
    OUT/topic=flights/partition=0/date=2013-01-01/00000000000000000000-00000000000000000841.000001.parquet
    OUT/_staging/                                                    (only during a run)

The directories form a partitioned table, and readers of such tables ignore names that begin with an underscore.
Therefore, spark.read.parquet(OUT) returns the dump, with topic, partition and date as columns.

It does no harm to kill a run at any moment, because a run proceeds in these steps:

1. Tasks write to OUT/_staging, each attempt to its own directory, and return a list of their files. The files of failed
   or superseded attempts are not in any of these lists. Small files are merged by tasks that work in the same way.
2. The driver writes OUT/_runs/N.json with the files, their destinations and the offsets. This is the commit, a single
   rename.
3. The files are renamed into place, the manifest is updated to run N, and the staging directory is deleted.

If a run finds an OUT/_runs/N.json that is newer than the manifest, it repeats step 3, which is idempotent. If it finds
staged files without such a record, it deletes them. As a result, there are no partial files and no duplicate records,
and no manual cleanup is needed after a run was killed.
"""
