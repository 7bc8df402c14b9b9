"""Bytes of a log to columns: a whole chunk at a time, never a record at a time.

    chunks.py     a file as chunks of whole entries, and what in it cannot be read
    batches.py    the headers of many entries at once
    records.py    the records in them as NumPy and Arrow columns
    payloads.py   where the records lie, once they are decompressed
    starts.py     where each record begins: the only thing that has to be found one after the other
    lanes.py      long batches cut in lanes, for `starts.py`
    fields.py     the fields of records whose beginnings are known
    headers.py    their headers
    varints.py    integers of one to nine bytes, a column of them
    spans.py      stretches of a buffer as Arrow columns
    exactly.py    one entry by the reader that knows every odd case

The fast way is allowed to give up, not to err: what it cannot prove to be well-formed it leaves to `exactly.py`, which
says what is wrong, or that the entry is only unusual.
"""
