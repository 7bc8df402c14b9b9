package orders

import (
	"context"
	"slices"
	"testing"
	"time"

	"kafkalet"
	"kafkalet/api"

	"github.com/twmb/franz-go/pkg/kgo"
)

// application returns a Kafka client, which stands for the application under test. It is closed at the end of the test.
func application(t *testing.T, broker *kafkalet.Broker, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	options = append(options,
		kgo.SeedBrokers(broker.BootstrapServers()),
		kgo.AllowAutoTopicCreation(),
		kgo.MetadataMinAge(50*time.Millisecond), // time before a retry that needs new metadata; 5 seconds by default
	)
	client, err := kgo.NewClient(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// produce sends a record to the topic orders.
func produce(t *testing.T, client *kgo.Client, key, value string) {
	t.Helper()
	record := &kgo.Record{Topic: "orders", Key: []byte(key), Value: []byte(value)}
	if err := client.ProduceSync(t.Context(), record).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// poll returns the next n records.
func poll(t *testing.T, client *kgo.Client, n int) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var records []*kgo.Record
	for len(records) < n {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		records = append(records, fetches.Records()...)
	}
	return records
}

// consume returns the values of the next n records.
func consume(t *testing.T, client *kgo.Client, n int) []string {
	t.Helper()
	var values []string
	for _, record := range poll(t, client, n) {
		values = append(values, string(record.Value))
	}
	return values
}

func equal[Value comparable](t *testing.T, got, want []Value) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// member returns the options of a consumer in the group billing that commits its offsets itself.
func member() []kgo.Opt {
	return []kgo.Opt{
		kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}
}

// committed returns the options of a consumer that does not receive records of open and aborted transactions.
func committed() []kgo.Opt {
	return append(member(), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
}

// worker returns the options of a consumer in the share group billing.
func worker() []kgo.Opt {
	return []kgo.Opt{kgo.ShareGroup("billing"), kgo.ConsumeTopics("orders")}
}

// --8<-- [start:publish]
func TestPublish(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{})
	produce(t, application(t, kafka), "7", `{"id": 7}`)
	order := kafka.Topic("orders").WaitFor(t, 1, kafkalet.Match{})[0]
	if string(order.Key) != "7" || string(order.Value) != `{"id": 7}` {
		t.Fatalf("got %s with the key %s", order.Value, order.Key)
	}
}

// --8<-- [end:publish]

// --8<-- [start:wait]
func TestWaitForOneOfManyRecords(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{})
	client := application(t, kafka)
	produce(t, client, "6", "created")
	produce(t, client, "7", "created")
	match := kafkalet.Match{Key: []byte("7"), Contains: "create", Timeout: 5 * time.Second}
	kafka.Topic("orders").WaitFor(t, 1, match)
}

// --8<-- [end:wait]

// --8<-- [start:consume]
func TestConsume(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{})
	source := kafkalet.Header{Name: "source", Value: []byte("web")}
	order := kafkalet.Message{Key: []byte("7"), Value: []byte(`{"id": 7}`), Headers: []kafkalet.Header{source}}
	kafka.Topic("orders").Send(t, order)
	equal(t, consume(t, application(t, kafka, member()...), 1), []string{`{"id": 7}`})
}

// --8<-- [end:consume]

// --8<-- [start:settle]
func TestNothingElseIsPublished(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{Topics: []string{"invoices"}})
	produce(t, application(t, kafka), "7", "one")
	kafka.Settle(t, 10*time.Second)
	equal(t, kafka.Topic("invoices").Values(t, kafkalet.Read{}), []string{})
}

// --8<-- [end:settle]

// --8<-- [start:batch]
func TestBatch(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{})
	topic := kafka.Topic("orders").Create(t, 3, map[string]string{"retention.ms": "-1"})
	topic.Partition(1).Send(t, kafkalet.Values("a", "b", "c")...)
	mark := topic.Mark(t)
	topic.Send(t, kafkalet.Message{Key: []byte("d"), Timestamp: time.UnixMilli(1_700_000_000_000)}) // a tombstone
	equal(t, topic.Partition(1).Values(t, kafkalet.Read{})[:3], []string{"a", "b", "c"})
	equal(t, topic.Values(t, kafkalet.Read{Since: mark}), []string{""})
}

// --8<-- [end:batch]

