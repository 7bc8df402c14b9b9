// Package kafkalet starts a kafkalet broker for Go tests as a separate process on a free port, and controls it.
//
//	var broker *kafkalet.Broker
//
//	func TestMain(m *testing.M) {
//		os.Exit(kafkalet.Run(m, kafkalet.Options{Topics: []string{"orders:6"}}, &broker))
//	}
//
//	func TestOrderIsPublished(t *testing.T) {
//		client, err := kgo.NewClient(kgo.SeedBrokers(broker.BootstrapServers()))
//		...
//		orders := broker.Topic("orders").WaitFor(t, 1, kafkalet.Match{Key: []byte("7")})
//
// Methods that take a testing.TB end the test with t.Fatal if they fail. A wait that times out fails with a message
// that shows what happened instead. These methods must be called in the goroutine of the test, like t.Fatal.
//
// The broker is a process of the command that command.go finds. It also stops if the test process ends in any other way,
// even if it is killed (except on Windows).
package kafkalet

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"kafkalet/api"
)

const ready = "kafkalet ready bootstrap="

// Options are the options of a broker. The zero value is one broker without topics.
type Options struct {
	// Topics to create, each as NAME[:PARTITIONS[:KEY=VALUE,...]], for example "orders:6".
	Topics []string
	// Properties of the brokers, by their Kafka names.
	Properties map[string]string
	// Version is the release of Apache Kafka to emulate, for example "3.9". By default, every version is accepted.
	Version string
	// Brokers is the number of brokers; 0 means one.
	Brokers int
	// Arguments are further arguments of `kafkalet serve`.
	Arguments []string
	// StartTimeout limits the time that Start waits for the broker; 0 means 30 seconds.
	StartTimeout time.Duration
	// Command runs kafkalet, for example "/opt/venv/bin/python", "-m", "kafkalet".
	Command []string
	// PYZ is the path of kafkalet.pyz, which then runs instead of the program kafkalet on PATH.
	PYZ string
}

// Broker is a running broker, or several.
type Broker struct {
	command          *exec.Cmd
	bootstrapServers string
	controlURL       string
	client           *http.Client
	stopped          sync.Once
}

// Run starts a broker, sets *broker, runs the tests of a package, stops the broker and returns the exit code.
func Run(tests interface{ Run() int }, options Options, broker **Broker) int {
	started, err := Start(options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer started.Stop()
	*broker = started
	return tests.Run()
}

// ForTest starts a broker that stops at the end of the test. The test fails if it does not start.
func ForTest(t testing.TB, options Options) *Broker {
	t.Helper()
	broker, err := Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Stop)
	return broker
}

// Start starts a broker and waits until it accepts connections.
func Start(options Options) (*Broker, error) {
	words, err := options.findCommand()
	if err != nil {
		return nil, err
	}
	words = append(words, options.arguments()...)
	log := &tail{}
	command := exec.Command(words[0], words[1:]...)
	command.Stderr = io.MultiWriter(os.Stderr, log)
	stdout, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot run kafkalet: %w", err)
	}

	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		lines <- line
	}()
	timeout := options.StartTimeout
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	select {
	case line := <-lines:
		if addresses, found := strings.CutPrefix(strings.TrimSpace(line), ready); found {
			bootstrapServers, controlURL, _ := strings.Cut(addresses, " control=")
			client := &http.Client{Transport: &http.Transport{}}
			return &Broker{command: command, bootstrapServers: bootstrapServers, controlURL: controlURL, client: client}, nil
		}
		err = command.Wait()
		return nil, fmt.Errorf("kafkalet ended before it was ready (%v): %s", err, log.lastLine())
	case <-time.After(timeout):
		stop(command)
		return nil, fmt.Errorf("kafkalet was not ready within %v", timeout)
	}
}

// BootstrapServers returns the address of every broker as host:port, separated by commas.
func (broker *Broker) BootstrapServers() string {
	return broker.bootstrapServers
}

// Stop stops the broker and waits for its process to end.
func (broker *Broker) Stop() {
	broker.stopped.Do(func() {
		broker.client.CloseIdleConnections()
		stop(broker.command)
	})
}

