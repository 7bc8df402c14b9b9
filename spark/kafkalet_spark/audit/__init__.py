"""Audit Kafka logs: compare record batches with indexes, snapshots and checkpoints, and with a live broker.

`audit(spark, paths, options)` reads every log in the directories once, in Spark tasks, and returns a Verdict; `options`
are in audit_options.py. All kinds of findings are listed in findings.py. A "stretch" is the byte range of a segment
file that one task reads. An "entry" is a record batch, or a message in one of the older formats.

    audit_ranges.py         divide logs into stretches; audit_tasks.py: Spark tasks; stretch_audit.py: audit a stretch
      entries.py            the valid entries of a chunk of a file
      offset_order.py       order of offsets, and gaps
      record_checks.py      records compared with their batch header
      offset_index_check.py, time_index_check.py     .index and .timeindex; index_files.py reads them
      producer_runs.py, epoch_runs.py                 batches of producers and leader epochs, merged into runs
    partition_audit.py      combine the stretches of a log
      offset_chain.py       log end offset; the reasons for gaps
      unique_keys.py        keys of compacted logs, by their hashes (key_hashes.py)
      producer_checks.py, transaction_history.py      sequences and epochs; open and aborted transactions
      txn_index_check.py, snapshot_check.py           .txnindex and .snapshot
      companion_files.py, checkpoint_checks.py        checkpoints and other small files
      cluster_metadata.py                             configs of topics, IDs of brokers
      empty_indexes.py                                indexes that have lost all their entries
    directory_checks.py     other files in the log directories
    expected_lookups.py     expected results of ListOffsets for timestamps chosen by timestamp_sample.py
      comparing.py          compare them with a live broker's responses; broker_job.py: do so in Spark
      changing_logs.py      logs that change while they are read
    causes.py               group findings by cause; kafka_startup.py: what Apache Kafka does about each
    coverage.py             what was checked and what was not
    facts.py, verdict.py    facts.parquet; verdict.json and report.txt
    job.py                  the whole audit as a Spark job

The audit does not use the broker's code: logs are read by `kafkalet_spark.decoding` and `kafkalet_spark.logs`. Only the
layout of index files is that of `kafkalet.inspection`.

The directory of a running broker can be audited if that broker is named: records that are appended after the audit has
begun are then ignored. Otherwise, no broker may be writing to the logs.
"""

from .audit_options import AuditOptions
from .job import audit
from .verdict import Verdict

run = audit

__all__ = ["AuditOptions", "Verdict", "audit", "run"]
