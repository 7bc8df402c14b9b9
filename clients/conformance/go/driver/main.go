// The driver of `kafkalet conform client` for franz-go: does what the environment variables ask for.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	notSupported = 64
	closing      = time.Second
	// The client's default; it requires that metadata may get older than this.
	metadataMinAge = 5 * time.Second
)

var (
	topic           = os.Getenv("KAFKALET_TOPIC")
	group           = os.Getenv("KAFKALET_GROUP")
	reset           = get("KAFKALET_RESET", "earliest")
	transactionalID = os.Getenv("KAFKALET_TRANSACTIONAL_ID")
	count, _        = strconv.Atoi(os.Getenv("KAFKALET_COUNT"))
)

func main() {
	fmt.Println("client franz-go", version())
	seconds, _ := strconv.ParseFloat(os.Getenv("KAFKALET_TIMEOUT_S"), 64)
	timeout := time.Duration(seconds * float64(time.Second))
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	time.AfterFunc(timeout+closing, func() {
		fmt.Println("log the client did not close within", closing, "after the timeout")
		os.Exit(1)
	})
	roles := map[string]func(context.Context) error{"produce": produce, "consume": consume, "transform": transform}
	role, supported := roles[os.Getenv("KAFKALET_ROLE")]
	if !supported {
		os.Exit(notSupported)
	}
	if err := role(ctx); errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		fmt.Println("log the timeout has passed")
		os.Exit(1)
	} else if err != nil {
		fmt.Println("error", reason(err))
		os.Exit(1)
	}
}

