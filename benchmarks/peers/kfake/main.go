// Command kfake runs kfake, franz-go's broker for tests, as a program: one broker, topics of one partition that are
// created when a client asks for them.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	port := flag.Int("port", 19092, "port on the loopback interface")
	flag.Parse()
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1), kfake.Ports(*port), kfake.DefaultNumPartitions(1), kfake.AllowAutoTopicCreation())
	if err != nil {
		fmt.Fprintln(os.Stderr, "kfake:", err)
		os.Exit(1)
	}
	fmt.Println("ready", cluster.ListenAddrs())
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	cluster.Close()
}
