// Package api has a method of each operation of kafkalet's control API, and the types of its data.
//
// Optional fields are pointers if their default is not the zero value; [Ptr] makes one.
//
// Written by `python -m tools.clients` from kafkalet/control/openapi.json. DO NOT EDIT.
package api

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

// API calls the operations. Its methods end the test with t.Fatal if they fail.
type API struct {
	T testing.TB
	// Call sends the body as JSON unless it is nil or []byte, and decodes the response into result.
	Call func(method, path string, body, result any) error
}

// Ptr returns a pointer to a value.
func Ptr[T any](value T) *T {
	return &value
}

func (api API) call(method, path string, body, result any) {
	api.T.Helper()
	if err := api.Call(method, path, body, result); err != nil {
		api.T.Fatal(err)
	}
}

// query returns the fields of a struct that are set as the query of a URL.
func query(fields any) string {
	values := url.Values{}
	given := reflect.ValueOf(fields)
	for index := range given.NumField() {
		name, _, _ := strings.Cut(given.Type().Field(index).Tag.Get("json"), ",")
		value := reflect.Indirect(given.Field(index))
		if !value.IsValid() || (value.IsZero() && given.Field(index).Kind() != reflect.Pointer) {
			continue
		}
		text := fmt.Sprint(value.Interface())
		if texts, ok := value.Interface().([]string); ok {
			text = strings.Join(texts, ",")
		}
		values.Set(name, text)
	}
	return "?" + values.Encode()
}

// AbortTransaction: options of an abort.
type AbortTransaction struct {
	// The longest time to wait, in seconds. The default is 10.
	Timeout *float64 `json:"timeout,omitempty"`
}

// Acls: aCLs.
type Acls struct {
	// The ACLs. An ACL, as in alice:read,describe:topic:orders* or deny:*:delete:topic:*.
	ACLs []string `json:"acls"`
}

// AddPartitions: partitions to add.
type AddPartitions struct {
	// The number of new partitions.
	Count int64 `json:"count"`
}

// AdvanceClock: how far to advance the clock: the sum of these times.
type AdvanceClock struct {
	// Milliseconds.
	Milliseconds float64 `json:"milliseconds,omitempty"`

	// Seconds.
	Seconds float64 `json:"seconds,omitempty"`

	// Minutes.
	Minutes float64 `json:"minutes,omitempty"`

	// Hours.
	Hours float64 `json:"hours,omitempty"`

	// Days.
	Days float64 `json:"days,omitempty"`

	// Whether the time of clients advances as well: sessions of members expire, and long polls end.
	Sessions bool `json:"sessions,omitempty"`
}

// AppendBatches: entries of a log.
type AppendBatches struct {
	// The bytes as base64: batches of format 2, or messages of format 0 or 1.
	Data string `json:"data"`
}

// AppendLayout: a layout of a log.
type AppendLayout struct {
	// The layout; the page on the test kit lists them.
	Kind string `json:"kind"`

	// The number of ordinary records before the special part.
	First *int64 `json:"first,omitempty"`

	// The size of the special part.
	Size *int64 `json:"size,omitempty"`

	// The number of ordinary records after the special part.
	After *int64 `json:"after,omitempty"`
}

// Batch: a record batch of a log, or a message of the formats 0 and 1.
type Batch struct {
	// The first offset.
	BaseOffset int64 `json:"base_offset"`

	// The last offset.
	LastOffset int64 `json:"last_offset"`

	// The number of records, or -1 for a compressed batch of an old format, whose header does not contain it.
	Count int64 `json:"count"`

	// The base offset of the segment.
	Segment int64 `json:"segment"`

	// The position in the file of the segment.
	Position int64 `json:"position"`

	// The size.
	SizeBytes int64 `json:"size_bytes"`

	// The format: 0, 1 or 2.
	Magic int64 `json:"magic"`

	// The checksum that is stored in the batch.
	CRC int64 `json:"crc"`

	// The compression codec.
	Compression string `json:"compression"`

	// The epoch of the leader that appended the batch, or -1.
	LeaderEpoch int64 `json:"leader_epoch"`

	// The source of timestamps.
	TimestampType string `json:"timestamp_type"`

	// The timestamp of the first record, or -1.
	BaseTimestamp int64 `json:"base_timestamp"`

	// The largest timestamp, or -1.
	MaxTimestamp int64 `json:"max_timestamp"`

	// The producer id, or -1.
	ProducerID int64 `json:"producer_id"`

	// The producer epoch, or -1.
	ProducerEpoch int64 `json:"producer_epoch"`

	// The first sequence number, or -1.
	BaseSequence int64 `json:"base_sequence"`

	// Whether the records belong to a transaction.
	IsTransactional bool `json:"is_transactional"`

	// Whether the batch contains a control record instead of records.
	IsControl bool `json:"is_control"`

	// COMMIT or ABORT for a transaction marker, else null.
	ControlType *string `json:"control_type"`
}

// Batches: batches of a log.
type Batches struct {
	// The batches, by offset.
	Batches []Batch `json:"batches"`

	// The offset of the next request, or null at the end of the log.
	NextOffset *int64 `json:"next_offset"`
}

// BeginTransaction: a transaction without a client.
type BeginTransaction struct {
	// The seconds after which the coordinator aborts the transaction.
	Timeout *float64 `json:"timeout,omitempty"`
}

// Broker: a broker of the cluster.
type Broker struct {
	// The id of the broker.
	NodeID int64 `json:"node_id"`

	// Whether the broker accepts requests.
	IsRunning bool `json:"is_running"`

	// Whether the broker is suspended, and its requests wait.
	IsPaused bool `json:"is_paused"`

	// What the broker does not reach.
	CutOffFrom []string `json:"cut_off_from"`

	// The host that the broker advertises, or null while it is stopped.
	Host *string `json:"host"`

	// The port that the broker advertises, or null while it is stopped.
	Port *int64 `json:"port"`

	// The rack of the broker, or null.
	Rack *string `json:"rack"`

	// The advertised address of each listener, or empty.
	Listeners map[string]string `json:"listeners"`
}

// Brokers: the brokers.
type Brokers struct {
	// The brokers, by id.
	Brokers []Broker `json:"brokers"`
}

// CleanedPartition: what the log cleaner did to one replica.
type CleanedPartition struct {
	// The topic.
	Topic string `json:"topic"`

	// The partition.
	Partition int64 `json:"partition"`

	// The broker with the replica.
	Broker int64 `json:"broker"`

	// The first offset that had not been cleaned before.
	FirstDirtyOffset int64 `json:"first_dirty_offset"`

	// The first offset that has not been cleaned yet.
	EndOffset int64 `json:"end_offset"`

	// The size of the segments below end_offset before they were cleaned.
	BytesBefore int64 `json:"bytes_before"`

	// Their size now.
	BytesAfter int64 `json:"bytes_after"`

	// The number of records in them before, including transaction markers.
	RecordsBefore int64 `json:"records_before"`

	// The number of records in them now.
	RecordsAfter int64 `json:"records_after"`
}

// CleanerResult: the replicas that were cleaned.
type CleanerResult struct {
	// In the order of cleaning.
	Cleaned []CleanedPartition `json:"cleaned"`
}

// ClientConfig: the settings of a client.
type ClientConfig struct {
	// The settings by name.
	Config map[string]string `json:"config"`

	// The settings as the text of a Java properties file.
	Properties string `json:"properties"`
}

// Clock: the clock of the brokers.
type Clock struct {
	// The time of logs, in milliseconds since 1970 (UTC).
	NowMs int64 `json:"now_ms"`

	// How far it is ahead of the machine's clock, with an accuracy of two milliseconds.
	AheadMs int64 `json:"ahead_ms"`
}

// Cluster: the cluster.
type Cluster struct {
	// The id of the cluster.
	ClusterID string `json:"cluster_id"`

	// The release of Apache Kafka that is emulated, or newest.
	KafkaVersion string `json:"kafka_version"`

	// The version of kafkalet.
	KafkaletVersion string `json:"kafkalet_version"`

	// The running brokers as host:port, separated by commas.
	BootstrapServers string `json:"bootstrap_servers"`

	// The broker to which clients send admin requests, or null if none is running.
	ControllerID *int64 `json:"controller_id"`

	// The time of the brokers, in milliseconds since 1970 (UTC).
	NowMs int64 `json:"now_ms"`

	// The brokers, by id.
	Brokers []Broker `json:"brokers"`
}

// CommittedOffset: an offset to commit.
type CommittedOffset struct {
	// The topic.
	Topic string `json:"topic"`

	// The partition.
	Partition int64 `json:"partition"`

	// The offset.
	Offset int64 `json:"offset"`
}

// ConfigureShareGroup: properties to set or to remove.
type ConfigureShareGroup struct {
	// The properties, as in {"share.auto.offset.reset": "earliest"}. null removes one.
	Config map[string]*string `json:"config"`
}

// ConfigureTopic: properties to set or to remove.
type ConfigureTopic struct {
	// The properties, as in {"retention.ms": "1000"}. null removes one.
	Config map[string]*string `json:"config"`
}

// Connection: a connection of a client.
type Connection struct {
	// The address and port of the client, as in 127.0.0.1:50123.
	ID string `json:"id"`

	// The id of the broker.
	Broker int64 `json:"broker"`

	// The client id, or an empty string before the first request.
	ClientID string `json:"client_id"`

	// The API and version of the last request, as in Fetch v13, or an empty string.
	LastRequest string `json:"last_request"`
}

// Connections: the connections.
type Connections struct {
	// By broker, oldest first.
	Connections []Connection `json:"connections"`
}

