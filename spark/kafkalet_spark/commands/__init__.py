"""The commands of the pipeline. Each prepares a job that can be run, or shown by --dry-run.

command line of all three                                 command_line.py
load      write any Spark source as Kafka logs            load.py; record_columns.py maps columns to records
dump      export topics to Parquet or JSON Lines          dump.py
audit     verify logs, optionally against a broker        audit.py
"""
