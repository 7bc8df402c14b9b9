// securedsarama FOLDER PREFIX: logs in with each file in the folder, with sarama.
package main

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"

	"kafkalet/clients/step"
)

const count = 9

var (
	name  string
	topic string
)

func main() {
	name, topic = os.Args[2], "orders-"+os.Args[2]
	fmt.Println("   sarama", step.Version("github.com/IBM/sarama"))
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

// conversation is that of the SCRAM client that sarama has no own one of.
type conversation struct {
	hash scram.HashGeneratorFcn
	*scram.ClientConversation
}

func (with *conversation) Begin(user, password, authorization string) error {
	client, err := with.hash.NewClient(user, password, authorization)
	if err == nil {
		with.ClientConversation = client.NewConversation()
	}
	return err
}

type token string

func (token token) Token() (*sarama.AccessToken, error) {
	return &sarama.AccessToken{Token: string(token)}, nil
}

func config(login step.Login) *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Metadata.AllowAutoTopicCreation = false
	config.Metadata.Retry.Max = 1
	config.ClientID = login.Name
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Group.Rebalance.Retry.Max = 0
	config.Net.TLS.Config = login.TLS()
	config.Net.TLS.Enable = config.Net.TLS.Config != nil
	config.Net.SASL.Enable = login.Mechanism != ""
	config.Net.SASL.Mechanism = sarama.SASLMechanism(login.Mechanism)
	config.Net.SASL.User, config.Net.SASL.Password = login.User, login.Password
	config.Net.SASL.TokenProvider = token(login.Token)
	config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient {
		if login.Mechanism == "SCRAM-SHA-256" {
			return &conversation{hash: sha256.New}
		}
		return &conversation{hash: sha512.New}
	}
	return config
}

func producer(login step.Login) sarama.SyncProducer {
	return step.Must(sarama.NewSyncProducer(strings.Split(login.Servers, ","), config(login)))
}

// member passes on the values that it reads.
type member chan string

func (member) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (read member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, more := <-claim.Messages():
			if !more {
				return nil
			}
			session.MarkMessage(message, "")
			read <- string(message.Value)
		case <-session.Context().Done():
			return nil
		}
	}
}

// consume reads the topic in a group until it has all that is wanted.
func consume(login step.Login, group string, wanted map[string]bool) error {
	consumer := step.Must(sarama.NewConsumerGroup(strings.Split(login.Servers, ","), group, config(login)))
	defer consumer.Close()
	ctx, end := context.WithTimeout(context.Background(), 30*time.Second)
	defer end()
	read, ended := make(member, 1000), make(chan error, 1)
	go func() { ended <- consumer.Consume(ctx, []string{topic}, read) }()
	for len(wanted) > 0 {
		select {
		case value := <-read:
			delete(wanted, value)
		case err := <-ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	end()
	return <-ended
}

// allowed produces, and consumes that in a group; another topic and another group are refused.
func allowed(login step.Login) {
	wanted := map[string]bool{}
	producer := producer(login)
	for n := range count {
		value := fmt.Sprint(login.Name, n)
		message := sarama.ProducerMessage{Topic: topic, Partition: int32(n % 3), Value: sarama.StringEncoder(value)}
		_, _, err := producer.SendMessage(&message)
		step.Check(err)
		wanted[value] = true
	}
	_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: "payments", Value: sarama.StringEncoder("one")})
	step.Refused(err, sarama.ErrTopicAuthorizationFailed)
	step.Check(producer.Close())

	step.Check(consume(login, "billing "+name+login.Name, wanted))
	err = consume(login, "salaries", map[string]bool{"one": true})
	step.Refused(err, sarama.ErrGroupAuthorizationFailed)
}

func refused(login step.Login) {
	_, err := sarama.NewClient(strings.Split(login.Servers, ","), config(login))
	step.Refused(err, sarama.ErrSASLAuthenticationFailed)
}

// again produces for longer than a session lasts.
func again(login step.Login) {
	producer := producer(login)
	for n := range 100 {
		_, _, err := producer.SendMessage(&sarama.ProducerMessage{
			Topic: topic, Partition: int32(n % 3), Value: sarama.StringEncoder("again"),
		})
		step.Check(err)
		time.Sleep(50 * time.Millisecond)
	}
	step.Check(producer.Close())
}
