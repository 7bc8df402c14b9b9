// sarama BOOTSTRAP PREFIX: what every client does in these tests, with sarama.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"kafkalet/clients/step"
)

const count = 1000

var (
	servers []string
	name    string
	topic   string
	client  sarama.Client
	admin   sarama.ClusterAdmin
	base    = time.Now().UnixMilli() - 1_000_000
	sent    = map[int32][]int{} // numbers of the records of each partition, in order of their offsets
)

func main() {
	servers, name = strings.Split(os.Args[1], ","), os.Args[2]
	topic = name + "-records"
	fmt.Println("   sarama", step.Version("github.com/IBM/sarama"))
	client = step.Must(sarama.NewClient(servers, config()))
	admin = step.Must(sarama.NewClusterAdminFromClient(client))
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
	step.Check(admin.Close())
}

// config is that of a careful client: idempotent, commits only what it is told to, begins at the beginning.
func config() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Metadata.AllowAutoTopicCreation = false
	config.Metadata.Retry.Backoff = 50 * time.Millisecond
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Net.MaxOpenRequests = 1
	config.Consumer.Return.Errors = true
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Group.Heartbeat.Interval = 200 * time.Millisecond
	return config
}

func topics() map[string]sarama.TopicDetail { return step.Must(admin.ListTopics()) }

func createTopic(topic string, partitions int32, configs map[string]*string) error {
	detail := sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: configs}
	if err := admin.CreateTopic(topic, &detail, false); err != nil {
		return err
	}
	step.Await("topic "+topic, func() bool {
		_, there := topics()[topic]
		return there && client.RefreshMetadata(topic) == nil
	})
	return nil
}

func create() {
	day := "86400000"
	step.Check(createTopic(topic, 3, map[string]*string{"retention.ms": &day}))
	step.Same("partitions", int32(3), topics()[topic].NumPartitions)
	step.Refused(createTopic(topic, 3, nil), sarama.ErrTopicAlreadyExists)
}

func producer(config *sarama.Config) sarama.SyncProducer {
	return step.Must(sarama.NewSyncProducer(servers, config))
}

func produce() {
	producer := producer(config())
	records := make([]*sarama.ProducerMessage, count)
	for n := range records {
		records[n] = &sarama.ProducerMessage{
			Topic: topic, Timestamp: time.UnixMilli(base + int64(n)),
			Key: sarama.StringEncoder(fmt.Sprint("key ", n%100)), Value: sarama.StringEncoder(fmt.Sprint("value ", n)),
			Headers:  []sarama.RecordHeader{{Key: []byte("number"), Value: []byte(fmt.Sprint(n))}, {Key: []byte("nothing")}},
			Metadata: n,
		}
	}
	step.Check(producer.SendMessages(records))
	for n, record := range records {
		step.Same("offset", int64(len(sent[record.Partition])), record.Offset)
		sent[record.Partition] = append(sent[record.Partition], n)
	}
	step.Same("partitions with records", 3, len(sent))
	step.Check(producer.Close())
}

// member is in a group in goroutines of its own; it takes records up to a limit, and marks those for a commit.
type member struct {
	group    sarama.ConsumerGroup
	end      context.CancelFunc
	ended    sync.WaitGroup
	mutex    sync.Mutex
	limit    int
	read     []*sarama.ConsumerMessage
	session  sarama.ConsumerGroupSession
	assigned map[int32]bool
}

// join starts a member; it waits for an assignment of all partitions where it is the only one.
func join(group string, alone bool, limit int) *member {
	config := config()
	config.ClientID = "described"
	ctx, end := context.WithCancel(context.Background())
	joined := &member{end: end, limit: limit, assigned: map[int32]bool{}}
	start := time.Now()
	joined.group = step.Must(sarama.NewConsumerGroup(servers, name+"-"+group, config))
	joined.ended.Add(1)
	go func() {
		defer joined.ended.Done()
		for ctx.Err() == nil {
			if err := joined.group.Consume(ctx, []string{topic}, joined); err != nil {
				fmt.Println("   consume:", err)
			}
		}
	}()
	if alone {
		step.Await("an assignment", func() bool { return len(joined.partitions()) == 3 })
		fmt.Printf("   assigned after %d ms\n", time.Since(start).Milliseconds())
	}
	return joined
}

