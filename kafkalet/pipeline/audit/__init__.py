"""What the bytes of logs say, beside what their indexes, snapshots and checkpoints say, and a live broker.

`audit(spark, paths, options)` reads every log in the directories once, in Spark's tasks, and gives a Verdict; `options`
are in audit_options.py. What counts as wrong is in findings.py, each kind with the module that finds it:

    audit_ranges.py         how logs are cut; audit_tasks.py what Spark is handed; stretch_audit.py what a task does
      entries.py            the sound entries of a chunk of a file
      offset_order.py       offsets rise; gaps
      record_checks.py      records against their header
      offset_index_check.py, time_index_check.py     .index and .timeindex, as index_files.py reads them
      producer_runs.py, epoch_runs.py                 what producers and leaders did, in runs
      sizes.py, keys.py, series.py                    sums, sketches and series of bounded size
    partition_audit.py      a whole log from its stretches
      offset_chain.py       where it ends; why offsets are left out
      producer_checks.py, transaction_history.py      sequences, epochs; what is open, what was aborted
      txn_index_check.py, snapshot_check.py           .txnindex and .snapshot
      surroundings.py, checkpoint_checks.py           the small files beside the segments
      empty_indexes.py                                indexes that have lost all their entries
    directory_checks.py     what lies beside the logs; several directories; at_work.py: is a broker there
    asking.py               what a broker should answer to ListOffsets, for timestamps of timestamp_sample.py
      comparing.py          what it does answer; broker_job.py is that part of the job
      steadiness.py         a log that changes while it is read
    causes.py, reactions.py which findings have one cause; what Apache Kafka does about it
    coverage.py             what was checked, and what was not
    facts.py, verdict.py    facts.parquet, verdict.json
    report.py               report.html, with the pictures of plots.py; drawings.py
    job.py                  all of it, through Spark

Nothing here has seen the broker's code: logs are read by `kafkalet.pipeline.decoding` and `kafkalet.pipeline.logs`.

A directory whose broker is at work can be audited if that broker is named: what lies below the high watermark that it
tells at first is on the disk, and only that is looked at. Without it the logs must be at rest.
"""

from .audit_options import AuditOptions
from .job import audit
from .verdict import Verdict

run = audit

__all__ = ["AuditOptions", "Verdict", "audit", "run"]