// API returns all operations of the control API as methods. They end the test with t.Fatal if they fail.
func (broker *Broker) API(t testing.TB) api.API {
	return api.API{T: t, Call: broker.Control}
}

// Control calls a path of the control API, which begins with /v1 and may have a query. The body is sent as JSON, unless
// it is nil or []byte. The response is decoded into result, unless result is nil or *[]byte. If the broker refuses the
// call, Control returns an *Error.
//
// If the environment variable KAFKALET_CONTROL_TOKEN is set, the broker requires it, and Control sends it.
func (broker *Broker) Control(method, path string, body, result any) error {
	content, isFile := body.([]byte)
	contentType := "application/octet-stream"
	if body != nil && !isFile {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content, contentType = encoded, "application/json"
	}
	data, err := broker.send(method, path, contentType, content)
	if file, isFile := result.(*[]byte); isFile {
		*file = data
		return err
	}
	if err != nil || result == nil || len(data) == 0 {
		return err
	}
	return json.Unmarshal(data, result)
}

// Error is the response to a call that the broker refused.
type Error struct {
	// Status is the HTTP status; 408 is a wait that timed out.
	Status int
	// Code is the name of a Kafka error, such as "TOPIC_ALREADY_EXISTS", or of an HTTP error, such as "not_found".
	Code string
	// Message says what happened. For a wait that timed out, it shows the records that did.
	Message string
}

// Error returns the message.
func (failure *Error) Error() string {
	return failure.Message
}

