// securedfranz FOLDER PREFIX: logs in with each file in the folder, with franz-go.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"kafkalet/clients/step"
)

const count = 9

var (
	ctx, _ = context.WithTimeout(context.Background(), 2*time.Minute) //nolint:govet // ends with the program
	name   string
	topic  string
)

func main() {
	name, topic = os.Args[2], "orders-"+os.Args[2]
	fmt.Println("   franz-go", step.Version("github.com/twmb/franz-go"))
	for _, login := range step.Logins(os.Args[1]) {
		step.Run(login.Name, func() {
			switch {
			case strings.HasPrefix(login.Name, "wrong"):
				refused(login)
			case login.Name == "again":
				again(login)
			default:
				allowed(login)
			}
		})
	}
}

func client(login step.Login, more ...kgo.Opt) *kgo.Client {
	options := []kgo.Opt{kgo.ClientID(login.Name), kgo.SeedBrokers(strings.Split(login.Servers, ",")...)}
	if config := login.TLS(); config != nil {
		options = append(options, kgo.DialTLSConfig(config))
	}
	if login.Mechanism != "" {
		options = append(options, kgo.SASL(mechanism(login)))
	}
	return step.Must(kgo.NewClient(append(options, more...)...))
}

func mechanism(login step.Login) sasl.Mechanism {
	switch login.Mechanism {
	case "PLAIN":
		return plain.Auth{User: login.User, Pass: login.Password}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: login.User, Pass: login.Password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: login.User, Pass: login.Password}.AsSha512Mechanism()
	default:
		return oauth.Auth{Token: login.Token}.AsMechanism()
	}
}

// allowed produces, and consumes that in a group; another topic and another group are refused.
func allowed(login step.Login) {
	records := []*kgo.Record{}
	wanted := map[string]bool{}
	for n := range count {
		value := fmt.Sprint(login.Name, n)
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(n % 3), Value: []byte(value)})
		wanted[value] = true
	}
	producer := client(login, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer producer.Close()
	step.Check(producer.ProduceSync(ctx, records...).FirstErr())
	payment := producer.ProduceSync(ctx, &kgo.Record{Topic: "payments", Value: []byte("one")})
	step.Refused(payment.FirstErr(), kerr.TopicAuthorizationFailed)

	consumer := client(login, group("billing "+name+login.Name)...)
	defer consumer.Close()
	for len(wanted) > 0 {
		fetches := consumer.PollFetches(ctx)
		step.Check(fetches.Err())
		fetches.EachRecord(func(record *kgo.Record) { delete(wanted, string(record.Value)) })
	}
	step.Check(consumer.CommitUncommittedOffsets(ctx))

	stranger := client(login, group("salaries")...)
	defer stranger.Close()
	step.Refused(stranger.PollFetches(ctx).Err(), kerr.GroupAuthorizationFailed)
}

func group(group string) []kgo.Opt {
	return []kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}
}

func refused(login step.Login) {
	client := client(login)
	defer client.Close()
	step.Refused(client.Ping(ctx), kerr.SaslAuthenticationFailed)
}

// again produces for longer than a session lasts.
func again(login step.Login) {
	producer := client(login)
	defer producer.Close()
	for range 100 {
		step.Check(producer.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("again")}).FirstErr())
		time.Sleep(50 * time.Millisecond)
	}
}
