// The types of api.mjs.
//
// Written by `python -m tools.clients` from kafkalet/control/openapi.json.

/** Options of an abort. */
export interface AbortTransaction {
  /** The longest time to wait, in seconds. The default is 10. */
  timeout?: number | null
}

/** ACLs. */
export interface Acls {
  /** The ACLs. An ACL, as in alice:read,describe:topic:orders* or deny:*:delete:topic:*. */
  acls: Array<string>
}

/** Partitions to add. */
export interface AddPartitions {
  /** The number of new partitions. */
  count: number
}

/** How far to advance the clock: the sum of these times. */
export interface AdvanceClock {
  /** Milliseconds. */
  milliseconds?: number
  /** Seconds. */
  seconds?: number
  /** Minutes. */
  minutes?: number
  /** Hours. */
  hours?: number
  /** Days. */
  days?: number
  /** Whether the time of clients advances as well: sessions of members expire, and long polls end. */
  sessions?: boolean
}

/** Entries of a log. */
export interface AppendBatches {
  /** The bytes as base64: batches of format 2, or messages of format 0 or 1. */
  data: string
}

/** A layout of a log. */
export interface AppendLayout {
  /** The layout; the page on the test kit lists them. */
  kind: string
  /** The number of ordinary records before the special part. */
  first?: number | null
  /** The size of the special part. */
  size?: number | null
  /** The number of ordinary records after the special part. */
  after?: number | null
}

/** A record batch of a log, or a message of the formats 0 and 1. */
export interface Batch {
  /** The first offset. */
  base_offset: number
  /** The last offset. */
  last_offset: number
  /** The number of records, or -1 for a compressed batch of an old format, whose header does not contain it. */
  count: number
  /** The base offset of the segment. */
  segment: number
  /** The position in the file of the segment. */
  position: number
  /** The size. */
  size_bytes: number
  /** The format: 0, 1 or 2. */
  magic: number
  /** The checksum that is stored in the batch. */
  crc: number
  /** The compression codec. */
  compression: string
  /** The epoch of the leader that appended the batch, or -1. */
  leader_epoch: number
  /** The source of timestamps. */
  timestamp_type: string
  /** The timestamp of the first record, or -1. */
  base_timestamp: number
  /** The largest timestamp, or -1. */
  max_timestamp: number
  /** The producer id, or -1. */
  producer_id: number
  /** The producer epoch, or -1. */
  producer_epoch: number
  /** The first sequence number, or -1. */
  base_sequence: number
  /** Whether the records belong to a transaction. */
  is_transactional: boolean
  /** Whether the batch contains a control record instead of records. */
  is_control: boolean
  /** COMMIT or ABORT for a transaction marker, else null. */
  control_type: string | null
}

/** Batches of a log. */
export interface Batches {
  /** The batches, by offset. */
  batches: Array<Batch>
  /** The offset of the next request, or null at the end of the log. */
  next_offset: number | null
}

/** A transaction without a client. */
export interface BeginTransaction {
  /** The seconds after which the coordinator aborts the transaction. */
  timeout?: number
}

/** A broker of the cluster. */
export interface Broker {
  /** The id of the broker. */
  node_id: number
  /** Whether the broker accepts requests. */
  is_running: boolean
  /** Whether the broker is suspended, and its requests wait. */
  is_paused: boolean
  /** What the broker does not reach. */
  cut_off_from: Array<string>
  /** The host that the broker advertises, or null while it is stopped. */
  host: string | null
  /** The port that the broker advertises, or null while it is stopped. */
  port: number | null
  /** The rack of the broker, or null. */
  rack: string | null
  /** The advertised address of each listener, or empty. */
  listeners: { [name: string]: string }
}

/** The brokers. */
export interface Brokers {
  /** The brokers, by id. */
  brokers: Array<Broker>
}

/** What the log cleaner did to one replica. */
export interface CleanedPartition {
  /** The topic. */
  topic: string
  /** The partition. */
  partition: number
  /** The broker with the replica. */
  broker: number
  /** The first offset that had not been cleaned before. */
  first_dirty_offset: number
  /** The first offset that has not been cleaned yet. */
  end_offset: number
  /** The size of the segments below end_offset before they were cleaned. */
  bytes_before: number
  /** Their size now. */
  bytes_after: number
  /** The number of records in them before, including transaction markers. */
  records_before: number
  /** The number of records in them now. */
  records_after: number
}

/** The replicas that were cleaned. */
export interface CleanerResult {
  /** In the order of cleaning. */
  cleaned: Array<CleanedPartition>
}

/** The settings of a client. */
export interface ClientConfig {
  /** The settings by name. */
  config: { [name: string]: string }
  /** The settings as the text of a Java properties file. */
  properties: string
}

/** The clock of the brokers. */
export interface Clock {
  /** The time of logs, in milliseconds since 1970 (UTC). */
  now_ms: number
  /** How far it is ahead of the machine's clock, with an accuracy of two milliseconds. */
  ahead_ms: number
}

/** The cluster. */
export interface Cluster {
  /** The id of the cluster. */
  cluster_id: string
  /** The release of Apache Kafka that is emulated, or newest. */
  kafka_version: string
  /** The version of kafkalet. */
  kafkalet_version: string
  /** The running brokers as host:port, separated by commas. */
  bootstrap_servers: string
  /** The broker to which clients send admin requests, or null if none is running. */
  controller_id: number | null
  /** The time of the brokers, in milliseconds since 1970 (UTC). */
  now_ms: number
  /** The brokers, by id. */
  brokers: Array<Broker>
}

/** An offset to commit. */
export interface CommittedOffset {
  /** The topic. */
  topic: string
  /** The partition. */
  partition: number
  /** The offset. */
  offset: number
}

/** Properties to set or to remove. */
export interface ConfigureShareGroup {
  /** The properties, as in {"share.auto.offset.reset": "earliest"}. null removes one. */
  config: { [name: string]: string | null }
}

/** Properties to set or to remove. */
export interface ConfigureTopic {
  /** The properties, as in {"retention.ms": "1000"}. null removes one. */
  config: { [name: string]: string | null }
}

