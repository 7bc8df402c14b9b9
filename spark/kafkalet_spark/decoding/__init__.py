"""Decode the bytes of a log into columns, a whole chunk at a time instead of record by record.

    chunks.py     reads a file as chunks of complete entries, and reports data that cannot be read
    batches.py    reads the headers of many entries as columns
    records.py    decodes the records of many entries into NumPy and Arrow columns
    payloads.py   locates the records sections of batches, and decompresses them
    starts.py     finds the position of each record, which is the only sequential step
    lanes.py      splits long batches for `starts.py`
    fields.py     reads the fields of records, given the positions of the records
    headers.py    reads the headers of records
    varints.py    decodes a column of varints of one to nine bytes
    spans.py      turns byte ranges of a buffer into Arrow columns
    exactly.py    decodes a single entry with the full decoder

"Entry" means a record batch, or a message of format 0 or 1. The fast path never guesses: if it cannot prove that an
entry is well-formed, it passes the entry to `exactly.py`, which either decodes it or reports what is wrong with it.
"""
