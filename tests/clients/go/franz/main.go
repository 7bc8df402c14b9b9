// franz BOOTSTRAP PREFIX: what every client does in these tests, with franz-go.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"kafkalet/clients/step"
)

const count = 1000

var (
	ctx, _        = context.WithTimeout(context.Background(), 2*time.Minute) //nolint:govet // ends with the program
	servers       string
	name          string
	topic         string
	admin         *kadm.Client
	base          = time.Now().UnixMilli() - 1_000_000
	sent          = map[int32][]int{} // numbers of the records of each partition, in order of their offsets
	fromBeginning = kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())
)

func main() {
	servers, name = os.Args[1], os.Args[2]
	topic = name + "-records"
	fmt.Println("   franz-go", step.Version("github.com/twmb/franz-go"))
	admin = kadm.NewClient(client())
	step.Run("create", create)
	step.Run("produce", produce)
	step.Run("resume", resume)
	step.Run("rebalance", rebalance)
	step.Run("times", times)
	step.Run("transactions", transactions)
	step.Run("offsets in a transaction", offsetsInTransaction)
	step.Run("fencing", fencing)
	step.Run("delete records", deleteRecords)
	step.Run("codecs", codecs)
	step.Run("describe", describe)
	step.Run("delete", remove)
	step.Run("unknown topic", unknownTopic)
	step.Run("out of range", outOfRange)
	admin.Close()
}

func client(more ...kgo.Opt) *kgo.Client {
	quick := kgo.MetadataMinAge(20 * time.Millisecond) // what it knows of topics is soon asked again
	return step.Must(kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(servers), quick}, more...)...))
}

func createTopic(topic string, partitions int32, configs map[string]*string) error {
	answer, err := admin.CreateTopic(ctx, partitions, 1, configs, topic)
	if err == nil {
		err = answer.Err
	}
	if err == nil {
		step.Await("topic "+topic, func() bool { return step.Must(admin.ListTopics(ctx)).Has(topic) })
	}
	return err
}

func create() {
	step.Check(createTopic(topic, 3, map[string]*string{"retention.ms": kadm.StringPtr("86400000")}))
	step.Same("partitions", 3, len(step.Must(admin.ListTopics(ctx, topic))[topic].Partitions))
	step.Refused(createTopic(topic, 3, nil), kerr.TopicAlreadyExists)
}

func produce() {
	producer := client(kgo.ProducerLinger(5 * time.Millisecond))
	defer producer.Close()
	records := make([]*kgo.Record, count)
	for n := range records {
		records[n] = &kgo.Record{
			Topic: topic, Timestamp: time.UnixMilli(base + int64(n)),
			Key: []byte(fmt.Sprint("key ", n%100)), Value: []byte(fmt.Sprint("value ", n)),
			Headers: []kgo.RecordHeader{{Key: "number", Value: []byte(fmt.Sprint(n))}, {Key: "nothing"}},
		}
	}
	step.Check(producer.ProduceSync(ctx, records...).FirstErr())
	for n, record := range records {
		step.Same("offset", int64(len(sent[record.Partition])), record.Offset)
		sent[record.Partition] = append(sent[record.Partition], n)
	}
	step.Same("partitions with records", 3, len(sent))
}

// member is in a group, and knows what it was given.
type member struct {
	*kgo.Client
	mutex    sync.Mutex
	assigned map[int32]bool
}

