"""What real Kafka answered, and the machine that asks again.

`3.9/`, `4.4/`, `2.8/` hold the transcripts, one file per scenario and one step per line. `replay.py` runs them against
any broker and compares; `record.py` asks a real Kafka the questions of `questions/` and writes transcripts of the same
kind, named `more_*`. Batches and message sets are built and read by code of this folder alone, so that nothing here can
agree with the broker by sharing its mistakes.
"""
