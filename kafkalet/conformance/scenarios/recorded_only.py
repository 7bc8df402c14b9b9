"""Scenarios of which only the recorded steps exist."""

from kafkalet.conformance.building import recorded_only

recorded_only(
    "acl_fetch",
    "authorization",
    "Fetch wants READ; unauthorized and unknown topics answer 29; order of the "
    "errors; follower fetches want CLUSTER_ACTION.",
)
recorded_only(
    "api_versions_unsupported",
    "metadata",
    "ApiVersions in a version the broker does not know: answered as v0 with error 35 "
    "and the ApiVersions range; client names are checked.",
)
recorded_only(
    "delete_records",
    "admin",
    "Forward, backward, to the high watermark, beyond it, negative offsets; the low watermark that is answered.",
)
recorded_only(
    "down_disabled",
    "downconversion",
    "message.downconversion.enable=false: versions below 4 are refused.",
)
recorded_only(
    "down_plain",
    "downconversion",
    "Uncompressed: v0/v1 answer format v0 (no timestamps), v2/v3 format v1; headers vanish; start inside a batch.",
)
recorded_only(
    "fetch_empty_topic",
    "fetch",
    "An empty log.",
)
recorded_only(
    "fetch_every_version",
    "fetch",
    "Each version v0..max from offset 0, at the end of the log, and beyond it.",
)
recorded_only(
    "fetch_log_append_time",
    "fetch",
    "LogAppendTime: the batch carries the type bit and the append time as max "
    "timestamp; base timestamp stays the producer's.",
)
recorded_only(
    "fetch_partition_max_bytes",
    "fetch_limits",
    "partition_max_bytes around the batch size (270 here): v3+ always gives a first "
    "whole batch; later ones come cut off.",
)
recorded_only(
    "fetch_topic_ids",
    "fetch",
    "v13+: topic ids, unknown and zero ones, beside good ones.",
)
recorded_only(
    "fetch_unknown_partitions",
    "fetch",
    "Unknown topics and partitions beside good ones: errors come after the good "
    "partitions, in their own topic entries.",
)
recorded_only(
    "fetch_waits",
    "fetch_limits",
    "max_wait and min_bytes at the end of the log and with data.",
)
recorded_only(
    "fetch_woken_by_produce",
    "fetch_limits",
    "A waiting fetch answers when a produce brings enough bytes, not before.",
)
recorded_only(
    "frames",
    "malformed",
    "Size prefixes that lie, empty frames, half frames.",
)
recorded_only(
    "legacy_090",
    "legacy_formats",
    "message.format.version=0.9.0 (format v0, no timestamps): a timestamp lookup answers 43.",
)
recorded_only(
    "lo_empty_topic",
    "list_offsets",
    "An empty log.",
)
recorded_only(
    "lo_every_version",
    "list_offsets",
    "Each version v1..max over the same log: latest, earliest, a timestamp between records.",
)
recorded_only(
    "lo_leader_epoch",
    "list_offsets",
    "current_leader_epoch (v4+): none, right, too new, negative values other than -1.",
)
recorded_only(
    "lo_start_all_deleted",
    "list_offsets_state",
    "DeleteRecords(-1): the log is empty, its start is its end; then one more record.",
)
recorded_only(
    "lo_start_between_batches",
    "list_offsets_state",
    "DeleteRecords at a batch boundary.",
)
recorded_only(
    "lo_start_mid_batch",
    "list_offsets_state",
    "DeleteRecords inside a batch: deleted records of that batch are not found by timestamp.",
)
recorded_only(
    "lo_time_equal",
    "list_offsets_time",
    "Equal timestamps inside a batch and across batches: the first offset wins, for max timestamp too.",
)
recorded_only(
    "lo_time_gzip",
    "list_offsets_time",
    "gzip batches: the lookup goes inside.",
)
recorded_only(
    "lo_time_log_append",
    "list_offsets_time",
    "LogAppendTime topic: record timestamps are replaced by the append time; the lookup answers that time.",
)
recorded_only(
    "lo_time_one_batch",
    "list_offsets_time",
    "Five records in one batch: before, exact, between, last, after.",
)
recorded_only(
    "lo_time_segments",
    "list_offsets_time",
    "Four segments of 1 MiB rolled by size (600 kB batches), rising timestamps.",
)
recorded_only(
    "lo_txn_open",
    "list_offsets_state",
    "An open transaction: the last stable offset bounds what read_committed sees; "
    "each version that has an isolation level.",
)
recorded_only(
    "lo_unknown_partitions",
    "list_offsets",
    "Unknown topic, unknown and negative partition, odd topic names, per version; a "
    "good partition beside them is answered.",
)
recorded_only(
    "lo_v0_empty",
    "list_offsets_v0",
    "v0 on an empty log: one segment without data; its creation time counts.",
)
recorded_only(
    "lo_v0_errors",
    "list_offsets_v0",
    "v0 error answers: unknown topic and partition, special timestamps of newer versions, negative max_num_offsets.",
)
recorded_only(
    "lo_v0_single_segment",
    "list_offsets_v0",
    "v0 with one segment that has data: the log end offset is an extra entry.",
)
recorded_only(
    "metadata_topics",
    "metadata",
    "Known, unknown and illegal topics in every version; no topics, all topics' shape.",
)
recorded_only(
    "produce_acks",
    "produce",
    "acks -1, 1, 0 and nonsense; acks=0 gets no answer, an error with acks=0 closes the connection.",
)
recorded_only(
    "produce_corrupt",
    "produce",
    "Broken batches: crc, magic, lengths, truncated bytes, empty records; nothing of it reaches the log.",
)
recorded_only(
    "produce_every_version",
    "produce",
    "Each version v0..max into a partition of its own; v0-v2 carry old message formats, v13+ topic ids.",
)
recorded_only(
    "produce_idempotent",
    "produce",
    "Sequence numbers: duplicates (up to five batches back), gaps, old epochs, new epochs.",
)
recorded_only(
    "produce_timestamps",
    "produce",
    "message.timestamp.before.max.ms / after.max.ms.",
)
recorded_only(
    "produce_too_large",
    "produce",
    "max.message.bytes (10) and segment.bytes (18).",
)
recorded_only(
    "session_changes",
    "fetch_sessions",
    "What makes a partition reappear: new data, a moved log start, an error; removed and added partitions.",
)
recorded_only(
    "session_life",
    "fetch_sessions",
    "Full request opens a session; incremental ones answer only what changed; closing ends it.",
)
recorded_only(
    "txn_abort",
    "transactions",
    "One aborted transaction: the aborted list names producer and first offset as long as the read range touches it.",
)
recorded_only(
    "txn_commit",
    "transactions",
    "One committed transaction between plain records: before and after the commit, every isolation-aware version.",
)
recorded_only(
    "txn_coordinator_errors",
    "transactions",
    "InitProducerId, AddPartitionsToTxn, EndTxn: wrong ids, wrong states.",
)
recorded_only(
    "unknown_apis",
    "malformed",
    "API keys and versions that do not exist.",
)
