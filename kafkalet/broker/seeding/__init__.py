"""Records from files: `kafkalet serve --load`.

record_files.py    JSON Lines and CSV to keys, values, headers and timestamps
partitioner.py     the partition of a key, as Java clients choose it
loader.py          producing them
"""
