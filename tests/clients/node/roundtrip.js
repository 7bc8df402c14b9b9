// roundtrip.js BOOTSTRAP TOPIC: produces five records, asks for offsets, reads from the third; prints what it saw.
//
// A consumer of kafkajs is always in a group, so offsets are asked of its admin client, and fetches go out by the
// part of kafkajs that its consumer uses for them.

const { CompressionTypes, Kafka, logLevel } = require('kafkajs')
const Broker = require('kafkajs/src/broker')

const [servers, topic] = process.argv.slice(2)
const kafka = new Kafka({ clientId: 'roundtrip', brokers: servers.split(','), logLevel: logLevel.NOTHING })

// Whoever is asked for metadata is our only broker.
const withBroker = new Promise(resolve => {
  const metadata = Broker.prototype.metadata
  Broker.prototype.metadata = function (...asked) {
    resolve(this)
    return metadata.apply(this, asked)
  }
})

const produce = async () => {
  const producer = kafka.producer({ createPartitioner: () => () => 0 })
  await producer.connect()
  const messages = [0, 1, 2, 3, 4].map(n => ({ key: `k${n}`, value: `v${n}`, timestamp: `${(n + 1) * 1000}` }))
  const [sent] = await producer.send({ topic, messages, acks: -1, compression: CompressionTypes.GZIP })
  await producer.disconnect()
  return messages.map((_, n) => Number(sent.baseOffset) + n)
}

const fetch = async (broker, offset, isolationLevel) => {
  const partitions = [{ partition: 0, fetchOffset: `${offset}`, maxBytes: 1 << 20 }]
  const answer = await broker.fetch({ isolationLevel, maxWaitTime: 100, topics: [{ topic, partitions }] })
  return answer.responses[0].partitions[0]
}

// The whole batch comes; what lies below the offset is the client's to drop.
const read = async (broker, offset) =>
  (await fetch(broker, offset, 0)).messages
    .filter(message => Number(message.offset) >= offset)
    .map(({ offset, timestamp, key, value }) => [Number(offset), Number(timestamp), `${key}`, `${value}`])

const isOutOfRange = broker => fetch(broker, 99, 0).then(() => false, error => error.type === 'OFFSET_OUT_OF_RANGE')

// The admin client answers the end where no record is late enough.
const forTime = async (admin, time, end) => {
  const [found] = await admin.fetchTopicOffsetsByTimestamp(topic, time)
  return Number(found.offset) >= end ? null : Number(found.offset)
}

const main = async () => {
  const report = { client: `kafkajs ${require('kafkajs/package.json').version}` }
  const admin = kafka.admin()
  await admin.connect()
  report.produced = await produce()
  const [{ low, high }] = await admin.fetchTopicOffsets(topic)
  report.beginning = Number(low)
  report.end = Number(high)
  report.found = await forTime(admin, 2500, report.end)
  report.none = await forTime(admin, 9999, report.end)

  const leader = await withBroker
  report.read = await read(leader, 2)
  report.stable = Number((await fetch(leader, 0, 1)).lastStableOffset)
  report.out_of_range = await isOutOfRange(leader)
  process.stdout.write(JSON.stringify(report) + '\n', () => process.exit(0)) // its connections would keep it alive
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