// Coordinator: the broker that coordinates a group or a transactional id.
type Coordinator struct {
	// The id of the broker.
	NodeID int64 `json:"node_id"`
}

// CountedRequests: requests of one API by one client.
type CountedRequests struct {
	// The API.
	API string `json:"api"`

	// The client id.
	ClientID string `json:"client_id"`

	// The number of requests.
	Count int64 `json:"count"`
}

// DeleteRecords: the records to delete.
type DeleteRecords struct {
	// The new log start offset.
	Before int64 `json:"before"`
}

// EvictMember: a member to evict.
type EvictMember struct {
	// The member id, or the group.instance.id.
	MemberID string `json:"member_id"`
}

// EvictShareMember: a member to evict.
type EvictShareMember struct {
	// The member id.
	MemberID string `json:"member_id"`
}

// ExpireLocks: locks to end.
type ExpireLocks struct {
	// The topic. The default is all topics.
	Topic *string `json:"topic,omitempty"`

	// The member. The default is all members.
	MemberID *string `json:"member_id,omitempty"`
}

// ExpiredLocks: locks that were ended.
type ExpiredLocks struct {
	// How many records were locked.
	Expired int64 `json:"expired"`
}

// Fault: a fault that is set.
type Fault struct {
	// The id. The first fault of the brokers has 1.
	ID int64 `json:"id"`

	// The fault on one line.
	Text string `json:"text"`

	// The options that were given.
	Options map[string]any `json:"options"`

	// How often the fault has fired.
	Fired int64 `json:"fired"`

	// What happened instead, if the fault has fired less often than expected, else null.
	Unfired *string `json:"unfired"`

	// The latest 20 requests that matched.
	Seen []string `json:"seen"`
}

// Faults: the faults.
type Faults struct {
	// In the order in which they were set.
	Faults []Fault `json:"faults"`
}

// FoundRecords: the records for which a request waited.
type FoundRecords struct {
	// The first n that match, by partition and offset.
	Records []Record `json:"records"`
}

// Group: a consumer group.
type Group struct {
	// The id.
	GroupID string `json:"group_id"`

	// The state as named by Kafka, such as Stable or Empty.
	State string `json:"state"`

	// classic or consumer.
	Protocol string `json:"protocol"`

	// The members.
	Members []Member `json:"members"`

	// The positions, by topic and partition.
	Offsets []GroupOffset `json:"offsets"`

	// The sum of the lags.
	Lag int64 `json:"lag"`
}

// GroupOffset: the position of a group in a partition.
type GroupOffset struct {
	// The topic.
	Topic string `json:"topic"`

	// The partition.
	Partition int64 `json:"partition"`

	// The committed offset, or null if there is none.
	Committed *int64 `json:"committed"`

	// The high watermark, or the last stable offset for consumers with read_committed.
	End int64 `json:"end"`

	// The number of offsets left to process, or 0 if only transaction markers are left.
	Lag int64 `json:"lag"`
}

// Groups: the groups.
type Groups struct {
	// The groups, by id.
	Groups []Group `json:"groups"`
}

// Header: a header of a record.
type Header struct {
	// The name.
	Name string `json:"name"`

	// The value, or null.
	Value *string `json:"value,omitempty"`

	// The encoding of value.
	ValueEncoding *string `json:"value_encoding,omitempty"`
}

// HoldHighWatermark: where to hold the high watermark.
type HoldHighWatermark struct {
	// The offset. The default is the current high watermark.
	At *int64 `json:"at,omitempty"`
}

// LogDir: a log directory of a broker.
type LogDir struct {
	// The number of the directory in log.dirs, or its path.
	LogDir any `json:"log_dir,omitempty"`
}

// Mark: a position at the end of a topic.
type Mark struct {
	// The mark, to pass as since. Its format may change.
	Mark string `json:"mark"`
}

// Member: a member of a group.
type Member struct {
	// The member id.
	MemberID string `json:"member_id"`

	// The client id.
	ClientID string `json:"client_id"`

	// The address of the client.
	Host string `json:"host"`

	// The group.instance.id of a static member, or null.
	InstanceID *string `json:"instance_id"`

	// The partitions that the member may read.
	Assignment []TopicPartition `json:"assignment"`
}

// MoveCoordinator: a new coordinator.
type MoveCoordinator struct {
	// The broker. The default is another in-sync replica.
	To *int64 `json:"to,omitempty"`
}

// MoveLeader: a new leader.
type MoveLeader struct {
	// The id of the broker.
	To int64 `json:"to"`

	// Whether a replica that is not in sync may become the leader and lose records.
	Unclean bool `json:"unclean,omitempty"`
}

// NewFault: a fault: which requests match, on which of them it fires, and what happens to them. Names match
// exactly.
type NewFault struct {
	// The API, such as Produce, or a list of APIs. The default is all.
	API any `json:"api,omitempty"`

	// The error of the response, such as NOT_LEADER_OR_FOLLOWER.
	Error *string `json:"error,omitempty"`

	// The request is handled after this number of seconds.
	Delay *float64 `json:"delay,omitempty"`

	// The request is handled when the fault is released or removed.
	Hang bool `json:"hang,omitempty"`

	// Hold requests until this number of them have arrived.
	Barrier *int64 `json:"barrier,omitempty"`

	// The request is handled, but its response is not sent.
	DropResponse bool `json:"drop_response,omitempty"`

	// Close the connection before or after the request is handled.
	Disconnect *string `json:"disconnect,omitempty"`

	// Corrupt this number of bytes of the response; for Fetch, of its records.
	Corrupt *int64 `json:"corrupt,omitempty"`

	// The connection is closed after this number of bytes of the response.
	Truncate *int64 `json:"truncate,omitempty"`

	// The response has this throttle time in seconds, and the broker reads no requests of the client for so
	// long.
	Throttle *float64 `json:"throttle,omitempty"`

	// The response is sent at this number of bytes per second.
	Bandwidth *float64 `json:"bandwidth,omitempty"`

	// Change fields of the response. The journal shows their names.
	Respond []PatchOperation `json:"respond,omitempty"`

	// Only requests that name this topic.
	Topic *string `json:"topic,omitempty"`

	// Only requests that name this partition.
	Partition *int64 `json:"partition,omitempty"`

	// Only requests that name this group.
	Group *string `json:"group,omitempty"`

	// Only requests of this client.
	ClientID *string `json:"client_id,omitempty"`

	// Only requests of this version.
	Version *int64 `json:"version,omitempty"`

	// With version: only requests from that version to this one.
	MaxVersion *int64 `json:"max_version,omitempty"`

	// Only requests to this broker.
	Broker *int64 `json:"broker,omitempty"`

	// Fire on this number of requests. The default is all that match.
	Times *int64 `json:"times,omitempty"`

	// Fire on the n-th request, counted from 1.
	Nth *int64 `json:"nth,omitempty"`

	// Fire on every n-th request.
	Every *int64 `json:"every,omitempty"`

	// Fire on each request with this probability.
	Probability *float64 `json:"probability,omitempty"`

	// Makes the choice by probability reproducible.
	Seed int64 `json:"seed,omitempty"`
}

// NewRecord: a record to send.
type NewRecord struct {
	// The key.
	Key *string `json:"key,omitempty"`

	// The encoding of key.
	KeyEncoding *string `json:"key_encoding,omitempty"`

	// The value.
	Value *string `json:"value,omitempty"`

	// The encoding of value.
	ValueEncoding *string `json:"value_encoding,omitempty"`

	// The headers.
	Headers []Header `json:"headers,omitempty"`

	// Milliseconds since 1970 (UTC). The default is the current time.
	Timestamp *int64 `json:"timestamp,omitempty"`

	// The partition. By default, the key determines it, as in the Java producer; the records of a request that
	// have no key go to one partition, and those of the next request to the next one.
	Partition *int64 `json:"partition,omitempty"`
}

// NewRecords: records to send, in one batch for each partition, or in several if max.message.bytes requires
// that.
type NewRecords struct {
	// The records.
	Records []NewRecord `json:"records"`

	// The compression codec.
	Compression *string `json:"compression,omitempty"`
}

// NewTopic: a topic to create. What is left out has the defaults of the brokers.
type NewTopic struct {
	// The name.
	Name string `json:"name"`

	// The number of partitions.
	Partitions *int64 `json:"partitions,omitempty"`

	// The number of replicas of each partition.
	ReplicationFactor *int64 `json:"replication_factor,omitempty"`

	// Properties of the topic, as in {"retention.ms": "1000"}.
	Config map[string]string `json:"config,omitempty"`

	// The brokers of each partition, the leader first, instead of the two numbers.
	Assignments [][]int64 `json:"assignments,omitempty"`
}

// Partition: a partition of a topic and the log of its leader.
type Partition struct {
	// The index of the partition.
	Partition int64 `json:"partition"`

	// The id of the leader, or null if the partition has none.
	Leader *int64 `json:"leader"`

	// The epoch of the leader.
	LeaderEpoch int64 `json:"leader_epoch"`

	// The ids of the brokers with a replica.
	Replicas []int64 `json:"replicas"`

	// The ids of the brokers whose replica is in sync.
	ISR []int64 `json:"isr"`

	// The ids of brokers with a replica that is offline: the broker is stopped, or the replica's log is offline.
	OfflineReplicas []int64 `json:"offline_replicas"`

	// The first offset that can be read. null while the partition has no leader.
	LogStartOffset *int64 `json:"log_start_offset"`

	// The first offset that read_committed cannot read. null while the partition has no leader.
	LastStableOffset *int64 `json:"last_stable_offset"`

	// The first offset that consumers cannot read. null while the partition has no leader.
	HighWatermark *int64 `json:"high_watermark"`

	// The offset of the next record. null while the partition has no leader.
	LogEndOffset *int64 `json:"log_end_offset"`

	// The size of the log. null while the partition has no leader.
	SizeBytes *int64 `json:"size_bytes"`
}

