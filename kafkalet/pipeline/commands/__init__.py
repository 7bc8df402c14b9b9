"""The commands of the pipeline: each says which options it has, what it would do, and does it.

the command line of all three                               command_line.py
load      any Spark source to the logs of a topic           load.py, and record_columns.py: which column is what
dump      topics to Parquet or JSON Lines                   dump.py
audit     logs against themselves, and against a broker     audit.py
"""