/** A connection of a client. */
export interface Connection {
  /** The address and port of the client, as in 127.0.0.1:50123. */
  id: string
  /** The id of the broker. */
  broker: number
  /** The client id, or an empty string before the first request. */
  client_id: string
  /** The API and version of the last request, as in Fetch v13, or an empty string. */
  last_request: string
}

/** The connections. */
export interface Connections {
  /** By broker, oldest first. */
  connections: Array<Connection>
}

/** The broker that coordinates a group or a transactional id. */
export interface Coordinator {
  /** The id of the broker. */
  node_id: number
}

/** Requests of one API by one client. */
export interface CountedRequests {
  /** The API. */
  api: string
  /** The client id. */
  client_id: string
  /** The number of requests. */
  count: number
}

/** The records to delete. */
export interface DeleteRecords {
  /** The new log start offset. */
  before: number
}

/** A member to evict. */
export interface EvictMember {
  /** The member id, or the group.instance.id. */
  member_id: string
}

/** A member to evict. */
export interface EvictShareMember {
  /** The member id. */
  member_id: string
}

/** Locks to end. */
export interface ExpireLocks {
  /** The topic. The default is all topics. */
  topic?: string | null
  /** The member. The default is all members. */
  member_id?: string | null
}

/** Locks that were ended. */
export interface ExpiredLocks {
  /** How many records were locked. */
  expired: number
}

/** A fault that is set. */
export interface Fault {
  /** The id. The first fault of the brokers has 1. */
  id: number
  /** The fault on one line. */
  text: string
  /** The options that were given. */
  options: { [name: string]: unknown }
  /** How often the fault has fired. */
  fired: number
  /** What happened instead, if the fault has fired less often than expected, else null. */
  unfired: string | null
  /** The latest 20 requests that matched. */
  seen: Array<string>
}

/** The faults. */
export interface Faults {
  /** In the order in which they were set. */
  faults: Array<Fault>
}

/** The records for which a request waited. */
export interface FoundRecords {
  /** The first n that match, by partition and offset. */
  records: Array<Record>
}

/** A consumer group. */
export interface Group {
  /** The id. */
  group_id: string
  /** The state as named by Kafka, such as Stable or Empty. */
  state: string
  /** classic or consumer. */
  protocol: string
  /** The members. */
  members: Array<Member>
  /** The positions, by topic and partition. */
  offsets: Array<GroupOffset>
  /** The sum of the lags. */
  lag: number
}

/** The position of a group in a partition. */
export interface GroupOffset {
  /** The topic. */
  topic: string
  /** The partition. */
  partition: number
  /** The committed offset, or null if there is none. */
  committed: number | null
  /** The high watermark, or the last stable offset for consumers with read_committed. */
  end: number
  /** The number of offsets left to process, or 0 if only transaction markers are left. */
  lag: number
}

/** The groups. */
export interface Groups {
  /** The groups, by id. */
  groups: Array<Group>
}

/** A header of a record. */
export interface Header {
  /** The name. */
  name: string
  /** The value, or null. */
  value?: string | null
  /** The encoding of value. */
  value_encoding?: string
}

/** Where to hold the high watermark. */
export interface HoldHighWatermark {
  /** The offset. The default is the current high watermark. */
  at?: number | null
}

/** A log directory of a broker. */
export interface LogDir {
  /** The number of the directory in log.dirs, or its path. */
  log_dir?: unknown
}

/** A position at the end of a topic. */
export interface Mark {
  /** The mark, to pass as since. Its format may change. */
  mark: string
}

/** A member of a group. */
export interface Member {
  /** The member id. */
  member_id: string
  /** The client id. */
  client_id: string
  /** The address of the client. */
  host: string
  /** The group.instance.id of a static member, or null. */
  instance_id: string | null
  /** The partitions that the member may read. */
  assignment: Array<TopicPartition>
}

/** A new coordinator. */
export interface MoveCoordinator {
  /** The broker. The default is another in-sync replica. */
  to?: number | null
}

/** A new leader. */
export interface MoveLeader {
  /** The id of the broker. */
  to: number
  /** Whether a replica that is not in sync may become the leader and lose records. */
  unclean?: boolean
}

/** A fault: which requests match, on which of them it fires, and what happens to them. Names match exactly. */
export interface NewFault {
  /** The API, such as Produce, or a list of APIs. The default is all. */
  api?: unknown | null
  /** The error of the response, such as NOT_LEADER_OR_FOLLOWER. */
  error?: string | null
  /** The request is handled after this number of seconds. */
  delay?: number | null
  /** The request is handled when the fault is released or removed. */
  hang?: boolean
  /** Hold requests until this number of them have arrived. */
  barrier?: number | null
  /** The request is handled, but its response is not sent. */
  drop_response?: boolean
  /** Close the connection before or after the request is handled. */
  disconnect?: string | null
  /** Corrupt this number of bytes of the response; for Fetch, of its records. */
  corrupt?: number | null
  /** The connection is closed after this number of bytes of the response. */
  truncate?: number | null
  /** The response has this throttle time in seconds, and the broker reads no requests of the client for so long. */
  throttle?: number | null
  /** The response is sent at this number of bytes per second. */
  bandwidth?: number | null
  /** Change fields of the response. The journal shows their names. */
  respond?: Array<PatchOperation> | null
  /** Only requests that name this topic. */
  topic?: string | null
  /** Only requests that name this partition. */
  partition?: number | null
  /** Only requests that name this group. */
  group?: string | null
  /** Only requests of this client. */
  client_id?: string | null
  /** Only requests of this version. */
  version?: number | null
  /** With version: only requests from that version to this one. */
  max_version?: number | null
  /** Only requests to this broker. */
  broker?: number | null
  /** Fire on this number of requests. The default is all that match. */
  times?: number | null
  /** Fire on the n-th request, counted from 1. */
  nth?: number | null
  /** Fire on every n-th request. */
  every?: number | null
  /** Fire on each request with this probability. */
  probability?: number | null
  /** Makes the choice by probability reproducible. */
  seed?: number
}

