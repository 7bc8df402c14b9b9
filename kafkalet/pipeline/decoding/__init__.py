"""Decode the bytes of a log into columns, a whole chunk at a time instead of record by record.

    chunks.py     reads a file as chunks of complete entries, and reports what cannot be read
    batches.py    the headers of many entries as columns
    records.py    their records as NumPy and Arrow columns
    payloads.py   the records sections of batches, decompressed
    starts.py     finds where each record begins, the only sequential step
    lanes.py      splits long batches for `starts.py`
    fields.py     the fields of records, given their positions
    headers.py    the headers of records
    varints.py    decodes a column of varints of one to nine bytes
    spans.py      byte ranges of a buffer as Arrow columns
    exactly.py    decodes a single entry with the full decoder

"Entry" means a record batch, or a message of formats 0 and 1. The fast path never guesses: an entry that it cannot
prove to be well-formed is passed to `exactly.py`, which either decodes it or reports what is wrong.
"""