func produce(ctx context.Context) error {
	client, err := kgo.NewClient(append(common(), producing()...)...)
	if err != nil {
		return err
	}
	defer client.Close()
	if transactionalID != "" {
		if err := client.BeginTransaction(); err != nil {
			return err
		}
	}
	var acked atomic.Int64
	for number := range count {
		value := strconv.Itoa(number)
		record := &kgo.Record{Topic: topic, Key: []byte(value), Value: []byte(value)}
		client.Produce(ctx, record, func(record *kgo.Record, err error) {
			if err == nil {
				acked.Add(1)
				fmt.Println("acked", value, record.Partition, record.Offset)
			} else if ctx.Err() == nil { // otherwise the timeout of the task has passed, and the client did not fail
				fmt.Println("failed", value, reason(err))
			}
		})
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	complete := acked.Load() == int64(count)
	if transactionalID != "" {
		if err := client.EndTransaction(ctx, kgo.TransactionEndTry(complete)); err != nil {
			return err
		}
		if complete {
			fmt.Println("committed")
		} else {
			fmt.Println("aborted because records failed")
		}
	}
	if !complete {
		return errors.New("not all records were acknowledged")
	}
	return nil
}

func producing() []kgo.Opt {
	acks := map[string]kgo.Acks{"all": kgo.AllISRAcks(), "1": kgo.LeaderAck(), "0": kgo.NoAck()}
	options := []kgo.Opt{kgo.RequiredAcks(acks[get("KAFKALET_ACKS", "all")])}
	if get("KAFKALET_IDEMPOTENCE", "true") == "false" {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	if transactionalID != "" {
		options = append(options, kgo.TransactionalID(transactionalID))
	}
	if timeout, set := milliseconds("KAFKALET_REQUEST_TIMEOUT_MS"); set {
		options = append(options, kgo.ProduceRequestTimeout(timeout))
	}
	if timeout, set := milliseconds("KAFKALET_DELIVERY_TIMEOUT_MS"); set {
		options = append(options, kgo.RecordDeliveryTimeout(timeout))
	}
	return options
}

func common() []kgo.Opt {
	options := []kgo.Opt{kgo.SeedBrokers(strings.Split(os.Getenv("KAFKA_BOOTSTRAP_SERVERS"), ",")...)}
	if timeout, set := milliseconds("KAFKALET_REQUEST_TIMEOUT_MS"); set {
		options = append(options, kgo.RequestTimeoutOverhead(timeout))
	}
	if age, set := milliseconds("KAFKALET_METADATA_MAX_AGE_MS"); set {
		options = append(options, kgo.MetadataMaxAge(max(age, metadataMinAge)))
	}
	return options
}

func consume(ctx context.Context) error {
	client, err := kgo.NewClient(append(common(), consuming()...)...)
	if err != nil {
		return err
	}
	defer client.Close()
	for seen := 0; seen < count; {
		fetches := client.PollFetches(ctx)
		if err := finalError(fetches); err != nil {
			return err
		}
		seen += tell(fetches)
	}
	if group != "" { // the automatic commit leaves out the last poll
		if err := client.CommitUncommittedOffsets(ctx); err != nil {
			fmt.Println("log", reason(err))
		}
	}
	return nil
}

func consuming() []kgo.Opt {
	start, end, committed := kgo.NewOffset().AtStart(), kgo.NewOffset().AtEnd(), kgo.NewOffset().AtCommitted()
	options := []kgo.Opt{kgo.ConsumeTopics(topic)}
	switch {
	case reset == "latest":
		options = append(options, kgo.ConsumeResetOffset(end))
	case reset == "earliest":
		options = append(options, kgo.ConsumeResetOffset(start))
	case group == "":
		options = append(options, kgo.ConsumeStartOffset(start), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	default:
		options = append(options, kgo.ConsumeStartOffset(committed), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	}
	if os.Getenv("KAFKALET_ISOLATION") == "read_committed" {
		options = append(options, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	if group != "" {
		options = append(options, kgo.ConsumerGroup(group))
	}
	if instance := os.Getenv("KAFKALET_INSTANCE_ID"); instance != "" {
		options = append(options, kgo.InstanceID(instance))
	}
	if timeout, set := milliseconds("KAFKALET_SESSION_TIMEOUT_MS"); set {
		options = append(options, kgo.SessionTimeout(timeout))
	}
	if interval, set := milliseconds("KAFKALET_HEARTBEAT_INTERVAL_MS"); set {
		options = append(options, kgo.HeartbeatInterval(interval))
	}
	if interval, set := milliseconds("KAFKALET_AUTO_COMMIT_INTERVAL_MS"); set {
		options = append(options, kgo.AutoCommitInterval(interval))
	}
	return options
}

// transform copies the records of each poll in one transaction.
func transform(ctx context.Context) error {
	session, err := kgo.NewGroupTransactSession(append(append(common(), producing()...), consuming()...)...)
	if err != nil {
		return err
	}
	defer session.Close()
	for copied := 0; copied < count; {
		fetches := session.PollFetches(ctx)
		if err := finalError(fetches); err != nil {
			return err
		}
		if fetches.NumRecords() == 0 {
			continue
		}
		polled := tell(fetches)
		if err := session.Begin(); err != nil {
			return err
		}
		failure := kgo.AbortingFirstErrPromise(session.Client())
		fetches.EachRecord(func(record *kgo.Record) {
			output := &kgo.Record{Topic: os.Getenv("KAFKALET_OUTPUT_TOPIC"), Key: record.Key, Value: record.Value}
			session.Produce(ctx, output, failure.Promise())
		})
		failed := failure.Err()
		// After an abort, the session resumes at the committed offsets.
		committed, err := session.End(ctx, kgo.TransactionEndTry(failed == nil))
		switch {
		case err != nil:
			return err
		case committed:
			copied += polled
			fmt.Println("committed", polled)
		default:
			fmt.Println("aborted", reason(failed))
		}
	}
	return nil
}

// finalError returns the first error that is final, and logs the others, after which the client goes on (see
// Fetches.Errors).
func finalError(fetches kgo.Fetches) error {
	for _, failed := range fetches.Errors() {
		if isFinal(failed.Err) {
			return failed.Err
		}
		fmt.Println("log", reason(failed.Err))
	}
	return nil
}

func isFinal(err error) bool {
	var lost *kgo.ErrDataLoss
	var session *kgo.ErrGroupSession
	var answered *kerr.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, kerr.FencedInstanceID):
		return true
	case errors.As(err, &lost), errors.As(err, &session), errors.Is(err, kerr.UnknownServerError):
		return false
	case reset == "none": // a partition without an offset is not fetched any more
		return true
	}
	return errors.As(err, &answered) && !answered.Retriable
}

func tell(fetches kgo.Fetches) int {
	fetches.EachRecord(func(record *kgo.Record) {
		fmt.Println("record", record.Partition, record.Offset, shown(record.Value))
	})
	return fetches.NumRecords()
}

func shown(value []byte) string {
	if value == nil {
		return `\N`
	}
	var text strings.Builder
	for _, each := range value {
		if each > ' ' && each < 127 && each != '\\' {
			text.WriteByte(each)
		} else {
			fmt.Fprintf(&text, `\x%02x`, each)
		}
	}
	return text.String()
}

func reason(err error) string {
	if err == nil {
		return "the client gave no reason"
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

func get(variable, otherwise string) string {
	if value := os.Getenv(variable); value != "" {
		return value
	}
	return otherwise
}

func milliseconds(variable string) (time.Duration, bool) {
	number, err := strconv.Atoi(os.Getenv(variable))
	return time.Duration(number) * time.Millisecond, err == nil
}

func version() string {
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		if module.Path == "github.com/twmb/franz-go" {
			return module.Version
		}
	}
	return "of an unknown version"
}