// join starts a member; it waits for an assignment of all partitions where it is the only one.
func join(group string, alone bool, more ...kgo.Opt) *member {
	joined := &member{assigned: map[int32]bool{}}
	take := func(_ context.Context, _ *kgo.Client, taken map[string][]int32) { joined.change(taken[topic], true) }
	give := func(_ context.Context, _ *kgo.Client, given map[string][]int32) { joined.change(given[topic], false) }
	start := time.Now()
	joined.Client = client(append([]kgo.Opt{
		kgo.ConsumerGroup(name + "-" + group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(), fromBeginning,
		kgo.HeartbeatInterval(200 * time.Millisecond),
		kgo.OnPartitionsAssigned(take), kgo.OnPartitionsRevoked(give), kgo.OnPartitionsLost(give),
	}, more...)...)
	if alone {
		step.Await("an assignment", func() bool { return len(joined.partitions()) == 3 })
		fmt.Printf("   assigned after %d ms\n", time.Since(start).Milliseconds())
	}
	return joined
}

func (joined *member) change(partitions []int32, assigned bool) {
	joined.mutex.Lock()
	defer joined.mutex.Unlock()
	for _, partition := range partitions {
		if assigned {
			joined.assigned[partition] = true
		} else {
			delete(joined.assigned, partition)
		}
	}
}

func (joined *member) partitions() map[int32]bool {
	joined.mutex.Lock()
	defer joined.mutex.Unlock()
	partitions := map[int32]bool{}
	for partition := range joined.assigned {
		partitions[partition] = true
	}
	return partitions
}

func (joined *member) poll(limit int) []*kgo.Record {
	fetches := joined.PollRecords(ctx, limit)
	for _, failure := range fetches.Errors() {
		step.Check(failure.Err)
	}
	return fetches.Records()
}

func resume() {
	var read []*kgo.Record
	one := join("group", true)
	for len(read) < 400 {
		read = append(read, one.poll(400-len(read))...)
	}
	step.Check(one.CommitRecords(ctx, read...))
	one.Close()
	two := join("group", true)
	for len(read) < count {
		read = append(read, two.poll(count)...)
	}
	step.Check(two.CommitRecords(ctx, read...))
	two.Close()
	step.Same("records read", count, len(read))
	for _, record := range read {
		n := sent[record.Partition][record.Offset]
		step.Same("key", fmt.Sprint("key ", n%100), string(record.Key))
		step.Same("value", fmt.Sprint("value ", n), string(record.Value))
		step.Same("timestamp", base+int64(n), record.Timestamp.UnixMilli())
		step.Same("headers", []kgo.RecordHeader{{Key: "number", Value: []byte(fmt.Sprint(n))}, {Key: "nothing"}},
			record.Headers)
	}
	for partition, numbers := range sent {
		step.Same("committed", int64(len(numbers)), committed("group", partition))
	}
	three := join("group", true)
	defer three.Close()
	little, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	step.Same("records after a restart", 0, three.PollFetches(little).NumRecords())
}

func committed(group string, partition int32) int64 {
	found, ok := step.Must(admin.FetchOffsets(ctx, name+"-"+group)).Lookup(topic, partition)
	if !ok {
		return -1
	}
	step.Check(found.Err)
	return found.At
}

func rebalance() {
	one := join("pair", true)
	defer one.Close()
	two := join("pair", false)
	step.Await("two members share", func() bool {
		first, second := one.partitions(), two.partitions()
		together := len(first) + len(second)
		for partition := range second {
			first[partition] = true
		}
		return together == 3 && len(first) == 3 && len(second) > 0 && len(second) < 3
	})
	two.Close()
	step.Await("one member has all", func() bool { return len(one.partitions()) == 3 })
}

func offset(listed kadm.ListedOffsets, topic string, partition int32) kadm.ListedOffset {
	found, ok := listed.Lookup(topic, partition)
	step.Holds("an answer", ok)
	step.Check(found.Err)
	return found
}

func times() {
	listed := step.Must(admin.ListOffsetsAfterMilli(ctx, base+500, topic))
	starts, ends := step.Must(admin.ListStartOffsets(ctx, topic)), step.Must(admin.ListEndOffsets(ctx, topic))
	for partition, numbers := range sent {
		first := 0
		for numbers[first] < 500 {
			first++
		}
		found := offset(listed, topic, partition)
		step.Same("offset by time", int64(first), found.Offset)
		step.Same("its time", base+int64(numbers[first]), found.Timestamp)
		step.Same("beginning", int64(0), offset(starts, topic, partition).Offset)
		step.Same("end", int64(len(numbers)), offset(ends, topic, partition).Offset)
	}
	none := step.Must(admin.ListOffsetsAfterMilli(ctx, base+900_000, topic))
	step.Same("no such time", int64(-1), offset(none, topic, 0).Timestamp)
}

func stable(topic string) int64 {
	return offset(step.Must(admin.ListCommittedOffsets(ctx, topic)), topic, 0).Offset
}
func end(topic string) int64 {
	return offset(step.Must(admin.ListEndOffsets(ctx, topic)), topic, 0).Offset
}

// read gives the values of partition 0 from an offset up to another.
func read(topic string, isolation kgo.IsolationLevel, from, to int64) []string {
	at := map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(from)}}
	reader := client(kgo.ConsumePartitions(at), kgo.FetchIsolationLevel(isolation), kgo.KeepControlRecords())
	defer reader.Close()
	values := []string{}
	for next := from; next < to; {
		fetches := reader.PollFetches(ctx)
		step.Check(fetches.Err())
		fetches.EachRecord(func(record *kgo.Record) {
			next = record.Offset + 1
			if !record.Attrs.IsControl() {
				values = append(values, string(record.Value))
			}
		})
	}
	return values
}

