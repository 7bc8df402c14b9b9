package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// plan is what each connection sends: one frame, with a new correlation id (and fetch offset) each time.
type plan struct {
	frame    []byte
	offsetAt int // position of the fetch offset in the frame; 0 if it never changes
	check    func(*dec) (payload int, err error)
	flex     bool
	version  int16
}

func makePlan(o *options, name string, all map[int16]span) (*plan, error) {
	want := func(key, lowest, highest, standard int16) (int16, error) {
		if o.version < 0 {
			return pick(all, key, lowest, standard)
		}
		v := int16(o.version)
		if s, ok := all[key]; v < lowest || v > highest || !ok || v < s.Min || v > s.Max {
			return 0, fmt.Errorf("%s v%d: this program does v%d-%d, the broker v%d-%d", name, v, lowest, highest, s.Min, s.Max)
		}
		return v, nil
	}
	switch name {
	case "apiversions":
		v, err := want(apiApiVersions, 0, 2, 0)
		if err != nil {
			return nil, err
		}
		e := header(apiApiVersions, v, false)
		return &plan{frame: e.b, version: v, check: func(d *dec) (int, error) { return 0, code("ApiVersions", d.i16()) }}, nil
	case "listoffsets":
		v, err := want(apiListOffsets, 1, 9, 1)
		if err != nil {
			return nil, err
		}
		e := header(apiListOffsets, v, v >= 6)
		e.i32(-1)
		if v >= 2 {
			e.i8(int8(o.isolation))
		}
		e.arr(1)
		e.str(o.topic)
		e.arr(1)
		e.i32(int32(o.partition))
		if v >= 4 {
			e.i32(-1)
		}
		e.i64(o.timestamp)
		e.tags()
		e.tags()
		e.tags()
		check := func(d *dec) (int, error) {
			if v >= 2 {
				d.i32()
			}
			d.arr()
			d.skip()
			d.arr()
			d.i32()
			if err := code("ListOffsets", d.i16()); err != nil {
				return 0, err
			}
			d.i64()
			if at := d.i64(); at < 0 && d.err == nil {
				return 0, fmt.Errorf("ListOffsets: offset %d", at)
			}
			return 0, d.err
		}
		return &plan{frame: e.b, version: v, flex: v >= 6, check: check}, nil
	}
	v, err := want(apiFetch, 4, 12, 11)
	if err != nil {
		return nil, err
	}
	e := header(apiFetch, v, v >= 12)
	e.i32(-1)
	e.i32(int32(o.maxWait / time.Millisecond))
	e.i32(int32(o.minBytes))
	e.i32(int32(o.maxBytes))
	e.i8(int8(o.isolation))
	if v >= 7 { // no session
		e.i32(0)
		e.i32(-1)
	}
	e.arr(1)
	e.str(o.topic)
	e.arr(1)
	e.i32(int32(o.partition))
	if v >= 9 {
		e.i32(-1)
	}
	at := len(e.b)
	e.i64(o.offset)
	if v >= 12 {
		e.i32(-1)
	}
	if v >= 5 {
		e.i64(-1)
	}
	e.i32(int32(o.maxBytes))
	e.tags()
	e.tags()
	if v >= 7 {
		e.arr(0)
	}
	if v >= 11 {
		e.str("")
	}
	e.tags()
	check := func(d *dec) (int, error) {
		d.i32() // throttle
		if v >= 7 {
			if err := code("Fetch", d.i16()); err != nil {
				return 0, err
			}
			d.i32()
		}
		if n := d.arr(); n != 1 {
			return 0, fmt.Errorf("Fetch: %d topics in the answer", n)
		}
		d.skip()
		d.arr()
		d.i32()
		if err := code("Fetch partition", d.i16()); err != nil {
			return 0, err
		}
		d.i64() // high watermark
		d.i64() // last stable offset
		if v >= 5 {
			d.i64() // log start offset
		}
		for n := d.arr(); n > 0 && d.err == nil; n-- { // aborted transactions
			d.i64()
			d.i64()
			d.tags()
		}
		if v >= 11 {
			d.i32()
		}
		n := d.size(true)
		if d.err == nil && n <= 0 {
			return 0, fmt.Errorf("Fetch: no records at the offset asked for")
		}
		d.take(n)
		return n, d.err
	}
	p := &plan{frame: e.b, version: v, flex: v >= 12, check: check}
	if o.wrap > 0 {
		p.offsetAt = at
	}
	return p, nil
}

func code(what string, c int16) error {
	if c != 0 {
		return fmt.Errorf("%s: error code %d", what, c)
	}
	return nil
}

// tally is the count of one connection within the measured time.
type tally struct {
	latency        []int64 // ns
	bytes, payload int64
	err            error
}

