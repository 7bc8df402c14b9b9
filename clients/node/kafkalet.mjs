// Starts a kafkalet broker for Node tests as a separate process on a free port, and controls it.
//
//     import { start } from 'kafkalet'
//
//     const broker = await start({ topics: ['orders:6'] })
//     const kafka = new Kafka({ brokers: broker.bootstrapServers.split(',') })
//     ...
//     const [order] = await broker.topic('orders').waitFor(1, { key: '7' })
//     await broker.stop()
//
// A wait that times out rejects with an AssertionError, whose message shows what happened instead. The types are
// described in kafkalet.d.mts.
//
// The broker is a process of the command that command.mjs finds. It also stops if Node ends in any other way, even if it
// is killed (except on Windows).

import { AssertionError } from 'node:assert'
import { Buffer } from 'node:buffer'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { createInterface } from 'node:readline'

import { Api } from './api.mjs'
import { findCommand } from './command.mjs'

const READY = 'kafkalet ready bootstrap='

/** A running broker, or several. */
export class Broker {
  #process

  constructor (process, bootstrapServers, controlUrl) {
    this.#process = process
    this.bootstrapServers = bootstrapServers
    this.controlUrl = controlUrl
    this.clock = new Clock(this)
    this.api = new Api(async (method, path, body) => await this.control(method, path, body))
  }

  async stop () {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      this.#process.ref()
      const ended = once(this.#process, 'exit')
      this.#process.kill('SIGTERM')
      await ended
    }
  }

  topic (name) {
    return new Topic(this, name)
  }

  group (id) {
    return new Group(this, id)
  }

  shareGroup (id) {
    return new ShareGroup(this, id)
  }

  async settle ({ timeoutMs } = {}) {
    await this.api.settle({ timeout: seconds(timeoutMs) })
  }

  async openTransaction (transactionalId) {
    await this.api.beginTransaction(transactionalId, {})
    return new Transaction(this, transactionalId)
  }

  async withTransaction (transactionalId, work) {
    const transaction = await this.openTransaction(transactionalId)
    let result
    try {
      result = await work(transaction)
    } catch (error) {
      await this.api.abortTransaction(transactionalId, {})
      throw error
    }
    await transaction.commit()
    return result
  }

  async fault (api, options = {}) {
    return new Fault(this, (await this.api.addFault({ api, ...options })).id)
  }

  async withFault (api, options, work) {
    const fault = await this.fault(api, options)
    let result
    try {
      result = await work(fault)
    } catch (error) {
      await this.api.removeFault(fault.id)
      throw error
    }
    await fault.remove()
    return result
  }

  async control (method, path, body) {
    const isFile = body instanceof Uint8Array
    const type = isFile ? 'application/octet-stream' : 'application/json'
    const response = await this.#send(method, path, type, isFile ? body : body && JSON.stringify(body))
    const content = Buffer.from(await response.arrayBuffer())
    if (response.headers.get('content-type') === 'application/octet-stream') return content
    return content.length === 0 ? undefined : JSON.parse(content.toString())
  }

  async #send (method, path, type, body) {
    const headers = { 'content-type': type }
    const token = process.env.KAFKALET_CONTROL_TOKEN
    if (token) headers.authorization = `Bearer ${token}`
    const response = await fetch(this.controlUrl + path, { method, headers, body })
    if (response.ok) return response
    const { error } = await response.json()
    if (response.status === 408) throw new AssertionError({ message: error.message })
    throw new ControlError(response.status, error.code, error.message)
  }
}

/** The broker refused a call. */
export class ControlError extends Error {
  constructor (status, code, message) {
    super(message)
    this.name = 'ControlError'
    this.status = status
    this.code = code
  }
}

/** A topic, which need not exist. */
export class Topic {
  #api

  constructor (broker, name) {
    this.#api = broker.api
    this.name = name
  }

  async create ({ partitions, config } = {}) {
    const texts = config && Object.fromEntries(Object.entries(config).map(([name, value]) => [name, String(value)]))
    await this.#api.createTopic({ name: this.name, partitions, config: texts })
    return this
  }

  async send (...messages) {
    const records = messages.map(fieldsOf)
    return (await this.#api.sendRecords(this.name, { records })).records
  }

  async mark () {
    return (await this.#api.markTopic(this.name)).mark
  }

  async records ({ isolation, since, offset, partition, limit = Infinity } = {}) {
    const records = []
    const left = index => limit - records.filter(record => record.partition === index).length
    const wanted = offsets => Object.entries(offsets)
      .map(([index, from]) => ({ partition: Number(index), offset: from }))
      .filter(each => (partition ?? each.partition) === each.partition && left(each.partition) > 0)
    const parts = [since === undefined ? { partition, offset } : { partition, since }]
    for (const part of parts) {
      const page = await this.#api.readRecords(this.name, {
        encoding: 'base64', limit: Math.min(left(part.partition), 100_000), isolation, ...part
      })
      records.push(...page.records.map(record => new Record(record)))
      if (page.has_more) parts.push(...wanted(page.next_offsets)) // large topics are read in several parts
    }
    return records.sort((a, b) => a.partition - b.partition || a.offset - b.offset)
  }

