package kafkalet

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var shared *Broker

func TestMain(m *testing.M) {
	os.Exit(Run(m, Options{Topics: []string{"orders:3"}}, &shared))
}

func accepts(t *testing.T, address string) bool {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}

func TestBrokerOfTestMainAcceptsConnections(t *testing.T) {
	if !accepts(t, shared.BootstrapServers()) {
		t.Fatalf("%s refuses connections", shared.BootstrapServers())
	}
}

func TestBrokerOfATestStopsAtItsEnd(t *testing.T) {
	var broker *Broker
	t.Run("inner", func(t *testing.T) {
		broker = ForTest(t, Options{})
		if !accepts(t, broker.BootstrapServers()) {
			t.Fatalf("%s refuses connections", broker.BootstrapServers())
		}
	})
	if accepts(t, broker.BootstrapServers()) {
		t.Fatal("the broker accepts connections after the end of its test")
	}
	broker.Stop() // has no effect
}

func TestEveryOptionReachesTheBroker(t *testing.T) {
	directory := t.TempDir()
	broker := ForTest(t, Options{
		Topics:     []string{"orders:3", "payments:1:retention.ms=5"},
		Properties: map[string]string{"num.partitions": "2"},
		Version:    "3.9",
		Brokers:    2,
		Arguments:  []string{"--data-dir", directory},
	})
	addresses := strings.Split(broker.BootstrapServers(), ",")
	if len(addresses) != 2 || !accepts(t, addresses[1]) {
		t.Fatalf("got the addresses %v, want those of two brokers", addresses)
	}
	for _, name := range []string{"broker-1", "broker-2"} {
		if _, err := os.Stat(filepath.Join(directory, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func fails(t *testing.T, options Options, text string) {
	t.Helper()
	if _, err := Start(options); err == nil || !strings.Contains(err.Error(), text) {
		t.Fatalf("got the error %v, want %q in it", err, text)
	}
}

func TestRefusedOptionIsNamed(t *testing.T) {
	fails(t, Options{Properties: map[string]string{"num.partitions": "0"}},
		"kafkalet ended before it was ready (exit status 2): kafkalet: Invalid value 0 for configuration num.partitions")
}

func TestStartThatTakesTooLongFails(t *testing.T) {
	fails(t, Options{StartTimeout: time.Nanosecond}, "kafkalet was not ready within 1ns")
}

func TestMissingCommandIsNamed(t *testing.T) {
	t.Setenv("KAFKALET_COMMAND", "no-such-command -m kafkalet")
	fails(t, Options{}, `cannot run kafkalet: exec: "no-such-command"`)
}
