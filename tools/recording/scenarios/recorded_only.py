"""Scenarios without code: only their recorded steps exist."""

from tools.recording.definitions import recorded_only

_TABLE = """\
acl_fetch authorization must KafkaApis.handleFetchRequest AuthHelper.authorize: Fetch requires READ on the topic,
  returns TOPIC_AUTHORIZATION_FAILED even for unknown topic names, and requires CLUSTER_ACTION from followers.
api_versions_unsupported metadata must KIP-35 KIP-511 RequestContext.isUnsupportedApiVersionsRequest: If the
  broker does not know the version of an ApiVersions request, it returns UNSUPPORTED_VERSION and the supported versions
  of ApiVersions, in version 0.
delete_records topics must KIP-107 Partition.deleteRecordsOnLeader: DeleteRecords moves the log start offset forward to
  the given offset or the high watermark, never backward, and returns OFFSET_OUT_OF_RANGE beyond it.
down_disabled old_formats detail KIP-283 KafkaApis.maybeConvertFetchedData: With message.downconversion.enable=false,
  Fetch v0 to v3 returns UNSUPPORTED_VERSION.
down_plain old_formats should KIP-283 RecordsUtil.downConvert: Fetch v0 and v1 return messages of format 0, and
  v2 and v3 return messages of format 1, without headers, from the requested offset on.
fetch_empty_topic fetch must ReplicaManager.readFromLog LocalLog.read: Fetch from an empty partition returns no records
  at offset 0 and OFFSET_OUT_OF_RANGE at offset 1.
fetch_every_version fetch must ReplicaManager.readFromLog KafkaApis.handleFetchRequest: Every version of Fetch returns
  all batches from an offset, no records at the end of the log, and OFFSET_OUT_OF_RANGE beyond it.
fetch_log_append_time fetch must KIP-32 DefaultRecordBatch.setMaxTimestamp: With LogAppendTime, a batch has the append
  time as maximum timestamp and the timestamp type bit, and keeps the base timestamp of the producer.
fetch_partition_max_bytes fetch_limits must KIP-74 LogSegment.read: Since version 3, Fetch returns the first batch whole
  even if it exceeds partition_max_bytes, and cuts off later batches at the limit.
fetch_topic_ids fetch must KIP-516 KafkaApis.handleFetchRequest: Since version 13, Fetch names topics by id, and returns
  UNKNOWN_TOPIC_ID for unknown ids and for the zero id.
fetch_unknown_partitions fetch should KafkaApis.handleFetchRequest: Fetch returns unknown topics and partitions after
  the good partitions, in separate topic entries, in every version.
fetch_waits fetch_limits must ReplicaManager.fetchMessages DelayedFetch: Fetch waits for max_wait_ms if fewer than
  min_bytes are available, then returns the available records, and caps min_bytes at max_bytes.
fetch_woken_by_produce fetch_limits must DelayedFetch.tryComplete: A waiting fetch completes when a Produce request
  brings the records up to min_bytes, and not before.
frames malformed_requests must NetworkReceive.readFrom SocketServer.processException: A broker closes the connection
  after a frame size that is negative or too large, an empty frame, or bytes that are not a Kafka request; it waits for
  the rest of an incomplete frame.
legacy_090 old_formats detail KIP-32 UnifiedLog.fetchOffsetByTimestamp: In a topic with format 0, lookups by timestamp
  return UNSUPPORTED_FOR_MESSAGE_FORMAT, and fetches return messages without timestamps.
lo_empty_topic list_offsets must KIP-79 UnifiedLog.fetchOffsetByTimestamp: ListOffsets on an empty partition returns
  offset 0 for the latest and the earliest offset, and offset -1 for any timestamp, the maximum timestamp and the latest
  tiered offset.
lo_every_version list_offsets must KIP-79 KIP-320 UnifiedLog.fetchOffsetByTimestamp: Every version of ListOffsets since
  1 finds the same latest offset, earliest offset and first offset for a timestamp, and since version 4 the response has
  the leader epoch.
lo_leader_epoch list_offsets must KIP-320 Partition.checkCurrentLeaderEpoch: ListOffsets returns FENCED_LEADER_EPOCH for
  a leader epoch below the current one, UNKNOWN_LEADER_EPOCH for one above it, and does not compare epoch -1.
lo_start_all_deleted list_offsets must KIP-107 UnifiedLog.fetchOffsetByTimestamp: After all records were deleted, the
  earliest and the latest offset are equal, timestamp lookups find nothing, and the next record continues with the next
  offset.
lo_start_between_batches list_offsets must KIP-107 UnifiedLog.fetchOffsetByTimestamp: After DeleteRecords at the end of
  a batch, ListOffsets returns the first record of the next batch for the earliest offset and for earlier timestamps.
lo_start_mid_batch list_offsets must KIP-107 UnifiedLog.fetchOffsetByTimestamp: After DeleteRecords inside a batch,
  ListOffsets does not find the deleted records of this batch by timestamp.
lo_time_equal list_offsets_timestamps must KIP-79 KIP-734 FileRecords.searchForTimestamp: Among records with equal
  timestamps, ListOffsets returns the lowest offset, also for the maximum timestamp.
lo_time_gzip list_offsets_timestamps must KIP-79 FileRecords.searchForTimestamp: ListOffsets finds records by timestamp
  inside batches that are compressed with gzip.
lo_time_log_append list_offsets_timestamps must KIP-32 FileRecords.searchForTimestamp: In a topic with LogAppendTime,
  ListOffsets finds records by the time at which the broker appended them, not by the timestamp of the producer.
lo_time_one_batch list_offsets_timestamps must KIP-79 FileRecords.searchForTimestamp: ListOffsets returns the first
  record of a batch whose timestamp is at or after the given one, and offset -1 after the last record.
lo_time_segments list_offsets_timestamps must KIP-33 UnifiedLog.fetchOffsetByTimestamp: ListOffsets finds a timestamp in
  the right one of several segments if the timestamps rise.
lo_txn_open list_offsets must KIP-98 UnifiedLog.fetchOffsetByTimestamp ProducerStateManager.firstUnstableOffset: With
  read_committed, ListOffsets returns the last stable offset as the latest offset and finds no record at or above it by
  timestamp until the transaction ends.
lo_unknown_partitions list_offsets must ReplicaManager.fetchOffset KafkaApis.handleListOffsetRequest: ListOffsets
  returns UNKNOWN_TOPIC_OR_PARTITION for an unknown topic or partition, and the offset of a good partition in the same
  request.
lo_v0_empty old_formats should UnifiedLog.legacyFetchOffsetsBefore: ListOffsets v0 on an empty partition returns the
  list [0] for the latest and the earliest offset, and an empty list for a time before the segment was created.
lo_v0_errors old_formats detail ReplicaManager.legacyFetchOffsetsForTimestamp KafkaApis.handleListOffsetRequest:
  ListOffsets v0 returns UNKNOWN_TOPIC_OR_PARTITION for unknown partitions, UNSUPPORTED_VERSION for later special
  timestamps, and UNKNOWN_SERVER_ERROR for a negative number of offsets.
lo_v0_single_segment old_formats should UnifiedLog.legacyFetchOffsetsBefore: ListOffsets v0 returns the log end offset
  before the base offset of the only segment, up to the requested number of offsets.
metadata_topics metadata must KRaftMetadataCache.getTopicMetadata KafkaApis.handleTopicMetadataRequest: Every version of
  Metadata returns partitions, leaders and replicas of known topics, UNKNOWN_TOPIC_OR_PARTITION for unknown and
  INVALID_TOPIC_EXCEPTION for illegal ones.
produce_acks produce must ReplicaManager.isValidRequiredAcks KafkaApis.handleProduceRequest: Produce accepts acks -1, 0
  and 1, returns INVALID_REQUIRED_ACKS for other values, sends no response to acks 0, and closes the connection on an
  error with acks 0.
produce_corrupt produce must LogValidator.validateMessagesAndAssignOffsets DefaultRecordBatch.ensureValid: Produce
  returns CORRUPT_MESSAGE for a wrong checksum, magic or batch length and INVALID_RECORD for incomplete or empty
  batches, and stores nothing of a rejected batch.
produce_every_version produce must ProduceRequest.validateRecords ReplicaManager.appendRecords: Every version of Produce
  since 3 stores a batch of format 2 and returns its base offset, since version 5 with the log start offset, and since
  13 by topic id.
produce_idempotent idempotence must KIP-98 ProducerAppendInfo.checkSequence ProducerStateManager: The broker returns one
  of the last five batches of a producer with its original offset instead of storing it again, and rejects gaps, old
  epochs and negative sequence numbers.
produce_timestamps produce should KIP-937 KIP-467 LogValidator.validateTimestamp: Produce returns INVALID_TIMESTAMP and
  names the records whose timestamps are outside of message.timestamp.before.max.ms and message.timestamp.after.max.ms.
produce_too_large produce must UnifiedLog.analyzeAndValidateRecords UnifiedLog.append: Produce returns MESSAGE_TOO_LARGE
  for a batch above max.message.bytes as stored, and RECORD_LIST_TOO_LARGE for one above segment.bytes.
session_changes fetch_sessions must KIP-227 CachedPartition.maybeUpdateResponseData: A session returns a partition again
  if it has new records, a new log start offset or an error, and follows added and removed partitions.
session_life fetch_sessions must KIP-227 FetchManager.newContext IncrementalFetchContext.updateAndGenerateResponseData:
  A full Fetch request with epoch 0 opens a session, incremental requests return only what changed, and epoch
  -1 closes the session.
txn_abort read_committed must KIP-98 LocalLog.addAbortedTransactions TransactionIndex.collectAbortedTxns: With
  read_committed, Fetch lists an aborted transaction with producer id and first offset as long as the returned range
  touches it.
txn_commit read_committed must KIP-98 UnifiedLog.maybeIncrementFirstUnstableOffset LocalLog.read: With read_committed,
  Fetch returns records only up to the last stable offset, and after the commit the records and the marker.
txn_coordinator_errors transactions must KIP-98 TransactionCoordinator.handleInitProducerId
  TransactionCoordinator.handleEndTransaction: The transaction coordinator returns INVALID_TXN_STATE for EndTxn without
  a transaction, INVALID_PRODUCER_ID_MAPPING for unknown ids, PRODUCER_FENCED for wrong epochs, and rejects timeouts
  above its maximum.
unknown_apis malformed_requests must RequestContext.parseRequest SocketServer.parseRequestHeader: A broker closes the
  connection for an API key or version that it does not support.
"""
"""The name, area, level, sources and claim of each scenario."""

for line in _TABLE.replace("\n  ", " ").splitlines():
    head, _, claim = line.partition(": ")
    name, area, level, sources = head.split(maxsplit=3)
    recorded_only(name, area, level, sources, claim)