  async values (options) {
    return (await this.records(options)).map(record => record.text())
  }

  async waitFor (n, { key, value, contains, isolation, since, partition, timeoutMs } = {}) {
    const { records } = await this.#api.waitForRecords(this.name, {
      n,
      ...encoded('key', key),
      ...encoded('value', value),
      value_contains: contains,
      isolation,
      since,
      partition,
      timeout: seconds(timeoutMs),
      encoding: 'base64'
    })
    return records.map(record => new Record(record))
  }
}

/** A record in the log of a topic. */
export class Record {
  constructor ({ topic, partition, offset, timestamp, key, value, headers }) {
    Object.assign(this, { topic, partition, offset, timestamp, key: decoded(key), value: decoded(value) })
    this.headers = headers.map(({ name, value }) => [name, decoded(value)])
  }

  text () {
    return this.value === null ? null : this.value.toString()
  }

  json () {
    return JSON.parse(this.text())
  }
}

/** A consumer group, which need not exist. */
export class Group {
  #api

  constructor (broker, id) {
    this.#api = broker.api
    this.id = id
  }

  async state () {
    return new GroupState(await this.#api.getGroup(this.id))
  }

  async waitForLag (lag = 0, { timeoutMs } = {}) {
    return new GroupState(await this.#api.waitForLag(this.id, { lag, timeout: seconds(timeoutMs) }))
  }

  async waitUntilStable ({ members, timeoutMs } = {}) {
    return new GroupState(await this.#api.waitUntilStable(this.id, { members, timeout: seconds(timeoutMs) }))
  }

  async evict (member) {
    return new GroupState(await this.#api.evictMember(this.id, { member_id: member }))
  }

  async seek ({ offset, timestamp, topic, partition }) {
    const body = { offset, timestamp: timestamp && Number(timestamp), topic, partition }
    return new GroupState(await this.#api.seekGroup(this.id, body))
  }
}

/** A snapshot of the state of a group. */
export class GroupState {
  constructor (group) {
    Object.assign(this, group)
  }

  committed (topic, partition) {
    const found = this.offsets.find(each => each.topic === topic && each.partition === partition)
    return found?.committed ?? null
  }
}

/** A share group, which need not exist. */
export class ShareGroup {
  #api

  constructor (broker, id) {
    this.#api = broker.api
    this.id = id
  }

  state () {
    return this.#api.getShareGroup(this.id)
  }

  async records (state) {
    return (await this.#api.readShareGroupRecords(this.id, { state })).records
  }

  async expireLocks ({ topic, member } = {}) {
    return (await this.#api.expireLocks(this.id, { topic, member_id: member })).expired
  }

  waitFor ({ timeoutMs, ...counts }) {
    return this.#api.waitForShareGroup(this.id, { ...counts, timeout: seconds(timeoutMs) })
  }

  seek ({ offset, timestamp, topic, partition }) {
    const body = { offset, timestamp: timestamp && Number(timestamp), topic, partition }
    return this.#api.seekShareGroup(this.id, body)
  }
}

/** A transaction without a client. */
export class Transaction {
  #api
  #hasEnded = false

  constructor (broker, transactionalId) {
    this.#api = broker.api
    this.transactionalId = transactionalId
  }

  async send (topic, ...messages) {
    for (const message of messages) {
      await this.#api.sendInTransaction(this.transactionalId, { topic, ...fieldsOf(message) })
    }
  }

  async commit () {
    this.#hasEnded = true
    await this.#api.commitTransaction(this.transactionalId)
  }

  async abort () {
    this.#hasEnded = true
    await this.#api.abortTransaction(this.transactionalId, {})
  }

  async [Symbol.asyncDispose] () {
    if (!this.#hasEnded) await this.abort()
  }
}

/** A fault that is set. */
export class Fault {
  #api

  constructor (broker, id) {
    this.#api = broker.api
    this.id = id
  }

  async fired () {
    return (await this.#api.getFault(this.id)).fired
  }

  async wait (n = 1, { timeoutMs } = {}) {
    await this.#api.waitForFault(this.id, { n, timeout: seconds(timeoutMs) })
  }

  async release () {
    await this.#api.releaseFault(this.id)
  }

  async remove () {
    const { unfired } = await this.#api.removeFault(this.id)
    if (unfired !== null) throw new AssertionError({ message: unfired })
  }

  async [Symbol.asyncDispose] () {
    await this.remove()
  }
}

/** The clock of the brokers: real time plus an offset. */
export class Clock {
  #broker

  constructor (broker) {
    this.#broker = broker
  }

  async now () {
    return new Date((await this.#broker.api.getClock()).now_ms)
  }

  async advance (time) {
    await this.#broker.api.advanceClock(time)
  }
}

/**
 * Starts a broker and waits until it accepts connections.
 *
 * @param {object} [options]
 * @param {string[]} [options.topics] topics to create, each as NAME[:PARTITIONS[:KEY=VALUE,...]]
 * @param {Record<string, unknown>} [options.properties] broker properties, by their Kafka names
 * @param {string} [options.version] the release of Apache Kafka to emulate, for example '3.9'
 * @param {number} [options.brokers] the number of brokers; 1 by default
 * @param {string[]} [options.arguments] further arguments of `kafkalet serve`
 * @param {number} [options.startTimeoutMs] how long to wait for the broker; 30000 by default
 * @param {string[]} [options.command] the command that runs kafkalet, instead of the one that command.mjs finds
 * @param {string} [options.pyz] the path of kafkalet.pyz, which runs if there is no program kafkalet on PATH
 * @returns {Promise<Broker>}
 */
export async function start ({
  topics = [], properties = {}, version, brokers, arguments: more = [], startTimeoutMs = 30_000, command, pyz
} = {}) {
  const words = ['serve', '--listen', '127.0.0.1:0', '--control', '127.0.0.1:0', '--log-level', 'warning']
  if (process.platform !== 'win32') words.push('--exit-with-parent')
  for (const topic of topics) words.push('--topic', topic)
  for (const [name, value] of Object.entries(properties)) words.push('--set', `${name}=${value}`)
  if (version !== undefined) words.push('--kafka-version', version)
  if (brokers !== undefined) words.push('--brokers', String(brokers))
  const child = await run(findCommand({ command, pyz }), [...words, ...more])

  let errors = ''
  child.stderr.on('data', data => {
    errors = (errors + data).slice(-10_000)
    process.stderr.write(data)
  })
  const timer = new AbortController()
  try {
    const [bootstrapServers, controlUrl] = await Promise.race([
      addresses(child),
      once(child, 'close', timer).then(() => {
        throw new Error(`kafkalet ended before it was ready: ${errors.trimEnd().split('\n').at(-1)}`)
      }),
      after(startTimeoutMs, timer.signal).then(() => {
        throw new Error(`kafkalet was not ready within ${startTimeoutMs} ms`)
      })
    ])
    // A broker that is not stopped must not keep Node running.
    for (const handle of [child, child.stdout, child.stderr]) handle.unref()
    return new Broker(child, bootstrapServers, controlUrl)
  } catch (error) {
    child.kill('SIGTERM')
    throw error
  } finally {
    timer.abort()
  }
}

async function run ([program, ...first], words) {
  const child = spawn(program, [...first, ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
  try {
    await once(child, 'spawn') // rejects if the program cannot be run
  } catch (error) {
    throw new Error(`cannot run kafkalet: ${error.message}`, { cause: error })
  }
  return child
}

/** Resolves to the addresses in the ready line. Never settles if kafkalet prints no such line. */
function addresses (child) {
  return new Promise(resolve => {
    createInterface({ input: child.stdout }).on('line', line => {
      if (line.startsWith(READY)) resolve(line.slice(READY.length).split(' control='))
    })
  })
}

function after (ms, signal) {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => clearTimeout(timer))
  })
}

/** The fields of a record to send. */
function fieldsOf (message) {
  const isValue = message === null || typeof message === 'string' || message instanceof Uint8Array
  const { value, key, headers = [], timestamp, partition } = isValue ? { value: message } : message
  const pairs = Array.isArray(headers) ? headers : Object.entries(headers)
  return {
    ...encoded('key', key),
    ...encoded('value', value),
    headers: pairs.map(([name, value]) => ({ name, ...encoded('value', value) })),
    timestamp: timestamp && Number(timestamp),
    partition
  }
}

/** The fields of a key or value: text as it is, bytes as base64. */
function encoded (name, data) {
  if (!(data instanceof Uint8Array)) return { [name]: data }
  return { [name]: Buffer.from(data).toString('base64'), [`${name}_encoding`]: 'base64' }
}

function decoded (data) {
  return data === null ? null : Buffer.from(data, 'base64')
}

/** A timeout in seconds, or undefined for that of the broker: 10 seconds. */
function seconds (ms) {
  return ms === undefined ? undefined : ms / 1000
}
