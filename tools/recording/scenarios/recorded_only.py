"""Scenarios of which only the recorded steps exist."""

from tools.recording.definitions import recorded_only

recorded_only(
    "acl_fetch",
    "authorization",
    "Fetch requires READ on the topic, answers TOPIC_AUTHORIZATION_FAILED also for unknown topic names, and "
    "requires CLUSTER_ACTION from followers.",
    level="must",
    sources=["kafka.server.KafkaApis.handleFetchRequest", "kafka.server.AuthHelper.authorize"],
)
recorded_only(
    "api_versions_unsupported",
    "metadata",
    "ApiVersions in a version that the broker does not know is answered in version 0 with UNSUPPORTED_VERSION and "
    "the supported versions of ApiVersions.",
    level="must",
    sources=["KIP-35", "KIP-511", "org.apache.kafka.common.requests.RequestContext.isUnsupportedApiVersionsRequest"],
)
recorded_only(
    "delete_records",
    "topics",
    "DeleteRecords moves the log start offset forward to the given offset or the high watermark, never backward, "
    "and answers OFFSET_OUT_OF_RANGE beyond it.",
    level="must",
    sources=["KIP-107", "kafka.cluster.Partition.deleteRecordsOnLeader"],
)
recorded_only(
    "down_disabled",
    "old_formats",
    "With message.downconversion.enable=false, Fetch 0 to 3 answer UNSUPPORTED_VERSION.",
    level="detail",
    sources=["KIP-283", "kafka.server.KafkaApis.maybeConvertFetchedData"],
)
recorded_only(
    "down_plain",
    "old_formats",
    "Fetch 0 and 1 answer messages of format 0 and Fetch 2 and 3 of format 1, without headers, from the requested "
    "offset on.",
    sources=["KIP-283", "org.apache.kafka.common.record.RecordsUtil.downConvert"],
)
recorded_only(
    "fetch_empty_topic",
    "fetch",
    "Fetch from an empty partition answers no records at offset 0 and OFFSET_OUT_OF_RANGE at offset 1.",
    level="must",
    sources=["kafka.server.ReplicaManager.readFromLog", "kafka.log.LocalLog.read"],
)
recorded_only(
    "fetch_every_version",
    "fetch",
    "Every version of Fetch answers all batches from an offset, no records at the end of the log, and "
    "OFFSET_OUT_OF_RANGE beyond it.",
    level="must",
    sources=["kafka.server.ReplicaManager.readFromLog", "kafka.server.KafkaApis.handleFetchRequest"],
)
recorded_only(
    "fetch_log_append_time",
    "fetch",
    "With LogAppendTime, a batch has the append time as maximum timestamp and the timestamp type bit, and keeps the "
    "base timestamp of the producer.",
    level="must",
    sources=["KIP-32", "org.apache.kafka.common.record.DefaultRecordBatch.setMaxTimestamp"],
)
recorded_only(
    "fetch_partition_max_bytes",
    "fetch_limits",
    "Since version 3, Fetch answers the first batch whole even if it exceeds partition_max_bytes, and cuts off "
    "later batches at the limit.",
    level="must",
    sources=["KIP-74", "org.apache.kafka.storage.internals.log.LogSegment.read"],
)
recorded_only(
    "fetch_topic_ids",
    "fetch",
    "Since version 13, Fetch names topics by id, and answers UNKNOWN_TOPIC_ID for unknown ids and for the zero id.",
    level="must",
    sources=["KIP-516", "kafka.server.KafkaApis.handleFetchRequest"],
)
recorded_only(
    "fetch_unknown_partitions",
    "fetch",
    "Fetch answers unknown topics and partitions after the good partitions, in separate topic entries, in every "
    "version.",
    sources=["kafka.server.KafkaApis.handleFetchRequest"],
)
recorded_only(
    "fetch_waits",
    "fetch_limits",
    "Fetch waits for max_wait_ms if fewer than min_bytes are available, then answers the available records, and caps "
    "min_bytes at max_bytes.",
    level="must",
    sources=["kafka.server.ReplicaManager.fetchMessages", "kafka.server.DelayedFetch"],
)
recorded_only(
    "fetch_woken_by_produce",
    "fetch_limits",
    "A waiting fetch is answered when a Produce request brings the records up to min_bytes, and not before.",
    level="must",
    sources=["kafka.server.DelayedFetch.tryComplete"],
)
recorded_only(
    "frames",
    "malformed_requests",
    "A broker closes the connection for a frame size that is negative or too large, for empty frames, and for bytes "
    "that are not a Kafka request, and waits for an incomplete frame.",
    level="must",
    sources=["org.apache.kafka.common.network.NetworkReceive.readFrom", "kafka.network.SocketServer.processException"],
)
recorded_only(
    "legacy_090",
    "old_formats",
    "In a topic with format 0, lookups by timestamp answer UNSUPPORTED_FOR_MESSAGE_FORMAT, and fetches answer "
    "messages without timestamps.",
    level="detail",
    sources=["KIP-32", "kafka.log.UnifiedLog.fetchOffsetByTimestamp"],
)
recorded_only(
    "lo_empty_topic",
    "list_offsets",
    "ListOffsets on an empty partition answers offset 0 for the latest and the earliest offset, and offset -1 for "
    "any timestamp, the maximum timestamp and the latest tiered offset.",
    level="must",
    sources=["KIP-79", "kafka.log.UnifiedLog.fetchOffsetByTimestamp"],
)
recorded_only(
    "lo_every_version",
    "list_offsets",
    "Every version of ListOffsets since 1 finds the same latest offset, earliest offset and first offset for a "
    "timestamp, and since version 4 the answer has the leader epoch.",
    level="must",
    sources=["KIP-79", "KIP-320", "kafka.log.UnifiedLog.fetchOffsetByTimestamp"],
)
recorded_only(
    "lo_leader_epoch",
    "list_offsets",
    "ListOffsets answers FENCED_LEADER_EPOCH for a leader epoch below the current one, UNKNOWN_LEADER_EPOCH for one "
    "above it, and does not compare epoch -1.",
    level="must",
    sources=["KIP-320", "kafka.cluster.Partition.checkCurrentLeaderEpoch"],
)
recorded_only(
    "lo_start_all_deleted",
    "list_offsets",
    "After all records were deleted, the earliest and the latest offset are equal, timestamp lookups find nothing, "
    "and the next record continues with the next offset.",
    level="must",
    sources=["KIP-107", "kafka.log.UnifiedLog.fetchOffsetByTimestamp"],
)
recorded_only(
    "lo_start_between_batches",
    "list_offsets",
    "After DeleteRecords at the end of a batch, ListOffsets answers the first record of the next batch for the "
    "earliest offset and for earlier timestamps.",
    level="must",
    sources=["KIP-107", "kafka.log.UnifiedLog.fetchOffsetByTimestamp"],
)
recorded_only(
    "lo_start_mid_batch",
    "list_offsets",
    "After DeleteRecords inside a batch, ListOffsets does not find the deleted records of this batch by timestamp.",
    level="must",
    sources=["KIP-107", "kafka.log.UnifiedLog.fetchOffsetByTimestamp"],
)
recorded_only(
    "lo_time_equal",
    "list_offsets_timestamps",
    "Among records with equal timestamps, ListOffsets answers the lowest offset, also for the maximum timestamp.",
    level="must",
    sources=["KIP-79", "KIP-734", "org.apache.kafka.common.record.FileRecords.searchForTimestamp"],
)
recorded_only(
    "lo_time_gzip",
    "list_offsets_timestamps",
    "ListOffsets finds records by timestamp inside batches that are compressed with gzip.",
    level="must",
    sources=["KIP-79", "org.apache.kafka.common.record.FileRecords.searchForTimestamp"],
)
recorded_only(
    "lo_time_log_append",
    "list_offsets_timestamps",
    "In a topic with LogAppendTime, ListOffsets finds records by the time at which the broker appended them, not by "
    "the timestamp of the producer.",
    level="must",
    sources=["KIP-32", "org.apache.kafka.common.record.FileRecords.searchForTimestamp"],
)
recorded_only(
    "lo_time_one_batch",
    "list_offsets_timestamps",
    "ListOffsets answers the first record of a batch whose timestamp is at or after the given one, and offset -1 "
    "after the last record.",
    level="must",
    sources=["KIP-79", "org.apache.kafka.common.record.FileRecords.searchForTimestamp"],
)
recorded_only(
    "lo_time_segments",
    "list_offsets_timestamps",
    "ListOffsets finds a timestamp in the right one of several segments if the timestamps rise.",
    level="must",
    sources=["KIP-33", "kafka.log.UnifiedLog.fetchOffsetByTimestamp"],
)
recorded_only(
    "lo_txn_open",
    "list_offsets",
    "With read_committed, ListOffsets answers the last stable offset as the latest offset and finds no record at or "
    "above it by timestamp until the transaction ends.",
    level="must",
    sources=[
        "KIP-98",
        "kafka.log.UnifiedLog.fetchOffsetByTimestamp",
        "org.apache.kafka.storage.internals.log.ProducerStateManager.firstUnstableOffset",
    ],
)
recorded_only(
    "lo_unknown_partitions",
    "list_offsets",
    "ListOffsets answers UNKNOWN_TOPIC_OR_PARTITION for an unknown topic or partition, and the offset of a good "
    "partition in the same request.",
    level="must",
    sources=["kafka.server.ReplicaManager.fetchOffset", "kafka.server.KafkaApis.handleListOffsetRequest"],
)
recorded_only(
    "lo_v0_empty",
    "old_formats",
    "ListOffsets 0 on an empty partition answers the list [0] for the latest and the earliest offset, and an empty "
    "list for a time before the segment was created.",
    sources=["kafka.log.UnifiedLog.legacyFetchOffsetsBefore"],
)
recorded_only(
    "lo_v0_errors",
    "old_formats",
    "ListOffsets 0 answers UNKNOWN_TOPIC_OR_PARTITION for unknown partitions, UNSUPPORTED_VERSION for later special "
    "timestamps, and UNKNOWN_SERVER_ERROR for a negative number of offsets.",
    level="detail",
    sources=[
        "kafka.server.ReplicaManager.legacyFetchOffsetsForTimestamp",
        "kafka.server.KafkaApis.handleListOffsetRequest",
    ],
)
recorded_only(
    "lo_v0_single_segment",
    "old_formats",
    "ListOffsets 0 answers the log end offset before the base offset of the only segment, up to the requested "
    "number of offsets.",
    sources=["kafka.log.UnifiedLog.legacyFetchOffsetsBefore"],
)
recorded_only(
    "metadata_topics",
    "metadata",
    "Every version of Metadata answers partitions, leaders and replicas of known topics, UNKNOWN_TOPIC_OR_PARTITION "
    "for unknown and INVALID_TOPIC_EXCEPTION for illegal ones.",
    level="must",
    sources=[
        "kafka.server.metadata.KRaftMetadataCache.getTopicMetadata",
        "kafka.server.KafkaApis.handleTopicMetadataRequest",
    ],
)
recorded_only(
    "produce_acks",
    "produce",
    "Produce accepts acks -1, 0 and 1, answers INVALID_REQUIRED_ACKS for other values, sends no answer to acks 0, "
    "and closes the connection on an error with acks 0.",
    level="must",
    sources=["kafka.server.ReplicaManager.isValidRequiredAcks", "kafka.server.KafkaApis.handleProduceRequest"],
)
recorded_only(
    "produce_corrupt",
    "produce",
    "Produce answers CORRUPT_MESSAGE for a wrong checksum, magic or batch length and INVALID_RECORD for incomplete "
    "or empty batches, and stores nothing of a rejected batch.",
    level="must",
    sources=[
        "org.apache.kafka.storage.internals.log.LogValidator.validateMessagesAndAssignOffsets",
        "org.apache.kafka.common.record.DefaultRecordBatch.ensureValid",
    ],
)
recorded_only(
    "produce_every_version",
    "produce",
    "Every version of Produce since 3 stores a batch of format 2 and answers its base offset, since version 5 with "
    "the log start offset, and since 13 by topic id.",
    level="must",
    sources=[
        "org.apache.kafka.common.requests.ProduceRequest.validateRecords",
        "kafka.server.ReplicaManager.appendRecords",
    ],
)
recorded_only(
    "produce_idempotent",
    "idempotence",
    "The broker answers one of the last five batches of a producer with its original offset instead of storing it "
    "again, and rejects gaps, old epochs and negative sequence numbers.",
    level="must",
    sources=[
        "KIP-98",
        "org.apache.kafka.storage.internals.log.ProducerAppendInfo.checkSequence",
        "org.apache.kafka.storage.internals.log.ProducerStateManager",
    ],
)
recorded_only(
    "produce_timestamps",
    "produce",
    "Produce answers INVALID_TIMESTAMP and names the records whose timestamps are outside of "
    "message.timestamp.before.max.ms and message.timestamp.after.max.ms.",
    sources=["KIP-937", "KIP-467", "org.apache.kafka.storage.internals.log.LogValidator.validateTimestamp"],
)
recorded_only(
    "produce_too_large",
    "produce",
    "Produce answers MESSAGE_TOO_LARGE for a batch above max.message.bytes as stored, and RECORD_LIST_TOO_LARGE for "
    "one above segment.bytes.",
    level="must",
    sources=["kafka.log.UnifiedLog.analyzeAndValidateRecords", "kafka.log.UnifiedLog.append"],
)
recorded_only(
    "session_changes",
    "fetch_sessions",
    "A session answers a partition again if it has new records, a new log start offset or an error, and follows "
    "added and removed partitions.",
    level="must",
    sources=["KIP-227", "kafka.server.CachedPartition.maybeUpdateResponseData"],
)
recorded_only(
    "session_life",
    "fetch_sessions",
    "A full Fetch request with epoch 0 opens a session, incremental requests are answered only with what changed, "
    "and epoch -1 closes the session.",
    level="must",
    sources=[
        "KIP-227",
        "kafka.server.FetchManager.newContext",
        "kafka.server.IncrementalFetchContext.updateAndGenerateResponseData",
    ],
)
recorded_only(
    "txn_abort",
    "read_committed",
    "With read_committed, Fetch lists an aborted transaction with producer id and first offset as long as the "
    "answered range touches it.",
    level="must",
    sources=[
        "KIP-98",
        "kafka.log.LocalLog.addAbortedTransactions",
        "org.apache.kafka.storage.internals.log.TransactionIndex.collectAbortedTxns",
    ],
)
recorded_only(
    "txn_commit",
    "read_committed",
    "With read_committed, Fetch returns records only up to the last stable offset, and after the commit the records "
    "and the marker.",
    level="must",
    sources=["KIP-98", "kafka.log.UnifiedLog.maybeIncrementFirstUnstableOffset", "kafka.log.LocalLog.read"],
)
recorded_only(
    "txn_coordinator_errors",
    "transactions",
    "The transaction coordinator answers INVALID_TXN_STATE for EndTxn without a transaction, "
    "INVALID_PRODUCER_ID_MAPPING for unknown ids, PRODUCER_FENCED for wrong epochs, and rejects timeouts above its "
    "maximum.",
    level="must",
    sources=[
        "KIP-98",
        "kafka.coordinator.transaction.TransactionCoordinator.handleInitProducerId",
        "kafka.coordinator.transaction.TransactionCoordinator.handleEndTransaction",
    ],
)
recorded_only(
    "unknown_apis",
    "malformed_requests",
    "A broker closes the connection for an API key or version that it does not support.",
    level="must",
    sources=[
        "org.apache.kafka.common.requests.RequestContext.parseRequest",
        "kafka.network.SocketServer.parseRequestHeader",
    ],
)
