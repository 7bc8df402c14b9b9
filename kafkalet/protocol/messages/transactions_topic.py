"""Keys and values of the records in `__transaction_state`.

    key     int16 version | TransactionLogKey
    value   int16 version | TransactionLogValue; a null value is a tombstone

Version 1 of the value uses the flexible encoding and has tagged fields for transactions that bump the epoch (KIP-890)
and for two-phase commit (KIP-939).
"""

from kafkalet.protocol.schema import Message, Struct, field
from kafkalet.protocol.wire import Int8, Int16, Int32, Int64, String


class TransactionLogKey(Message, versions="0"):
    transactional_id: String


class TransactionLogValue(Message, versions="0-1", flexible="1+"):
    class Topic(Struct):
        topic: String
        partition_ids: list[Int32]

    producer_id: Int64
    previous_producer_id: Int64 = field("1+", tag=0, default=-1)
    next_producer_id: Int64 = field("1+", tag=1, default=-1)
    producer_epoch: Int16
    next_producer_epoch: Int16 = field("1+", tag=3, default=-1)
    transaction_timeout_ms: Int32
    # 0 empty, 1 ongoing, 2 prepare commit, 3 prepare abort, 4 complete commit, 5 complete abort, 6 dead, 7 fencing
    transaction_status: Int8
    transaction_partitions: list[Topic] | None
    transaction_last_update_timestamp_ms: Int64
    transaction_start_timestamp_ms: Int64
    client_transaction_version: Int16 = field("1+", tag=2, default=0)