// PatchOperation: an operation of a JSON Patch (RFC 6902) on a decoded response.
type PatchOperation struct {
	// What to do.
	Op string `json:"op"`

	// The field, as in /topics/0/partitions/0/error_code.
	Path string `json:"path"`

	// The new value: a number, a string, a boolean, null, or a list of those.
	Value any `json:"value,omitempty"`
}

// Peers: what a broker is cut off from.
type Peers struct {
	// Clients, the other brokers, or the controller.
	Peers []string `json:"peers"`
}

// Record: a record in a log.
type Record struct {
	// The name of the topic.
	Topic string `json:"topic"`

	// The partition.
	Partition int64 `json:"partition"`

	// The offset.
	Offset int64 `json:"offset"`

	// Milliseconds since 1970 (UTC), or -1 if the record has no timestamp.
	Timestamp int64 `json:"timestamp"`

	// The key, or null.
	Key *string `json:"key"`

	// The encoding of key.
	KeyEncoding string `json:"key_encoding"`

	// The value, or null for a tombstone.
	Value *string `json:"value"`

	// The encoding of value.
	ValueEncoding string `json:"value_encoding"`

	// The headers, in the order of the producer.
	Headers []Header `json:"headers"`
}

// Records: records of a topic.
type Records struct {
	// The records, by partition and offset.
	Records []Record `json:"records"`

	// The offset at which to continue, for each partition read.
	NextOffsets map[string]int64 `json:"next_offsets"`

	// Whether there are more records to read at next_offsets.
	HasMore bool `json:"has_more"`
}

// Replica: a replica of the partition, or all.
type Replica struct {
	// The broker of the replica. The default is all replicas.
	Broker *int64 `json:"broker,omitempty"`
}

// Replicas: replicas of a broker: all, those of one topic, or a single one.
type Replicas struct {
	// The topic. The default is all topics.
	Topic *string `json:"topic,omitempty"`

	// The partition. The default is all partitions.
	Partition *int64 `json:"partition,omitempty"`
}

// Request: a request of a client, and its response.
type Request struct {
	// The API, such as Fetch; API 999 for a key that Kafka does not know.
	API string `json:"api"`

	// The version that the client chose.
	Version int64 `json:"version"`

	// The correlation id of the request.
	CorrelationID int64 `json:"correlation_id"`

	// The client id, or an empty string.
	ClientID string `json:"client_id"`

	// The number of the connection.
	Connection int64 `json:"connection"`

	// The address of the client.
	Host string `json:"host"`

	// The port of the client.
	Port int64 `json:"port"`

	// The id of the broker.
	Broker int64 `json:"broker"`

	// When the broker received it, in milliseconds since 1970, by the machine's clock.
	TimeMs int64 `json:"time_ms"`

	// The time until the response, or until now while it waits.
	DurationMs float64 `json:"duration_ms"`

	// Whether it has no response yet, like a long poll.
	IsWaiting bool `json:"is_waiting"`

	// Whether the broker delayed the response.
	HasWaited bool `json:"has_waited"`

	// The size of the request.
	SizeBytes int64 `json:"size_bytes"`

	// The topics that the request or the response names.
	Topics []string `json:"topics"`

	// The errors in the response, such as NOT_LEADER_OR_FOLLOWER.
	Errors []string `json:"errors"`

	// Why the broker closed the connection instead of responding, or null.
	Closed *string `json:"closed"`

	// The id of the fault that has fired on the request, or null.
	Fault *int64 `json:"fault"`

	// The request and its response on one line.
	Text string `json:"text"`

	// The decoded request, with bytes as base64. null if messages is false or the request was too large to keep.
	Request any `json:"request"`

	// The decoded response, like request.
	Response any `json:"response"`
}

// RequestCount: numbers of requests.
type RequestCount struct {
	// The number of all selected requests.
	Count int64 `json:"count"`
}

// RequestCounts: numbers of requests.
type RequestCounts struct {
	// By API and client, including requests that the journal no longer keeps.
	Counts []CountedRequests `json:"counts"`
}

// Requests: requests of clients.
type Requests struct {
	// The requests, oldest first.
	Requests []Request `json:"requests"`
}

// RetainedPartition: what retention did to one replica.
type RetainedPartition struct {
	// The topic.
	Topic string `json:"topic"`

	// The partition.
	Partition int64 `json:"partition"`

	// The broker with the replica.
	Broker int64 `json:"broker"`

	// The number of segments that were deleted.
	DeletedSegments int64 `json:"deleted_segments"`

	// The log start offset now.
	LogStartOffset int64 `json:"log_start_offset"`
}

// RetentionResult: the replicas whose segments were deleted.
type RetentionResult struct {
	// The replicas.
	Retained []RetainedPartition `json:"retained"`
}

// Roll: a rolling restart.
type Roll struct {
	// The longest time to wait, in seconds. The default is 10.
	Timeout *float64 `json:"timeout,omitempty"`
}

// RunCleaner: what to clean.
type RunCleaner struct {
	// Whether to roll the active segments of compacted topics first. The active segment is never compacted.
	Roll bool `json:"roll,omitempty"`
}

// SeekGroup: where to move a group: to an offset or to a timestamp.
type SeekGroup struct {
	// An offset, earliest or latest.
	Offset any `json:"offset,omitempty"`

	// Milliseconds since 1970 (UTC): move to the first record with this timestamp or a later one.
	Timestamp *int64 `json:"timestamp,omitempty"`

	// The topic. The default is every partition with a committed offset.
	Topic *string `json:"topic,omitempty"`

	// The partition. The default is all of the topic.
	Partition *int64 `json:"partition,omitempty"`
}

// SeekShareGroup: where to move a share group: to an offset or to a timestamp.
type SeekShareGroup struct {
	// An offset, earliest or latest.
	Offset any `json:"offset,omitempty"`

	// Milliseconds since 1970 (UTC): move to the first record with this timestamp or a later one.
	Timestamp *int64 `json:"timestamp,omitempty"`

	// The topic. The default is every partition that the group has consumed.
	Topic *string `json:"topic,omitempty"`

	// The partition. The default is all of the topic.
	Partition *int64 `json:"partition,omitempty"`
}

// Segment: a segment of a log.
type Segment struct {
	// The first offset of the segment.
	BaseOffset int64 `json:"base_offset"`

	// The size of the segment.
	SizeBytes int64 `json:"size_bytes"`

	// The largest timestamp, or -1 if no record has one.
	LargestTimestamp int64 `json:"largest_timestamp"`
}

// Segments: the segments of a log.
type Segments struct {
	// From oldest to newest.
	Segments []Segment `json:"segments"`
}

// SendInTransaction: a record to append to a transaction.
type SendInTransaction struct {
	// The topic.
	Topic string `json:"topic"`

	// The key.
	Key *string `json:"key,omitempty"`

	// The encoding of key.
	KeyEncoding *string `json:"key_encoding,omitempty"`

	// The value.
	Value *string `json:"value,omitempty"`

	// The encoding of value.
	ValueEncoding *string `json:"value_encoding,omitempty"`

	// The headers.
	Headers []Header `json:"headers,omitempty"`

	// Milliseconds since 1970. The default is the current time.
	Timestamp *int64 `json:"timestamp,omitempty"`

	// The partition. By default, the key determines it.
	Partition *int64 `json:"partition,omitempty"`
}

// SendOffsetsInTransaction: offsets of a consumer group that are committed with a transaction.
type SendOffsetsInTransaction struct {
	// The group.
	GroupID string `json:"group_id"`

	// The offsets.
	Offsets []CommittedOffset `json:"offsets"`
}

// SentRecord: the position of a record in the log.
type SentRecord struct {
	// The partition.
	Partition int64 `json:"partition"`

	// The offset.
	Offset int64 `json:"offset"`
}

// SentRecords: the positions of the records.
type SentRecords struct {
	// In the order of the request.
	Records []SentRecord `json:"records"`
}

// Settle: what to wait for.
type Settle struct {
	// true or false: whether groups with members must have no lag; or ids of groups, with or without members.
	Groups *any `json:"groups,omitempty"`

	// Whether no transaction may be open.
	Transactions *bool `json:"transactions,omitempty"`

	// Whether no request may be in progress, and every partition must have a leader.
	Requests *bool `json:"requests,omitempty"`

	// The longest time to wait, in seconds. The default is 10.
	Timeout *float64 `json:"timeout,omitempty"`
}

// ShareGroup: a share group.
type ShareGroup struct {
	// The id.
	GroupID string `json:"group_id"`

	// Empty, or Stable if the group has members.
	State string `json:"state"`

	// The members.
	Members []ShareMember `json:"members"`

	// The state of each partition, by topic and partition.
	Positions []SharePosition `json:"positions"`

	// The sum of the lags.
	Lag int64 `json:"lag"`

	// The properties of the group, by Kafka's names.
	Config map[string]string `json:"config"`
}

// ShareGroupConfig: the properties of a share group.
type ShareGroupConfig struct {
	// The properties that are set, by Kafka's names.
	Config map[string]string `json:"config"`
}

// ShareGroups: the share groups.
type ShareGroups struct {
	// The groups, by id.
	ShareGroups []ShareGroup `json:"share_groups"`
}

