package kafkalet

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"kafkalet/api"
)

// recorder is a test whose failure is expected.
type recorder struct {
	testing.TB
	cleanups []func()
	failure  string
}

func (test *recorder) Cleanup(function func()) { test.cleanups = append(test.cleanups, function) }
func (test *recorder) Error(arguments ...any)  { test.failure = fmt.Sprint(arguments...) }
func (test *recorder) Failed() bool            { return test.failure != "" }

func (test *recorder) Fatal(arguments ...any) {
	test.Error(arguments...)
	panic(test)
}

// failureOf runs a function with a test that may fail, and returns the message of its failure, or "".
func failureOf(t *testing.T, function func(testing.TB)) string {
	test := &recorder{TB: t}
	func() {
		defer func() {
			if thrown := recover(); thrown != nil && thrown != any(test) {
				panic(thrown)
			}
		}()
		function(test)
	}()
	slices.Reverse(test.cleanups)
	for _, cleanup := range test.cleanups {
		cleanup()
	}
	return test.failure
}

func wants(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Fatalf("%q does not contain %q", text, part)
		}
	}
}

func TestRecordKeepsEveryByte(t *testing.T) {
	topic := shared.Topic("bytes")
	sent := topic.Send(t, Message{
		Key: []byte{0xff}, Value: []byte("ü\x00"), Headers: []Header{{"a", []byte{0xfe}}, {"b", nil}},
		Timestamp: time.UnixMilli(5),
	})
	wants(t, sent, []Position{{Partition: 0, Offset: 0}})
	wants(t, topic.Records(t, Read{}), []Record{{
		"bytes", 0, 0, 5, []byte{0xff}, []byte("ü\x00"), []Header{{"a", []byte{0xfe}}, {"b", nil}},
	}})
}

func TestTombstoneHasNoValue(t *testing.T) {
	topic := shared.Topic("tombstones")
	topic.Send(t, Message{Key: []byte("k")}, Message{Key: []byte("k"), Value: []byte{}})
	records := topic.Records(t, Read{})
	wants(t, []bool{records[0].Value == nil, records[1].Value == nil}, []bool{true, false})
}

func TestReadIsLimited(t *testing.T) {
	topic := shared.Topic("limited").Create(t, 2, map[string]string{"retention.ms": "-1"})
	topic.Partition(0).Send(t, Values("a", "b", "c")...)
	topic.Partition(1).Send(t, Values("d", "e")...)
	mark := topic.Mark(t)
	topic.Partition(1).Send(t, Values("f")...)
	wants(t, topic.Values(t, Read{}), []string{"a", "b", "c", "d", "e", "f"})
	wants(t, topic.Values(t, Read{Limit: 1}), []string{"a", "d"})
	wants(t, topic.Values(t, Read{Offset: 2}), []string{"c", "f"})
	wants(t, topic.Values(t, Read{Since: mark}), []string{"f"})
	wants(t, topic.Partition(0).Values(t, Read{Since: mark}), []string{})
	wants(t, topic.Partition(1).Values(t, Read{Offset: 1, Limit: 1}), []string{"e"})
}

func TestRecordsThatReplaceOlderOnesAreAfterAMark(t *testing.T) {
	topic := shared.Topic("replaced")
	topic.Send(t, Values("a", "b", "c")...)
	mark := topic.Mark(t)
	shared.API(t).TruncateLog("replaced", 0, api.TruncateLog{To: 1})
	topic.Send(t, Values("new")...)
	wants(t, topic.Values(t, Read{Since: mark}), []string{"new"})
	wants(t, topic.WaitFor(t, 1, Match{Since: mark})[0].Offset, int64(1))
}

func TestLargeTopicIsReadCompletely(t *testing.T) {
	topic := shared.Topic("large").Create(t, 2, map[string]string{"max.message.bytes": "9000000"})
	for number := range 6 {
		value := strings.Repeat("x", 3_000_000+number)
		topic.Partition(number%2).Send(t, Values(value)...)
	}
	var sizes []int
	for _, record := range topic.Records(t, Read{}) {
		sizes = append(sizes, len(record.Value)-3_000_000)
	}
	wants(t, sizes, []int{0, 2, 4, 1, 3, 5})
	wants(t, len(topic.Records(t, Read{Limit: 2})), 4)
}