/** A record to send. */
export interface NewRecord {
  /** The key. */
  key?: string | null
  /** The encoding of key. */
  key_encoding?: string
  /** The value. */
  value?: string | null
  /** The encoding of value. */
  value_encoding?: string
  /** The headers. */
  headers?: Array<Header> | null
  /** Milliseconds since 1970 (UTC). The default is the current time. */
  timestamp?: number | null
  /**
   * The partition. By default, the key determines it, as in the Java producer; the records of a request that have
   * no key go to one partition, and those of the next request to the next one.
   */
  partition?: number | null
}

/** Records to send, in one batch for each partition, or in several if max.message.bytes requires that. */
export interface NewRecords {
  /** The records. */
  records: Array<NewRecord>
  /** The compression codec. */
  compression?: string
}

/** A topic to create. What is left out has the defaults of the brokers. */
export interface NewTopic {
  /** The name. */
  name: string
  /** The number of partitions. */
  partitions?: number | null
  /** The number of replicas of each partition. */
  replication_factor?: number | null
  /** Properties of the topic, as in {"retention.ms": "1000"}. */
  config?: { [name: string]: string } | null
  /** The brokers of each partition, the leader first, instead of the two numbers. */
  assignments?: Array<Array<number>> | null
}

/** A partition of a topic and the log of its leader. */
export interface Partition {
  /** The index of the partition. */
  partition: number
  /** The id of the leader, or null if the partition has none. */
  leader: number | null
  /** The epoch of the leader. */
  leader_epoch: number
  /** The ids of the brokers with a replica. */
  replicas: Array<number>
  /** The ids of the brokers whose replica is in sync. */
  isr: Array<number>
  /** The ids of brokers with a replica that is offline: the broker is stopped, or the replica's log is offline. */
  offline_replicas: Array<number>
  /** The first offset that can be read. null while the partition has no leader. */
  log_start_offset: number | null
  /** The first offset that read_committed cannot read. null while the partition has no leader. */
  last_stable_offset: number | null
  /** The first offset that consumers cannot read. null while the partition has no leader. */
  high_watermark: number | null
  /** The offset of the next record. null while the partition has no leader. */
  log_end_offset: number | null
  /** The size of the log. null while the partition has no leader. */
  size_bytes: number | null
}

/** An operation of a JSON Patch (RFC 6902) on a decoded response. */
export interface PatchOperation {
  /** What to do. */
  op: string
  /** The field, as in /topics/0/partitions/0/error_code. */
  path: string
  /** The new value: a number, a string, a boolean, null, or a list of those. */
  value?: unknown
}

/** What a broker is cut off from. */
export interface Peers {
  /** Clients, the other brokers, or the controller. */
  peers: Array<string>
}

/** A record in a log. */
export interface Record {
  /** The name of the topic. */
  topic: string
  /** The partition. */
  partition: number
  /** The offset. */
  offset: number
  /** Milliseconds since 1970 (UTC), or -1 if the record has no timestamp. */
  timestamp: number
  /** The key, or null. */
  key: string | null
  /** The encoding of key. */
  key_encoding: string
  /** The value, or null for a tombstone. */
  value: string | null
  /** The encoding of value. */
  value_encoding: string
  /** The headers, in the order of the producer. */
  headers: Array<Header>
}

/** Records of a topic. */
export interface Records {
  /** The records, by partition and offset. */
  records: Array<Record>
  /** The offset at which to continue, for each partition read. */
  next_offsets: { [name: string]: number }
  /** Whether there are more records to read at next_offsets. */
  has_more: boolean
}

/** A replica of the partition, or all. */
export interface Replica {
  /** The broker of the replica. The default is all replicas. */
  broker?: number | null
}

/** Replicas of a broker: all, those of one topic, or a single one. */
export interface Replicas {
  /** The topic. The default is all topics. */
  topic?: string | null
  /** The partition. The default is all partitions. */
  partition?: number | null
}

/** A request of a client, and its response. */
export interface Request {
  /** The API, such as Fetch; API 999 for a key that Kafka does not know. */
  api: string
  /** The version that the client chose. */
  version: number
  /** The correlation id of the request. */
  correlation_id: number
  /** The client id, or an empty string. */
  client_id: string
  /** The number of the connection. */
  connection: number
  /** The address of the client. */
  host: string
  /** The port of the client. */
  port: number
  /** The id of the broker. */
  broker: number
  /** When the broker received it, in milliseconds since 1970, by the machine's clock. */
  time_ms: number
  /** The time until the response, or until now while it waits. */
  duration_ms: number
  /** Whether it has no response yet, like a long poll. */
  is_waiting: boolean
  /** Whether the broker delayed the response. */
  has_waited: boolean
  /** The size of the request. */
  size_bytes: number
  /** The topics that the request or the response names. */
  topics: Array<string>
  /** The errors in the response, such as NOT_LEADER_OR_FOLLOWER. */
  errors: Array<string>
  /** Why the broker closed the connection instead of responding, or null. */
  closed: string | null
  /** The id of the fault that has fired on the request, or null. */
  fault: number | null
  /** The request and its response on one line. */
  text: string
  /** The decoded request, with bytes as base64. null if messages is false or the request was too large to keep. */
  request: unknown | null
  /** The decoded response, like request. */
  response: unknown | null
}

/** Numbers of requests. */
export interface RequestCount {
  /** The number of all selected requests. */
  count: number
}

/** Numbers of requests. */
export interface RequestCounts {
  /** By API and client, including requests that the journal no longer keeps. */
  counts: Array<CountedRequests>
}

/** Requests of clients. */
export interface Requests {
  /** The requests, oldest first. */
  requests: Array<Request>
}

/** What retention did to one replica. */
export interface RetainedPartition {
  /** The topic. */
  topic: string
  /** The partition. */
  partition: number
  /** The broker with the replica. */
  broker: number
  /** The number of segments that were deleted. */
  deleted_segments: number
  /** The log start offset now. */
  log_start_offset: number
}

/** The replicas whose segments were deleted. */
export interface RetentionResult {
  /** The replicas. */
  retained: Array<RetainedPartition>
}

/** A rolling restart. */
export interface Roll {
  /** The longest time to wait, in seconds. The default is 10. */
  timeout?: number | null
}

/** What to clean. */
export interface RunCleaner {
  /** Whether to roll the active segments of compacted topics first. The active segment is never compacted. */
  roll?: boolean
}

