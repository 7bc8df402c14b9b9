import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { start } from 'kafkalet'
import { Kafka, logLevel } from 'kafkajs'

let kafka // the broker of a test
let running = [] // the clients of a test

beforeEach(async () => { kafka = await start() })

afterEach(async () => {
  await Promise.all(running.map(client => client.disconnect()))
  running = []
  await kafka.stop()
})

// The following functions stand for the application under test.

function client () {
  const brokers = kafka.bootstrapServers.split(',')
  return new Kafka({ brokers, logLevel: logLevel.NOTHING, retry: { initialRetryTime: 50 } })
}

/** Sends a record to the topic orders. */
async function produce (key, value) {
  const producer = client().producer({ idempotent: true })
  running.push(producer)
  await producer.connect()
  await producer.send({ topic: 'orders', messages: [{ key, value }] })
}

/** Starts a consumer in the group billing, and resolves to its first n messages. It commits each of them. */
async function consume (n) {
  const consumer = client().consumer({ groupId: 'billing', maxWaitTimeInMs: 100 })
  running.push(consumer)
  await consumer.connect()
  await consumer.subscribe({ topics: ['orders'], fromBeginning: true })
  const messages = []
  return await new Promise((resolve, reject) => {
    const eachMessage = async ({ message }) => { if (messages.push(message) === n) resolve(messages) }
    consumer.run({ autoCommitThreshold: 1, eachMessage }).catch(reject)
    if (n === 0) resolve(messages)
  })
}

// --8<-- [start:publish]
test('an order is published', async () => {
  await produce('7', '{"id": 7}')
  const [order] = await kafka.topic('orders').waitFor(1)
  assert.equal(order.key.toString(), '7')
  assert.deepEqual(order.json(), { id: 7 })
})
// --8<-- [end:publish]

// --8<-- [start:wait]
test('wait for one of many records', async () => {
  await produce('6', 'created')
  await produce('7', 'created')
  await kafka.topic('orders').waitFor(1, { key: '7', contains: 'create', timeoutMs: 5000 })
})
// --8<-- [end:wait]

// --8<-- [start:consume]
test('an order is consumed', async () => {
  await kafka.topic('orders').send({ key: '7', value: '{"id": 7}', headers: { source: 'web' } })
  const [message] = await consume(1)
  assert.equal(message.headers.source.toString(), 'web')
})
// --8<-- [end:consume]

// --8<-- [start:settle]
test('nothing else is published', async () => {
  const invoices = await kafka.topic('invoices').create()
  await produce('7', 'one')
  await kafka.settle()
  assert.deepEqual(await invoices.values(), [])
})
// --8<-- [end:settle]

// --8<-- [start:batch]
test('a batch with timestamps', async () => {
  const topic = await kafka.topic('orders').create({ partitions: 3, config: { 'retention.ms': -1 } })
  await topic.send(...['a', 'b', 'c'].map(value => ({ value, partition: 1, timestamp: 1_700_000_000_000 })))
  const mark = await topic.mark()
  await topic.send({ key: 'd', partition: 2 }) // a tombstone
  assert.deepEqual(await topic.values({ partition: 1 }), ['a', 'b', 'c'])
  assert.deepEqual(await topic.values({ since: mark }), [null])
})
// --8<-- [end:batch]

// --8<-- [start:commit]
test('a consumer commits', async () => {
  await kafka.topic('orders').send('one')
  await consume(1)
  const group = await kafka.group('billing').waitForLag(0)
  assert.equal(group.committed('orders', 0), 1)
})
// --8<-- [end:commit]

// --8<-- [start:seek]
test('a group is moved', async () => {
  await kafka.topic('orders').send('one', 'two', 'three')
  await kafka.group('billing').seek({ topic: 'orders', offset: 1 }) // or { timestamp: new Date(...) }
  const messages = await consume(2)
  assert.deepEqual(messages.map(message => message.value.toString()), ['two', 'three'])
})
// --8<-- [end:seek]

// --8<-- [start:evict]
test('a member is evicted', async () => {
  await kafka.topic('orders').create({ partitions: 2 })
  await consume(0)
  const group = kafka.group('billing')
  const { members: [member] } = await group.waitUntilStable({ members: 1 })
  assert.equal((await group.evict(member.member_id)).state, 'Empty')
})
// --8<-- [end:evict]

