// Package orders tests a producer and a consumer against one kafkalet broker, which TestMain starts and stops.
package orders

import (
	"context"
	"os"
	"testing"
	"time"

	"kafkalet"

	"github.com/twmb/franz-go/pkg/kgo"
)

// broker runs while the tests of this package run.
var broker *kafkalet.Broker

func TestMain(m *testing.M) {
	os.Exit(kafkalet.Run(m, kafkalet.Options{Topics: []string{"orders:6"}}, &broker))
}

func TestOrderIsPublished(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	producer, err := kgo.NewClient(kgo.SeedBrokers(broker.BootstrapServers()))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	order := &kgo.Record{Topic: "orders", Key: []byte("7"), Value: []byte(`{"id": 7}`)}
	if err := producer.ProduceSync(ctx, order).FirstErr(); err != nil {
		t.Fatal(err)
	}

	consumer, err := kgo.NewClient(
		kgo.SeedBrokers(broker.BootstrapServers()),
		kgo.ConsumeTopics("orders"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	fetches := consumer.PollFetches(ctx)
	if err := fetches.Err(); err != nil {
		t.Fatal(err)
	}
	records := fetches.Records()
	if len(records) != 1 || string(records[0].Key) != "7" {
		t.Fatalf("got %d records, want one with the key 7", len(records))
	}
}
