"""Loading records from files: `kafkalet serve --load`.

record_files.py    read keys, values, headers and timestamps from JSON Lines and CSV
partitioner.py     choose the partition for a key as the Java client does
loader.py          append the records
"""
