import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, test } from 'node:test'

import { start } from './kafkalet.mjs'

let broker

before(async () => { broker = await start({ topics: ['orders:3'] }) })
after(() => broker?.stop())

/** Asserts that a promise rejects with an AssertionError whose message contains all parts. */
async function fails (promise, ...parts) {
  await assert.rejects(promise, (/** @type {any} */ error) => {
    assert.equal(error.name, 'AssertionError')
    for (const part of parts) assert.ok(error.message.includes(part), `${error.message} does not contain ${part}`)
    return true
  })
}

test('a record keeps every byte', async () => {
  const topic = broker.topic('bytes')
  const bytes = Buffer.from([0xff, 0])
  const headers = [['a', bytes], ['a', null]]
  const sent = await topic.send({ key: bytes, value: 'ü\0', headers, timestamp: new Date(5) }, null, '')
  assert.deepEqual(sent, [0, 1, 2].map(offset => ({ partition: 0, offset })))
  const [first, tombstone, empty] = await topic.records()
  assert.deepEqual({ ...first }, {
    topic: 'bytes', partition: 0, offset: 0, timestamp: 5, key: bytes, value: Buffer.from('ü\0'), headers
  })
  assert.deepEqual([first.text(), tombstone.text(), empty.text()], ['ü\0', null, ''])
})

test('the value of a record is parsed as JSON', async () => {
  await broker.topic('json').send({ value: '{"id": 7}', headers: { source: 'web' } })
  const [record] = await broker.topic('json').records()
  assert.deepEqual(record.json(), { id: 7 })
  assert.deepEqual(record.headers, [['source', Buffer.from('web')]])
})

test('reading is limited by partition, mark, offset and limit', async () => {
  const topic = await broker.topic('limited').create({ partitions: 2, config: { 'retention.ms': -1 } })
  await topic.send(...['a', 'b', 'c'].map(value => ({ value, partition: 0 })))
  await topic.send(...['d', 'e'].map(value => ({ value, partition: 1 })))
  const mark = await topic.mark()
  await topic.send({ value: 'f', partition: 1 })
  assert.deepEqual(await topic.values(), ['a', 'b', 'c', 'd', 'e', 'f'])
  assert.deepEqual(await topic.values({ limit: 1 }), ['a', 'd'])
  assert.deepEqual(await topic.values({ offset: 2 }), ['c', 'f'])
  assert.deepEqual(await topic.values({ since: mark }), ['f'])
  assert.deepEqual(await topic.values({ since: mark, partition: 0 }), [])
  assert.deepEqual(await topic.values({ partition: 1, offset: 1, limit: 1 }), ['e'])
})

test('records that replace older ones are after a mark', async () => {
  const topic = broker.topic('replaced')
  await topic.send('a', 'b', 'c')
  const mark = await topic.mark()
  await broker.api.truncateLog('replaced', 0, { to: 1 })
  await topic.send('new')
  assert.deepEqual(await topic.values({ since: mark }), ['new'])
  assert.equal((await topic.waitFor(1, { since: mark }))[0].offset, 1)
})

test('a large topic is read completely', async () => {
  const topic = await broker.topic('large').create({ partitions: 2, config: { 'max.message.bytes': 9_000_000 } })
  for (let number = 0; number < 6; number++) {
    await topic.send({ value: 'x'.repeat(3_000_000 + number), partition: number % 2 })
  }
  const records = await topic.records()
  assert.deepEqual(records.map(record => record.value.length - 3_000_000), [0, 2, 4, 1, 3, 5])
  assert.equal((await topic.records({ limit: 2 })).length, 4)
})

test('a wait resolves to the records that match', async () => {
  const topic = broker.topic('matching')
  await topic.send({ key: '6', value: 'created' }, { key: '7', value: 'shipped' })
  assert.equal((await topic.waitFor(1, { key: '7' }))[0].offset, 1)
  assert.equal((await topic.waitFor(1, { key: Buffer.from('7'), contains: 'ship' }))[0].offset, 1)
  assert.equal((await topic.waitFor(1, { value: 'created' }))[0].offset, 0)
  assert.equal((await topic.waitFor(2, { isolation: 'read_committed' })).length, 2)
})

test('a wait that times out shows what arrived', async () => {
  const topic = broker.topic('arrived')
  await topic.send('one')
  await fails(topic.waitFor(1, { value: 'two', timeoutMs: 1 }), 'arrived', 'two', 'one')
})

test('a refused call rejects with its status and code', async () => {
  await assert.rejects(broker.control('GET', '/v1/topics/missing'), {
    name: 'ControlError', status: 404, code: 'UNKNOWN_TOPIC_OR_PARTITION', message: /missing/
  })
})

test('the generic call resolves to the response', async () => {
  assert.equal((await broker.control('GET', '/v1/cluster')).bootstrap_servers, broker.bootstrapServers)
  assert.equal(await broker.control('POST', '/v1/settle', {}), undefined)
})

test('a token is required and sent if it is set', async t => {
  t.after(() => { delete process.env.KAFKALET_CONTROL_TOKEN })
  process.env.KAFKALET_CONTROL_TOKEN = 'secret'
  const protectedBroker = await start()
  t.after(() => protectedBroker.stop())
  await protectedBroker.settle()
  process.env.KAFKALET_CONTROL_TOKEN = 'wrong'
  await assert.rejects(protectedBroker.settle(), { status: 401, message: /the token is missing or wrong/ })
})

