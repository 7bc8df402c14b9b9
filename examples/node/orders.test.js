// Tests a producer and a consumer against one kafkalet broker, which before() starts and after() stops.

const assert = require('node:assert/strict')
const { spawn } = require('node:child_process')
const { once } = require('node:events')
const readline = require('node:readline')
const { after, before, test } = require('node:test')
const { Kafka, logLevel } = require('kafkajs')

let broker
let kafka

before(async () => {
  broker = spawn('kafkalet', ['serve', '--listen', '127.0.0.1:0', '--log-level', 'warning'], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  // The broker prints one line when it is ready: kafkalet ready bootstrap=HOST:PORT
  const lines = readline.createInterface({ input: broker.stdout })
  const [line] = await Promise.race([
    once(lines, 'line'),
    once(broker, 'exit').then(() => Promise.reject(new Error('kafkalet ended before it was ready')))
  ])
  const bootstrap = line.split('bootstrap=')[1]
  kafka = new Kafka({ brokers: bootstrap.split(','), logLevel: logLevel.ERROR })
})

after(async () => {
  if (broker.exitCode === null) {
    broker.kill('SIGTERM')
    await once(broker, 'exit')
  }
})

test('an order is published', async () => {
  const producer = kafka.producer()
  await producer.connect()
  await producer.send({ topic: 'orders', messages: [{ key: '7', value: '{"id": 7}' }] })
  await producer.disconnect()

  const consumer = kafka.consumer({ groupId: 'billing' })
  await consumer.connect()
  await consumer.subscribe({ topics: ['orders'], fromBeginning: true })
  const message = await new Promise((resolve, reject) => {
    consumer.run({ eachMessage: async ({ message }) => resolve(message) }).catch(reject)
  })
  await consumer.disconnect()
  assert.equal(message.key.toString(), '7')
  assert.deepEqual(JSON.parse(message.value), { id: 7 })
})
