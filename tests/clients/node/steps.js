// steps.js BOOTSTRAP PREFIX: what every client does in these tests, with kafkajs; one broker.
//
// kafkajs has no codec but gzip of its own, the others are plugged in. What it has no public call for (the end for
// read_committed, a fetch beyond the end) goes out by the part of it that its consumer uses.

const { CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka, logLevel } = require('kafkajs')
const { AssignerProtocol, ConfigSource } = require('kafkajs')
const Broker = require('kafkajs/src/broker')
const SnappyCodec = require('kafkajs-snappy')
const lz4 = require('lz4js')
const xxh32 = require('lz4js/xxh32')
const zstd = require('@bokuweb/zstd-wasm')
const { run, same, holds, pause, until, refused } = require('./step')

CompressionCodecs[CompressionTypes.Snappy] = SnappyCodec
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async encoder => independent(Buffer.from(lz4.compress(encoder.buffer))),
  decompress: async buffer => Buffer.from(lz4.decompress(buffer)),
})
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => Buffer.from(zstd.compress(encoder.buffer)),
  decompress: async buffer => Buffer.from(zstd.decompress(buffer)),
})

// lz4js does not say that its one block depends on no other, and Kafka reads no other frames.
const independent = frame => {
  frame[4] |= 0x20
  frame[6] = xxh32.hash(0, frame, 4, 2) >> 8
  return frame
}

const COUNT = 1000
const [servers, name] = process.argv.slice(2)
const topic = `${name}-records`
const base = Date.now() - 1000000
const sent = [[], [], []] // numbers of the records of each partition, in order of their offsets
const retry = { initialRetryTime: 30, retries: 20, maxRetryTime: 500 }
const config = { clientId: 'steps', brokers: servers.split(','), logLevel: logLevel.NOTHING, retry }
const kafka = new Kafka(config)
const admin = kafka.admin()

// Whoever is asked for metadata is our only broker.
const withBroker = new Promise(resolve => {
  const metadata = Broker.prototype.metadata
  Broker.prototype.metadata = function (...asked) {
    resolve(this)
    return metadata.apply(this, asked)
  }
})

const createTopic = async (topic, numPartitions, configEntries = []) => {
  const made = await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions, configEntries }] })
  await until(`topic ${topic}`, async () => (await admin.listTopics()).includes(topic))
  return made
}

const create = async () => {
  same('made', true, await createTopic(topic, 3, [{ name: 'retention.ms', value: '86400000' }]))
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  same('partitions', 3, topics[0].partitions.length)
  same('made again', false, await createTopic(topic, 3))
}

const connected = async client => {
  await client.connect()
  return client
}

const produce = async () => {
  const producer = await connected(kafka.producer({ idempotent: true, maxInFlightRequests: 1 }))
  for (let from = 0; from < COUNT; from += 100) {
    const messages = Array.from({ length: 100 }, (_, n) => ({
      partition: (from + n) % 7 % 3,
      key: `key ${n}`,
      value: `value ${from + n}`,
      timestamp: `${base + from + n}`,
      headers: { number: `${from + n}`, more: ['a', 'b'] },
    }))
    const bases = sent.map(numbers => numbers.length)
    messages.forEach((message, n) => sent[message.partition].push(from + n))
    for (const { partition, baseOffset } of await producer.send({ topic, messages, acks: -1 })) {
      same('base offset', `${bases[partition]}`, baseOffset)
    }
  }
  await producer.disconnect()
}