test('a group seeks, and its waits time out with its state', async () => {
  await broker.topic('sought').send('a', 'b', 'c')
  const group = broker.group('seeking')
  const state = await group.seek({ topic: 'sought', offset: 1 })
  assert.deepEqual([state.state, state.committed('sought', 0), state.lag], ['Empty', 1, 2])
  assert.equal(state.committed('sought', 5), null)
  assert.equal((await group.seek({ topic: 'sought', timestamp: new Date(0) })).lag, 3)
  await fails(group.waitForLag(0, { timeoutMs: 1 }), 'seeking', 'lag')
  await fails(group.waitUntilStable({ members: 2, timeoutMs: 1 }), 'seeking', '2 members')
  await assert.rejects(group.evict('missing'), { status: 422, message: /missing/ })
  assert.equal((await group.state()).lag, 3)
})

test('a share group shows its records', async () => {
  await broker.topic('shared').send('a', 'b', 'c')
  const group = broker.shareGroup('workers')
  const state = await group.seek({ topic: 'shared', offset: 1 })
  assert.deepEqual([state.state, state.positions[0].start_offset, state.lag], ['Empty', 1, 2])
  assert.deepEqual((await group.records('available')).map(each => [each.value, each.deliveries]), [['b', 0], ['c', 0]])
  assert.equal((await group.records()).length, 2)
  assert.equal(await group.expireLocks(), 0)
  await fails(group.waitFor({ acknowledged: 1, timeoutMs: 1 }), 'workers', '1 acknowledged record')
  assert.equal((await group.state()).lag, 2)
})

test('a fault that never fired fails', async () => {
  const fault = await broker.fault('Produce', { error: 'NOT_LEADER_OR_FOLLOWER' })
  assert.equal(await fault.fired(), 0)
  await fails(fault.remove(), 'Produce', 'NOT_LEADER_OR_FOLLOWER')
  await fails(broker.withFault(['Produce', 'Fetch'], { hang: true }, fault => fault.release()), 'Produce')
  const disposed = await broker.fault('Produce', { drop_response: true })
  await fails(disposed[Symbol.asyncDispose](), 'Produce')
})

test('a fault that never fired does not hide an earlier error', async () => {
  await assert.rejects(
    broker.withFault('Produce', { drop_response: true }, async () => { throw new Error('earlier') }),
    { message: 'earlier' }
  )
  assert.deepEqual(await broker.control('GET', '/v1/faults'), { faults: [] })
})

test('every option reaches the fault', async () => {
  const fault = await broker.fault('Fetch', {
    delay: 1.5,
    disconnect: 'after',
    topic: 'orders',
    partition: 0,
    client_id: 'c',
    times: 2,
    version: 4,
    max_version: 9
  })
  await fails(fault.remove(), 'delay=1.5', 'after', 'orders', 'partition=0', "client_id='c'", 'times=2', 'range(4, 10)')
})

test('an unknown error name is refused', async () => {
  await assert.rejects(broker.fault('Produce', { error: 'NOT_LEADR' }), { status: 422, message: /NOT_LEADR/ })
})

test('a transaction is committed or aborted', async () => {
  const topic = await broker.topic('transactions').create({ partitions: 2 })
  const committed = { isolation: 'read_committed' }
  const transaction = await broker.openTransaction('payments')
  await transaction.send('transactions', 'a', { value: 'b', partition: 1 })
  assert.deepEqual(await topic.values(committed), [])
  assert.deepEqual(await topic.values(), ['a', 'b'])
  await transaction.commit()
  assert.deepEqual(await topic.values(committed), ['a', 'b'])
  await assert.rejects(
    broker.withTransaction('payments', async transaction => {
      await transaction.send('transactions', 'c')
      throw new Error('earlier')
    }),
    { message: 'earlier' }
  )
  await broker.withTransaction('payments', transaction => transaction.send('transactions', 'd'))
  const unfinished = await broker.openTransaction('payments')
  await unfinished.send('transactions', 'e')
  await unfinished[Symbol.asyncDispose]()
  await unfinished[Symbol.asyncDispose]() // has no effect
  await broker.settle()
  assert.deepEqual((await topic.values(committed)).sort(), ['a', 'b', 'd'])
  await assert.rejects(unfinished.commit(), { status: 409, message: /payments .*ended/ })
})

test('the clock advances', async t => {
  const clock = (await started(t)).clock
  const earlier = await clock.now()
  await clock.advance({ minutes: 90 })
  await clock.advance({ minutes: 30, sessions: true })
  const ahead = Number(await clock.now()) - Number(earlier)
  assert.ok(ahead >= 7_200_000 && ahead < 7_260_000, `the clock advanced by ${ahead} ms`)
})

test('restore and reset replace the contents', async t => {
  const own = await started(t)
  const topic = own.topic('orders')
  await topic.send('one')
  const snapshot = await own.api.takeSnapshot()
  await own.api.reset()
  const mark = await topic.mark()
  await own.api.restore(snapshot)
  assert.deepEqual(await topic.values({ since: mark }), ['one'])
  assert.deepEqual(await topic.values(), ['one'])
  await assert.rejects(own.api.restore(Buffer.from('no snapshot')), { status: 422, message: /snapshot/ })
})

test('brokers stop and start', async t => {
  const cluster = await started(t, { brokers: 2 })
  const running = async () => (await cluster.api.listBrokers()).brokers.map(each => each.is_running)
  await cluster.api.stopBroker(2)
  assert.deepEqual(await running(), [true, false])
  await cluster.api.startBroker(2)
  await cluster.api.rollBrokers({})
  assert.deepEqual(await running(), [true, true])
})

test('requests are counted', async t => {
  const { api } = await started(t)
  assert.equal((await api.countRequests()).count, 0)
  assert.equal((await api.countRequests({ apis: ['Produce', 'Fetch'] })).count, 0)
  assert.deepEqual((await api.listUnsupported()).counts, {})
  await api.clearRequests()
})

async function started (t, options) {
  const own = await start(options)
  t.after(() => own.stop())
  return own
}
