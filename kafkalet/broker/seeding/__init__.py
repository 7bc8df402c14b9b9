"""Loading records from files: `kafkalet serve --load`.

record_files.py    read keys, values, headers and timestamps from JSON Lines and CSV
partitioner.py     choose the partition of a key like the Java client
loader.py          append the records
"""
