// Tests a producer and a consumer against one kafkalet broker, which before() starts and after() stops.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { start } from 'kafkalet'
import { Kafka, logLevel } from 'kafkajs'

let broker
let kafka

before(async () => {
  broker = await start({ topics: ['orders:6'] })
  kafka = new Kafka({ brokers: broker.bootstrapServers.split(','), logLevel: logLevel.ERROR })
})

after(() => broker?.stop())

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