// --8<-- [start:commit]
func TestCommit(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{})
	kafka.Topic("orders").Create(t, 1, nil).Send(t, kafkalet.Values("one")...)
	client := application(t, kafka, member()...)
	consume(t, client, 1)
	client.CommitUncommittedOffsets(t.Context())
	committed := kafka.Group("billing").WaitForLag(t, 0, 10*time.Second).Committed("orders", 0)
	equal(t, []int64{committed}, []int64{1})
}

// --8<-- [end:commit]

// --8<-- [start:seek]
func TestGroupIsMoved(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{})
	kafka.Topic("orders").Create(t, 1, nil).Send(t, kafkalet.Values("one", "two", "three")...)
	kafka.Group("billing").Seek(t, "orders", 1) // see also SeekToTime
	equal(t, consume(t, application(t, kafka, member()...), 2), []string{"two", "three"})
}

// --8<-- [end:seek]

// --8<-- [start:evict]
func TestMemberIsEvicted(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{Topics: []string{"orders:2"}})
	application(t, kafka, member()...)
	group := kafka.Group("billing")
	members := group.WaitUntilStable(t, 1, 10*time.Second).Members
	state := group.Evict(t, members[0].MemberID).State
	equal(t, []string{state}, []string{"Empty"})
}

// --8<-- [end:evict]

// --8<-- [start:share_release]
func TestRecordIsRedelivered(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{})
	kafka.Topic("orders").Send(t, kafkalet.Values("one")...)
	kafka.ShareGroup("billing").Seek(t, "orders", 0)
	client := application(t, kafka, worker()...)
	poll(t, client, 1)[0].Ack(kgo.AckRelease) // try again later
	poll(t, client, 1)[0].Ack(kgo.AckAccept)
	client.FlushAcks(t.Context())
	equal(t, []int64{kafka.ShareGroup("billing").Records(t, "acknowledged")[0].Deliveries}, []int64{2})
}

// --8<-- [end:share_release]

// --8<-- [start:share_stop]
func TestRecordOfStoppedConsumerIsRedelivered(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{})
	kafka.Topic("orders").Send(t, kafkalet.Values("one")...)
	kafka.ShareGroup("billing").Seek(t, "orders", 0)
	for _, deliveries := range []int32{1, 2} {
		client := application(t, kafka, worker()...)
		equal(t, []int32{poll(t, client, 1)[0].DeliveryCount()}, []int32{deliveries})
		client.Close()
	}
}

// --8<-- [end:share_stop]

// --8<-- [start:share_reject]
func TestPoisonMessageIsRejected(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{})
	kafka.Topic("orders").Send(t, kafkalet.Values("poison", "two")...)
	kafka.ShareGroup("billing").Seek(t, "orders", 0)
	client := application(t, kafka, worker()...)
	poll(t, client, 2)[0].Ack(kgo.AckReject)
	client.MarkAcks(kgo.AckAccept) // all other records
	client.FlushAcks(t.Context())
	equal(t, []string{*kafka.ShareGroup("billing").Records(t, "archived")[0].Value}, []string{"poison"})
}

// --8<-- [end:share_reject]

// --8<-- [start:share_expire]
func TestSlowConsumerLosesItsRecord(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{})
	kafka.Topic("orders").Send(t, kafkalet.Values("one")...)
	kafka.ShareGroup("billing").Seek(t, "orders", 0)
	client := application(t, kafka, worker()...)
	poll(t, client, 1)
	kafka.ShareGroup("billing").ExpireLocks(t) // as if the consumer had been too slow
	equal(t, []int32{poll(t, client, 1)[0].DeliveryCount()}, []int32{2})
}

// --8<-- [end:share_expire]

// --8<-- [start:transaction]
func TestOpenTransaction(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{Topics: []string{"orders:1"}})
	topic := kafka.Topic("orders")
	transaction := kafka.OpenTransaction(t, "payments") // aborted at the end of the test unless it is committed
	transaction.Send(t, topic, kafkalet.Values("one")...)
	equal(t, topic.Values(t, kafkalet.Read{Isolation: kafkalet.ReadCommitted}), []string{})
	transaction.Commit(t)
	equal(t, consume(t, application(t, kafka, committed()...), 1), []string{"one"})
}

// --8<-- [end:transaction]

// --8<-- [start:release]
func TestRelease(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{
		Version:    "3.9",
		Topics:     []string{"orders:6"},
		Properties: map[string]string{"message.max.bytes": "1000"},
	})
	produce(t, application(t, kafka), "7", "one")
}

