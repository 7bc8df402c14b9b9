"""Logs at any size, through Spark: filled, read, dumped and audited without a broker, or read from a live one.

    source.py      the data source `kafkalog`: spark.read, spark.readStream and df.write
    decoding/      bytes of a log to columns: batches, records, whole chunks at a time
    logs/          what lies in a log directory: segments, indexes, checkpoints; where to split it
    live/          the same questions to a running broker
    writing/       columns to logs: batches, segments, indexes, and how they become visible at once
    dumping/       topics to Parquet or JSON Lines, again and again
    audit/         what the bytes say, beside what the files and a live broker say
    jobs.py        the command line of load, dump and audit

Needs the extra `spark`, and Java 17 or newer, which is what Spark itself needs.
"""