func TestWaitReturnsMatchingRecords(t *testing.T) {
	topic := shared.Topic("matching")
	topic.Send(t, Message{Key: []byte("6"), Value: []byte("created")}, Message{Key: []byte("7"), Value: []byte("shipped")})
	wants(t, topic.WaitFor(t, 1, Match{Key: []byte("7")})[0].Offset, int64(1))
	wants(t, topic.WaitFor(t, 1, Match{Contains: "ship"})[0].Offset, int64(1))
	wants(t, topic.WaitFor(t, 1, Match{Value: []byte("created")})[0].Offset, int64(0))
	wants(t, len(topic.WaitFor(t, 2, Match{Isolation: ReadCommitted})), 2)
}

func TestWaitThatTimesOutShowsWhatArrived(t *testing.T) {
	topic := shared.Topic("arrived")
	topic.Send(t, Values("one")...)
	match := Match{Value: []byte("two"), Timeout: time.Millisecond}
	message := failureOf(t, func(t testing.TB) { topic.WaitFor(t, 1, match) })
	contains(t, message, "arrived", "two", "one")
}

func TestRefusedCallIsAnError(t *testing.T) {
	var failure *Error
	err := shared.Control("GET", "/v1/topics/missing", nil, nil)
	if !errors.As(err, &failure) {
		t.Fatal(err)
	}
	wants(t, []any{failure.Status, failure.Code}, []any{404, "UNKNOWN_TOPIC_OR_PARTITION"})
	contains(t, failure.Error(), "missing")
}

func TestEveryOperationIsAMethod(t *testing.T) {
	wants(t, shared.API(t).GetCluster().BootstrapServers, shared.BootstrapServers())
	message := failureOf(t, func(t testing.TB) { shared.API(t).GetTopic("missing") })
	contains(t, message, "missing")
}

func TestControlNeedsAndSendsTheToken(t *testing.T) {
	t.Setenv("KAFKALET_CONTROL_TOKEN", "secret")
	broker := ForTest(t, Options{})
	broker.Settle(t, 0)
	t.Setenv("KAFKALET_CONTROL_TOKEN", "wrong")
	contains(t, failureOf(t, func(t testing.TB) { broker.Settle(t, 0) }), "the token is missing or wrong")
}

func TestSettleReturns(t *testing.T) {
	shared.Settle(t, 5*time.Second)
}

func TestGroupSeeksWithoutMembers(t *testing.T) {
	shared.Topic("sought").Send(t, Values("a", "b", "c")...)
	group := shared.Group("seeking")
	state := group.Seek(t, "sought", 1)
	wants(t, []any{state.State, state.Committed("sought", 0), state.Lag}, []any{"Empty", int64(1), int64(2)})
	wants(t, state.Committed("sought", 5), int64(-1))
	wants(t, group.SeekToTime(t, "sought", time.UnixMilli(0)).Lag, int64(3))
	message := failureOf(t, func(t testing.TB) { group.WaitForLag(t, 0, time.Millisecond) })
	contains(t, message, "seeking", "lag")
	message = failureOf(t, func(t testing.TB) { group.WaitUntilStable(t, 2, time.Millisecond) })
	contains(t, message, "seeking", "2 members")
	message = failureOf(t, func(t testing.TB) { group.Evict(t, "missing") })
	contains(t, message, "missing")
	wants(t, group.State(t).Lag, int64(3))
}

func TestShareGroupShowsItsRecords(t *testing.T) {
	shared.Topic("shared").Send(t, Values("a", "b", "c")...)
	group := shared.ShareGroup("workers")
	state := group.Seek(t, "shared", 1)
	wants(t, []any{state.State, *state.Positions[0].StartOffset, state.Lag}, []any{"Empty", int64(1), int64(2)})
	records := group.Records(t, "available")
	wants(t, []any{len(records), *records[0].Value, records[0].Deliveries}, []any{2, "b", int64(0)})
	wants(t, len(group.Records(t, "")), 2)
	wants(t, group.ExpireLocks(t), int64(0))
	message := failureOf(t, func(t testing.TB) { group.WaitForAcknowledged(t, 1, time.Millisecond) })
	contains(t, message, "workers", "1 acknowledged record")
	wants(t, group.State(t).Lag, int64(2))
}

func TestFaultThatNeverFiredFailsTheTest(t *testing.T) {
	options := api.NewFault{Error: api.Ptr("NOT_LEADER_OR_FOLLOWER")}
	message := failureOf(t, func(t testing.TB) { shared.Fault(t, "Produce", options) })
	contains(t, message, "Produce", "NOT_LEADER_OR_FOLLOWER")
}