// ShareMember: a member of a share group.
type ShareMember struct {
	// The member id.
	MemberID string `json:"member_id"`

	// The client id.
	ClientID string `json:"client_id"`

	// The address of the client.
	Host string `json:"host"`

	// The rack of the client, or null.
	RackID *string `json:"rack_id"`

	// The topics to which the member subscribes.
	Topics []string `json:"topics"`

	// The partitions that the member may read.
	Assignment []TopicPartition `json:"assignment"`
}

// SharePosition: a partition, as consumed by a share group.
type SharePosition struct {
	// The topic.
	Topic string `json:"topic"`

	// The partition.
	Partition int64 `json:"partition"`

	// All records below it are done. null until the first fetch.
	StartOffset *int64 `json:"start_offset"`

	// The high watermark.
	End int64 `json:"end"`

	// The number of records from the start offset to the end that are not done.
	Lag int64 `json:"lag"`

	// The number of records that a member can acquire.
	Available int64 `json:"available"`

	// The number of records that members have acquired.
	Acquired int64 `json:"acquired"`

	// The number of records that members have accepted.
	Acknowledged int64 `json:"acknowledged"`

	// The number of records that were rejected or delivered too often.
	Archived int64 `json:"archived"`
}

// ShareRecord: a record, and what a share group has done with it.
type ShareRecord struct {
	// The name of the topic.
	Topic string `json:"topic"`

	// The partition.
	Partition int64 `json:"partition"`

	// The offset.
	Offset int64 `json:"offset"`

	// Milliseconds since 1970 (UTC), or -1 if the record has no timestamp.
	Timestamp int64 `json:"timestamp"`

	// The key, or null.
	Key *string `json:"key"`

	// The encoding of key.
	KeyEncoding string `json:"key_encoding"`

	// The value, or null for a tombstone.
	Value *string `json:"value"`

	// The encoding of value.
	ValueEncoding string `json:"value_encoding"`

	// The headers, in the order of the producer.
	Headers []Header `json:"headers"`

	// The state.
	State string `json:"state"`

	// How often the record was delivered.
	Deliveries int64 `json:"deliveries"`

	// The member that has acquired the record, or null.
	MemberID *string `json:"member_id"`
}

// ShareRecords: records of a share group.
type ShareRecords struct {
	// The records, by topic, partition and offset.
	Records []ShareRecord `json:"records"`
}

// ShrinkIsr: followers.
type ShrinkIsr struct {
	// The ids of the brokers.
	Brokers []int64 `json:"brokers"`
}

// TieredPartition: what the remote log manager did to one partition.
type TieredPartition struct {
	// The topic.
	Topic string `json:"topic"`

	// The partition.
	Partition int64 `json:"partition"`

	// The leader.
	Broker int64 `json:"broker"`

	// The number of segments that were copied to remote storage.
	CopiedSegments int64 `json:"copied_segments"`

	// The number of segments that were deleted there.
	DeletedSegments int64 `json:"deleted_segments"`

	// The log start offset now.
	LogStartOffset int64 `json:"log_start_offset"`

	// The offset after the last one that has been copied.
	RemoteEndOffset int64 `json:"remote_end_offset"`
}

// TieringResult: the partitions whose remote segments have changed.
type TieringResult struct {
	// The partitions.
	Tiered []TieredPartition `json:"tiered"`
}

// Topic: a topic and its partitions.
type Topic struct {
	// The name.
	Name string `json:"name"`

	// The id, as in Kafka's tools.
	TopicID string `json:"topic_id"`

	// Whether the topic belongs to the brokers, like __consumer_offsets.
	IsInternal bool `json:"is_internal"`

	// The properties that are set for the topic.
	Config map[string]string `json:"config"`

	// The partitions, by index.
	Partitions []Partition `json:"partitions"`
}

// TopicPartition: a partition of a topic.
type TopicPartition struct {
	// The topic.
	Topic string `json:"topic"`

	// The partition.
	Partition int64 `json:"partition"`
}

// Topics: the topics.
type Topics struct {
	// The topics, by name.
	Topics []Topic `json:"topics"`
}

// Transaction: a transactional id and its current or last transaction.
type Transaction struct {
	// The transactional id.
	TransactionalID string `json:"transactional_id"`

	// Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit or CompleteAbort, as in Kafka.
	State string `json:"state"`

	// The producer id.
	ProducerID int64 `json:"producer_id"`

	// The producer epoch.
	ProducerEpoch int64 `json:"producer_epoch"`

	// The transaction timeout, in milliseconds.
	TimeoutMs int64 `json:"timeout_ms"`

	// The start of the last transaction in milliseconds since 1970, or -1.
	StartedMs int64 `json:"started_ms"`

	// The partitions in the transaction that have no marker yet.
	Partitions []TopicPartition `json:"partitions"`

	// The id of the broker that coordinates the transactional id.
	Coordinator int64 `json:"coordinator"`
}

// Transactions: the transactional ids.
type Transactions struct {
	// The transactional ids in alphabetical order.
	Transactions []Transaction `json:"transactions"`
}

// TruncateLog: the records to remove.
type TruncateLog struct {
	// The new log end offset.
	To int64 `json:"to"`
}

// Unsupported: requests that the brokers do not serve.
type Unsupported struct {
	// The number of requests by API, as in {"ShareFetch": 2}.
	Counts map[string]int64 `json:"counts"`

	// The requests, by API, version and client.
	Requests []UnsupportedRequest `json:"requests"`
}

// UnsupportedRequest: a request that the brokers do not serve.
type UnsupportedRequest struct {
	// The API, or its key if Kafka has no such API.
	API string `json:"api"`

	// The version.
	Version int64 `json:"version"`

	// The client id.
	ClientID string `json:"client_id"`

	// What is served instead, such as versions 0 to 11; empty if the API is not served.
	Served string `json:"served"`

	// The number of requests.
	Count int64 `json:"count"`
}

// User: a user and the password.
type User struct {
	// The name of the user.
	Name string `json:"name"`

	// The password.
	Password string `json:"password"`
}

// Users: the users who can log in with a password.
type Users struct {
	// The names of the users.
	Users []string `json:"users"`
}

// WaitForCommit: a committed offset to wait for.
type WaitForCommit struct {
	// The topic.
	Topic string `json:"topic"`

	// The partition.
	Partition int64 `json:"partition,omitempty"`

	// The smallest committed offset.
	Offset int64 `json:"offset"`

	// The longest time to wait, in seconds. The default is 10.
	Timeout *float64 `json:"timeout,omitempty"`
}

// WaitForFault: how often the fault must have fired.
type WaitForFault struct {
	// The number of times.
	N *int64 `json:"n,omitempty"`

	// The longest time to wait, in seconds. The default is 10.
	Timeout *float64 `json:"timeout,omitempty"`
}

// WaitForLag: a lag to wait for.
type WaitForLag struct {
	// The largest lag.
	Lag int64 `json:"lag,omitempty"`

	// The longest time to wait, in seconds. The default is 10.
	Timeout *float64 `json:"timeout,omitempty"`
}

// WaitForRecords: what to wait for. Records match if they meet all conditions.
type WaitForRecords struct {
	// The number of records.
	N *int64 `json:"n,omitempty"`

	// The key of the records. null matches any.
	Key *string `json:"key,omitempty"`

	// The encoding of key.
	KeyEncoding *string `json:"key_encoding,omitempty"`

	// The value of the records. null matches any.
	Value *string `json:"value,omitempty"`

	// The encoding of value.
	ValueEncoding *string `json:"value_encoding,omitempty"`

	// A text that the values contain, as UTF-8.
	ValueContains *string `json:"value_contains,omitempty"`

	// A header of the records.
	Header *Header `json:"header,omitempty"`

	// The partition. The default is all partitions.
	Partition *int64 `json:"partition,omitempty"`

	// With read_committed, records of open and aborted transactions are left out.
	Isolation *string `json:"isolation,omitempty"`

	// Skip records with an older timestamp.
	SinceMs *int64 `json:"since_ms,omitempty"`

	// A mark, as returned by /mark. Records before it are skipped.
	Since *string `json:"since,omitempty"`

	// The longest time to wait, in seconds. The default is 10.
	Timeout *float64 `json:"timeout,omitempty"`

	// How keys and values are written: auto is text for UTF-8 and base64 for other bytes; base64 is always
	// base64.
	Encoding *string `json:"encoding,omitempty"`
}

// WaitForRequests: requests to wait for.
type WaitForRequests struct {
	// The APIs. The default is all.
	APIs []string `json:"apis,omitempty"`

	// The number of requests.
	N *int64 `json:"n,omitempty"`

	// The client id.
	ClientID *string `json:"client_id,omitempty"`

	// A topic that the request or the response names.
	Topic *string `json:"topic,omitempty"`

	// Errors; the response must have one of them.
	Errors []string `json:"errors,omitempty"`

	// Whether to return the decoded messages.
	Messages bool `json:"messages,omitempty"`

	// The longest time to wait, in seconds. The default is 10.
	Timeout *float64 `json:"timeout,omitempty"`
}

// WaitForShareGroup: the states to wait for.
type WaitForShareGroup struct {
	// At least this number of records must be in the state.
	Available *int64 `json:"available,omitempty"`

	// At least this number of records must be in the state.
	Acquired *int64 `json:"acquired,omitempty"`

	// At least this number of records must be in the state.
	Acknowledged *int64 `json:"acknowledged,omitempty"`

	// At least this number of records must be in the state.
	Archived *int64 `json:"archived,omitempty"`

	// The topic. The default is all topics.
	Topic *string `json:"topic,omitempty"`

	// The longest time to wait, in seconds. The default is 10.
	Timeout *float64 `json:"timeout,omitempty"`
}

// WaitForShareLag: a lag to wait for.
type WaitForShareLag struct {
	// The largest lag.
	Lag int64 `json:"lag,omitempty"`

	// The longest time to wait, in seconds. The default is 10.
	Timeout *float64 `json:"timeout,omitempty"`
}

