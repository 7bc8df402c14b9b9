// Package orders tests a producer and a consumer against one kafkalet broker, which TestMain starts and stops.
package orders

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// bootstrap is the address of the broker.
var bootstrap string

func TestMain(m *testing.M) {
	os.Exit(runWithBroker(m))
}

func runWithBroker(m *testing.M) int {
	broker := exec.Command("kafkalet", "serve", "--listen", "127.0.0.1:0", "--log-level", "warning")
	broker.Stderr = os.Stderr
	stdout, err := broker.StdoutPipe()
	if err == nil {
		err = broker.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot start kafkalet:", err)
		return 1
	}
	defer func() {
		_ = broker.Process.Signal(os.Interrupt)
		_ = broker.Wait()
	}()

	// The broker prints one line when it is ready: kafkalet ready bootstrap=HOST:PORT
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		fmt.Fprintln(os.Stderr, "kafkalet ended before it was ready")
		return 1
	}
	_, bootstrap, _ = strings.Cut(strings.TrimSpace(line), "bootstrap=")
	return m.Run()
}

func TestOrderIsPublished(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	producer, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.AllowAutoTopicCreation())
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	order := &kgo.Record{Topic: "orders", Key: []byte("7"), Value: []byte(`{"id": 7}`)}
	if err := producer.ProduceSync(ctx, order).FirstErr(); err != nil {
		t.Fatal(err)
	}

	consumer, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
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