// A member of a group that reads up to a limit, and knows what it was given and how long that took.
const join = async (group, { limit = Infinity, alone = true, clientId = 'steps' } = {}) => {
  const settings = { groupId: `${name}-${group}`, heartbeatInterval: 200, maxWaitTimeInMs: 100, retry }
  const consumer = new Kafka({ ...config, clientId }).consumer(settings)
  const member = { consumer, read: [], assigned: [], leave: () => consumer.disconnect() }
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    member.assigned = payload.memberAssignment[topic] || []
  })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  const start = Date.now()
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    eachBatch: async ({ batch, resolveOffset }) => {
      for (const message of batch.messages) {
        if (member.read.length >= limit) return
        member.read.push({ partition: batch.partition, ...message })
        resolveOffset(message.offset)
      }
    },
  })
  if (alone) {
    await until('an assignment', () => member.assigned.length === 3)
    console.log(`   assigned after ${Date.now() - start} ms`)
  }
  return member
}

const commit = async ({ consumer, read }) => {
  const next = new Map(read.map(({ partition, offset }) => [partition, `${Number(offset) + 1}`]))
  await consumer.commitOffsets([...next].map(([partition, offset]) => ({ topic, partition, offset })))
}

const committed = async group => {
  const [found] = await admin.fetchOffsets({ groupId: `${name}-${group}`, topics: [topic] })
  return found.partitions.sort((a, b) => a.partition - b.partition).map(({ offset }) => Number(offset))
}

const resume = async () => {
  const one = await join('group', { limit: 400 })
  await until('some records', () => one.read.length === 400)
  await commit(one)
  await one.leave()
  const two = await join('group')
  await until('the rest', () => one.read.length + two.read.length >= COUNT)
  await commit(two)
  await two.leave()
  const read = [...one.read, ...two.read]
  same('records read', COUNT, read.length)
  for (const { partition, offset, key, value, timestamp, headers } of read) {
    const n = sent[partition][offset]
    same('record', [`key ${n % 100}`, `value ${n}`], [`${key}`, `${value}`])
    same('timestamp', `${base + n}`, timestamp)
    same('headers', [`${n}`, 'a,b'], [`${headers.number}`, `${headers.more}`])
  }
  const ends = sent.map(numbers => numbers.length)
  same('committed', ends, await committed('group'))
  const three = await join('group')
  await pause(300) // nothing comes
  same('records after a restart', [], three.read)
  await three.leave()
}

const rebalance = async () => {
  const one = await join('pair')
  const two = await join('pair', { alone: false })
  await until('two members share', () => {
    const together = [...one.assigned, ...two.assigned].sort()
    return one.assigned.length && two.assigned.length && together.join() === '0,1,2'
  })
  await two.leave()
  await until('one member has all', () => one.assigned.length === 3)
  await one.leave()
}

const times = async () => {
  const offsets = await admin.fetchTopicOffsets(topic)
  for (const { partition, offset } of await admin.fetchTopicOffsetsByTimestamp(topic, base + 500)) {
    const numbers = sent[partition]
    same('offset by time', `${numbers.findIndex(n => n >= 500)}`, offset)
    const { low, high } = offsets.find(one => one.partition === partition)
    same('beginning and end', ['0', `${numbers.length}`], [low, high])
  }
  const [none] = await admin.fetchTopicOffsetsByTimestamp(topic, base + 900000)
  same('no such time: the end', `${sent[none.partition].length}`, none.offset)
}

const end = async (topic, isolationLevel) => {
  const topics = [{ topic, partitions: [{ partition: 0, timestamp: -1 }] }]
  const { responses } = await (await withBroker).listOffsets({ replicaId: -1, isolationLevel, topics })
  return Number(responses[0].partitions[0].offset)
}

const endOfCommitted = topic => end(topic, 1)
const endOfAll = topic => end(topic, 0)

// So many values of a topic from its beginning; none must follow.
let readers = 0
const read = async (topic, readUncommitted, count) => {
  const consumer = await connected(
    kafka.consumer({ groupId: `${name}-reader-${readers++}`, readUncommitted, maxWaitTimeInMs: 100 })
  )
  const values = []
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({ autoCommit: false, eachMessage: async ({ message }) => values.push(`${message.value}`) })
  await until(`${count} values`, () => values.length >= count)
  await pause(200)
  await consumer.disconnect()
  return values
}