// WaitForTransaction: a state to wait for.
type WaitForTransaction struct {
	// The state; Dead if no producer has used the transactional id.
	State string `json:"state"`

	// The longest time to wait, in seconds. The default is 10.
	Timeout *float64 `json:"timeout,omitempty"`
}

// WaitUntilShareGroupIsStable: members to wait for.
type WaitUntilShareGroupIsStable struct {
	// The number of members. The default is at least one.
	Members *int64 `json:"members,omitempty"`

	// The longest time to wait, in seconds. The default is 10.
	Timeout *float64 `json:"timeout,omitempty"`
}

// WaitUntilStable: members to wait for.
type WaitUntilStable struct {
	// The number of members. The default is at least one.
	Members *int64 `json:"members,omitempty"`

	// The longest time to wait, in seconds. The default is 10.
	Timeout *float64 `json:"timeout,omitempty"`
}

// GetCluster: return the brokers, their addresses and the emulated release.
func (api API) GetCluster() Cluster {
	api.T.Helper()
	var result Cluster
	api.call("GET", "/v1/cluster", nil, &result)
	return result
}

// ListTopicsQuery: the parameters of ListTopics.
type ListTopicsQuery struct {
	// Whether to include the topics of the brokers, like __consumer_offsets.
	Internal bool `json:"internal,omitempty"`
}

// ListTopics: return all topics with the state of their partitions.
func (api API) ListTopics(parameters ListTopicsQuery) Topics {
	api.T.Helper()
	var result Topics
	api.call("GET", "/v1/topics"+query(parameters), nil, &result)
	return result
}

// CreateTopic: create a topic.
func (api API) CreateTopic(body NewTopic) Topic {
	api.T.Helper()
	var result Topic
	api.call("POST", "/v1/topics", body, &result)
	return result
}

// GetTopic: return a topic with the state of its partitions.
func (api API) GetTopic(name string) Topic {
	api.T.Helper()
	var result Topic
	api.call("GET", fmt.Sprintf("/v1/topics/%v", url.PathEscape(name)), nil, &result)
	return result
}

// DeleteTopic: delete a topic and its records.
func (api API) DeleteTopic(name string) {
	api.T.Helper()
	api.call("DELETE", fmt.Sprintf("/v1/topics/%v", url.PathEscape(name)), nil, nil)
}

// AddPartitions: add partitions to a topic, as CreatePartitions does. Their replicas are spread over the
// brokers.
func (api API) AddPartitions(name string, body AddPartitions) Topic {
	api.T.Helper()
	var result Topic
	api.call("POST", fmt.Sprintf("/v1/topics/%v/add-partitions", url.PathEscape(name)), body, &result)
	return result
}

// ConfigureTopic: change properties of a topic. Others stay as they are.
func (api API) ConfigureTopic(name string, body ConfigureTopic) Topic {
	api.T.Helper()
	var result Topic
	api.call("POST", fmt.Sprintf("/v1/topics/%v/configure", url.PathEscape(name)), body, &result)
	return result
}

// MarkTopic: return a mark of the current end of a topic. A read or wait that gets it as since skips earlier
// records.
//
// Records that replace older ones are later, too: those that follow a truncation or a restore, and all
// records of a topic that is created again. The topic need not exist yet.
func (api API) MarkTopic(name string) Mark {
	api.T.Helper()
	var result Mark
	api.call("GET", fmt.Sprintf("/v1/topics/%v/mark", url.PathEscape(name)), nil, &result)
	return result
}

// GetPartition: return the state of a partition and the offsets of its log.
func (api API) GetPartition(name string, partition int64) Partition {
	api.T.Helper()
	var result Partition
	api.call("GET", fmt.Sprintf("/v1/topics/%v/partitions/%v", url.PathEscape(name), partition), nil, &result)
	return result
}

// SendRecords: append records as if a producer had sent them with acks=all: a single one, or several in
// records.
//
// A topic that does not exist is created with the defaults of the brokers. If a partition refuses its
// records, nothing is appended.
func (api API) SendRecords(name string, body NewRecords) SentRecords {
	api.T.Helper()
	var result SentRecords
	api.call("POST", fmt.Sprintf("/v1/topics/%v/records", url.PathEscape(name)), body, &result)
	return result
}

// ReadRecordsQuery: the parameters of ReadRecords.
type ReadRecordsQuery struct {
	// The partition. The default is all partitions.
	Partition *int64 `json:"partition,omitempty"`

	// The first offset to read. The default is the log start offset.
	Offset *int64 `json:"offset,omitempty"`

	// Start at the first record with this timestamp or a later one, as in ListOffsets.
	TimeMs *int64 `json:"time_ms,omitempty"`

	// Start this many offsets before the end.
	Last *int64 `json:"last,omitempty"`

	// A mark, as returned by /mark. Records before it are skipped.
	Since *string `json:"since,omitempty"`

	// The largest number of records of each partition.
	Limit *int64 `json:"limit,omitempty"`

	// With read_committed, records of open and aborted transactions are left out.
	Isolation *string `json:"isolation,omitempty"`

	// How keys and values are written: auto is text for UTF-8 and base64 for other bytes; base64 is always
	// base64.
	Encoding *string `json:"encoding,omitempty"`
}

// ReadRecords: return records that a consumer can receive now.
//
// At most one of offset, time_ms, last and since may be given. If a partition has no leader, its records are
// unknown, and the request fails.
func (api API) ReadRecords(name string, parameters ReadRecordsQuery) Records {
	api.T.Helper()
	var result Records
	api.call("GET", fmt.Sprintf("/v1/topics/%v/records", url.PathEscape(name))+query(parameters), nil, &result)
	return result
}

// WaitForRecords: wait until records match, and return the first of them.
//
// Records that are in the topic already count, unless since_ms or since excludes them. The topic need not
// exist yet. If the wait times out, the error message shows the records that did arrive, the closest match
// first.
func (api API) WaitForRecords(name string, body WaitForRecords) FoundRecords {
	api.T.Helper()
	var result FoundRecords
	api.call("POST", fmt.Sprintf("/v1/topics/%v/wait", url.PathEscape(name)), body, &result)
	return result
}

// ListGroups: return all consumer groups with their members and lag.
func (api API) ListGroups() Groups {
	api.T.Helper()
	var result Groups
	api.call("GET", "/v1/groups", nil, &result)
	return result
}

// GetGroup: return a consumer group with its members and lag.
func (api API) GetGroup(groupId string) Group {
	api.T.Helper()
	var result Group
	api.call("GET", fmt.Sprintf("/v1/groups/%v", url.PathEscape(groupId)), nil, &result)
	return result
}

// DeleteGroup: delete a group without members, and its offsets.
func (api API) DeleteGroup(groupId string) {
	api.T.Helper()
	api.call("DELETE", fmt.Sprintf("/v1/groups/%v", url.PathEscape(groupId)), nil, nil)
}

// EvictMember: remove a member from a group, as if its session had timed out. The other members get its
// partitions.
func (api API) EvictMember(groupId string, body EvictMember) Group {
	api.T.Helper()
	var result Group
	api.call("POST", fmt.Sprintf("/v1/groups/%v/evict", url.PathEscape(groupId)), body, &result)
	return result
}

// RebalanceGroup: start a rebalance of a group, unless one is in progress.
func (api API) RebalanceGroup(groupId string) Group {
	api.T.Helper()
	var result Group
	api.call("POST", fmt.Sprintf("/v1/groups/%v/rebalance", url.PathEscape(groupId)), nil, &result)
	return result
}

// SeekGroup: commit other offsets for a group without members. The group is created if it does not exist.
func (api API) SeekGroup(groupId string, body SeekGroup) Group {
	api.T.Helper()
	var result Group
	api.call("POST", fmt.Sprintf("/v1/groups/%v/seek", url.PathEscape(groupId)), body, &result)
	return result
}

// WaitForLag: wait until the lag of a group is at most lag.
func (api API) WaitForLag(groupId string, body WaitForLag) Group {
	api.T.Helper()
	var result Group
	api.call("POST", fmt.Sprintf("/v1/groups/%v/wait-for-lag", url.PathEscape(groupId)), body, &result)
	return result
}

// WaitUntilStable: wait until a group has a number of members, all with their assignments.
func (api API) WaitUntilStable(groupId string, body WaitUntilStable) Group {
	api.T.Helper()
	var result Group
	api.call("POST", fmt.Sprintf("/v1/groups/%v/wait-until-stable", url.PathEscape(groupId)), body, &result)
	return result
}

// WaitForCommit: wait until the committed offset of a partition is at least offset.
func (api API) WaitForCommit(groupId string, body WaitForCommit) Group {
	api.T.Helper()
	var result Group
	api.call("POST", fmt.Sprintf("/v1/groups/%v/wait-for-commit", url.PathEscape(groupId)), body, &result)
	return result
}

// MoveGroupCoordinator: make another broker the coordinator of a group.
//
// Other groups in the same partition of __consumer_offsets move too.
func (api API) MoveGroupCoordinator(groupId string, body MoveCoordinator) Coordinator {
	api.T.Helper()
	var result Coordinator
	api.call("POST", fmt.Sprintf("/v1/groups/%v/move-coordinator", url.PathEscape(groupId)), body, &result)
	return result
}

// Settle: wait until the brokers are quiet: no request is in progress, no group has a lag, no transaction is
// open.
//
// A record that is missing after that will not arrive. The brokers cannot see a client that is between two
// requests.
func (api API) Settle(body Settle) {
	api.T.Helper()
	api.call("POST", "/v1/settle", body, nil)
}