func load(o *options, args []string) (any, error) {
	if o.conns < 1 || o.depth < 1 {
		return nil, errors.New("-conns and -depth must be at least 1")
	}
	addr, all, err := target(o)
	if err != nil {
		return nil, err
	}
	p, err := makePlan(o, args[0], all)
	if err != nil {
		return nil, err
	}
	conns := make([]net.Conn, o.conns)
	for i := range conns {
		if conns[i], err = net.DialTimeout("tcp", addr, o.timeout); err != nil {
			return nil, err
		}
		defer conns[i].Close()
	}
	tallies := make([]tally, o.conns)
	from := time.Now().Add(o.warmup)
	to := from.Add(o.duration)
	var group sync.WaitGroup
	for i := range conns {
		group.Add(1)
		go func() {
			defer group.Done()
			drive(conns[i], p, o, from, to, &tallies[i])
		}()
	}
	time.Sleep(time.Until(from))
	cpu := cpuSeconds(o.pid)
	own := cpuSeconds(-1)
	time.Sleep(time.Until(to))
	cpu = cpuSeconds(o.pid) - cpu
	own = cpuSeconds(-1) - own
	group.Wait()

	var all64 []int64
	var bytes, payload int64
	for i := range tallies {
		if tallies[i].err != nil {
			return nil, fmt.Errorf("connection %d: %w", i, tallies[i].err)
		}
		all64 = append(all64, tallies[i].latency...)
		bytes += tallies[i].bytes
		payload += tallies[i].payload
	}
	sortInts(all64)
	n := len(all64)
	seconds := o.duration.Seconds()
	report := map[string]any{
		"op": args[0], "version": p.version, "conns": o.conns, "depth": o.depth,
		"seconds": seconds, "requests": n, "requests_s": round(float64(n)/seconds, 1),
		"p50_us": percentile(all64, 50), "p90_us": percentile(all64, 90), "p99_us": percentile(all64, 99),
		"max_us": percentile(all64, 100), "mb_s": round(float64(bytes)/1e6/seconds, 3),
		"own_cpu": round(own/seconds, 2),
	}
	if args[0] == "fetch" && n > 0 {
		report["record_bytes_per_answer"] = payload / int64(n)
		report["record_mb_s"] = round(float64(payload)/1e6/seconds, 3)
	}
	if o.pid > 0 {
		report["broker_cpu"] = round(cpu/seconds, 2)
		if n > 0 {
			report["broker_cpu_us_per_request"] = round(cpu/float64(n)*1e6, 1)
		}
	}
	return report, nil
}

// drive keeps depth requests in flight on one connection until the time is over, then receives the remaining answers.
func drive(conn net.Conn, p *plan, o *options, from, to time.Time, t *tally) {
	r := bufio.NewReaderSize(conn, 64<<10)
	w := make([]byte, 0, o.depth*len(p.frame))
	sentAt := make([]time.Time, o.depth) // by correlation id
	body := make([]byte, 64<<10)
	frame := append([]byte(nil), p.frame...)
	var sent, got int32
	t.latency = make([]int64, 0, 1<<16)
	for {
		now := time.Now()
		w = w[:0]
		for int(sent-got) < o.depth && now.Before(to) {
			patch(frame, sent)
			if p.offsetAt > 0 {
				at := o.offset + o.step*int64(int(sent)%o.wrap)
				binary.BigEndian.PutUint64(frame[p.offsetAt:], uint64(at))
			}
			w = append(w, frame...)
			sentAt[int(sent)%o.depth] = now
			sent++
		}
		if len(w) > 0 {
			if _, t.err = conn.Write(w); t.err != nil {
				return
			}
		}
		if sent == got {
			return
		}
		conn.SetReadDeadline(now.Add(o.timeout))
		for first := true; sent > got && (first || buffered(r)); first = false {
			var head [4]byte
			if _, t.err = io.ReadFull(r, head[:]); t.err != nil {
				return
			}
			size := int(binary.BigEndian.Uint32(head[:]))
			if size < 4 || size > 1<<30 {
				t.err = fmt.Errorf("answer of %d bytes", size)
				return
			}
			if size > len(body) {
				body = make([]byte, size)
			}
			if _, t.err = io.ReadFull(r, body[:size]); t.err != nil {
				return
			}
			done := time.Now()
			if id := int32(binary.BigEndian.Uint32(body)); id != got {
				t.err = fmt.Errorf("correlation id %d, expected %d", id, got)
				return
			}
			d := dec{b: body[4:size], flex: p.flex}
			d.tags()
			payload, err := p.check(&d)
			if err != nil {
				t.err = err
				return
			}
			if done.After(from) && done.Before(to) {
				t.latency = append(t.latency, int64(done.Sub(sentAt[int(got)%o.depth])))
				t.bytes += int64(size + 4)
				t.payload += int64(payload)
			}
			got++
		}
	}
}

// buffered returns whether the reader contains a whole answer, which can be read without blocking.
func buffered(r *bufio.Reader) bool {
	if r.Buffered() < 4 {
		return false
	}
	head, err := r.Peek(4)
	return err == nil && r.Buffered() >= 4+int(binary.BigEndian.Uint32(head))
}

// cpuSeconds is the processor time of a process, -1 for this one; 0 if unknown.
func cpuSeconds(pid int) float64 {
	if pid == 0 {
		return 0
	}
	who := "self"
	if pid > 0 {
		who = strconv.Itoa(pid)
	}
	text, err := os.ReadFile("/proc/" + who + "/stat")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) / 100 // USER_HZ is 100 on Linux
}