func transactional(id string) *kgo.Client {
	return client(kgo.TransactionalID(name+"-"+id), kgo.DefaultProduceTopic(name+"-transactions"))
}

// begin leaves a transaction open with those values on the broker.
func begin(producer *kgo.Client, values ...string) {
	step.Check(producer.BeginTransaction())
	for _, value := range values {
		step.Check(producer.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr())
	}
}

func transactions() {
	topic := name + "-transactions"
	step.Check(createTopic(topic, 1, nil))
	producer := transactional("open")
	defer producer.Close()
	begin(producer, "a", "b")
	step.Check(producer.EndTransaction(ctx, kgo.TryCommit))
	begin(producer, "c", "d")
	step.Check(producer.EndTransaction(ctx, kgo.TryAbort))
	begin(producer, "e")
	step.Same("end of read_committed", int64(6), stable(topic))
	step.Same("end of read_uncommitted", int64(7), end(topic))
	step.Same("committed", []string{"a", "b"}, read(topic, kgo.ReadCommitted(), 0, 6))
	step.Same("all", []string{"a", "b", "c", "d", "e"}, read(topic, kgo.ReadUncommitted(), 0, 7))
	step.Check(producer.EndTransaction(ctx, kgo.TryAbort))
	step.Await("the last marker", func() bool { return stable(topic) == 8 })
	step.Same("end", int64(8), end(topic))
	step.Same("still", []string{"a", "b"}, read(topic, kgo.ReadCommitted(), 0, 8))
}

func offsetsInTransaction() {
	session := step.Must(kgo.NewGroupTransactSession(
		kgo.SeedBrokers(servers), kgo.TransactionalID(name+"-copier"), kgo.ConsumerGroup(name+"-copier"),
		kgo.ConsumeTopics(topic), kgo.DefaultProduceTopic(name+"-transactions"), fromBeginning,
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(),
	))
	defer session.Close()
	copied := func(limit int, end kgo.TransactionEndTry) {
		step.Check(session.Begin())
		fetches := session.PollRecords(ctx, limit)
		step.Check(fetches.Err())
		step.Check(session.ProduceSync(ctx, kgo.StringRecord("copied")).FirstErr())
		ended, err := session.End(ctx, end)
		step.Check(err)
		step.Same("committed", bool(end), ended)
	}
	total := func() (sum int64) {
		for partition := range sent {
			sum += max(0, committed("copier", partition))
		}
		return sum
	}
	copied(50, kgo.TryCommit)
	step.Await("the offsets of the commit", func() bool { return total() == 50 })
	copied(50, kgo.TryAbort)
	step.Same("after an abort", int64(50), total())
	copied(30, kgo.TryCommit)
	step.Await("the offsets of the next commit", func() bool { return total() == 80 })
}

func fencing() {
	topic := name + "-transactions"
	zombie, next := transactional("fenced"), transactional("fenced")
	defer zombie.Close()
	defer next.Close()
	step.Await("the last marker", func() bool { return stable(topic) == end(topic) })
	from := end(topic)
	begin(zombie, "x")
	begin(next, "y")
	step.Refused(zombie.EndTransaction(ctx, kgo.TryCommit), kerr.ProducerFenced, kerr.InvalidProducerEpoch)
	step.Check(next.EndTransaction(ctx, kgo.TryCommit))
	step.Await("the markers", func() bool { return stable(topic) == from+4 })
	step.Same("committed", []string{"y"}, read(topic, kgo.ReadCommitted(), from, from+4))
}

func deleteRecords() {
	before := kadm.Offsets{}
	before.Add(kadm.Offset{Topic: topic, Partition: 1, At: 100})
	answer, _ := step.Must(admin.DeleteRecords(ctx, before)).Lookup(topic, 1)
	step.Check(answer.Err)
	step.Same("low watermark", int64(100), answer.LowWatermark)
	step.Same("beginning", int64(100), offset(step.Must(admin.ListStartOffsets(ctx, topic)), topic, 1).Offset)
	at := map[string]map[int32]kgo.Offset{topic: {1: kgo.NewOffset().At(0)}}
	reader := client(kgo.ConsumePartitions(at), fromBeginning)
	defer reader.Close()
	step.Same("the first", int64(100), reader.PollFetches(ctx).Records()[0].Offset)
	before.Add(kadm.Offset{Topic: topic, Partition: 1, At: 10_000})
	answer, _ = step.Must(admin.DeleteRecords(ctx, before)).Lookup(topic, 1)
	step.Refused(answer.Err, kerr.OffsetOutOfRange)
}