// ListShareGroups: return all share groups with their members and the state of their records.
func (api API) ListShareGroups() ShareGroups {
	api.T.Helper()
	var result ShareGroups
	api.call("GET", "/v1/share-groups", nil, &result)
	return result
}

// GetShareGroup: return a share group with its members and the state of its records.
func (api API) GetShareGroup(groupId string) ShareGroup {
	api.T.Helper()
	var result ShareGroup
	api.call("GET", fmt.Sprintf("/v1/share-groups/%v", url.PathEscape(groupId)), nil, &result)
	return result
}

// DeleteShareGroup: delete a share group without members, and the state of its records.
func (api API) DeleteShareGroup(groupId string) {
	api.T.Helper()
	api.call("DELETE", fmt.Sprintf("/v1/share-groups/%v", url.PathEscape(groupId)), nil, nil)
}

// ReadShareGroupRecordsQuery: the parameters of ReadShareGroupRecords.
type ReadShareGroupRecordsQuery struct {
	// The state of the records. The default is all states.
	State *string `json:"state,omitempty"`

	// The topic. The default is all topics.
	Topic *string `json:"topic,omitempty"`

	// The largest number of records.
	Limit *int64 `json:"limit,omitempty"`

	// How keys and values are written: auto is text for UTF-8 and base64 for other bytes; base64 is always
	// base64.
	Encoding *string `json:"encoding,omitempty"`
}

// ReadShareGroupRecords: return the records that a share group has consumed or can consume, with their state
// and deliveries.
func (api API) ReadShareGroupRecords(groupId string, parameters ReadShareGroupRecordsQuery) ShareRecords {
	api.T.Helper()
	var result ShareRecords
	api.call("GET", fmt.Sprintf("/v1/share-groups/%v/records", url.PathEscape(groupId))+query(parameters), nil, &result)
	return result
}

// ConfigureShareGroup: change properties of a share group, which need not exist, and return all that are set.
func (api API) ConfigureShareGroup(groupId string, body ConfigureShareGroup) ShareGroupConfig {
	api.T.Helper()
	var result ShareGroupConfig
	api.call("POST", fmt.Sprintf("/v1/share-groups/%v/configure", url.PathEscape(groupId)), body, &result)
	return result
}

// EvictShareMember: remove a member from a share group, as if its session had timed out. Its records stay
// locked.
func (api API) EvictShareMember(groupId string, body EvictShareMember) ShareGroup {
	api.T.Helper()
	var result ShareGroup
	api.call("POST", fmt.Sprintf("/v1/share-groups/%v/evict", url.PathEscape(groupId)), body, &result)
	return result
}

// ExpireLocks: end the acquisition locks of a share group now, as if share.record.lock.duration.ms had
// passed.
func (api API) ExpireLocks(groupId string, body ExpireLocks) ExpiredLocks {
	api.T.Helper()
	var result ExpiredLocks
	api.call("POST", fmt.Sprintf("/v1/share-groups/%v/expire-locks", url.PathEscape(groupId)), body, &result)
	return result
}

// SeekShareGroup: set other start offsets of a share group without members. The group is created if it does
// not exist.
func (api API) SeekShareGroup(groupId string, body SeekShareGroup) ShareGroup {
	api.T.Helper()
	var result ShareGroup
	api.call("POST", fmt.Sprintf("/v1/share-groups/%v/seek", url.PathEscape(groupId)), body, &result)
	return result
}

// WaitForShareGroup: wait until at least these numbers of records are available, acquired, acknowledged or
// archived.
func (api API) WaitForShareGroup(groupId string, body WaitForShareGroup) ShareGroup {
	api.T.Helper()
	var result ShareGroup
	api.call("POST", fmt.Sprintf("/v1/share-groups/%v/wait", url.PathEscape(groupId)), body, &result)
	return result
}

// WaitForShareLag: wait until the deliveries of all records of a share group but lag have ended.
func (api API) WaitForShareLag(groupId string, body WaitForShareLag) ShareGroup {
	api.T.Helper()
	var result ShareGroup
	api.call("POST", fmt.Sprintf("/v1/share-groups/%v/wait-for-lag", url.PathEscape(groupId)), body, &result)
	return result
}

// WaitUntilShareGroupIsStable: wait until a share group has a number of members, and all partitions are
// assigned.
func (api API) WaitUntilShareGroupIsStable(groupId string, body WaitUntilShareGroupIsStable) ShareGroup {
	api.T.Helper()
	var result ShareGroup
	api.call("POST", fmt.Sprintf("/v1/share-groups/%v/wait-until-stable", url.PathEscape(groupId)), body, &result)
	return result
}

// ListTransactions: return all transactional ids with their states.
func (api API) ListTransactions() Transactions {
	api.T.Helper()
	var result Transactions
	api.call("GET", "/v1/transactions", nil, &result)
	return result
}

// GetTransaction: return the state of a transactional id.
func (api API) GetTransaction(transactionalId string) Transaction {
	api.T.Helper()
	var result Transaction
	api.call("GET", fmt.Sprintf("/v1/transactions/%v", url.PathEscape(transactionalId)), nil, &result)
	return result
}

// MoveTransactionCoordinator: make another broker the coordinator of a transactional id.
//
// Other ids in the same partition of __transaction_state move too.
func (api API) MoveTransactionCoordinator(transactionalId string, body MoveCoordinator) Coordinator {
	api.T.Helper()
	var result Coordinator
	api.call("POST", fmt.Sprintf("/v1/transactions/%v/move-coordinator", url.PathEscape(transactionalId)), body, &result)
	return result
}

// WaitForTransaction: wait until a transactional id is in a state.
func (api API) WaitForTransaction(transactionalId string, body WaitForTransaction) {
	api.T.Helper()
	api.call("POST", fmt.Sprintf("/v1/transactions/%v/wait", url.PathEscape(transactionalId)), body, nil)
}

// BeginTransaction: begin a transaction without a client. An older producer with the transactional id is
// fenced.
func (api API) BeginTransaction(transactionalId string, body BeginTransaction) Transaction {
	api.T.Helper()
	var result Transaction
	api.call("POST", fmt.Sprintf("/v1/transactions/%v/begin", url.PathEscape(transactionalId)), body, &result)
	return result
}

// SendInTransaction: append a record to a transaction that was begun with begin.
func (api API) SendInTransaction(transactionalId string, body SendInTransaction) Transaction {
	api.T.Helper()
	var result Transaction
	api.call("POST", fmt.Sprintf("/v1/transactions/%v/records", url.PathEscape(transactionalId)), body, &result)
	return result
}

// SendOffsetsInTransaction: add offsets of a consumer group to a transaction that was begun with begin.
func (api API) SendOffsetsInTransaction(transactionalId string, body SendOffsetsInTransaction) Transaction {
	api.T.Helper()
	var result Transaction
	api.call("POST", fmt.Sprintf("/v1/transactions/%v/offsets", url.PathEscape(transactionalId)), body, &result)
	return result
}

// CommitTransaction: commit a transaction that was begun with begin, and wait for its markers.
func (api API) CommitTransaction(transactionalId string) Transaction {
	api.T.Helper()
	var result Transaction
	api.call("POST", fmt.Sprintf("/v1/transactions/%v/commit", url.PathEscape(transactionalId)), nil, &result)
	return result
}

// AbortTransaction: abort the open transaction of a transactional id, and wait for its markers.
//
// If a client has begun it, its producer is fenced, as after the transaction timeout.
func (api API) AbortTransaction(transactionalId string, body AbortTransaction) Transaction {
	api.T.Helper()
	var result Transaction
	api.call("POST", fmt.Sprintf("/v1/transactions/%v/abort", url.PathEscape(transactionalId)), body, &result)
	return result
}

// ListRequestsQuery: the parameters of ListRequests.
type ListRequestsQuery struct {
	// The APIs, separated by commas. The default is all.
	APIs []string `json:"apis,omitempty"`

	// The client id.
	ClientID *string `json:"client_id,omitempty"`

	// A topic that the request or the response names.
	Topic *string `json:"topic,omitempty"`

	// true for responses with an error, false for those without, or names of errors.
	Errors []string `json:"errors,omitempty"`

	// Only requests since this time, in milliseconds since 1970.
	SinceMs *int64 `json:"since_ms,omitempty"`

	// Only requests until this time, in milliseconds since 1970.
	UntilMs *int64 `json:"until_ms,omitempty"`

	// The largest number of requests; the latest are returned.
	Limit *int64 `json:"limit,omitempty"`

	// Whether to return the decoded messages.
	Messages bool `json:"messages,omitempty"`
}

// ListRequests: return the latest requests that the journal keeps.
func (api API) ListRequests(parameters ListRequestsQuery) Requests {
	api.T.Helper()
	var result Requests
	api.call("GET", "/v1/requests"+query(parameters), nil, &result)
	return result
}

// ClearRequests: forget all requests and counts, including those of unsupported requests. Requests in
// progress remain.
func (api API) ClearRequests() {
	api.T.Helper()
	api.call("DELETE", "/v1/requests", nil, nil)
}

// CountRequestsQuery: the parameters of CountRequests.
type CountRequestsQuery struct {
	// The APIs, separated by commas. The default is all.
	APIs []string `json:"apis,omitempty"`

	// The client id.
	ClientID *string `json:"client_id,omitempty"`

	// A topic that the request or the response names.
	Topic *string `json:"topic,omitempty"`

	// true for responses with an error, false for those without, or names of errors.
	Errors []string `json:"errors,omitempty"`
}

