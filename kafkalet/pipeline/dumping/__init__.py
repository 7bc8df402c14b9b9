"""Topics to Parquet or JSON Lines, again and again: each run adds what is new since the last.

    dump.py         the job: what is new, Spark's reading and writing, the commit
    ranges.py       which offsets are new, and what has been lost since the last run; topics that were made anew
    dump_files.py   what a task does: rows into files by date, in a folder of its own
    sink.py         the same as a sink of Spark, and how the driver hears of it
    merging.py      small files of a run, merged before it is committed
    lines.py        a record as a line of JSON
    manifest.py     up to which offset each partition has been dumped; small files that are there whole or not at all
    dump_runs.py    what a run wrote, before and after it is in place; the end of a run that died

    OUT/_manifest.json
    OUT/_runs/000001.json
    OUT/topic=flights/partition=0/date=2013-01-01/00000000000000000000-00000000000000000841.000001.parquet
    OUT/_staging/                                                    while a run lasts

The folders are those of a partitioned table, and what begins with an underscore is passed over by all who read such
tables: spark.read.parquet(OUT) is the dump, with topic, partition and date as columns.

A run can be killed at any moment:

1. Tasks write into OUT/_staging, each attempt into a folder of its own, and answer with what they wrote. What an
   attempt wrote that failed, or was not the first to end, is in nobody's answer. Small files are merged, by tasks
   that answer in the same way.
2. The driver writes OUT/_runs/N.json: the files, where they go, the offsets. This is the commit; it is one rename.
3. The files are renamed into place, then the manifest says N, then the staging folder goes.

A run that finds OUT/_runs/N.json newer than the manifest does step 3 again, which changes nothing that is done; one
that finds files in staging and no such record removes them. So there are no half files and no record twice, and a
second run needs nobody's help after a first one that died.
"""