func (broker *Broker) send(method, path, contentType string, body []byte) ([]byte, error) {
	request, err := http.NewRequest(method, broker.controlURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", contentType)
	if token := os.Getenv("KAFKALET_CONTROL_TOKEN"); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := broker.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode < 300 {
		return data, err
	}
	var failed struct{ Error Error }
	if json.Unmarshal(data, &failed) != nil || failed.Error.Message == "" {
		failed.Error.Message = fmt.Sprintf("%s %s: %s", method, path, response.Status)
	}
	failed.Error.Status = response.StatusCode
	return nil, &failed.Error
}

func (broker *Broker) control(t testing.TB, method, path string, body, result any) {
	t.Helper()
	if err := broker.Control(method, path, body, result); err != nil {
		t.Fatal(err)
	}
}

// seconds returns a timeout of the API; 0 means the broker's default, 10 seconds.
func seconds(timeout time.Duration) *float64 {
	if timeout == 0 {
		return nil
	}
	return api.Ptr(timeout.Seconds())
}

// Settle waits until no request is in progress, no group with members has a lag and no transaction is open. After that,
// a record that is missing will not arrive. A timeout of 0 means 10 seconds.
func (broker *Broker) Settle(t testing.TB, timeout time.Duration) {
	t.Helper()
	broker.API(t).Settle(api.Settle{Timeout: seconds(timeout)})
}

// Topic is a topic, which need not exist, or one of its partitions.
type Topic struct {
	broker    *Broker
	name      string
	partition *int
}

// Header is a header of a record.
type Header struct {
	Name  string `json:"name"`
	Value []byte `json:"value"`
}

// Message is a record to send.
type Message struct {
	// Key and Value may be nil. A record without a value is a tombstone.
	Key, Value []byte
	Headers    []Header
	// Timestamp of the record; the zero value means the broker's current time.
	Timestamp time.Time
}

// Values returns messages with these values and without keys.
func Values(values ...string) []Message {
	messages := make([]Message, len(values))
	for index, value := range values {
		messages[index].Value = []byte(value)
	}
	return messages
}

// Position is the position of a record in a topic.
type Position = api.SentRecord

// Record is a record in the log of a topic.
type Record struct {
	Topic     string `json:"topic"`
	Partition int    `json:"partition"`
	Offset    int64  `json:"offset"`
	// TimestampMs is the number of milliseconds since 1970, or -1 if the record has no timestamp.
	TimestampMs int64    `json:"timestamp"`
	Key         []byte   `json:"key"`
	Value       []byte   `json:"value"`
	Headers     []Header `json:"headers"`
}

// Mark is a position in a topic. Only the broker reads it.
type Mark string

// Isolation determines whether consumers receive records of open and aborted transactions.
type Isolation string

// The isolation levels of consumers.
const (
	ReadUncommitted Isolation = "read_uncommitted"
	ReadCommitted   Isolation = "read_committed"
)

// Read selects the records to read. The zero value selects all records.
type Read struct {
	// Isolation is ReadUncommitted unless it is set.
	Isolation Isolation
	// Since skips the records before a mark.
	Since Mark
	// Offset is the first offset to read in each partition, unless Since is set.
	Offset int64
	// Limit is the largest number of records per partition; 0 means all.
	Limit int
}

// Match selects the records to wait for. A record must meet all conditions; the zero value matches any record.
type Match struct {
	// Key and Value of the records; nil matches any.
	Key, Value []byte
	// Contains is a text that the values of the records contain.
	Contains string
	// Isolation is ReadUncommitted unless it is set.
	Isolation Isolation
	// Since skips the records before a mark.
	Since Mark
	// Timeout of the wait; 0 means 10 seconds.
	Timeout time.Duration
}

// Topic returns a topic, which need not exist.
func (broker *Broker) Topic(name string) Topic {
	return Topic{broker: broker, name: name}
}

// Partition returns a Topic whose methods apply only to this partition.
func (topic Topic) Partition(partition int) Topic {
	topic.partition = &partition
	return topic
}

func (topic Topic) path(rest string) string {
	return "/v1/topics/" + url.PathEscape(topic.name) + rest
}

// Create creates the topic with a number of partitions and, unless it is nil, a config. It returns the topic.
func (topic Topic) Create(t testing.TB, partitions int, config map[string]string) Topic {
	t.Helper()
	topic.broker.API(t).CreateTopic(api.NewTopic{Name: topic.name, Partitions: api.Ptr(int64(partitions)), Config: config})
	return topic
}

// Send appends records as a producer with acks=all does, in one batch for each partition. The key determines
// the partition, unless Partition has restricted the topic to one. A topic that does not exist is created.
func (topic Topic) Send(t testing.TB, messages ...Message) []Position {
	t.Helper()
	records := make([]map[string]any, len(messages))
	for index, message := range messages {
		records[index] = topic.fields(message)
	}
	var sent struct{ Records []Position }
	topic.broker.control(t, "POST", topic.path("/records"), map[string]any{"records": records}, &sent)
	return sent.Records
}

func (topic Topic) fields(message Message) map[string]any {
	headers := make([]map[string]any, len(message.Headers))
	for index, header := range message.Headers {
		headers[index] = map[string]any{"name": header.Name, "value": header.Value, "value_encoding": "base64"}
	}
	fields := map[string]any{
		"key": message.Key, "key_encoding": "base64",
		"value": message.Value, "value_encoding": "base64",
		"headers": headers, "partition": topic.partition,
	}
	if !message.Timestamp.IsZero() {
		fields["timestamp"] = message.Timestamp.UnixMilli()
	}
	return fields
}

// Mark returns the current end of the topic, for Read.Since and Match.Since.
func (topic Topic) Mark(t testing.TB) Mark {
	t.Helper()
	return Mark(topic.broker.API(t).MarkTopic(topic.name).Mark)
}

// Records returns the records that a consumer can receive now, by partition and offset.
func (topic Topic) Records(t testing.TB, read Read) []Record {
	t.Helper()
	records := []Record{}
	limit := read.Limit
	if limit == 0 {
		limit = math.MaxInt
	}
	get := func(partition *int, offset int64, since Mark, count int) map[int]int64 {
		t.Helper()
		query := url.Values{"encoding": {"base64"}, "limit": {strconv.Itoa(min(count, 100_000))}}
		if since != "" {
			query.Set("since", string(since))
		} else {
			query.Set("offset", strconv.FormatInt(offset, 10))
		}
		if partition != nil {
			query.Set("partition", strconv.Itoa(*partition))
		}
		if read.Isolation != "" {
			query.Set("isolation", string(read.Isolation))
		}
		var page struct {
			Records     []Record
			NextOffsets map[int]int64 `json:"next_offsets"`
			HasMore     bool          `json:"has_more"`
		}
		topic.broker.control(t, "GET", topic.path("/records?"+query.Encode()), nil, &page)
		records = append(records, page.Records...)
		if !page.HasMore {
			return nil
		}
		return page.NextOffsets
	}

	rest := get(topic.partition, read.Offset, read.Since, limit)
	for len(rest) > 0 { // large topics are read in several parts
		part := rest
		rest = map[int]int64{}
		for partition, offset := range part {
			read := 0
			for _, record := range records {
				if record.Partition == partition {
					read++
				}
			}
			if read < limit && (topic.partition == nil || *topic.partition == partition) {
				maps.Copy(rest, get(&partition, offset, "", limit-read))
			}
		}
	}
	slices.SortStableFunc(records, func(a, b Record) int { return a.Partition - b.Partition })
	return records
}

// Values returns the values of Records as strings; the value of a tombstone is an empty string.
func (topic Topic) Values(t testing.TB, read Read) []string {
	t.Helper()
	values := []string{}
	for _, record := range topic.Records(t, read) {
		values = append(values, string(record.Value))
	}
	return values
}

// WaitFor waits until n records match, and returns the first n, by partition and offset. Records that are in the topic
// already count. If they do not arrive in time, the test fails with a message that shows the records that did.
func (topic Topic) WaitFor(t testing.TB, n int, match Match) []Record {
	t.Helper()
	body := map[string]any{
		"n": n, "partition": topic.partition, "encoding": "base64",
		"key": match.Key, "key_encoding": "base64", "value": match.Value, "value_encoding": "base64",
	}
	if match.Contains != "" {
		body["value_contains"] = match.Contains
	}
	if match.Isolation != "" {
		body["isolation"] = match.Isolation
	}
	if match.Since != "" {
		body["since"] = match.Since
	}
	var found struct{ Records []Record }
	if timeout := seconds(match.Timeout); timeout != nil {
		body["timeout"] = *timeout
	}
	topic.broker.control(t, "POST", topic.path("/wait"), body, &found)
	return found.Records
}

// Group is a consumer group.
type Group struct {
	broker *Broker
	id     string
}

// GroupState is a snapshot of the state of a group.
type GroupState struct {
	api.Group
}

// Committed returns the committed offset of a partition, or -1 if there is none.
func (state GroupState) Committed(topic string, partition int) int64 {
	for _, offset := range state.Offsets {
		if offset.Topic == topic && offset.Partition == int64(partition) && offset.Committed != nil {
			return *offset.Committed
		}
	}
	return -1
}

// Group returns a consumer group, which need not exist.
func (broker *Broker) Group(id string) Group {
	return Group{broker: broker, id: id}
}

// State returns the state, members, committed offsets and lag of the group.
func (group Group) State(t testing.TB) GroupState {
	t.Helper()
	return GroupState{group.broker.API(t).GetGroup(group.id)}
}

// WaitForLag waits until the lag is at most lag. A timeout of 0 means 10 seconds.
func (group Group) WaitForLag(t testing.TB, lag int64, timeout time.Duration) GroupState {
	t.Helper()
	return GroupState{group.broker.API(t).WaitForLag(group.id, api.WaitForLag{Lag: lag, Timeout: seconds(timeout)})}
}

// WaitUntilStable waits until the group has a number of members, all with their assignments; 0 means at least one. A
// timeout of 0 means 10 seconds.
func (group Group) WaitUntilStable(t testing.TB, members int, timeout time.Duration) GroupState {
	t.Helper()
	wait := api.WaitUntilStable{Timeout: seconds(timeout)}
	if members != 0 {
		wait.Members = api.Ptr(int64(members))
	}
	return GroupState{group.broker.API(t).WaitUntilStable(group.id, wait)}
}

// Evict removes a member, given by its member id or group.instance.id, as if its session had timed out.
func (group Group) Evict(t testing.TB, member string) GroupState {
	t.Helper()
	return GroupState{group.broker.API(t).EvictMember(group.id, api.EvictMember{MemberID: member})}
}

// Seek commits an offset for all partitions of a topic. The group must have no members; it need not exist.
func (group Group) Seek(t testing.TB, topic string, offset int64) GroupState {
	t.Helper()
	return GroupState{group.broker.API(t).SeekGroup(group.id, api.SeekGroup{Topic: &topic, Offset: offset})}
}

// SeekToTime commits, for all partitions of a topic, the offset of the first record at or after this timestamp.
func (group Group) SeekToTime(t testing.TB, topic string, timestamp time.Time) GroupState {
	t.Helper()
	seek := api.SeekGroup{Topic: &topic, Timestamp: api.Ptr(timestamp.UnixMilli())}
	return GroupState{group.broker.API(t).SeekGroup(group.id, seek)}
}

// ShareGroup is a share group (KIP-932).
type ShareGroup struct {
	broker *Broker
	id     string
}

// ShareGroup returns a share group, which need not exist.
func (broker *Broker) ShareGroup(id string) ShareGroup {
	return ShareGroup{broker: broker, id: id}
}

// State returns the state, members, start offsets and lag of the group, and the number of records in each state.
func (group ShareGroup) State(t testing.TB) api.ShareGroup {
	t.Helper()
	return group.broker.API(t).GetShareGroup(group.id)
}

// Records returns the records with their deliveries. state is "available", "acquired", "acknowledged", "archived", or
// "" for all.
func (group ShareGroup) Records(t testing.TB, state string) []api.ShareRecord {
	t.Helper()
	options := api.ReadShareGroupRecordsQuery{}
	if state != "" {
		options.State = &state
	}
	return group.broker.API(t).ReadShareGroupRecords(group.id, options).Records
}

// ExpireLocks ends the acquisition locks of all records now, and returns how many there were.
func (group ShareGroup) ExpireLocks(t testing.TB) int64 {
	t.Helper()
	return group.broker.API(t).ExpireLocks(group.id, api.ExpireLocks{}).Expired
}

// WaitForAcknowledged waits until at least n records are acknowledged. A timeout of 0 means 10 seconds.
func (group ShareGroup) WaitForAcknowledged(t testing.TB, n int64, timeout time.Duration) api.ShareGroup {
	t.Helper()
	return group.broker.API(t).WaitForShareGroup(
		group.id, api.WaitForShareGroup{Acknowledged: &n, Timeout: seconds(timeout)})
}

// Seek sets the start offset of all partitions of a topic. The group must have no members; it need not exist.
func (group ShareGroup) Seek(t testing.TB, topic string, offset int64) api.ShareGroup {
	t.Helper()
	return group.broker.API(t).SeekShareGroup(group.id, api.SeekShareGroup{Topic: &topic, Offset: offset})
}

// Transaction is a transaction without a client.
type Transaction struct {
	broker *Broker
	id     string
	ended  bool
}

// OpenTransaction begins a transaction without a client. It fences an older producer with the transactional id. It is
// aborted at the end of the test, unless Commit or Abort was called.
func (broker *Broker) OpenTransaction(t testing.TB, transactionalID string) *Transaction {
	t.Helper()
	transaction := &Transaction{broker: broker, id: transactionalID}
	broker.API(t).BeginTransaction(transactionalID, api.BeginTransaction{})
	t.Cleanup(func() {
		if !transaction.ended {
			transaction.Abort(t)
		}
	})
	return transaction
}

// Send appends records to a topic in the transaction.
func (transaction *Transaction) Send(t testing.TB, topic Topic, messages ...Message) {
	t.Helper()
	for _, message := range messages {
		fields := topic.fields(message)
		fields["topic"] = topic.name
		path := "/v1/transactions/" + url.PathEscape(transaction.id) + "/records"
		transaction.broker.control(t, "POST", path, fields, nil)
	}
}

// Commit commits the transaction, and waits until all markers are written.
func (transaction *Transaction) Commit(t testing.TB) {
	t.Helper()
	transaction.ended = true
	transaction.broker.API(t).CommitTransaction(transaction.id)
}

// Abort aborts the transaction, and waits until all markers are written.
func (transaction *Transaction) Abort(t testing.TB) {
	t.Helper()
	transaction.ended = true
	transaction.broker.API(t).AbortTransaction(transaction.id, api.AbortTransaction{})
}

// Fault is a fault that is set.
type Fault struct {
	broker  *Broker
	id      int64
	removed bool
}

// Fault sets a fault for the requests of an API, such as "Produce"; an empty API means all. The fault is removed at the
// end of the test, unless Remove was called. The test fails if the fault has fired less often than expected.
func (broker *Broker) Fault(t testing.TB, requests string, options api.NewFault) *Fault {
	t.Helper()
	if requests != "" {
		options.API = requests
	}
	state := broker.API(t).AddFault(options)
	fault := &Fault{broker: broker, id: state.ID}
	t.Cleanup(func() { fault.Remove(t) })
	return fault
}

// Fired returns how often the fault has fired. It must not have been removed.
func (fault *Fault) Fired(t testing.TB) int {
	t.Helper()
	return int(fault.broker.API(t).GetFault(fault.id).Fired)
}

// Wait waits until the fault has fired n times. A timeout of 0 means 10 seconds.
func (fault *Fault) Wait(t testing.TB, n int, timeout time.Duration) {
	t.Helper()
	fault.broker.API(t).WaitForFault(fault.id, api.WaitForFault{N: api.Ptr(int64(n)), Timeout: seconds(timeout)})
}

// Release handles the requests that the fault holds.
func (fault *Fault) Release(t testing.TB) {
	t.Helper()
	fault.broker.API(t).ReleaseFault(fault.id)
}

// Remove removes the fault; a second call has no effect. The test fails if the fault has fired less often
// than expected, unless the test has failed already or was skipped.
func (fault *Fault) Remove(t testing.TB) {
	t.Helper()
	if fault.removed {
		return
	}
	fault.removed = true
	var state api.Fault
	if err := fault.broker.Control("DELETE", fmt.Sprintf("/v1/faults/%d", fault.id), nil, &state); err != nil {
		t.Error(err)
	} else if state.Unfired != nil && !t.Failed() && !t.Skipped() {
		t.Error(*state.Unfired)
	}
}

// Clock is the clock of the brokers.
type Clock struct {
	broker *Broker
}

// Clock returns the clock of the brokers: real time plus an offset.
func (broker *Broker) Clock() Clock {
	return Clock{broker}
}

// Now returns the time of the brokers.
func (clock Clock) Now(t testing.TB) time.Time {
	t.Helper()
	return time.UnixMilli(clock.broker.API(t).GetClock().NowMs)
}

// Advance advances the clock, and runs everything that becomes due: retention, timeouts, expiration. Sessions of
// clients do not expire.
func (clock Clock) Advance(t testing.TB, duration time.Duration) {
	t.Helper()
	clock.broker.API(t).AdvanceClock(api.AdvanceClock{Seconds: duration.Seconds()})
}

// AdvanceWithSessions is like Advance, but sessions of members also expire, and long polls end.
func (clock Clock) AdvanceWithSessions(t testing.TB, duration time.Duration) {
	t.Helper()
	clock.broker.API(t).AdvanceClock(api.AdvanceClock{Seconds: duration.Seconds(), Sessions: true})
}

func stop(command *exec.Cmd) {
	if command.Process.Signal(os.Interrupt) != nil { // Windows has no such signal
		_ = command.Process.Kill()
	}
	_ = command.Wait()
}

func (options Options) arguments() []string {
	arguments := []string{"serve", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0", "--log-level", "warning"}
	if runtime.GOOS != "windows" {
		arguments = append(arguments, "--exit-with-parent")
	}
	for _, topic := range options.Topics {
		arguments = append(arguments, "--topic", topic)
	}
	for name, value := range options.Properties {
		arguments = append(arguments, "--set", name+"="+value)
	}
	if options.Version != "" {
		arguments = append(arguments, "--kafka-version", options.Version)
	}
	if options.Brokers != 0 {
		arguments = append(arguments, "--brokers", strconv.Itoa(options.Brokers))
	}
	return append(arguments, options.Arguments...)
}

// tail keeps the end of the log, whose last line says why a broker did not start.
type tail struct {
	text string
}

func (log *tail) Write(data []byte) (int, error) {
	log.text += string(data)
	log.text = log.text[max(0, len(log.text)-10_000):]
	return len(data), nil
}

func (log *tail) lastLine() string {
	text := strings.TrimSpace(log.text)
	return text[strings.LastIndex(text, "\n")+1:]
}