// CountRequests: count the requests since the start or since the journal was cleared.
//
// A count by API and client is always available. Other counts fail with 409 if the journal has dropped
// requests.
func (api API) CountRequests(parameters CountRequestsQuery) RequestCount {
	api.T.Helper()
	var result RequestCount
	api.call("GET", "/v1/requests/count"+query(parameters), nil, &result)
	return result
}

// ListRequestCounts: count the requests by API and client.
func (api API) ListRequestCounts() RequestCounts {
	api.T.Helper()
	var result RequestCounts
	api.call("GET", "/v1/requests/counts", nil, &result)
	return result
}

// ListUnsupported: return the requests for APIs or versions that the brokers do not serve.
func (api API) ListUnsupported() Unsupported {
	api.T.Helper()
	var result Unsupported
	api.call("GET", "/v1/requests/unsupported", nil, &result)
	return result
}

// WaitForRequests: wait until clients have sent requests, and return them. Earlier requests count, unless
// they were cleared.
func (api API) WaitForRequests(body WaitForRequests) Requests {
	api.T.Helper()
	var result Requests
	api.call("POST", "/v1/requests/wait", body, &result)
	return result
}

// ListConnections: return the connections of clients.
func (api API) ListConnections() Connections {
	api.T.Helper()
	var result Connections
	api.call("GET", "/v1/connections", nil, &result)
	return result
}

// ResetConnection: close a connection with a TCP reset. Responses that have not been sent are lost.
func (api API) ResetConnection(id string) {
	api.T.Helper()
	api.call("POST", fmt.Sprintf("/v1/connections/%v/reset", url.PathEscape(id)), nil, nil)
}

// HalfCloseConnection: close the direction to the client: the client reads end of file, while the broker
// still receives requests.
func (api API) HalfCloseConnection(id string) {
	api.T.Helper()
	api.call("POST", fmt.Sprintf("/v1/connections/%v/half-close", url.PathEscape(id)), nil, nil)
}

// BlackHoleConnection: discard what the client sends, and send nothing. The connection stays open until the
// client closes it.
func (api API) BlackHoleConnection(id string) {
	api.T.Helper()
	api.call("POST", fmt.Sprintf("/v1/connections/%v/black-hole", url.PathEscape(id)), nil, nil)
}

// ListFaults: return the faults that are set, and how often each has fired.
func (api API) ListFaults() Faults {
	api.T.Helper()
	var result Faults
	api.call("GET", "/v1/faults", nil, &result)
	return result
}

// AddFault: set a fault. It stays until it is removed.
//
// At least one of error, delay, hang, barrier, drop_response, disconnect, corrupt, truncate, throttle,
// bandwidth and respond must be given.
func (api API) AddFault(body NewFault) Fault {
	api.T.Helper()
	var result Fault
	api.call("POST", "/v1/faults", body, &result)
	return result
}

// RemoveFaults: remove all faults, and return how often they have fired. Requests that they hold are handled.
func (api API) RemoveFaults() Faults {
	api.T.Helper()
	var result Faults
	api.call("DELETE", "/v1/faults", nil, &result)
	return result
}

// GetFault: return a fault, and how often it has fired.
func (api API) GetFault(faultId int64) Fault {
	api.T.Helper()
	var result Fault
	api.call("GET", fmt.Sprintf("/v1/faults/%v", faultId), nil, &result)
	return result
}

// RemoveFault: remove a fault, and return how often it has fired. Requests that it holds are handled.
//
// If unfired is not null, the fault has fired less often than expected, and the test should fail.
func (api API) RemoveFault(faultId int64) Fault {
	api.T.Helper()
	var result Fault
	api.call("DELETE", fmt.Sprintf("/v1/faults/%v", faultId), nil, &result)
	return result
}

// ReleaseFault: handle the requests that a fault holds (hang, barrier, delay). This ends a fault with hang.
func (api API) ReleaseFault(faultId int64) Fault {
	api.T.Helper()
	var result Fault
	api.call("POST", fmt.Sprintf("/v1/faults/%v/release", faultId), nil, &result)
	return result
}

// WaitForFault: wait until a fault has fired.
func (api API) WaitForFault(faultId int64, body WaitForFault) Fault {
	api.T.Helper()
	var result Fault
	api.call("POST", fmt.Sprintf("/v1/faults/%v/wait", faultId), body, &result)
	return result
}

// GetClock: return the time of the brokers.
func (api API) GetClock() Clock {
	api.T.Helper()
	var result Clock
	api.call("GET", "/v1/clock", nil, &result)
	return result
}

// AdvanceClock: advance the clock, and run everything that becomes due before the response: retention,
// timeouts, expiration.
func (api API) AdvanceClock(body AdvanceClock) Clock {
	api.T.Helper()
	var result Clock
	api.call("POST", "/v1/clock/advance", body, &result)
	return result
}

// ListSegments: return the segments of the leader's log.
func (api API) ListSegments(name string, partition int64) Segments {
	api.T.Helper()
	var result Segments
	api.call("GET", fmt.Sprintf("/v1/topics/%v/partitions/%v/segments", url.PathEscape(name), partition), nil, &result)
	return result
}

// ListBatchesQuery: the parameters of ListBatches.
type ListBatchesQuery struct {
	// The offset at which to start. The first batch contains it or follows it.
	Offset int64 `json:"offset,omitempty"`

	// The largest number of batches.
	Limit *int64 `json:"limit,omitempty"`
}

// ListBatches: return the headers of batches in the leader's log, including those below the log start offset.
func (api API) ListBatches(name string, partition int64, parameters ListBatchesQuery) Batches {
	api.T.Helper()
	var result Batches
	api.call("GET", fmt.Sprintf("/v1/topics/%v/partitions/%v/batches", url.PathEscape(name), partition)+query(parameters), nil, &result)
	return result
}

// RunCleaner: compact all logs that are due, by Kafka's rules and the clock of the brokers.
func (api API) RunCleaner(body RunCleaner) CleanerResult {
	api.T.Helper()
	var result CleanerResult
	api.call("POST", "/v1/cleaner/run", body, &result)
	return result
}

// RunRetention: delete all expired segments, by the clock of the brokers.
func (api API) RunRetention() RetentionResult {
	api.T.Helper()
	var result RetentionResult
	api.call("POST", "/v1/retention/run", nil, &result)
	return result
}

// RunTiering: copy all segments that are due to remote storage, and delete those that have expired there.
func (api API) RunTiering() TieringResult {
	api.T.Helper()
	var result TieringResult
	api.call("POST", "/v1/tiering/run", nil, &result)
	return result
}

// AppendBatches: append entries exactly as they are: with gaps, control batches, wrong checksums, any offsets
// and timestamps.
func (api API) AppendBatches(name string, partition int64, body AppendBatches) Partition {
	api.T.Helper()
	var result Partition
	api.call("POST", fmt.Sprintf("/v1/topics/%v/partitions/%v/append-batches", url.PathEscape(name), partition), body, &result)
	return result
}

// AppendLayout: append ordinary records around a special part, such as a gap of offsets or an aborted
// transaction.
func (api API) AppendLayout(name string, partition int64, body AppendLayout) Partition {
	api.T.Helper()
	var result Partition
	api.call("POST", fmt.Sprintf("/v1/topics/%v/partitions/%v/layout", url.PathEscape(name), partition), body, &result)
	return result
}

// DeleteRecords: delete the records before an offset, as retention or DeleteRecords does.
func (api API) DeleteRecords(name string, partition int64, body DeleteRecords) Partition {
	api.T.Helper()
	var result Partition
	api.call("POST", fmt.Sprintf("/v1/topics/%v/partitions/%v/delete-records", url.PathEscape(name), partition), body, &result)
	return result
}

// TruncateLog: remove the records at and after an offset, as if a replica that lacked them had been elected
// leader.
func (api API) TruncateLog(name string, partition int64, body TruncateLog) Partition {
	api.T.Helper()
	var result Partition
	api.call("POST", fmt.Sprintf("/v1/topics/%v/partitions/%v/truncate", url.PathEscape(name), partition), body, &result)
	return result
}

// HoldHighWatermark: keep the high watermark from advancing, so that consumers do not see later records.
func (api API) HoldHighWatermark(name string, partition int64, body HoldHighWatermark) Partition {
	api.T.Helper()
	var result Partition
	api.call("POST", fmt.Sprintf("/v1/topics/%v/partitions/%v/hold-high-watermark", url.PathEscape(name), partition), body, &result)
	return result
}

// ReleaseHighWatermark: let the high watermark advance again. If it is not held, nothing changes.
func (api API) ReleaseHighWatermark(name string, partition int64) Partition {
	api.T.Helper()
	var result Partition
	api.call("POST", fmt.Sprintf("/v1/topics/%v/partitions/%v/hold-high-watermark/release", url.PathEscape(name), partition), nil, &result)
	return result
}

// MoveLeader: make a broker the leader of a partition, in a new leader epoch.
func (api API) MoveLeader(name string, partition int64, body MoveLeader) Partition {
	api.T.Helper()
	var result Partition
	api.call("POST", fmt.Sprintf("/v1/topics/%v/partitions/%v/move-leader", url.PathEscape(name), partition), body, &result)
	return result
}

// NewLeaderEpoch: start a new leader epoch with the same leader.
func (api API) NewLeaderEpoch(name string, partition int64) Partition {
	api.T.Helper()
	var result Partition
	api.call("POST", fmt.Sprintf("/v1/topics/%v/partitions/%v/new-leader-epoch", url.PathEscape(name), partition), nil, &result)
	return result
}