// --8<-- [end:release]

// --8<-- [start:stop_broker]
func TestLeaderStops(t *testing.T) {
	replicated := map[string]string{"default.replication.factor": "3"}
	kafka := kafkalet.ForTest(t, kafkalet.Options{Brokers: 3, Properties: replicated})
	topic := kafka.Topic("orders").Create(t, 1, nil)
	kafka.API(t).StopBroker(1)
	topic.Send(t, kafkalet.Values("one")...)
	kafka.API(t).StartBroker(1)
	kafka.API(t).RollBrokers(api.Roll{}) // restarts every broker, one after the other
	equal(t, topic.Values(t, kafkalet.Read{}), []string{"one"})
}

// --8<-- [end:stop_broker]

// --8<-- [start:clock]
func TestRecordsExpire(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{})
	topic := kafka.Topic("audit").Create(t, 1, map[string]string{"retention.ms": "3600000"})
	topic.Send(t, kafkalet.Values("old")...)
	kafka.Clock().Advance(t, 2*time.Hour)
	equal(t, topic.Values(t, kafkalet.Read{}), []string{})
}

// --8<-- [end:clock]

// --8<-- [start:fault]
func TestProducerRetries(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{})
	fault := kafka.Fault(t, "Produce", api.NewFault{Error: api.Ptr("NOT_LEADER_OR_FOLLOWER"), Times: api.Ptr[int64](2)})
	produce(t, application(t, kafka), "7", "one")
	fault.Remove(t) // fails unless it has fired twice
	equal(t, kafka.Topic("orders").Values(t, kafkalet.Read{}), []string{"one"})
}

// --8<-- [end:fault]

// --8<-- [start:lost_response]
func TestResponseIsLost(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{})
	kafka.Fault(t, "Produce", api.NewFault{Disconnect: api.Ptr("after"), Times: api.Ptr[int64](1)})
	kafka.Fault(t, "Metadata", api.NewFault{Delay: api.Ptr(0.1)})
	produce(t, application(t, kafka), "7", "one")
	equal(t, kafka.Topic("orders").Values(t, kafkalet.Read{}), []string{"one"}) // sent twice, not duplicated
}

// --8<-- [end:lost_response]

// --8<-- [start:hold]
func TestRequestIsHeld(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{})
	topic := kafka.Topic("orders").Create(t, 1, nil)
	fault := kafka.Fault(t, "Produce", api.NewFault{Hang: true})
	application(t, kafka).Produce(t.Context(), &kgo.Record{Topic: "orders", Value: []byte("one")}, nil)
	fault.Wait(t, 1, 10*time.Second)
	equal(t, topic.Values(t, kafkalet.Read{}), []string{})
	fault.Release(t)
	topic.WaitFor(t, 1, kafkalet.Match{})
}

// --8<-- [end:hold]

// --8<-- [start:gap]
func TestReaderSkipsGaps(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{Topics: []string{"orders:1"}})
	gap := api.AppendLayout{Kind: "gap", First: api.Ptr[int64](5), Size: api.Ptr[int64](3), After: api.Ptr[int64](2)}
	kafka.API(t).AppendLayout("orders", 0, gap)
	consume(t, application(t, kafka, member()...), 7) // the records at the offsets 0 to 4, 8 and 9
}

// --8<-- [end:gap]

// --8<-- [start:snapshot]
func TestSnapshot(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{})
	topic := kafka.Topic("orders")
	topic.Send(t, kafkalet.Values("one")...)
	snapshot := kafka.API(t).TakeSnapshot()
	topic.Send(t, kafkalet.Values("two")...)
	kafka.API(t).Restore(snapshot)
	equal(t, topic.Values(t, kafkalet.Read{}), []string{"one"})
}

// --8<-- [end:snapshot]

// --8<-- [start:requests]
func TestNumberOfRequests(t *testing.T) {
	kafka := kafkalet.ForTest(t, kafkalet.Options{})
	produce(t, application(t, kafka), "7", "one")
	produced := kafka.API(t).CountRequests(api.CountRequestsQuery{APIs: []string{"Produce"}})
	equal(t, []int64{produced.Count}, []int64{1})
	if unsupported := kafka.API(t).ListUnsupported().Counts; len(unsupported) != 0 {
		t.Fatalf("the broker does not serve %v", unsupported)
	}
}

// --8<-- [end:requests]
