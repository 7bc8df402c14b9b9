// The driver of `kafkalet conform client` for kafkajs: does what the environment variables ask for.

const { Kafka, logLevel } = require('kafkajs')

const CLOSING_MS = 1000
const NOT_SUPPORTED = 64

const env = process.env
const topic = env.KAFKALET_TOPIC
const count = Number(env.KAFKALET_COUNT)
const timeoutMs = Number(env.KAFKALET_TIMEOUT_S) * 1000
const timeout = new Promise(resolve => setTimeout(resolve, timeoutMs, false))

const tell = (...words) => console.log(words.join(' '))
const reason = error => `${error.name}: ${error.message}`.replace(/\s+/g, ' ')

// Settings without a value keep the client's default.
const given = settings => Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
const number = name => (env[name] ? Number(env[name]) : undefined)

const kafka = new Kafka(given({
  brokers: env.KAFKA_BOOTSTRAP_SERVERS.split(','),
  requestTimeout: number('KAFKALET_REQUEST_TIMEOUT_MS'),
  logCreator: () => ({ log: { message, error } }) => console.error(message, error ?? ''), // stdout is for the report
  logLevel: logLevel.ERROR,
}))

const newProducer = () => kafka.producer(given({
  idempotent: env.KAFKALET_IDEMPOTENCE !== 'false' && acks() === -1,
  transactionalId: env.KAFKALET_TRANSACTIONAL_ID || undefined,
  metadataMaxAge: number('KAFKALET_METADATA_MAX_AGE_MS'),
}))

const acks = () => ({ 0: 0, 1: 1 })[env.KAFKALET_ACKS] ?? -1

const produce = async () => {
  const producer = newProducer()
  await producer.connect()
  const transaction = env.KAFKALET_TRANSACTIONAL_ID ? await producer.transaction() : null
  let acked = 0
  for (let n = 0; n < count; n++) {
    const value = String(n)
    try {
      const [sent] = await (transaction ?? producer).send({ topic, acks: acks(), messages: [{ key: value, value }] })
      tell('acked', value, sent?.partition ?? -1, sent?.baseOffset ?? -1) // with acks=0, nothing is known
      acked++
    } catch (error) {
      tell('failed', value, reason(error))
    }
  }
  if (transaction) await end(transaction, acked === count)
  await producer.disconnect()
  return acked === count
}

const end = async (transaction, complete) => {
  if (complete) {
    await transaction.commit()
    tell('committed')
  } else {
    await transaction.abort()
    tell('aborted because records failed')
  }
}

const newConsumer = () => kafka.consumer(given({
  groupId: env.KAFKALET_GROUP,
  sessionTimeout: number('KAFKALET_SESSION_TIMEOUT_MS'),
  heartbeatInterval: number('KAFKALET_HEARTBEAT_INTERVAL_MS'),
  metadataMaxAge: number('KAFKALET_METADATA_MAX_AGE_MS'),
  readUncommitted: env.KAFKALET_ISOLATION !== 'read_committed',
}))

// Run the consumer until `isDone`, which is asked after each call of `eachBatch` or `eachMessage`.
const runUntil = async (consumer, isDone, options) => {
  const done = new Promise((resolve, reject) => {
    const [name, handle] = Object.entries(options).find(([name]) => name.startsWith('each'))
    options[name] = async argument => {
      if (!isDone()) await handle(argument)
      if (isDone()) resolve(true)
    }
    consumer.on(consumer.events.CRASH, ({ payload: { error, restart } }) => {
      if (restart) tell('log', reason(error))
      else reject(error)
    })
  })
  done.catch(() => {})
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: env.KAFKALET_RESET !== 'latest' })
  await consumer.run(options)
  try {
    return await Promise.race([done, timeout])
  } finally {
    await consumer.disconnect()
  }
}

const consume = () => {
  let seen = 0
  const eachMessage = async ({ partition, message }) => {
    tellRecord(partition, message)
    seen++
  }
  const autoCommitInterval = number('KAFKALET_AUTO_COMMIT_INTERVAL_MS')
  return runUntil(newConsumer(), () => seen >= count, given({ eachMessage, autoCommitInterval }))
}

// Copies each batch in one transaction.
const transform = async () => {
  const producer = newProducer()
  await producer.connect()
  let copied = 0
  const eachBatch = async ({ batch: { partition, messages } }) => {
    const transaction = await producer.transaction()
    try {
      messages.forEach(message => tellRecord(partition, message))
      await transaction.send({
        topic: env.KAFKALET_OUTPUT_TOPIC,
        messages: messages.map(({ key, value }) => ({ key, value })),
      })
      const offset = String(BigInt(messages.at(-1).offset) + 1n)
      const offsets = { topics: [{ topic, partitions: [{ partition, offset }] }] }
      await transaction.sendOffsets({ consumerGroupId: env.KAFKALET_GROUP, ...offsets })
      await transaction.commit()
    } catch (error) {
      await transaction.abort()
      tell('aborted', reason(error))
      throw error // kafkajs fetches the batch again
    }
    copied += messages.length
    tell('committed', messages.length)
  }
  const done = await runUntil(newConsumer(), () => copied >= count, { eachBatch, autoCommit: false })
  await producer.disconnect()
  return done
}

const tellRecord = (partition, { offset, value }) => tell('record', partition, offset, shown(value))

const shown = value => {
  if (value === null) return '\\N'
  const isPlain = byte => byte > 32 && byte < 127 && byte !== 92
  const escaped = byte => `\\x${byte.toString(16).padStart(2, '0')}`
  return [...value].map(byte => (isPlain(byte) ? String.fromCharCode(byte) : escaped(byte))).join('')
}

const roles = { produce, consume, transform }

const isSupported = () => {
  if (!(env.KAFKALET_ROLE in roles)) return false
  if (env.KAFKALET_ROLE === 'produce') return true
  return env.KAFKALET_GROUP && !env.KAFKALET_INSTANCE_ID && env.KAFKALET_RESET !== 'none'
}

const main = async () => {
  tell('client kafkajs', require('kafkajs/package.json').version)
  if (!isSupported()) {
    tell('log not supported by kafkajs: consumers without a group, static membership, and failing on a missing offset')
    return NOT_SUPPORTED
  }
  setTimeout(() => {
    tell('log the client did not close within', CLOSING_MS, 'ms after the timeout')
    process.exit(1)
  }, timeoutMs + CLOSING_MS)
  const succeeded = await roles[env.KAFKALET_ROLE]()
  return succeeded ? 0 : 1
}

main().catch(error => {
  tell('error', reason(error))
  return 1
}).then(status => process.stdout.write('', () => process.exit(status)))