func (joined *member) Setup(session sarama.ConsumerGroupSession) error {
	joined.mutex.Lock()
	defer joined.mutex.Unlock()
	joined.session = session
	joined.assigned = map[int32]bool{}
	for _, partition := range session.Claims()[topic] {
		joined.assigned[partition] = true
	}
	return nil
}

func (joined *member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (joined *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for record := range claim.Messages() {
		joined.mutex.Lock()
		if len(joined.read) < joined.limit {
			joined.read = append(joined.read, record)
			session.MarkMessage(record, "")
		}
		joined.mutex.Unlock()
	}
	return nil
}

func (joined *member) partitions() map[int32]bool {
	joined.mutex.Lock()
	defer joined.mutex.Unlock()
	return joined.assigned
}

func (joined *member) records() []*sarama.ConsumerMessage {
	joined.mutex.Lock()
	defer joined.mutex.Unlock()
	return joined.read
}

func (joined *member) leave() {
	joined.end()
	joined.ended.Wait()
	step.Check(joined.group.Close())
}

func resume() {
	one := join("group", true, 400)
	step.Await("some records", func() bool { return len(one.records()) == 400 })
	one.session.Commit()
	one.leave()
	two := join("group", true, count)
	step.Await("the rest", func() bool { return len(one.records())+len(two.records()) >= count })
	two.session.Commit()
	read := append(one.records(), two.records()...)
	two.leave()
	step.Same("records read", count, len(read))
	for _, record := range read {
		n := sent[record.Partition][record.Offset]
		step.Same("key", fmt.Sprint("key ", n%100), string(record.Key))
		step.Same("value", fmt.Sprint("value ", n), string(record.Value))
		step.Same("timestamp", base+int64(n), record.Timestamp.UnixMilli())
		step.Same("headers", fmt.Sprint("number ", n, " nothing ", 2), fmt.Sprintf("%s %s %s %d",
			record.Headers[0].Key, record.Headers[0].Value, record.Headers[1].Key, len(record.Headers)))
	}
	for partition, numbers := range sent {
		step.Same("committed", int64(len(numbers)), committed("group", partition))
	}
	three := join("group", true, count)
	time.Sleep(300 * time.Millisecond) // nothing comes
	step.Same("records after a restart", 0, len(three.records()))
	three.leave()
}

func committed(group string, partition int32) int64 {
	answer := step.Must(admin.ListConsumerGroupOffsets(name+"-"+group, map[string][]int32{topic: {partition}}))
	found := answer.GetBlock(topic, partition)
	step.Same("error", sarama.ErrNoError, found.Err)
	return found.Offset
}

func rebalance() {
	one := join("pair", true, 0)
	two := join("pair", false, 0)
	step.Await("two members share", func() bool {
		together := map[int32]bool{}
		for _, partitions := range []map[int32]bool{one.partitions(), two.partitions()} {
			for partition := range partitions {
				together[partition] = true
			}
		}
		first, second := len(one.partitions()), len(two.partitions())
		return len(together) == 3 && first+second == 3 && first > 0 && second > 0
	})
	two.leave()
	step.Await("one member has all", func() bool { return len(one.partitions()) == 3 })
	one.leave()
}

func times() {
	for partition, numbers := range sent {
		first := 0
		for numbers[first] < 500 {
			first++
		}
		found := list(topic, partition, base+500, sarama.ReadUncommitted)
		step.Same("offset by time", int64(first), found.Offset)
		step.Same("its time", base+int64(numbers[first]), found.Timestamp)
		step.Same("beginning", int64(0), list(topic, partition, sarama.OffsetOldest, sarama.ReadUncommitted).Offset)
		step.Same("end", int64(len(numbers)), list(topic, partition, sarama.OffsetNewest, sarama.ReadUncommitted).Offset)
	}
	step.Same("no such time", int64(-1), list(topic, 0, base+900_000, sarama.ReadUncommitted).Offset)
}

func list(topic string, partition int32, time int64, isolation sarama.IsolationLevel) *sarama.OffsetResult {
	asked := map[string]map[int32]int64{topic: {partition: time}}
	found := step.Must(admin.ListOffsets(asked, &sarama.ListOffsetsOptions{IsolationLevel: isolation}))[topic][partition]
	if found.Err != nil && !errors.Is(found.Err, sarama.ErrNoError) {
		panic(found.Err)
	}
	return found
}

func stable(topic string) int64 {
	return list(topic, 0, sarama.OffsetNewest, sarama.ReadCommitted).Offset
}
func end(topic string) int64 {
	return list(topic, 0, sarama.OffsetNewest, sarama.ReadUncommitted).Offset
}

// read gives so many values of partition 0; none must follow.
func read(topic string, isolation sarama.IsolationLevel, from int64, count int) []string {
	config := config()
	config.Consumer.IsolationLevel = isolation
	consumer := step.Must(sarama.NewConsumer(servers, config))
	reader := step.Must(consumer.ConsumePartition(topic, 0, from))
	values := []string{}
	for patience := time.After(30 * time.Second); ; {
		select {
		case record := <-reader.Messages():
			values = append(values, string(record.Value))
			if len(values) == count {
				patience = time.After(200 * time.Millisecond)
			}
		case failure := <-reader.Errors():
			panic(failure)
		case <-patience:
			step.Check(reader.Close())
			step.Check(consumer.Close())
			return values
		}
	}
}

func transactional(id string) sarama.SyncProducer {
	config := config()
	config.Producer.Transaction.ID = name + "-" + id
	config.Producer.Retry.Backoff = 20 * time.Millisecond
	config.Producer.Transaction.Retry.Backoff = 20 * time.Millisecond
	config.Producer.Transaction.Retry.Max = 500
	return producer(config)
}

// begin leaves a transaction open with those values on the broker.
func begin(producer sarama.SyncProducer, values ...string) {
	step.Check(producer.BeginTxn())
	for _, value := range values {
		record := &sarama.ProducerMessage{Topic: name + "-transactions", Value: sarama.StringEncoder(value)}
		_, _, err := producer.SendMessage(record)
		step.Check(err)
	}
}

func transactions() {
	topic := name + "-transactions"
	step.Check(createTopic(topic, 1, nil))
	producer := transactional("open")
	begin(producer, "a", "b")
	step.Check(producer.CommitTxn())
	begin(producer, "c", "d")
	step.Check(producer.AbortTxn())
	begin(producer, "e")
	step.Same("end of read_committed", int64(6), stable(topic))
	step.Same("end of read_uncommitted", int64(7), end(topic))
	step.Same("committed", []string{"a", "b"}, read(topic, sarama.ReadCommitted, 0, 2))
	step.Same("all", []string{"a", "b", "c", "d", "e"}, read(topic, sarama.ReadUncommitted, 0, 5))
	step.Check(producer.AbortTxn())
	step.Await("the last marker", func() bool { return stable(topic) == 8 })
	step.Same("end", int64(8), end(topic))
	step.Same("still", []string{"a", "b"}, read(topic, sarama.ReadCommitted, 0, 2))
	step.Check(producer.Close())
}

func offsetsInTransaction() {
	producer := transactional("copier")
	group := name + "-copier"
	offsets := func(offset int64) {
		begin(producer, "copied")
		five := map[string][]*sarama.PartitionOffsetMetadata{topic: {{Partition: 0, Offset: offset}}}
		step.Check(producer.AddOffsetsToTxn(five, group))
	}
	offsets(5)
	step.Same("before the commit", int64(-1), committed("copier", 0))
	step.Check(producer.CommitTxn())
	step.Await("the offset of the commit", func() bool { return committed("copier", 0) == 5 })
	offsets(7)
	step.Check(producer.AbortTxn())
	step.Same("after an abort", int64(5), committed("copier", 0))
	offsets(9)
	step.Check(producer.CommitTxn())
	step.Await("the offset of the next commit", func() bool { return committed("copier", 0) == 9 })
	step.Check(producer.Close())
}

func fencing() {
	topic := name + "-transactions"
	step.Await("the last marker", func() bool { return stable(topic) == end(topic) })
	from := end(topic)
	zombie := transactional("fenced")
	begin(zombie, "x")
	next := transactional("fenced")
	begin(next, "y")
	step.Refused(zombie.CommitTxn(), sarama.ErrProducerFenced, sarama.ErrInvalidProducerEpoch)
	step.Check(next.CommitTxn())
	step.Await("the markers", func() bool { return stable(topic) == from+4 })
	step.Same("committed", []string{"y"}, read(topic, sarama.ReadCommitted, from, 1))
	step.Check(next.Close())
	_ = zombie.Close() // it says that it was fenced
}

func deleteRecords() {
	step.Check(admin.DeleteRecords(topic, map[int32]int64{1: 100}))
	step.Same("beginning", int64(100), list(topic, 1, sarama.OffsetOldest, sarama.ReadUncommitted).Offset)
	consumer := step.Must(sarama.NewConsumerFromClient(client))
	reader := step.Must(consumer.ConsumePartition(topic, 1, sarama.OffsetOldest))
	step.Same("the first", int64(100), (<-reader.Messages()).Offset)
	step.Check(reader.Close())
	step.Refused(admin.DeleteRecords(topic, map[int32]int64{1: 10_000}), sarama.ErrOffsetOutOfRange)
}

func codecs() {
	topic := name + "-codecs"
	step.Check(createTopic(topic, 1, nil))
	wanted := []string{}
	for _, codec := range []sarama.CompressionCodec{
		sarama.CompressionGZIP, sarama.CompressionSnappy, sarama.CompressionLZ4, sarama.CompressionZSTD,
	} {
		config := config()
		config.Producer.Compression = codec
		producer := producer(config)
		records := make([]*sarama.ProducerMessage, 50)
		for n := range records {
			wanted = append(wanted, fmt.Sprintf("%s %d %60s", codec, n, "."))
			records[n] = &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(wanted[len(wanted)-1])}
		}
		step.Check(producer.SendMessages(records))
		step.Check(producer.Close())
	}
	step.Same("values", wanted, read(topic, sarama.ReadUncommitted, 0, 200))
}

