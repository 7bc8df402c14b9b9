// waits BOOTSTRAP TOPIC GROUP: how long the steps of a group member take, in milliseconds, as JSON.
//
// The steps are run twice; the figures are those of the second time, with another group.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kafkalet/clients/step"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	servers, topic, group := os.Args[1], os.Args[2], os.Args[3]
	run(ctx, servers, topic, group+"-first")
	fmt.Println(string(step.Must(json.Marshal(run(ctx, servers, topic, group)))))
}

func since(begun time.Time) float64 {
	return float64(time.Since(begun).Microseconds()) / 1000
}

func run(ctx context.Context, servers, topic, group string) map[string]float64 {
	figures := map[string]float64{}
	begun := time.Now()
	consumer := step.Must(kgo.NewClient(
		kgo.SeedBrokers(servers), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	))
	fetches := consumer.PollFetches(ctx)
	step.Check(fetches.Err())
	figures["first record"] = since(begun)
	begun = time.Now()
	step.Check(consumer.CommitRecords(ctx, fetches.Records()...))
	figures["commit"] = since(begun)
	begun = time.Now()
	consumer.Close()
	figures["close"] = since(begun)
	producer := step.Must(kgo.NewClient(kgo.SeedBrokers(servers), kgo.DefaultProduceTopic(topic)))
	step.Check(producer.ProduceSync(ctx, kgo.StringRecord("value")).FirstErr())
	begun = time.Now()
	producer.Close()
	figures["close of a producer"] = since(begun)
	return figures
}
