package main

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"
)

// share lets the members of several share groups (KIP-932) consume all records of a topic at the same time. Each group
// has one member, with a connection of its own. Like KafkaShareConsumer, a member fetches up to -max-records records and
// accepts them in its next request.
func share(o *options, _ []string) (any, error) {
	addr, _, err := target(o)
	if err != nil {
		return nil, err
	}
	members := make([]*member, o.conns)
	for i := range members {
		if members[i], err = join(o, addr); err != nil {
			return nil, err
		}
		defer members[i].conn.Close()
	}
	began, cpu, own := time.Now(), cpuSeconds(o.pid), cpuSeconds(-1)
	var group sync.WaitGroup
	for _, m := range members {
		group.Add(1)
		go func() {
			defer group.Done()
			m.err = m.consume(o)
		}()
	}
	group.Wait()
	seconds := time.Since(began).Seconds()
	cpu, own = cpuSeconds(o.pid)-cpu, cpuSeconds(-1)-own
	var records, bytes int64
	for _, m := range members {
		if m.err != nil {
			return nil, m.err
		}
		records += m.records
		bytes += m.bytes
	}
	return map[string]any{
		"op": "share", "conns": o.conns, "records": records, "seconds": round(seconds, 3),
		"requests_s": round(float64(records)/seconds, 1), "mb_s": round(float64(bytes)/1e6/seconds, 3),
		"own_cpu":                   round(own/seconds, 2),
		"broker_cpu_us_per_request": round(cpu/float64(records)*1e6, 2), // per record
	}, nil
}

// member is the only member of a share group.
type member struct {
	*client
	group, id      string
	topic          []byte
	records, bytes int64
	err            error
}

// join creates a share group that begins at the first record, and joins it.
func join(o *options, addr string) (*member, error) {
	c, err := dial(addr, o.timeout)
	if err != nil {
		return nil, err
	}
	c.r = bufio.NewReaderSize(c.conn, 1<<20)
	random := make([]byte, 16)
	rand.Read(random)
	m := &member{client: c, group: "rawload-" + hex.EncodeToString(random), id: hex.EncodeToString(random)}
	e := header(apiIncrementalAlterConfigs, 0, false)
	e.arr(1)
	e.i8(32) // a group
	e.str(m.group)
	e.arr(1)
	e.str("share.auto.offset.reset")
	e.i8(0)
	e.str("earliest")
	e.i8(0)
	d, err := m.ask(e, o.timeout)
	if err != nil {
		return nil, err
	}
	d.i32() // throttle
	d.arr()
	if err := code("IncrementalAlterConfigs", d.i16()); err != nil {
		return nil, err
	}
	// The broker creates the topics of its coordinators when a client asks for one. The coordinator assigns partitions a
	// little after a member has joined.
	epoch := int32(0)
	for until := time.Now().Add(o.timeout); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		e := header(apiFindCoordinator, 0, false)
		e.str(m.group)
		if _, err := m.ask(e, o.timeout); err != nil {
			return nil, err
		}
		e = header(apiShareGroupHeartbeat, 1, true)
		e.str(m.group)
		e.str(m.id)
		e.i32(epoch)
		e.uvarint(0) // no rack
		if epoch == 0 {
			e.arr(1)
			e.str(o.topic)
		} else {
			e.uvarint(0) // the same topics
		}
		e.tags()
		d, err := m.ask(e, o.timeout)
		if err != nil {
			return nil, err
		}
		d.i32() // throttle
		if d.i16() != 0 {
			continue
		}
		d.skip() // message
		d.skip() // member id
		epoch = d.i32()
		d.i32() // heartbeat interval
		if d.i8() > 0 && d.arr() > 0 {
			m.topic = d.take(16)
			return m, d.err
		}
	}
	return nil, errors.New("the member of a share group gets no partition")
}

// span64 is a range of offsets.
type span64 struct{ first, last int64 }

// consume fetches until it has -records records, and acknowledges the last ones.
func (m *member) consume(o *options) error {
	var acquired []span64
	for epoch := int32(0); m.records < int64(o.records); epoch++ {
		var err error
		if acquired, err = m.fetch(o, epoch, acquired); err != nil {
			return err
		}
	}
	_, err := m.fetch(o, -1, acquired) // closes the session
	return err
}

func (m *member) fetch(o *options, epoch int32, accepted []span64) ([]span64, error) {
	e := header(apiShareFetch, 2, true)
	e.str(m.group)
	e.str(m.id)
	e.i32(epoch)
	e.i32(int32(o.maxWait / time.Millisecond))
	e.i32(1)        // min bytes
	e.i32(50 << 20) // max bytes
	e.i32(int32(o.maxRecords))
	e.i32(int32(o.maxRecords)) // batch size
	e.i8(0)                    // whole batches
	e.i8(0)                    // no renewal
	if epoch == 0 || len(accepted) > 0 {
		e.arr(1)
		e.b = append(e.b, m.topic...)
		e.arr(1)
		e.i32(int32(o.partition))
		e.arr(len(accepted))
		for _, each := range accepted {
			e.i64(each.first)
			e.i64(each.last)
			e.arr(1)
			e.i8(1) // accept
			e.tags()
		}
		e.tags()
		e.tags()
	} else {
		e.arr(0)
	}
	e.arr(0) // nothing to forget
	e.tags()
	d, err := m.ask(e, o.timeout)
	if err != nil {
		return nil, err
	}
	d.i32() // throttle
	if err := code("ShareFetch", d.i16()); err != nil {
		return nil, err
	}
	d.skip() // message
	d.i32()  // lock timeout
	var acquired []span64
	for n := d.arr(); n > 0 && d.err == nil; n-- {
		d.take(16)
		for k := d.arr(); k > 0 && d.err == nil; k-- {
			d.i32()
			if err := errors.Join(code("ShareFetch partition", d.i16()), d.err); err != nil {
				return nil, err
			}
			d.skip() // message
			if err := code("acknowledgement", d.i16()); err != nil {
				return nil, err
			}
			d.skip() // message
			d.i32()
			d.i32()
			d.tags()
			if size := d.size(true); size > 0 {
				m.bytes += int64(size)
				d.take(size)
			}
			for l := d.arr(); l > 0 && d.err == nil; l-- {
				each := span64{d.i64(), d.i64()}
				d.i16()
				d.tags()
				m.records += each.last - each.first + 1
				acquired = append(acquired, each)
			}
			d.tags()
		}
		d.tags()
	}
	if d.err != nil {
		return nil, fmt.Errorf("ShareFetch: %w", d.err)
	}
	return acquired, nil
}
