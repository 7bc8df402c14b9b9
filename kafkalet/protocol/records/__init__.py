"""Records as stored in logs and sent in produce and fetch messages, in all three message formats.

    batch.py     a view of a batch or legacy message: iterate over a buffer, read the header, patch fields in place
    record.py    encodes and decodes the records inside a batch of format 2
    walk.py      validates the records of produced batches without decoding them
    runs.py      a fast path for both: records of equal size are processed column by column
    legacy.py    message sets of formats 0 and 1, including compressed wrapper messages
    build.py     complete batches and message sets, byte-for-byte identical to those of Kafka's Java client
    convert.py   down-conversion for old consumers and up-conversion for old producers
    control.py   control records: transaction markers and leader changes
    codecs.py    the compression codecs; gzip.py, snappy.py, lz4.py and zstd.py contain Kafka's variant of each format
    interruption.py   ends a computation in a thread whose result is not needed any more
    streams.py   exceptions shared by the codecs, and access to the native library
    zstd_frames.py, zstd_sequences.py, zstd_entropy.py, xxh64.py: zstd in pure Python, used without a native library
    crc32c.py    the checksum of format 2
    varint.py    the zig-zag varints of format 2

    format 0   offset size | crc magic=0 attributes key value                 Kafka up to 0.9
    format 1   offset size | crc magic=1 attributes timestamp key value       0.10 (KIP-32, KIP-31)
    format 2   one 61-byte header for a batch of records                      0.11 and later (KIP-98)

All formats begin with the offset (8 bytes) and the size of the rest (4 bytes), and have the magic number at byte 16.
"""