// --8<-- [start:transaction]
test('an open transaction', async () => {
  const topic = await kafka.topic('orders').create({ partitions: 1 })
  await kafka.withTransaction('payments', async transaction => { // commits at the end, or aborts on an error
    await transaction.send('orders', 'one')
    assert.deepEqual(await topic.values({ isolation: 'read_committed' }), [])
  })
  assert.equal((await consume(1))[0].value.toString(), 'one') // read_committed is the default of kafkajs
})
// --8<-- [end:transaction]

// --8<-- [start:release]
test('a release, topics and properties', async t => {
  const broker = await start({ version: '3.9', topics: ['orders:6'], properties: { 'message.max.bytes': 1000 } })
  t.after(() => broker.stop())
  assert.equal((await broker.api.getTopic('orders')).partitions.length, 6)
})
// --8<-- [end:release]

// --8<-- [start:stop_broker]
test('a leader stops', async t => {
  const cluster = await start({ brokers: 3, properties: { 'default.replication.factor': 3 } })
  t.after(() => cluster.stop())
  const topic = await cluster.topic('orders').create({ partitions: 1 })
  await cluster.api.stopBroker(1)
  await topic.send('one')
  await cluster.api.startBroker(1)
  await cluster.api.rollBrokers({}) // restarts every broker, one after the other
  assert.deepEqual(await topic.values(), ['one'])
})
// --8<-- [end:stop_broker]

// --8<-- [start:clock]
test('records expire', async () => {
  const topic = await kafka.topic('audit').create({ config: { 'retention.ms': 3_600_000 } })
  await topic.send('old')
  await kafka.clock.advance({ hours: 2 })
  assert.deepEqual(await topic.values(), [])
})
// --8<-- [end:clock]

// --8<-- [start:fault]
test('a producer retries', async () => {
  // rejects unless the fault has fired twice
  await kafka.withFault('Produce', { error: 'NOT_LEADER_OR_FOLLOWER', times: 2 }, () => produce('7', 'one'))
  assert.deepEqual(await kafka.topic('orders').values(), ['one'])
})
// --8<-- [end:fault]

// --8<-- [start:lost_response]
test('a response is lost', async () => {
  const lost = await kafka.fault('Produce', { disconnect: 'after', times: 1 })
  const slow = await kafka.fault('Metadata', { delay: 0.1 })
  await produce('7', 'one')
  await Promise.all([lost.remove(), slow.remove()]) // rejects unless both have fired
  assert.deepEqual(await kafka.topic('orders').values(), ['one']) // sent twice, not duplicated
})
// --8<-- [end:lost_response]

// --8<-- [start:hold]
test('a request is held', async () => {
  let sent
  await kafka.withFault('Produce', { hang: true }, async fault => { // until the end, or fault.release()
    sent = produce('7', 'one')
    await fault.wait()
    assert.equal(await fault.fired(), 1)
    assert.deepEqual(await kafka.topic('orders').values(), [])
  })
  await sent
})
// --8<-- [end:hold]

// --8<-- [start:gap]
test('a reader skips gaps', async () => {
  await kafka.topic('orders').create({ partitions: 1 })
  await kafka.api.appendLayout('orders', 0, { kind: 'gap', first: 5, size: 3, after: 2 })
  const offsets = (await consume(7)).map(message => Number(message.offset))
  assert.deepEqual(offsets, [0, 1, 2, 3, 4, 8, 9])
})
// --8<-- [end:gap]

// --8<-- [start:snapshot]
test('a snapshot is restored', async () => {
  const topic = kafka.topic('orders')
  await topic.send('one')
  const snapshot = await kafka.api.takeSnapshot()
  await topic.send('two')
  await kafka.api.restore(snapshot)
  assert.deepEqual(await topic.values(), ['one'])
})
// --8<-- [end:snapshot]

// --8<-- [start:requests]
test('the number of requests', async () => {
  await produce('7', 'one')
  assert.equal((await kafka.api.countRequests({ apis: ['Produce'] })).count, 1)
  assert.deepEqual((await kafka.api.listUnsupported()).counts, {})
})
// --8<-- [end:requests]