func describe() {
	brokers, controller, err := admin.DescribeCluster()
	step.Check(err)
	step.Holds("a cluster", len(brokers) > 0 && controller >= 0)
	described := step.Must(admin.DescribeTopics([]string{topic}))[0]
	step.Same("replicas in sync", 1, len(described.Partitions[2].Isr))
	values := map[string]string{}
	entries := step.Must(admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic}))
	for _, entry := range entries {
		values[entry.Name] = fmt.Sprint(entry.Value, " ", entry.Source)
	}
	step.Same("retention.ms", fmt.Sprint("86400000 ", sarama.SourceTopic), values["retention.ms"])
	step.Same("cleanup.policy", fmt.Sprint("delete ", sarama.SourceDefault), values["cleanup.policy"])
	live := join("group", true, 0)
	group := step.Must(admin.DescribeConsumerGroups([]string{name + "-group"}))[0]
	step.Same("group", []string{"Stable", "consumer", "range"}, []string{group.State, group.ProtocolType, group.Protocol})
	step.Same("members", 1, len(group.Members))
	for _, one := range group.Members {
		step.Same("client id", "described", one.ClientId)
		step.Same("assignment", 3, len(step.Must(one.GetMemberAssignment()).Topics[topic]))
	}
	listed := step.Must(admin.ListConsumerGroups())
	step.Same("type", "consumer", listed[name+"-group"])
	step.Refused(admin.DeleteConsumerGroup(name+"-group"), sarama.ErrNonEmptyGroup)
	live.leave()
}

