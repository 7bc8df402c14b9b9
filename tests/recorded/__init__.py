"""Recorded responses of Apache Kafka, and the tools that record and replay them.

`2.8/`, `3.9/` and `4.4/` hold the transcripts: one file per scenario, one step per line. `replay.py` runs them against
any broker and compares the responses. `record.py` runs the scenarios of `questions/` against Apache Kafka and writes
transcripts in the same format, named `more_*`. Batches and message sets are encoded and decoded by code in this package
only, so that the tests do not share mistakes with the broker.
"""