const transactional = id =>
  connected(kafka.producer({ transactionalId: `${name}-${id}`, idempotent: true, maxInFlightRequests: 1 }))

// A transaction that is open, with those values on the broker.
const begin = async (producer, topic, ...values) => {
  const transaction = await producer.transaction()
  await transaction.send({ topic, messages: values.map(value => ({ value })) })
  return transaction
}

const transactions = async () => {
  const topic = `${name}-transactions`
  await createTopic(topic, 1)
  const producer = await transactional('open')
  await (await begin(producer, topic, 'a', 'b')).commit()
  await until('the first marker', async () => (await endOfCommitted(topic)) === 3)
  await (await begin(producer, topic, 'c', 'd')).abort()
  await until('the second marker', async () => (await endOfCommitted(topic)) === 6)
  const open = await begin(producer, topic, 'e')
  same('end of read_committed', 6, await endOfCommitted(topic))
  same('end of read_uncommitted', 7, await endOfAll(topic))
  same('committed', ['a', 'b'], await read(topic, false, 2))
  same('all', ['a', 'b', 'c', 'd', 'e'], await read(topic, true, 5))
  await open.abort()
  await until('the last marker', async () => (await endOfCommitted(topic)) === 8)
  same('end', 8, await endOfAll(topic))
  same('still', ['a', 'b'], await read(topic, false, 2))
  await producer.disconnect()
}

const offsetsInTransaction = async () => {
  const producer = await transactional('copier')
  const sendOffset = async offset => {
    const transaction = await begin(producer, `${name}-transactions`, 'copied')
    const topics = [{ topic, partitions: [{ partition: 0, offset: `${offset}` }] }]
    await transaction.sendOffsets({ consumerGroupId: `${name}-copier`, topics })
    return transaction
  }
  const first = await sendOffset(5)
  same('before the commit', -1, (await committed('copier'))[0])
  await first.commit()
  await until('the offset of the commit', async () => (await committed('copier'))[0] === 5)
  await (await sendOffset(7)).abort()
  same('after an abort', 5, (await committed('copier'))[0])
  await until('the marker', async () =>
    (await endOfCommitted(`${name}-transactions`)) === (await endOfAll(`${name}-transactions`)))
  await (await sendOffset(9)).commit()
  await until('the offset of the next commit', async () => (await committed('copier'))[0] === 9)
  await producer.disconnect()
}

const fencing = async () => {
  const topic = `${name}-fencing`
  await createTopic(topic, 1)
  const zombie = await begin(await transactional('fenced'), topic, 'x')
  const next = await begin(await transactional('fenced'), topic, 'y')
  await refused(() => zombie.commit(), 'PRODUCER_FENCED', 'INVALID_PRODUCER_EPOCH')
  await next.commit()
  await until('the markers', async () => (await endOfCommitted(topic)) === 4)
  same('committed', ['y'], await read(topic, false, 1))
}

const deleteRecords = async () => {
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 1, offset: '100' }] })
  const { low } = (await admin.fetchTopicOffsets(topic)).find(({ partition }) => partition === 1)
  same('beginning', '100', low)
  await refused(() => fetch(topic, 1, 0), 'OFFSET_OUT_OF_RANGE')
  same('the first', `value ${sent[1][100]}`, `${(await fetch(topic, 1, 100)).find(m => m.offset === '100').value}`)
}

const codecs = async () => {
  const topic = `${name}-codecs`
  await createTopic(topic, 1)
  await zstd.init()
  const wanted = []
  for (const codec of ['GZIP', 'Snappy', 'LZ4', 'ZSTD']) {
    const producer = await connected(kafka.producer({ idempotent: true, maxInFlightRequests: 1 }))
    const values = Array.from({ length: 50 }, (_, n) => `${codec} ${n} ${'.'.repeat(50)}`)
    wanted.push(...values)
    const messages = values.map(value => ({ value }))
    await producer.send({ topic, messages, acks: -1, compression: CompressionTypes[codec] })
    await producer.disconnect()
  }
  same('values', wanted, await read(topic, true, 200))
}