func codecs() {
	topic := name + "-codecs"
	step.Check(createTopic(topic, 1, nil))
	wanted := []string{}
	for codec, compression := range map[string]kgo.CompressionCodec{
		"gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		producer := client(kgo.ProducerBatchCompression(compression), kgo.DefaultProduceTopic(topic))
		records := make([]*kgo.Record, 50)
		for n := range records {
			wanted = append(wanted, fmt.Sprintf("%s %d %60s", codec, n, "."))
			records[n] = kgo.StringRecord(wanted[len(wanted)-1])
		}
		step.Check(producer.ProduceSync(ctx, records...).FirstErr())
		producer.Close()
	}
	step.Same("values", wanted, read(topic, kgo.ReadUncommitted(), 0, 200))
}

func describe() {
	metadata := step.Must(admin.Metadata(ctx, topic))
	step.Holds("a cluster", metadata.Cluster != "" && len(metadata.Brokers) > 0 && metadata.Controller >= 0)
	step.Same("replicas in sync", 1, len(metadata.Topics[topic].Partitions[2].ISR))
	config := step.Must(step.Must(admin.DescribeTopicConfigs(ctx, topic)).On(topic, nil))
	values := map[string]string{}
	for _, entry := range config.Configs {
		values[entry.Key] = entry.MaybeValue() + " " + entry.Source.String()
	}
	step.Same("retention.ms", "86400000 DYNAMIC_TOPIC_CONFIG", values["retention.ms"])
	step.Same("cleanup.policy", "delete DEFAULT_CONFIG", values["cleanup.policy"])
	live := join("group", true, kgo.ClientID("described"), kgo.Balancers(kgo.RangeBalancer()))
	defer live.Close()
	group := step.Must(admin.DescribeGroups(ctx, name+"-group"))[name+"-group"]
	step.Check(group.Err)
	step.Same("group", []string{"Stable", "consumer", "range"}, []string{group.State, group.ProtocolType, group.Protocol})
	step.Same("members", 1, len(group.Members))
	step.Same("client id", "described", group.Members[0].ClientID)
	assignment, _ := group.Members[0].Assigned.AsConsumer()
	step.Same("assignment", 3, len(assignment.Topics[0].Partitions))
	listed := step.Must(admin.ListGroups(ctx))
	step.Same("state", "Stable", listed[name+"-group"].State)
	step.Same("state of an empty group", "Empty", listed[name+"-copier"].State)
	deleted := step.Must(admin.DeleteGroups(ctx, name+"-group"))[name+"-group"]
	step.Refused(deleted.Err, kerr.NonEmptyGroup)
}

func remove() {
	group := name + "-group"
	step.Check(step.Must(admin.DeleteGroups(ctx, group))[group].Err)
	step.Same("offsets of a group that is gone", int64(-1), committed("group", 0))
	step.Refused(step.Must(admin.DeleteGroups(ctx, group))[group].Err, kerr.GroupIDNotFound)
	ours := []string{topic, name + "-transactions", name + "-codecs"}
	for _, deleted := range step.Must(admin.DeleteTopics(ctx, ours...)) {
		step.Check(deleted.Err)
	}
	step.Await("they are gone", func() bool {
		left := step.Must(admin.ListTopics(ctx))
		return !left.Has(ours[0]) && !left.Has(ours[1]) && !left.Has(ours[2])
	})
}

func unknownTopic() {
	step.Await("that it forgets what it knew", func() bool {
		return errors.Is(step.Must(admin.ListTopics(ctx, topic))[topic].Err, kerr.UnknownTopicOrPartition)
	})
	step.Refused(step.Must(admin.DeleteTopics(ctx, topic))[topic].Err, kerr.UnknownTopicOrPartition)
	producer := client(kgo.DefaultProduceTopic(topic), kgo.UnknownTopicRetries(0))
	defer producer.Close()
	step.Refused(producer.ProduceSync(ctx, kgo.StringRecord("lost")).FirstErr(), kerr.UnknownTopicOrPartition)
}

func outOfRange() {
	topic := name + "-range"
	step.Check(createTopic(topic, 1, nil))
	at := map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(99)}}
	reader := client(kgo.ConsumePartitions(at), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	defer reader.Close()
	var found error
	for found == nil {
		found = errors.Join(reader.PollFetches(ctx).Err())
	}
	step.Refused(found, kerr.OffsetOutOfRange)
	step.Check(step.Must(admin.DeleteTopics(ctx, topic))[topic].Err)
}