/** Where to move a group: to an offset or to a timestamp. */
export interface SeekGroup {
  /** An offset, earliest or latest. */
  offset?: unknown | null
  /** Milliseconds since 1970 (UTC): move to the first record with this timestamp or a later one. */
  timestamp?: number | null
  /** The topic. The default is every partition with a committed offset. */
  topic?: string | null
  /** The partition. The default is all of the topic. */
  partition?: number | null
}

/** Where to move a share group: to an offset or to a timestamp. */
export interface SeekShareGroup {
  /** An offset, earliest or latest. */
  offset?: unknown | null
  /** Milliseconds since 1970 (UTC): move to the first record with this timestamp or a later one. */
  timestamp?: number | null
  /** The topic. The default is every partition that the group has consumed. */
  topic?: string | null
  /** The partition. The default is all of the topic. */
  partition?: number | null
}

/** A segment of a log. */
export interface Segment {
  /** The first offset of the segment. */
  base_offset: number
  /** The size of the segment. */
  size_bytes: number
  /** The largest timestamp, or -1 if no record has one. */
  largest_timestamp: number
}

/** The segments of a log. */
export interface Segments {
  /** From oldest to newest. */
  segments: Array<Segment>
}

/** A record to append to a transaction. */
export interface SendInTransaction {
  /** The topic. */
  topic: string
  /** The key. */
  key?: string | null
  /** The encoding of key. */
  key_encoding?: string
  /** The value. */
  value?: string | null
  /** The encoding of value. */
  value_encoding?: string
  /** The headers. */
  headers?: Array<Header> | null
  /** Milliseconds since 1970. The default is the current time. */
  timestamp?: number | null
  /** The partition. By default, the key determines it. */
  partition?: number | null
}

/** Offsets of a consumer group that are committed with a transaction. */
export interface SendOffsetsInTransaction {
  /** The group. */
  group_id: string
  /** The offsets. */
  offsets: Array<CommittedOffset>
}

/** The position of a record in the log. */
export interface SentRecord {
  /** The partition. */
  partition: number
  /** The offset. */
  offset: number
}

/** The positions of the records. */
export interface SentRecords {
  /** In the order of the request. */
  records: Array<SentRecord>
}

/** What to wait for. */
export interface Settle {
  /** true or false: whether groups with members must have no lag; or ids of groups, with or without members. */
  groups?: unknown
  /** Whether no transaction may be open. */
  transactions?: boolean
  /** Whether no request may be in progress, and every partition must have a leader. */
  requests?: boolean
  /** The longest time to wait, in seconds. The default is 10. */
  timeout?: number | null
}

/** A share group. */
export interface ShareGroup {
  /** The id. */
  group_id: string
  /** Empty, or Stable if the group has members. */
  state: string
  /** The members. */
  members: Array<ShareMember>
  /** The state of each partition, by topic and partition. */
  positions: Array<SharePosition>
  /** The sum of the lags. */
  lag: number
  /** The properties of the group, by Kafka's names. */
  config: { [name: string]: string }
}

/** The properties of a share group. */
export interface ShareGroupConfig {
  /** The properties that are set, by Kafka's names. */
  config: { [name: string]: string }
}

/** The share groups. */
export interface ShareGroups {
  /** The groups, by id. */
  share_groups: Array<ShareGroup>
}

/** A member of a share group. */
export interface ShareMember {
  /** The member id. */
  member_id: string
  /** The client id. */
  client_id: string
  /** The address of the client. */
  host: string
  /** The rack of the client, or null. */
  rack_id: string | null
  /** The topics to which the member subscribes. */
  topics: Array<string>
  /** The partitions that the member may read. */
  assignment: Array<TopicPartition>
}

/** A partition, as consumed by a share group. */
export interface SharePosition {
  /** The topic. */
  topic: string
  /** The partition. */
  partition: number
  /** All records below it are done. null until the first fetch. */
  start_offset: number | null
  /** The high watermark. */
  end: number
  /** The number of records from the start offset to the end that are not done. */
  lag: number
  /** The number of records that a member can acquire. */
  available: number
  /** The number of records that members have acquired. */
  acquired: number
  /** The number of records that members have accepted. */
  acknowledged: number
  /** The number of records that were rejected or delivered too often. */
  archived: number
}

/** A record, and what a share group has done with it. */
export interface ShareRecord {
  /** The name of the topic. */
  topic: string
  /** The partition. */
  partition: number
  /** The offset. */
  offset: number
  /** Milliseconds since 1970 (UTC), or -1 if the record has no timestamp. */
  timestamp: number
  /** The key, or null. */
  key: string | null
  /** The encoding of key. */
  key_encoding: string
  /** The value, or null for a tombstone. */
  value: string | null
  /** The encoding of value. */
  value_encoding: string
  /** The headers, in the order of the producer. */
  headers: Array<Header>
  /** The state. */
  state: string
  /** How often the record was delivered. */
  deliveries: number
  /** The member that has acquired the record, or null. */
  member_id: string | null
}

/** Records of a share group. */
export interface ShareRecords {
  /** The records, by topic, partition and offset. */
  records: Array<ShareRecord>
}

/** Followers. */
export interface ShrinkIsr {
  /** The ids of the brokers. */
  brokers: Array<number>
}

/** What the remote log manager did to one partition. */
export interface TieredPartition {
  /** The topic. */
  topic: string
  /** The partition. */
  partition: number
  /** The leader. */
  broker: number
  /** The number of segments that were copied to remote storage. */
  copied_segments: number
  /** The number of segments that were deleted there. */
  deleted_segments: number
  /** The log start offset now. */
  log_start_offset: number
  /** The offset after the last one that has been copied. */
  remote_end_offset: number
}

/** The partitions whose remote segments have changed. */
export interface TieringResult {
  /** The partitions. */
  tiered: Array<TieredPartition>
}

/** A topic and its partitions. */
export interface Topic {
  /** The name. */
  name: string
  /** The id, as in Kafka's tools. */
  topic_id: string
  /** Whether the topic belongs to the brokers, like __consumer_offsets. */
  is_internal: boolean
  /** The properties that are set for the topic. */
  config: { [name: string]: string }
  /** The partitions, by index. */
  partitions: Array<Partition>
}