const describe = async () => {
  const { brokers, controller, clusterId } = await admin.describeCluster()
  holds('a cluster', brokers.length > 0 && brokers.some(({ nodeId }) => nodeId === controller) && clusterId)
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  same('replicas in sync', 1, topics[0].partitions[2].isr.length)
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
  })
  const config = entry => resources[0].configEntries.find(({ configName }) => configName === entry)
  same('retention.ms', '86400000', config('retention.ms').configValue)
  same('its source', ConfigSource.TOPIC_CONFIG, config('retention.ms').configSource)
  same('cleanup.policy', 'delete', config('cleanup.policy').configValue)
  same('its source', ConfigSource.DEFAULT_CONFIG, config('cleanup.policy').configSource)

  const group = `${name}-group`
  const live = await join('group', { clientId: 'described' })
  const { groups } = await admin.describeGroups([group])
  const { state, protocolType, protocol, members } = groups[0]
  same('group', ['Stable', 'consumer', 'RoundRobinAssigner', 1], [state, protocolType, protocol, members.length])
  same('client id', 'described', members[0].clientId)
  const { assignment } = AssignerProtocol.MemberAssignment.decode(members[0].memberAssignment)
  same('assignment', [0, 1, 2], assignment[topic].sort())
  const listed = (await admin.listGroups()).groups.map(({ groupId }) => groupId)
  holds('listed', listed.includes(group) && listed.includes(`${name}-copier`))
  await refused(() => admin.deleteGroups([group]), 'NON_EMPTY_GROUP')
  await live.leave()
}

const remove = async () => {
  await admin.deleteGroups([`${name}-group`])
  same('offsets of a group that is gone', [-1, -1, -1], await committed('group'))
  await refused(() => admin.deleteGroups([`${name}-group`]), 'GROUP_ID_NOT_FOUND')
  const ours = [topic, `${name}-transactions`, `${name}-fencing`, `${name}-codecs`]
  await admin.deleteTopics({ topics: ours })
  await until('they are gone', async () => !(await admin.listTopics()).some(one => ours.includes(one)))
}

const unknownTopic = async () => {
  await refused(() => admin.deleteTopics({ topics: [topic] }), 'UNKNOWN_TOPIC_OR_PARTITION')
  await refused(() => admin.fetchTopicOffsets(topic), 'UNKNOWN_TOPIC_OR_PARTITION')
  await refused(() => admin.fetchTopicMetadata({ topics: [topic] }), 'UNKNOWN_TOPIC_OR_PARTITION')
}

const fetch = async (topic, partition, fetchOffset) => {
  const topics = [{ topic, partitions: [{ partition, fetchOffset: `${fetchOffset}`, maxBytes: 1 << 20 }] }]
  const answer = await (await withBroker).fetch({ isolationLevel: 0, maxWaitTime: 100, topics })
  return answer.responses[0].partitions[0].messages
}

const outOfRange = async () => {
  const topic = `${name}-range`
  await createTopic(topic, 1)
  await refused(() => fetch(topic, 0, 99), 'OFFSET_OUT_OF_RANGE')
  await admin.deleteTopics({ topics: [topic] })
}

const main = async () => {
  console.log(`   kafkajs ${require('kafkajs/package.json').version}`)
  await admin.connect()
  await run('create', create)
  await run('produce', produce)
  await run('resume', resume)
  await run('rebalance', rebalance)
  await run('times', times)
  await run('transactions', transactions)
  await run('offsets in a transaction', offsetsInTransaction)
  await run('fencing', fencing)
  await run('delete records', deleteRecords)
  await run('codecs', codecs)
  await run('describe', describe)
  await run('delete', remove)
  await run('unknown topic', unknownTopic)
  await run('out of range', outOfRange)
  process.exit(0) // connections of it would keep it alive
}

main()