func TestFaultThatNeverFiredKeepsAnEarlierFailure(t *testing.T) {
	message := failureOf(t, func(t testing.TB) {
		shared.Fault(t, "Produce", api.NewFault{DropResponse: true})
		t.Fatal("earlier")
	})
	wants(t, message, "earlier")
}

func TestEveryOptionReachesTheFault(t *testing.T) {
	message := failureOf(t, func(t testing.TB) {
		shared.Fault(t, "Fetch", api.NewFault{
			Delay: api.Ptr(1.5), Disconnect: api.Ptr("after"), Topic: api.Ptr("orders"), Partition: api.Ptr[int64](3),
			ClientID: api.Ptr("c"), Times: api.Ptr[int64](2), Broker: api.Ptr[int64](1),
		})
	})
	contains(t, message, "Fetch", "delay=1.5", "after", "orders", "partition=3", "client_id='c'", "times=2", "broker=1")
}

func TestUnknownErrorNameIsRefused(t *testing.T) {
	message := failureOf(t, func(t testing.TB) { shared.Fault(t, "Produce", api.NewFault{Error: api.Ptr("NOT_LEADR")}) })
	contains(t, message, "NOT_LEADR")
}

func TestTransactionIsCommittedOrAborted(t *testing.T) {
	topic := shared.Topic("transactions").Create(t, 2, nil)
	committed := Read{Isolation: ReadCommitted}
	transaction := shared.OpenTransaction(t, "payments")
	transaction.Send(t, topic.Partition(1), Values("a", "b")...)
	wants(t, topic.Values(t, committed), []string{})
	wants(t, topic.Values(t, Read{}), []string{"a", "b"})
	transaction.Commit(t)
	wants(t, topic.Values(t, committed), []string{"a", "b"})
	transaction = shared.OpenTransaction(t, "payments")
	transaction.Send(t, topic, Values("c")...)
	transaction.Abort(t)
	shared.Settle(t, 0)
	wants(t, topic.Values(t, committed), []string{"a", "b"})
	message := failureOf(t, func(t testing.TB) { transaction.Commit(t) })
	contains(t, message, "payments", "ended")
}

func TestTransactionIsAbortedAtTheEndOfTheTest(t *testing.T) {
	topic := shared.Topic("unfinished").Create(t, 1, nil)
	t.Run("inner", func(t *testing.T) {
		shared.OpenTransaction(t, "unfinished").Send(t, topic, Values("one")...)
	})
	shared.Settle(t, 0)
	wants(t, topic.Values(t, Read{Isolation: ReadCommitted}), []string{})
}

func TestClockAdvances(t *testing.T) {
	broker := ForTest(t, Options{})
	before := broker.Clock().Now(t)
	broker.Clock().Advance(t, time.Hour)
	broker.Clock().AdvanceWithSessions(t, time.Hour)
	if ahead := broker.Clock().Now(t).Sub(before); ahead < 2*time.Hour || ahead > 2*time.Hour+time.Minute {
		t.Fatalf("the clock advanced by %v", ahead)
	}
}

func TestRestoreAndResetReplaceTheContents(t *testing.T) {
	broker := ForTest(t, Options{})
	topic := broker.Topic("orders")
	topic.Send(t, Values("one")...)
	snapshot := broker.API(t).TakeSnapshot()
	broker.API(t).Reset()
	mark := topic.Mark(t)
	broker.API(t).Restore(snapshot)
	wants(t, topic.Values(t, Read{Since: mark}), []string{"one"})
	wants(t, topic.Values(t, Read{}), []string{"one"})
	message := failureOf(t, func(t testing.TB) { broker.API(t).Restore([]byte("no snapshot")) })
	contains(t, message, "snapshot")
}

func TestBrokersStopAndStart(t *testing.T) {
	cluster := ForTest(t, Options{Brokers: 2})
	second := strings.Split(cluster.BootstrapServers(), ",")[1]
	cluster.API(t).StopBroker(2)
	wants(t, accepts(t, second), false)
	cluster.API(t).StartBroker(2)
	cluster.API(t).RollBrokers(api.Roll{})
	wants(t, accepts(t, second), true)
}

func TestRequestsAreCounted(t *testing.T) {
	broker := ForTest(t, Options{})
	requests := broker.API(t)
	wants(t, requests.CountRequests(api.CountRequestsQuery{}).Count, int64(0))
	wants(t, requests.CountRequests(api.CountRequestsQuery{APIs: []string{"Produce", "Fetch"}}).Count, int64(0))
	wants(t, requests.ListUnsupported().Counts, map[string]int64{})
	requests.ClearRequests()
}