/** A partition of a topic. */
export interface TopicPartition {
  /** The topic. */
  topic: string
  /** The partition. */
  partition: number
}

/** The topics. */
export interface Topics {
  /** The topics, by name. */
  topics: Array<Topic>
}

/** A transactional id and its current or last transaction. */
export interface Transaction {
  /** The transactional id. */
  transactional_id: string
  /** Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit or CompleteAbort, as in Kafka. */
  state: string
  /** The producer id. */
  producer_id: number
  /** The producer epoch. */
  producer_epoch: number
  /** The transaction timeout, in milliseconds. */
  timeout_ms: number
  /** The start of the last transaction in milliseconds since 1970, or -1. */
  started_ms: number
  /** The partitions in the transaction that have no marker yet. */
  partitions: Array<TopicPartition>
  /** The id of the broker that coordinates the transactional id. */
  coordinator: number
}

/** The transactional ids. */
export interface Transactions {
  /** The transactional ids in alphabetical order. */
  transactions: Array<Transaction>
}

/** The records to remove. */
export interface TruncateLog {
  /** The new log end offset. */
  to: number
}

/** Requests that the brokers do not serve. */
export interface Unsupported {
  /** The number of requests by API, as in {"ShareFetch": 2}. */
  counts: { [name: string]: number }
  /** The requests, by API, version and client. */
  requests: Array<UnsupportedRequest>
}

/** A request that the brokers do not serve. */
export interface UnsupportedRequest {
  /** The API, or its key if Kafka has no such API. */
  api: string
  /** The version. */
  version: number
  /** The client id. */
  client_id: string
  /** What is served instead, such as versions 0 to 11; empty if the API is not served. */
  served: string
  /** The number of requests. */
  count: number
}

/** A user and the password. */
export interface User {
  /** The name of the user. */
  name: string
  /** The password. */
  password: string
}

/** The users who can log in with a password. */
export interface Users {
  /** The names of the users. */
  users: Array<string>
}

/** A committed offset to wait for. */
export interface WaitForCommit {
  /** The topic. */
  topic: string
  /** The partition. */
  partition?: number
  /** The smallest committed offset. */
  offset: number
  /** The longest time to wait, in seconds. The default is 10. */
  timeout?: number | null
}

/** How often the fault must have fired. */
export interface WaitForFault {
  /** The number of times. */
  n?: number
  /** The longest time to wait, in seconds. The default is 10. */
  timeout?: number | null
}

/** A lag to wait for. */
export interface WaitForLag {
  /** The largest lag. */
  lag?: number
  /** The longest time to wait, in seconds. The default is 10. */
  timeout?: number | null
}

/** What to wait for. Records match if they meet all conditions. */
export interface WaitForRecords {
  /** The number of records. */
  n?: number
  /** The key of the records. null matches any. */
  key?: string | null
  /** The encoding of key. */
  key_encoding?: string
  /** The value of the records. null matches any. */
  value?: string | null
  /** The encoding of value. */
  value_encoding?: string
  /** A text that the values contain, as UTF-8. */
  value_contains?: string | null
  /** A header of the records. */
  header?: Header | null
  /** The partition. The default is all partitions. */
  partition?: number | null
  /** With read_committed, records of open and aborted transactions are left out. */
  isolation?: string
  /** Skip records with an older timestamp. */
  since_ms?: number | null
  /** A mark, as returned by /mark. Records before it are skipped. */
  since?: string | null
  /** The longest time to wait, in seconds. The default is 10. */
  timeout?: number | null
  /** How keys and values are written: auto is text for UTF-8 and base64 for other bytes; base64 is always base64. */
  encoding?: string
}

/** Requests to wait for. */
export interface WaitForRequests {
  /** The APIs. The default is all. */
  apis?: Array<string>
  /** The number of requests. */
  n?: number
  /** The client id. */
  client_id?: string | null
  /** A topic that the request or the response names. */
  topic?: string | null
  /** Errors; the response must have one of them. */
  errors?: Array<string> | null
  /** Whether to return the decoded messages. */
  messages?: boolean
  /** The longest time to wait, in seconds. The default is 10. */
  timeout?: number | null
}

/** The states to wait for. */
export interface WaitForShareGroup {
  /** At least this number of records must be in the state. */
  available?: number | null
  /** At least this number of records must be in the state. */
  acquired?: number | null
  /** At least this number of records must be in the state. */
  acknowledged?: number | null
  /** At least this number of records must be in the state. */
  archived?: number | null
  /** The topic. The default is all topics. */
  topic?: string | null
  /** The longest time to wait, in seconds. The default is 10. */
  timeout?: number | null
}

/** A lag to wait for. */
export interface WaitForShareLag {
  /** The largest lag. */
  lag?: number
  /** The longest time to wait, in seconds. The default is 10. */
  timeout?: number | null
}

/** A state to wait for. */
export interface WaitForTransaction {
  /** The state; Dead if no producer has used the transactional id. */
  state: string
  /** The longest time to wait, in seconds. The default is 10. */
  timeout?: number | null
}

/** Members to wait for. */
export interface WaitUntilShareGroupIsStable {
  /** The number of members. The default is at least one. */
  members?: number | null
  /** The longest time to wait, in seconds. The default is 10. */
  timeout?: number | null
}

/** Members to wait for. */
export interface WaitUntilStable {
  /** The number of members. The default is at least one. */
  members?: number | null
  /** The longest time to wait, in seconds. The default is 10. */
  timeout?: number | null
}

/** The parameters of listTopics. */
export interface ListTopicsQuery {
  /** Whether to include the topics of the brokers, like __consumer_offsets. */
  internal?: boolean
}

/** The parameters of readRecords. */
export interface ReadRecordsQuery {
  /** The partition. The default is all partitions. */
  partition?: number | null
  /** The first offset to read. The default is the log start offset. */
  offset?: number | null
  /** Start at the first record with this timestamp or a later one, as in ListOffsets. */
  time_ms?: number | null
  /** Start this many offsets before the end. */
  last?: number | null
  /** A mark, as returned by /mark. Records before it are skipped. */
  since?: string | null
  /** The largest number of records of each partition. */
  limit?: number
  /** With read_committed, records of open and aborted transactions are left out. */
  isolation?: string
  /** How keys and values are written: auto is text for UTF-8 and base64 for other bytes; base64 is always base64. */
  encoding?: string
}

