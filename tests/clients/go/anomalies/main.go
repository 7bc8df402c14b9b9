// The Go client (franz-go) of the search for anomalies. It does what tests/anomalies/worker.py does.
// Arguments: ROLE SERVERS TOPIC PARTITIONS ACKS NAME SEED.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	pause = 50 * time.Millisecond
	limit = 30 * time.Second
)

var (
	servers, topic, acks, name string
	partitions                 int
	chance                     *rand.Rand
	stopped                    = make(chan struct{})
	out                        sync.Mutex
)

func main() {
	servers, topic, acks, name = os.Args[2], os.Args[3], os.Args[5], os.Args[6]
	partitions, _ = strconv.Atoi(os.Args[4])
	seed, _ := strconv.ParseInt(os.Args[7], 10, 64)
	chance = rand.New(rand.NewSource(seed))
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(stopped)
	}()
	if os.Args[1] == "write" {
		write()
	} else {
		read()
	}
}

func isStopped() bool {
	select {
	case <-stopped:
		return true
	default:
		return false
	}
}

func report(event string, details ...any) {
	line, _ := json.Marshal(append([]any{event, time.Now().UnixMilli()}, details...))
	out.Lock()
	defer out.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

func write() {
	values, transactions := 0, 0
	for session := 1; !isStopped(); session++ {
		producerName := fmt.Sprintf("%s-p%d", name, session)
		transactional := session%2 == 0
		if err := session_(producerName, transactional, &values, &transactions); err != nil {
			report("log", producerName+": "+err.Error())
		}
	}
}

// session_ writes with one producer for a while, or until it fails.
func session_(producerName string, transactional bool, values, transactions *int) error {
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(servers, ",")...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RecordDeliveryTimeout(20 * time.Second),
		kgo.ProducerLinger(0),
	}
	if transactional {
		options = append(options, kgo.TransactionalID(name), kgo.TransactionTimeout(10*time.Second))
	} else if acks == "1" {
		options = append(options, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	}
	producer, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer producer.Close()
	ends := time.Now().Add(3*time.Second + time.Duration(chance.Intn(12_000))*time.Millisecond)
	for !isStopped() && time.Now().Before(ends) {
		time.Sleep(pause)
		var transaction any
		if transactional {
			*transactions++
			transaction = fmt.Sprintf("%s-x%d", name, *transactions)
			if err := producer.BeginTransaction(); err != nil {
				return err
			}
		}
		if err := step(producer, producerName, transaction, values); err != nil {
			return err
		}
	}
	return nil
}

// step sends a few records, and commits or aborts their transaction, if there is one.
func step(producer *kgo.Client, producerName string, transaction any, values *int) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var failed error
	for left := []int{1, 2, 5}[chance.Intn(3)]; left > 0; left-- {
		*values++
		value := fmt.Sprintf("%s-%d", name, *values)
		partition := int32(chance.Intn(partitions))
		report("send", value, partition, producerName, transaction)
		record := &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)}
		producer.Produce(ctx, record, func(sent *kgo.Record, err error) {
			if err == nil {
				report("acked", value, sent.Offset)
			} else {
				failed = err
			}
		})
	}
	if err := producer.Flush(ctx); err != nil {
		return err
	}
	if transaction == nil {
		return failed
	}
	if failed != nil || chance.Intn(10) < 3 {
		if err := producer.EndTransaction(ctx, kgo.TryAbort); err != nil {
			return err
		}
		return failed
	}
	report("commit", transaction)
	if err := producer.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return err
	}
	report("committed", transaction)
	return nil
}

func consumer(options ...kgo.Opt) *kgo.Client {
	options = append(options,
		kgo.SeedBrokers(strings.Split(servers, ",")...),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(500*time.Millisecond),
	)
	made, err := kgo.NewClient(options...)
	if err != nil {
		panic(err)
	}
	return made
}

func fixedConsumer() *kgo.Client {
	all := map[int32]kgo.Offset{}
	for partition := 0; partition < partitions; partition++ {
		all[int32(partition)] = kgo.NewOffset().AtStart()
	}
	return consumer(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: all}))
}

func groupMember() *kgo.Client {
	return consumer(
		kgo.ConsumerGroup("readers"),
		kgo.ConsumeTopics(topic),
		kgo.Balancers(kgo.RangeBalancer()),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.SessionTimeout(6*time.Second),
		kgo.HeartbeatInterval(time.Second),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
}

func read() {
	member := groupMember()
	defer member.Close()
	for session := 1; !isStopped(); session++ {
		fixed := fixedConsumer()
		ends := time.Now().Add(6*time.Second + time.Duration(chance.Intn(24_000))*time.Millisecond)
		for !isStopped() && time.Now().Before(ends) {
			poll(fixed).EachRecord(func(record *kgo.Record) {
				report("poll", fmt.Sprintf("%s-c%d", name, session), record.Partition, record.Offset, string(record.Value))
			})
			records := poll(member)
			records.EachRecord(func(record *kgo.Record) {
				report("member", record.Partition, record.Offset, string(record.Value))
			})
			if !records.Empty() {
				ctx, cancel := context.WithTimeout(context.Background(), limit)
				if err := member.CommitUncommittedOffsets(ctx); err != nil {
					report("log", "commit: "+err.Error())
				}
				cancel()
			}
			member.AllowRebalance()
		}
		fixed.Close()
	}
}

func poll(client *kgo.Client) kgo.Fetches {
	ctx, cancel := context.WithTimeout(context.Background(), pause)
	defer cancel()
	return client.PollFetches(ctx)
}
