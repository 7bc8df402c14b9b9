// Command rawload measures how many requests a broker answers per second over N plain sockets with D requests in flight
// on each. No client library limits the load. Every answer is checked: a wrong correlation id, an error code or missing
// records end the run with status 1. Each command prints one line of JSON:
//
//	requests_s                    answers per second within the measured time
//	p50_us, p90_us, p99_us        from sending a request until its whole answer is received
//	mb_s                          size of the answers, in units of 1,000,000 bytes
//	record_bytes_per_answer       of a Fetch: whether the broker filled -max-bytes
//	own_cpu                       processors used by this program: near 1 per connection, it limits the rate itself
//	broker_cpu_us_per_request     with -pid, on Linux: processor time of the broker per request, in microseconds
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"time"
)

const usage = `usage: rawload COMMAND [flags]

  prepare      create a topic with one partition and fill it with record batches
  listoffsets  load: ListOffsets, one partition
  fetch        load: Fetch, one partition
  apiversions  load: ApiVersions
  share        load: ShareFetch, share groups that read one partition to its end

Each prints one line of JSON. "rawload COMMAND -h" lists the flags.
`

type options struct {
	addr      string
	topic     string
	partition int
	timeout   time.Duration

	conns, depth     int
	duration, warmup time.Duration
	version          int
	pid              int

	timestamp, offset, step int64
	wrap                    int
	maxBytes, minBytes      int
	maxWait                 time.Duration
	isolation               int

	batches, perBatch, size int
	records, maxRecords     int
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	name := os.Args[1]
	var o options
	f := flag.NewFlagSet(name, flag.ExitOnError)
	f.StringVar(&o.addr, "addr", "127.0.0.1:9092", "address of the broker")
	f.DurationVar(&o.timeout, "timeout", 10*time.Second, "longest wait for one answer")
	run := map[string]func(*options, []string) (any, error){
		"prepare": prepare, "listoffsets": load, "fetch": load, "apiversions": load, "share": share,
	}[name]
	if run == nil {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	switch name {
	case "listoffsets", "fetch", "apiversions":
		f.IntVar(&o.conns, "conns", 1, "connections")
		f.IntVar(&o.depth, "depth", 1, "requests in flight on each connection")
		f.DurationVar(&o.duration, "duration", 5*time.Second, "measured time")
		f.DurationVar(&o.warmup, "warmup", time.Second, "time before it, not counted")
		f.IntVar(&o.version, "version", -1, "request version (-1: listoffsets 1, fetch 11, apiversions 0; lower where the broker's newest is lower)")
		f.IntVar(&o.pid, "pid", 0, "the broker's process id: also report its CPU time and memory (Linux)")
	case "share":
		f.IntVar(&o.conns, "conns", 1, "share groups, with one member and one connection each")
		f.IntVar(&o.records, "records", 1000, "records that each group consumes")
		f.IntVar(&o.maxRecords, "max-records", 500, "max_records")
		f.DurationVar(&o.maxWait, "max-wait", 500*time.Millisecond, "max_wait_ms")
		f.IntVar(&o.pid, "pid", 0, "the broker's process id: also report its CPU time (Linux)")
	case "prepare":
		f.IntVar(&o.batches, "batches", 1000, "record batches to send")
		f.IntVar(&o.perBatch, "per-batch", 1, "records in each batch")
		f.IntVar(&o.size, "size", 900, "bytes of each record's value")
	}
	if name != "apiversions" {
		f.StringVar(&o.topic, "topic", "rawload", "topic")
		f.IntVar(&o.partition, "partition", 0, "partition")
	}
	switch name {
	case "listoffsets":
		f.Int64Var(&o.timestamp, "timestamp", -1, "-1 latest, -2 earliest, or milliseconds")
		f.IntVar(&o.isolation, "isolation", 0, "0 read_uncommitted, 1 read_committed (from v2)")
	case "fetch":
		f.Int64Var(&o.offset, "offset", 0, "fetch offset")
		f.Int64Var(&o.step, "step", 0, "add this to the offset of each next request of a connection, so that not all read the same batch")
		f.IntVar(&o.wrap, "wrap", 0, "start again at -offset after this many requests (0: do not step)")
		f.IntVar(&o.maxBytes, "max-bytes", 1024, "max_bytes, of the request and of the partition")
		f.IntVar(&o.minBytes, "min-bytes", 1, "min_bytes")
		f.DurationVar(&o.maxWait, "max-wait", 500*time.Millisecond, "max_wait_ms")
		f.IntVar(&o.isolation, "isolation", 0, "0 read_uncommitted, 1 read_committed")
	}
	f.Parse(os.Args[2:])
	report, err := run(&o, append([]string{name}, f.Args()...))
	if report != nil {
		line, _ := json.Marshal(report)
		fmt.Println(string(line))
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "rawload:", err)
	os.Exit(1)
}

// target is a connection to the partition's leader and what that broker lists.
func target(o *options) (string, map[int16]span, error) {
	c, err := dial(o.addr, o.timeout)
	if err != nil {
		return "", nil, err
	}
	defer c.conn.Close()
	all, err := apiVersions(c, o.timeout)
	if err != nil || o.topic == "" {
		return o.addr, all, err
	}
	addr, err := leader(c, o.topic, int32(o.partition), o.timeout)
	return addr, all, err
}

func prepare(o *options, _ []string) (any, error) {
	c, err := dial(o.addr, o.timeout)
	if err != nil {
		return nil, err
	}
	defer func() { c.conn.Close() }()
	all, err := apiVersions(c, o.timeout)
	if err != nil {
		return nil, err
	}
	if _, ok := all[apiCreateTopics]; ok {
		if err := createTopic(c, o.topic, 1, o.timeout); err != nil {
			return nil, err
		}
	}
	version, err := pick(all, apiProduce, 3, 8)
	if err != nil {
		return nil, err
	}
	var addr string
	for until := time.Now().Add(o.timeout); ; time.Sleep(20 * time.Millisecond) {
		if addr, err = leader(c, o.topic, int32(o.partition), o.timeout); err == nil {
			break
		}
		if time.Now().After(until) {
			return nil, err
		}
	}
	c.conn.Close()
	if c, err = dial(addr, o.timeout); err != nil {
		return nil, err
	}
	batch := recordBatch(o.perBatch, o.size, time.Now())
	began := time.Now()
	for i := 0; i < o.batches; i++ {
		e := header(apiProduce, version, false)
		e.i16(-1) // no transactional id
		e.i16(1)  // acks
		e.i32(int32(o.timeout / time.Millisecond))
		e.arr(1)
		e.str(o.topic)
		e.arr(1)
		e.i32(int32(o.partition))
		e.i32(int32(len(batch)))
		e.b = append(e.b, batch...)
		d, err := c.ask(e, o.timeout)
		if err != nil {
			return nil, err
		}
		d.arr()
		d.skip()
		d.arr()
		d.i32()
		code := d.i16()
		if code == notLeader && i == 0 && time.Since(began) < o.timeout { // it is, but does not know it yet
			time.Sleep(20 * time.Millisecond)
			i--
			continue
		}
		if code != 0 || d.err != nil {
			return nil, fmt.Errorf("produce: batch %d: error code %d, %v", i, code, d.err)
		}
	}
	took := time.Since(began).Seconds()
	return map[string]any{
		"topic": o.topic, "batches": o.batches, "records": o.batches * o.perBatch,
		"batch_bytes": len(batch), "produce_version": version, "seconds": round(took, 3),
		"requests_s": round(float64(o.batches)/took, 1),
		"mb_s":       round(float64(o.batches*len(batch))/1e6/took, 2),
	}, nil
}

func round(v float64, digits int) float64 {
	p := 1.0
	for ; digits > 0; digits-- {
		p *= 10
	}
	return float64(int64(v*p+0.5)) / p
}

func percentile(sorted []int64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := int(p / 100 * float64(len(sorted)))
	return round(float64(sorted[min(at, len(sorted)-1)])/1e3, 1) // µs
}

func sortInts(v []int64) { sort.Slice(v, func(i, j int) bool { return v[i] < v[j] }) }
