// roundtrip BOOTSTRAP TOPIC: produces five records, asks for offsets, reads from the third; prints what it saw.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	servers, topic := os.Args[1], os.Args[2]
	producer := client(servers, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(50*time.Millisecond))
	admin := kadm.NewClient(producer)

	report := map[string]any{"client": "franz-go " + version(), "produced": produce(ctx, producer, topic)}
	report["beginning"] = at(admin.ListStartOffsets(ctx, topic))(topic).Offset
	report["end"] = at(admin.ListEndOffsets(ctx, topic))(topic).Offset
	report["stable"] = at(admin.ListCommittedOffsets(ctx, topic))(topic).Offset
	report["found"] = forTime(ctx, producer, topic, 2500)
	report["none"] = forTime(ctx, producer, topic, 9999)
	report["read"], _ = read(ctx, servers, topic, 2)
	_, err := read(ctx, servers, topic, 99)
	report["out_of_range"] = errors.Is(err, kerr.OffsetOutOfRange)
	producer.Close()

	out, err := json.Marshal(report)
	check(err)
	fmt.Println(string(out))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func client(servers string, more ...kgo.Opt) *kgo.Client {
	made, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(servers)}, more...)...)
	check(err)
	return made
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == "github.com/twmb/franz-go" {
			return dependency.Version
		}
	}
	return "unknown"
}

func produce(ctx context.Context, client *kgo.Client, topic string) []int64 {
	records := make([]*kgo.Record, 5)
	for n := range records {
		records[n] = &kgo.Record{
			Topic: topic, Partition: 0, Timestamp: time.UnixMilli(int64(n+1) * 1000),
			Key: []byte(fmt.Sprintf("k%d", n)), Value: []byte(fmt.Sprintf("v%d", n)),
		}
	}
	offsets := make([]int64, 5)
	for n, result := range client.ProduceSync(ctx, records...) {
		check(result.Err)
		offsets[n] = result.Record.Offset
	}
	return offsets
}

func at(listed kadm.ListedOffsets, err error) func(string) kadm.ListedOffset {
	check(err)
	return func(topic string) kadm.ListedOffset {
		found, _ := listed.Lookup(topic, 0)
		check(found.Err)
		return found
	}
}

// kadm answers the end where nothing is found; what the broker said is told by the request itself.
func forTime(ctx context.Context, client *kgo.Client, topic string, millis int64) any {
	found := at(kadm.NewClient(client).ListOffsetsAfterMilli(ctx, millis, topic))(topic)
	if found.Timestamp < 0 {
		return nil
	}
	return []int64{found.Offset, found.Timestamp}
}

func read(ctx context.Context, servers, topic string, offset int64) ([][]any, error) {
	from := map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(offset)}}
	consumer := client(servers, kgo.ConsumePartitions(from), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	defer consumer.Close()
	var found [][]any
	for len(found) < 3 {
		fetches := consumer.PollFetches(ctx)
		if failures := fetches.Errors(); len(failures) > 0 {
			return nil, failures[0].Err
		}
		fetches.EachRecord(func(record *kgo.Record) {
			found = append(found, []any{
				record.Offset, record.Timestamp.UnixMilli(), string(record.Key), string(record.Value),
			})
		})
	}
	return found, nil
}
