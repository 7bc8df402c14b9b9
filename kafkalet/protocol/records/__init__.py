"""Records as they lie in a log and in produce and fetch requests: three formats, one room.

    batch.py     an entry of a log seen through its header: walk a buffer, read, patch in place
    record.py    the records inside a batch of format 2: decode, encode
    walk.py      the same records looked over without decoding: what a broker does with a batch that is produced
    runs.py      how both of them go over a batch: records of one size column by column, others one by one
    legacy.py    message sets of formats 0 and 1, with their compressed wrappers
    build.py     whole batches and message sets out of records, byte for byte as Kafka's own client writes them
    convert.py   down-conversion for old consumers, up-conversion for old producers
    control.py   control records: ends of transactions, changes of leader
    codecs.py    the codecs and the way to them; gzip.py, snappy.py, lz4.py, zstd.py: each format as Kafka has it
    streams.py   what those four share: how they say that a stream is bad, and the package that reads it natively
    zstd_frames.py, zstd_sequences.py, zstd_entropy.py, xxh64.py: zstd in Python, for where no library is
    crc32c.py    the checksum of format 2
    varint.py    the zig-zag varints of format 2

    format 0   offset size | crc magic=0 attributes key value                 Kafka up to 0.9
    format 1   offset size | crc magic=1 attributes timestamp key value       0.10 (KIP-32, KIP-31)
    format 2   one header of 61 bytes for a batch of records                  0.11 and later (KIP-98)

All three begin with offset (8 bytes) and size of the rest (4 bytes), and carry the magic number in byte 16.
"""