/** The parameters of readShareGroupRecords. */
export interface ReadShareGroupRecordsQuery {
  /** The state of the records. The default is all states. */
  state?: string | null
  /** The topic. The default is all topics. */
  topic?: string | null
  /** The largest number of records. */
  limit?: number
  /** How keys and values are written: auto is text for UTF-8 and base64 for other bytes; base64 is always base64. */
  encoding?: string
}

/** The parameters of listRequests. */
export interface ListRequestsQuery {
  /** The APIs, separated by commas. The default is all. */
  apis?: Array<string>
  /** The client id. */
  client_id?: string | null
  /** A topic that the request or the response names. */
  topic?: string | null
  /** true for responses with an error, false for those without, or names of errors. */
  errors?: Array<string> | null
  /** Only requests since this time, in milliseconds since 1970. */
  since_ms?: number | null
  /** Only requests until this time, in milliseconds since 1970. */
  until_ms?: number | null
  /** The largest number of requests; the latest are returned. */
  limit?: number
  /** Whether to return the decoded messages. */
  messages?: boolean
}

/** The parameters of countRequests. */
export interface CountRequestsQuery {
  /** The APIs, separated by commas. The default is all. */
  apis?: Array<string>
  /** The client id. */
  client_id?: string | null
  /** A topic that the request or the response names. */
  topic?: string | null
  /** true for responses with an error, false for those without, or names of errors. */
  errors?: Array<string> | null
}

/** The parameters of listBatches. */
export interface ListBatchesQuery {
  /** The offset at which to start. The first batch contains it or follows it. */
  offset?: number
  /** The largest number of batches. */
  limit?: number
}

/** The parameters of removeAcl. */
export interface RemoveAclQuery {
  /** An ACL, as in alice:read,describe:topic:orders* or deny:*:delete:topic:*. */
  acl: string
}

/** The parameters of getClientConfig. */
export interface GetClientConfigQuery {
  /** The user who logs in. The default is no login. */
  user?: string | null
  /** The client: java or confluent-kafka (librdkafka). */
  client?: string
  /** The SASL mechanism. The default is the first enabled one. */
  mechanism?: string | null
  /** The listener. The default is the first one that fits. */
  listener?: string | null
}

/** The operations of the API. */
export class Api {
  constructor (call: (method: string, path: string, body?: unknown) => Promise<any>)

  /** Return the brokers, their addresses and the emulated release. */
  getCluster (): Promise<Cluster>

  /** Return all topics with the state of their partitions. */
  listTopics (parameters?: ListTopicsQuery): Promise<Topics>

  /** Create a topic. */
  createTopic (body: NewTopic): Promise<Topic>

  /** Return a topic with the state of its partitions. */
  getTopic (name: string): Promise<Topic>

  /** Delete a topic and its records. */
  deleteTopic (name: string): Promise<void>

  /** Add partitions to a topic, as CreatePartitions does. Their replicas are spread over the brokers. */
  addPartitions (name: string, body: AddPartitions): Promise<Topic>

  /** Change properties of a topic. Others stay as they are. */
  configureTopic (name: string, body: ConfigureTopic): Promise<Topic>

  /**
   * Return a mark of the current end of a topic. A read or wait that gets it as since skips earlier records.
   *
   * Records that replace older ones are later, too: those that follow a truncation or a restore, and all records
   * of a topic that is created again. The topic need not exist yet.
   */
  markTopic (name: string): Promise<Mark>

  /** Return the state of a partition and the offsets of its log. */
  getPartition (name: string, partition: number): Promise<Partition>

  /**
   * Append records as if a producer had sent them with acks=all: a single one, or several in records.
   *
   * A topic that does not exist is created with the defaults of the brokers. If a partition refuses its records,
   * nothing is appended.
   */
  sendRecords (name: string, body: NewRecords): Promise<SentRecords>

  /**
   * Return records that a consumer can receive now.
   *
   * At most one of offset, time_ms, last and since may be given. If a partition has no leader, its records are
   * unknown, and the request fails.
   */
  readRecords (name: string, parameters?: ReadRecordsQuery): Promise<Records>

  /**
   * Wait until records match, and return the first of them.
   *
   * Records that are in the topic already count, unless since_ms or since excludes them. The topic need not exist
   * yet. If the wait times out, the error message shows the records that did arrive, the closest match first.
   */
  waitForRecords (name: string, body: WaitForRecords): Promise<FoundRecords>

  /** Return all consumer groups with their members and lag. */
  listGroups (): Promise<Groups>

  /** Return a consumer group with its members and lag. */
  getGroup (groupId: string): Promise<Group>

  /** Delete a group without members, and its offsets. */
  deleteGroup (groupId: string): Promise<void>

  /** Remove a member from a group, as if its session had timed out. The other members get its partitions. */
  evictMember (groupId: string, body: EvictMember): Promise<Group>

  /** Start a rebalance of a group, unless one is in progress. */
  rebalanceGroup (groupId: string): Promise<Group>

  /** Commit other offsets for a group without members. The group is created if it does not exist. */
  seekGroup (groupId: string, body: SeekGroup): Promise<Group>

  /** Wait until the lag of a group is at most lag. */
  waitForLag (groupId: string, body: WaitForLag): Promise<Group>

  /** Wait until a group has a number of members, all with their assignments. */
  waitUntilStable (groupId: string, body: WaitUntilStable): Promise<Group>

  /** Wait until the committed offset of a partition is at least offset. */
  waitForCommit (groupId: string, body: WaitForCommit): Promise<Group>

  /**
   * Make another broker the coordinator of a group.
   *
   * Other groups in the same partition of __consumer_offsets move too.
   */
  moveGroupCoordinator (groupId: string, body: MoveCoordinator): Promise<Coordinator>

  /**
   * Wait until the brokers are quiet: no request is in progress, no group has a lag, no transaction is open.
   *
   * A record that is missing after that will not arrive. The brokers cannot see a client that is between two
   * requests.
   */
  settle (body: Settle): Promise<void>