// TakeOffline: take replicas of a partition offline, as if their disk had failed.
func (api API) TakeOffline(name string, partition int64, body Replica) Partition {
	api.T.Helper()
	var result Partition
	api.call("POST", fmt.Sprintf("/v1/topics/%v/partitions/%v/take-offline", url.PathEscape(name), partition), body, &result)
	return result
}

// ReleaseOfflineReplicas: bring replicas that were taken offline back.
func (api API) ReleaseOfflineReplicas(name string, partition int64, body Replica) Partition {
	api.T.Helper()
	var result Partition
	api.call("POST", fmt.Sprintf("/v1/topics/%v/partitions/%v/take-offline/release", url.PathEscape(name), partition), body, &result)
	return result
}

// ShrinkISR: remove followers from the in-sync replicas, and hold them back so that they stay out.
func (api API) ShrinkISR(name string, partition int64, body ShrinkIsr) Partition {
	api.T.Helper()
	var result Partition
	api.call("POST", fmt.Sprintf("/v1/topics/%v/partitions/%v/shrink-isr", url.PathEscape(name), partition), body, &result)
	return result
}

// ReleaseISR: let the followers that are held back catch up and join the in-sync replicas again.
func (api API) ReleaseISR(name string, partition int64) Partition {
	api.T.Helper()
	var result Partition
	api.call("POST", fmt.Sprintf("/v1/topics/%v/partitions/%v/shrink-isr/release", url.PathEscape(name), partition), nil, &result)
	return result
}

// ListBrokers: return the brokers, running or stopped.
func (api API) ListBrokers() Brokers {
	api.T.Helper()
	var result Brokers
	api.call("GET", "/v1/brokers", nil, &result)
	return result
}

// GetBroker: return a broker, running or stopped.
func (api API) GetBroker(nodeId int64) Broker {
	api.T.Helper()
	var result Broker
	api.call("GET", fmt.Sprintf("/v1/brokers/%v", nodeId), nil, &result)
	return result
}

// StopBroker: stop a broker. Its listener closes, and other replicas become leaders of its partitions.
func (api API) StopBroker(nodeId int64) Broker {
	api.T.Helper()
	var result Broker
	api.call("POST", fmt.Sprintf("/v1/brokers/%v/stop", nodeId), nil, &result)
	return result
}

// StartBroker: start a stopped broker again, on the same port.
func (api API) StartBroker(nodeId int64) Broker {
	api.T.Helper()
	var result Broker
	api.call("POST", fmt.Sprintf("/v1/brokers/%v/start", nodeId), nil, &result)
	return result
}

// PauseBroker: suspend a broker. Connections stay open, but get no responses, and the broker does not follow
// other leaders.
func (api API) PauseBroker(nodeId int64) Broker {
	api.T.Helper()
	var result Broker
	api.call("POST", fmt.Sprintf("/v1/brokers/%v/pause", nodeId), nil, &result)
	return result
}

// ResumeBroker: let a paused broker continue. It serves the requests that have arrived, and catches up with
// other leaders.
func (api API) ResumeBroker(nodeId int64) Broker {
	api.T.Helper()
	var result Broker
	api.call("POST", fmt.Sprintf("/v1/brokers/%v/resume", nodeId), nil, &result)
	return result
}

// CutOffBroker: cut a broker off from peers, as a partition of the network does. Connections stay open, but
// carry nothing.
func (api API) CutOffBroker(nodeId int64, body Peers) Broker {
	api.T.Helper()
	var result Broker
	api.call("POST", fmt.Sprintf("/v1/brokers/%v/cut-off", nodeId), body, &result)
	return result
}

// ReconnectBroker: let a broker reach everything again. Records that other leaders do not have are truncated.
func (api API) ReconnectBroker(nodeId int64) Broker {
	api.T.Helper()
	var result Broker
	api.call("POST", fmt.Sprintf("/v1/brokers/%v/reconnect", nodeId), nil, &result)
	return result
}

// HoldReplication: stop replicas of a broker from following their leaders.
func (api API) HoldReplication(nodeId int64, body Replicas) {
	api.T.Helper()
	api.call("POST", fmt.Sprintf("/v1/brokers/%v/hold-replication", nodeId), body, nil)
}

// ReleaseReplication: undo a hold-replication with the same body. The replicas catch up before the response.
func (api API) ReleaseReplication(nodeId int64, body Replicas) {
	api.T.Helper()
	api.call("POST", fmt.Sprintf("/v1/brokers/%v/hold-replication/release", nodeId), body, nil)
}

// RefuseConnections: refuse new connections to a broker. Open connections continue.
func (api API) RefuseConnections(nodeId int64) {
	api.T.Helper()
	api.call("POST", fmt.Sprintf("/v1/brokers/%v/refuse-connections", nodeId), nil, nil)
}

// ReleaseConnections: accept new connections to a broker again.
func (api API) ReleaseConnections(nodeId int64) {
	api.T.Helper()
	api.call("POST", fmt.Sprintf("/v1/brokers/%v/refuse-connections/release", nodeId), nil, nil)
}

// FailLogDir: make a log directory of a broker fail, as if its disk broke. Other in-sync replicas become
// leaders.
func (api API) FailLogDir(nodeId int64, body LogDir) {
	api.T.Helper()
	api.call("POST", fmt.Sprintf("/v1/brokers/%v/fail-log-dir", nodeId), body, nil)
}

// ReleaseLogDir: repair a log directory that has failed, as if the broker was restarted: its logs are
// recovered.
func (api API) ReleaseLogDir(nodeId int64, body LogDir) {
	api.T.Helper()
	api.call("POST", fmt.Sprintf("/v1/brokers/%v/fail-log-dir/release", nodeId), body, nil)
}

// StopController: let no controller be active: leaders, ISRs and topics do not change, and requests for the
// controller wait.
func (api API) StopController() {
	api.T.Helper()
	api.call("POST", "/v1/controller/stop", nil, nil)
}

// StartController: let a controller be active again. It fences brokers that were lost in the meantime when
// their sessions expire.
func (api API) StartController() {
	api.T.Helper()
	api.call("POST", "/v1/controller/start", nil, nil)
}

// RollBrokers: restart every running broker, one after the other, each on the same port.
//
// After each restart, wait until the replicas of the broker are in sync.
func (api API) RollBrokers(body Roll) Brokers {
	api.T.Helper()
	var result Brokers
	api.call("POST", "/v1/roll", body, &result)
	return result
}

// ListACLs: return the ACLs, in the order of their creation. Each has one operation.
func (api API) ListACLs() Acls {
	api.T.Helper()
	var result Acls
	api.call("GET", "/v1/acls", nil, &result)
	return result
}

// AddACLs: create ACLs, and return all. Those that exist stay as they are.
func (api API) AddACLs(body Acls) Acls {
	api.T.Helper()
	var result Acls
	api.call("POST", "/v1/acls", body, &result)
	return result
}

// RemoveAclQuery: the parameters of RemoveAcl.
type RemoveAclQuery struct {
	// An ACL, as in alice:read,describe:topic:orders* or deny:*:delete:topic:*.
	Acl string `json:"acl"`
}

// RemoveAcl: delete an ACL, and return those that are left.
func (api API) RemoveAcl(parameters RemoveAclQuery) Acls {
	api.T.Helper()
	var result Acls
	api.call("DELETE", "/v1/acls"+query(parameters), nil, &result)
	return result
}

// ListUsers: return the names of the users who can log in with a password.
func (api API) ListUsers() Users {
	api.T.Helper()
	var result Users
	api.call("GET", "/v1/users", nil, &result)
	return result
}

// AddUser: create a user who can log in with PLAIN and SCRAM, or change the password. Return all names.
func (api API) AddUser(body User) Users {
	api.T.Helper()
	var result Users
	api.call("POST", "/v1/users", body, &result)
	return result
}

// RemoveUser: remove a user, and return the names of those who are left. Connections of the user stay open.
func (api API) RemoveUser(name string) Users {
	api.T.Helper()
	var result Users
	api.call("DELETE", fmt.Sprintf("/v1/users/%v", url.PathEscape(name)), nil, &result)
	return result
}

// GetClientConfigQuery: the parameters of GetClientConfig.
type GetClientConfigQuery struct {
	// The user who logs in. The default is no login.
	User *string `json:"user,omitempty"`

	// The client: java or confluent-kafka (librdkafka).
	Client *string `json:"client,omitempty"`

	// The SASL mechanism. The default is the first enabled one.
	Mechanism *string `json:"mechanism,omitempty"`

	// The listener. The default is the first one that fits.
	Listener *string `json:"listener,omitempty"`
}

// GetClientConfig: return the settings with which a client logs in and trusts the brokers. They contain the
// password.
func (api API) GetClientConfig(parameters GetClientConfigQuery) ClientConfig {
	api.T.Helper()
	var result ClientConfig
	api.call("GET", "/v1/client-config"+query(parameters), nil, &result)
	return result
}

// Reset: remove all topics, groups, transactions, faults and changed configs. All connections of clients are
// closed.
//
// The topics of the command line are created again, empty. The brokers keep their ports; stopped ones start
// again.
func (api API) Reset() {
	api.T.Helper()
	api.call("POST", "/v1/reset", nil, nil)
}

// TakeSnapshot: return a copy of the contents as a tar archive: topics, records, groups, transactions and
// configs.
func (api API) TakeSnapshot() []byte {
	api.T.Helper()
	var result []byte
	api.call("GET", "/v1/snapshot", nil, &result)
	return result
}

// Restore: replace the contents with those of a snapshot. All connections of clients are closed.
//
// A file that is not a complete snapshot of the same brokers is refused, and nothing changes. Only one file
// is accepted at a time.
func (api API) Restore(file []byte) {
	api.T.Helper()
	api.call("POST", "/v1/restore", file, nil)
}
