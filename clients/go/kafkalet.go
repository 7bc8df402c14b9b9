// Package kafkalet starts a kafkalet broker for Go tests, in a process of its own and on a free port.
//
//	var broker *kafkalet.Broker
//
//	func TestMain(m *testing.M) {
//		os.Exit(kafkalet.Run(m, kafkalet.Options{Topics: []string{"orders:6"}}, &broker))
//	}
//
//	func TestOrderIsPublished(t *testing.T) {
//		client, err := kgo.NewClient(kgo.SeedBrokers(broker.BootstrapServers()))
//
// The broker is the command kafkalet, or `python3 -m kafkalet` if there is no such command. The environment variable
// KAFKALET_COMMAND replaces both; its words are separated by spaces. The broker also stops if the test process ends in
// any other way, even if it is killed (except on Windows).
package kafkalet

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const ready = "kafkalet ready bootstrap="

// Options are the options of a broker. The zero value is one broker without topics.
type Options struct {
	// Topics to create, each as NAME[:PARTITIONS[:KEY=VALUE,...]], for example "orders:6".
	Topics []string
	// Properties of the brokers, by their Kafka names.
	Properties map[string]string
	// Version is the release of Apache Kafka to emulate, for example "3.9". By default, every version is accepted.
	Version string
	// Brokers is the number of brokers; 0 means one.
	Brokers int
	// Arguments are further arguments of `kafkalet serve`.
	Arguments []string
	// StartTimeout limits the time that Start waits for the broker; 0 means 30 seconds.
	StartTimeout time.Duration
}

// Broker is a running broker, or several.
type Broker struct {
	command          *exec.Cmd
	bootstrapServers string
	stopped          sync.Once
}

// Run starts a broker, sets *broker, runs the tests of a package, stops the broker and returns the exit code.
func Run(tests interface{ Run() int }, options Options, broker **Broker) int {
	started, err := Start(options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer started.Stop()
	*broker = started
	return tests.Run()
}

// ForTest starts a broker that stops at the end of the test. The test fails if it does not start.
func ForTest(t testing.TB, options Options) *Broker {
	t.Helper()
	broker, err := Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Stop)
	return broker
}

// Start starts a broker and waits until it accepts connections.
func Start(options Options) (*Broker, error) {
	words, err := commandLine()
	if err != nil {
		return nil, err
	}
	words = append(words, options.arguments()...)
	log := &tail{}
	command := exec.Command(words[0], words[1:]...)
	command.Stderr = io.MultiWriter(os.Stderr, log)
	stdout, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot run kafkalet: %w", err)
	}

	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		lines <- line
	}()
	timeout := options.StartTimeout
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	select {
	case line := <-lines:
		if address, found := strings.CutPrefix(strings.TrimSpace(line), ready); found {
			return &Broker{command: command, bootstrapServers: address}, nil
		}
		err = command.Wait()
		return nil, fmt.Errorf("kafkalet ended before it was ready (%v): %s", err, log.lastLine())
	case <-time.After(timeout):
		stop(command)
		return nil, fmt.Errorf("kafkalet was not ready within %v", timeout)
	}
}

// BootstrapServers returns the address of every broker as host:port, separated by commas.
func (broker *Broker) BootstrapServers() string {
	return broker.bootstrapServers
}

// Stop stops the broker and waits for its end.
func (broker *Broker) Stop() {
	broker.stopped.Do(func() {
		stop(broker.command)
	})
}

func stop(command *exec.Cmd) {
	if command.Process.Signal(os.Interrupt) != nil { // Windows has no such signal
		_ = command.Process.Kill()
	}
	_ = command.Wait()
}

func commandLine() ([]string, error) {
	if words := strings.Fields(os.Getenv("KAFKALET_COMMAND")); len(words) > 0 {
		return words, nil
	}
	if path, err := exec.LookPath("kafkalet"); err == nil {
		return []string{path}, nil
	}
	if path, err := exec.LookPath("python3"); err == nil {
		return []string{path, "-m", "kafkalet"}, nil
	}
	return nil, errors.New("cannot run kafkalet; install it with `pip install kafkalet`, or set KAFKALET_COMMAND")
}

func (options Options) arguments() []string {
	arguments := []string{"serve", "--listen", "127.0.0.1:0", "--log-level", "warning"}
	if runtime.GOOS != "windows" {
		arguments = append(arguments, "--exit-with-parent")
	}
	for _, topic := range options.Topics {
		arguments = append(arguments, "--topic", topic)
	}
	for name, value := range options.Properties {
		arguments = append(arguments, "--set", name+"="+value)
	}
	if options.Version != "" {
		arguments = append(arguments, "--kafka-version", options.Version)
	}
	if options.Brokers != 0 {
		arguments = append(arguments, "--brokers", strconv.Itoa(options.Brokers))
	}
	return append(arguments, options.Arguments...)
}

// tail keeps the end of what is written to it: of the log, whose last line says why a broker did not start.
type tail struct {
	text string
}

func (log *tail) Write(data []byte) (int, error) {
	log.text += string(data)
	log.text = log.text[max(0, len(log.text)-10_000):]
	return len(data), nil
}

func (log *tail) lastLine() string {
	text := strings.TrimSpace(log.text)
	return text[strings.LastIndex(text, "\n")+1:]
}