  /** Return all share groups with their members and the state of their records. */
  listShareGroups (): Promise<ShareGroups>

  /** Return a share group with its members and the state of its records. */
  getShareGroup (groupId: string): Promise<ShareGroup>

  /** Delete a share group without members, and the state of its records. */
  deleteShareGroup (groupId: string): Promise<void>

  /** Return the records that a share group has consumed or can consume, with their state and deliveries. */
  readShareGroupRecords (groupId: string, parameters?: ReadShareGroupRecordsQuery): Promise<ShareRecords>

  /** Change properties of a share group, which need not exist, and return all that are set. */
  configureShareGroup (groupId: string, body: ConfigureShareGroup): Promise<ShareGroupConfig>

  /** Remove a member from a share group, as if its session had timed out. Its records stay locked. */
  evictShareMember (groupId: string, body: EvictShareMember): Promise<ShareGroup>

  /** End the acquisition locks of a share group now, as if share.record.lock.duration.ms had passed. */
  expireLocks (groupId: string, body: ExpireLocks): Promise<ExpiredLocks>

  /** Set other start offsets of a share group without members. The group is created if it does not exist. */
  seekShareGroup (groupId: string, body: SeekShareGroup): Promise<ShareGroup>

  /** Wait until at least these numbers of records are available, acquired, acknowledged or archived. */
  waitForShareGroup (groupId: string, body: WaitForShareGroup): Promise<ShareGroup>

  /** Wait until the deliveries of all records of a share group but lag have ended. */
  waitForShareLag (groupId: string, body: WaitForShareLag): Promise<ShareGroup>

  /** Wait until a share group has a number of members, and all partitions are assigned. */
  waitUntilShareGroupIsStable (groupId: string, body: WaitUntilShareGroupIsStable): Promise<ShareGroup>

  /** Return all transactional ids with their states. */
  listTransactions (): Promise<Transactions>

  /** Return the state of a transactional id. */
  getTransaction (transactionalId: string): Promise<Transaction>

  /**
   * Make another broker the coordinator of a transactional id.
   *
   * Other ids in the same partition of __transaction_state move too.
   */
  moveTransactionCoordinator (transactionalId: string, body: MoveCoordinator): Promise<Coordinator>

  /** Wait until a transactional id is in a state. */
  waitForTransaction (transactionalId: string, body: WaitForTransaction): Promise<void>

  /** Begin a transaction without a client. An older producer with the transactional id is fenced. */
  beginTransaction (transactionalId: string, body: BeginTransaction): Promise<Transaction>

  /** Append a record to a transaction that was begun with begin. */
  sendInTransaction (transactionalId: string, body: SendInTransaction): Promise<Transaction>

  /** Add offsets of a consumer group to a transaction that was begun with begin. */
  sendOffsetsInTransaction (transactionalId: string, body: SendOffsetsInTransaction): Promise<Transaction>

  /** Commit a transaction that was begun with begin, and wait for its markers. */
  commitTransaction (transactionalId: string): Promise<Transaction>

  /**
   * Abort the open transaction of a transactional id, and wait for its markers.
   *
   * If a client has begun it, its producer is fenced, as after the transaction timeout.
   */
  abortTransaction (transactionalId: string, body: AbortTransaction): Promise<Transaction>

  /** Return the latest requests that the journal keeps. */
  listRequests (parameters?: ListRequestsQuery): Promise<Requests>

  /** Forget all requests and counts, including those of unsupported requests. Requests in progress remain. */
  clearRequests (): Promise<void>

  /**
   * Count the requests since the start or since the journal was cleared.
   *
   * A count by API and client is always available. Other counts fail with 409 if the journal has dropped requests.
   */
  countRequests (parameters?: CountRequestsQuery): Promise<RequestCount>

  /** Count the requests by API and client. */
  listRequestCounts (): Promise<RequestCounts>

  /** Return the requests for APIs or versions that the brokers do not serve. */
  listUnsupported (): Promise<Unsupported>

  /** Wait until clients have sent requests, and return them. Earlier requests count, unless they were cleared. */
  waitForRequests (body: WaitForRequests): Promise<Requests>

  /** Return the connections of clients. */
  listConnections (): Promise<Connections>

  /** Close a connection with a TCP reset. Responses that have not been sent are lost. */
  resetConnection (id: string): Promise<void>

  /** Close the direction to the client: the client reads end of file, while the broker still receives requests. */
  halfCloseConnection (id: string): Promise<void>

  /** Discard what the client sends, and send nothing. The connection stays open until the client closes it. */
  blackHoleConnection (id: string): Promise<void>

  /** Return the faults that are set, and how often each has fired. */
  listFaults (): Promise<Faults>

  /**
   * Set a fault. It stays until it is removed.
   *
   * At least one of error, delay, hang, barrier, drop_response, disconnect, corrupt, truncate, throttle, bandwidth
   * and respond must be given.
   */
  addFault (body: NewFault): Promise<Fault>

  /** Remove all faults, and return how often they have fired. Requests that they hold are handled. */
  removeFaults (): Promise<Faults>

  /** Return a fault, and how often it has fired. */
  getFault (faultId: number): Promise<Fault>

  /**
   * Remove a fault, and return how often it has fired. Requests that it holds are handled.
   *
   * If unfired is not null, the fault has fired less often than expected, and the test should fail.
   */
  removeFault (faultId: number): Promise<Fault>

  /** Handle the requests that a fault holds (hang, barrier, delay). This ends a fault with hang. */
  releaseFault (faultId: number): Promise<Fault>

  /** Wait until a fault has fired. */
  waitForFault (faultId: number, body: WaitForFault): Promise<Fault>

  /** Return the time of the brokers. */
  getClock (): Promise<Clock>

  /** Advance the clock, and run everything that becomes due before the response: retention, timeouts, expiration. */
  advanceClock (body: AdvanceClock): Promise<Clock>

  /** Return the segments of the leader's log. */
  listSegments (name: string, partition: number): Promise<Segments>

  /** Return the headers of batches in the leader's log, including those below the log start offset. */
  listBatches (name: string, partition: number, parameters?: ListBatchesQuery): Promise<Batches>

