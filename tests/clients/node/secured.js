// secured.js FOLDER PREFIX: logs in with each file in the folder, with kafkajs.

const fs = require('fs')
const path = require('path')
const { Kafka, logLevel } = require('kafkajs')
const { run, holds, pause, until, refused } = require('./step')

const COUNT = 9
const [folder, name] = process.argv.slice(2)
const topic = `orders-${name}`

// The mechanisms have lower case and their own fields in kafkajs.
const sasl = settings => {
  if (settings['sasl.mechanism'] === undefined) return undefined
  const mechanism = settings['sasl.mechanism'].toLowerCase()
  if (settings.token) return { mechanism, oauthBearerProvider: async () => ({ value: settings.token }) }
  return { mechanism, username: settings['sasl.username'], password: settings['sasl.password'] }
}

const connection = (login, settings) =>
  new Kafka({
    clientId: login,
    brokers: settings['bootstrap.servers'].split(','),
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 30, retries: 3 },
    reauthenticationThreshold: 200,
    sasl: sasl(settings),
    ssl: settings['ssl.ca.pem'] && {
      ca: settings['ssl.ca.pem'],
      cert: settings['ssl.certificate.pem'],
      key: settings['ssl.key.pem'],
    },
  })

const connected = async client => {
  await client.connect()
  return client
}

// Produces, and consumes that in a group; another topic and another group are refused.
const allowed = async (kafka, login) => {
  const messages = Array.from({ length: COUNT }, (_, n) => ({ value: login + n, partition: n % 3 }))
  const producer = await connected(kafka.producer())
  await producer.send({ topic, messages })
  const payment = { topic: 'payments', messages: [{ value: 'one' }] }
  await refused(() => producer.send(payment), 'TOPIC_AUTHORIZATION_FAILED')
  await producer.disconnect()

  const consumer = await connected(kafka.consumer({ groupId: `billing ${name}${login}`, maxWaitTimeInMs: 100 }))
  const read = new Set()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({ eachMessage: async ({ message }) => read.add(`${message.value}`) })
  await until('the records', () => messages.every(({ value }) => read.has(value)))
  await consumer.disconnect()

  // kafkajs does not pass on GROUP_AUTHORIZATION_FAILED.
  const stranger = await connected(kafka.consumer({ groupId: 'salaries' }))
  const crash = new Promise((_, reject) => stranger.on(stranger.events.CRASH, ({ payload }) => reject(payload.error)))
  await stranger.subscribe({ topic })
  await stranger.run({ eachMessage: async () => {} })
  await rejected(crash, 'KafkaJSGroupCoordinatorNotFound')
  await stranger.disconnect()
}

const rejected = async (promise, name) => {
  const error = await promise.then(() => undefined, found => found)
  holds(`${error} is ${name}`, error && [error.name, error.cause && error.cause.name].includes(name))
}

const wrong = kafka => rejected(kafka.admin().connect(), 'KafkaJSSASLAuthenticationError')

// Produces for longer than a session lasts.
const again = async kafka => {
  const producer = await connected(kafka.producer({ retry: { retries: 0 } }))
  for (let n = 0; n < 100; n++) {
    await producer.send({ topic, messages: [{ value: 'again', partition: n % 3 }] })
    await pause(50)
  }
  await producer.disconnect()
}

const main = async () => {
  console.log(`   kafkajs ${require('kafkajs/package.json').version}`)
  const logins = fs.readdirSync(folder).map(file => path.basename(file, '.json')).sort()
  for (const login of logins) {
    const kafka = connection(login, JSON.parse(fs.readFileSync(path.join(folder, `${login}.json`))))
    const body = login.startsWith('wrong') ? wrong : login === 'again' ? again : allowed
    await run(login, () => body(kafka, login))
  }
  process.exit(0) // connections of it would keep it alive
}

main()