func remove() {
	step.Check(admin.DeleteConsumerGroup(name + "-group"))
	step.Same("offset of a group that is gone", int64(-1), committed("group", 0))
	step.Refused(admin.DeleteConsumerGroup(name+"-group"), sarama.ErrGroupIDNotFound)
	ours := []string{topic, name + "-transactions", name + "-codecs"}
	for _, one := range ours {
		step.Check(admin.DeleteTopic(one))
	}
	step.Await("they are gone", func() bool {
		left := topics()
		for _, one := range ours {
			if _, there := left[one]; there {
				return false
			}
		}
		return true
	})
}

func unknownTopic() {
	step.Refused(step.Must(admin.DescribeTopics([]string{topic}))[0].Err, sarama.ErrUnknownTopicOrPartition)
	step.Refused(admin.DeleteTopic(topic), sarama.ErrUnknownTopicOrPartition)
	producer := producer(config())
	_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder("lost")})
	step.Refused(err, sarama.ErrUnknownTopicOrPartition)
	step.Check(producer.Close())
}

func outOfRange() {
	topic := name + "-range"
	step.Check(createTopic(topic, 1, nil))
	consumer := step.Must(sarama.NewConsumer(servers, config()))
	_, err := consumer.ConsumePartition(topic, 0, 99)
	step.Refused(err, sarama.ErrOffsetOutOfRange)
	step.Check(consumer.Close())
	step.Check(admin.DeleteTopic(topic))
}