  /** Compact all logs that are due, by Kafka's rules and the clock of the brokers. */
  runCleaner (body: RunCleaner): Promise<CleanerResult>

  /** Delete all expired segments, by the clock of the brokers. */
  runRetention (): Promise<RetentionResult>

  /** Copy all segments that are due to remote storage, and delete those that have expired there. */
  runTiering (): Promise<TieringResult>

  /** Append entries exactly as they are: with gaps, control batches, wrong checksums, any offsets and timestamps. */
  appendBatches (name: string, partition: number, body: AppendBatches): Promise<Partition>

  /** Append ordinary records around a special part, such as a gap of offsets or an aborted transaction. */
  appendLayout (name: string, partition: number, body: AppendLayout): Promise<Partition>

  /** Delete the records before an offset, as retention or DeleteRecords does. */
  deleteRecords (name: string, partition: number, body: DeleteRecords): Promise<Partition>

  /** Remove the records at and after an offset, as if a replica that lacked them had been elected leader. */
  truncateLog (name: string, partition: number, body: TruncateLog): Promise<Partition>

  /** Keep the high watermark from advancing, so that consumers do not see later records. */
  holdHighWatermark (name: string, partition: number, body: HoldHighWatermark): Promise<Partition>

  /** Let the high watermark advance again. If it is not held, nothing changes. */
  releaseHighWatermark (name: string, partition: number): Promise<Partition>

  /** Make a broker the leader of a partition, in a new leader epoch. */
  moveLeader (name: string, partition: number, body: MoveLeader): Promise<Partition>

  /** Start a new leader epoch with the same leader. */
  newLeaderEpoch (name: string, partition: number): Promise<Partition>

  /** Take replicas of a partition offline, as if their disk had failed. */
  takeOffline (name: string, partition: number, body: Replica): Promise<Partition>

  /** Bring replicas that were taken offline back. */
  releaseOfflineReplicas (name: string, partition: number, body: Replica): Promise<Partition>

  /** Remove followers from the in-sync replicas, and hold them back so that they stay out. */
  shrinkIsr (name: string, partition: number, body: ShrinkIsr): Promise<Partition>

  /** Let the followers that are held back catch up and join the in-sync replicas again. */
  releaseIsr (name: string, partition: number): Promise<Partition>

  /** Return the brokers, running or stopped. */
  listBrokers (): Promise<Brokers>

  /** Return a broker, running or stopped. */
  getBroker (nodeId: number): Promise<Broker>

  /** Stop a broker. Its listener closes, and other replicas become leaders of its partitions. */
  stopBroker (nodeId: number): Promise<Broker>

  /** Start a stopped broker again, on the same port. */
  startBroker (nodeId: number): Promise<Broker>

  /** Suspend a broker. Connections stay open, but get no responses, and the broker does not follow other leaders. */
  pauseBroker (nodeId: number): Promise<Broker>

  /** Let a paused broker continue. It serves the requests that have arrived, and catches up with other leaders. */
  resumeBroker (nodeId: number): Promise<Broker>

  /** Cut a broker off from peers, as a partition of the network does. Connections stay open, but carry nothing. */
  cutOffBroker (nodeId: number, body: Peers): Promise<Broker>

  /** Let a broker reach everything again. Records that other leaders do not have are truncated. */
  reconnectBroker (nodeId: number): Promise<Broker>

  /** Stop replicas of a broker from following their leaders. */
  holdReplication (nodeId: number, body: Replicas): Promise<void>

  /** Undo a hold-replication with the same body. The replicas catch up before the response. */
  releaseReplication (nodeId: number, body: Replicas): Promise<void>

  /** Refuse new connections to a broker. Open connections continue. */
  refuseConnections (nodeId: number): Promise<void>

  /** Accept new connections to a broker again. */
  releaseConnections (nodeId: number): Promise<void>

  /** Make a log directory of a broker fail, as if its disk broke. Other in-sync replicas become leaders. */
  failLogDir (nodeId: number, body: LogDir): Promise<void>

  /** Repair a log directory that has failed, as if the broker was restarted: its logs are recovered. */
  releaseLogDir (nodeId: number, body: LogDir): Promise<void>

  /** Let no controller be active: leaders, ISRs and topics do not change, and requests for the controller wait. */
  stopController (): Promise<void>

  /** Let a controller be active again. It fences brokers that were lost in the meantime when their sessions expire. */
  startController (): Promise<void>

  /**
   * Restart every running broker, one after the other, each on the same port.
   *
   * After each restart, wait until the replicas of the broker are in sync.
   */
  rollBrokers (body: Roll): Promise<Brokers>

  /** Return the ACLs, in the order of their creation. Each has one operation. */
  listAcls (): Promise<Acls>

  /** Create ACLs, and return all. Those that exist stay as they are. */
  addAcls (body: Acls): Promise<Acls>

  /** Delete an ACL, and return those that are left. */
  removeAcl (parameters: RemoveAclQuery): Promise<Acls>

  /** Return the names of the users who can log in with a password. */
  listUsers (): Promise<Users>

  /** Create a user who can log in with PLAIN and SCRAM, or change the password. Return all names. */
  addUser (body: User): Promise<Users>

  /** Remove a user, and return the names of those who are left. Connections of the user stay open. */
  removeUser (name: string): Promise<Users>

  /** Return the settings with which a client logs in and trusts the brokers. They contain the password. */
  getClientConfig (parameters?: GetClientConfigQuery): Promise<ClientConfig>

  /**
   * Remove all topics, groups, transactions, faults and changed configs. All connections of clients are closed.
   *
   * The topics of the command line are created again, empty. The brokers keep their ports; stopped ones start
   * again.
   */
  reset (): Promise<void>

  /** Return a copy of the contents as a tar archive: topics, records, groups, transactions and configs. */
  takeSnapshot (): Promise<Buffer>

  /**
   * Replace the contents with those of a snapshot. All connections of clients are closed.
   *
   * A file that is not a complete snapshot of the same brokers is refused, and nothing changes. Only one file is
   * accepted at a time.
   */
  restore (file: Uint8Array): Promise<void>
}
