// Starts a kafkalet broker for Node tests, in a process of its own and on a free port.
//
//     import { start } from 'kafkalet'
//
//     const broker = await start({ topics: ['orders:6'] })
//     const kafka = new Kafka({ brokers: broker.bootstrapServers.split(',') })
//     await broker.stop()
//
// The broker is the command kafkalet, or `python3 -m kafkalet` if there is no such command. The environment variable
// KAFKALET_COMMAND replaces both; its words are separated by spaces. The broker also stops if Node ends in any other
// way, even if it is killed (except on Windows).

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { createInterface } from 'node:readline'

const READY = 'kafkalet ready bootstrap='

/** A running broker, or several. */
export class Broker {
  #process

  constructor (process, bootstrapServers) {
    this.#process = process
    /** The address of every broker as host:port, separated by commas. */
    this.bootstrapServers = bootstrapServers
  }

  /** Stops the broker and waits for its end. */
  async stop () {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      this.#process.ref()
      const ended = once(this.#process, 'exit')
      this.#process.kill('SIGTERM')
      await ended
    }
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
 * @returns {Promise<Broker>}
 */
export async function start ({
  topics = [], properties = {}, version, brokers, arguments: more = [], startTimeoutMs = 30_000
} = {}) {
  const words = ['serve', '--listen', '127.0.0.1:0', '--log-level', 'warning']
  if (process.platform !== 'win32') words.push('--exit-with-parent')
  for (const topic of topics) words.push('--topic', topic)
  for (const [name, value] of Object.entries(properties)) words.push('--set', `${name}=${value}`)
  if (version !== undefined) words.push('--kafka-version', version)
  if (brokers !== undefined) words.push('--brokers', String(brokers))
  const child = await run([...words, ...more])

  let errors = ''
  child.stderr.on('data', data => {
    errors = (errors + data).slice(-10_000)
    process.stderr.write(data)
  })
  const timer = new AbortController()
  try {
    const bootstrapServers = await Promise.race([
      readyLine(child),
      once(child, 'close', timer).then(() => {
        throw new Error(`kafkalet ended before it was ready: ${errors.trimEnd().split('\n').at(-1)}`)
      }),
      after(startTimeoutMs, timer.signal).then(() => {
        throw new Error(`kafkalet was not ready within ${startTimeoutMs} ms`)
      })
    ])
    // A broker that is not stopped must not keep Node running.
    for (const handle of [child, child.stdout, child.stderr]) handle.unref()
    return new Broker(child, bootstrapServers)
  } catch (error) {
    child.kill('SIGTERM')
    throw error
  } finally {
    timer.abort()
  }
}

async function run (words) {
  const given = process.env.KAFKALET_COMMAND?.trim()
  for (const command of given ? [given] : ['kafkalet', 'python3 -m kafkalet']) {
    const [program, ...first] = command.split(/\s+/)
    const child = spawn(program, [...first, ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
    try {
      await once(child, 'spawn') // rejects if the program cannot be run
      return child
    } catch (error) {
      if (error.code !== 'ENOENT') throw error
    }
  }
  throw new Error('cannot run kafkalet; install it with `pip install kafkalet`, or set KAFKALET_COMMAND')
}

/** Resolves to the address in the ready line. Never settles if kafkalet prints no such line. */
function readyLine (child) {
  return new Promise(resolve => {
    createInterface({ input: child.stdout }).on('line', line => {
      if (line.startsWith(READY)) resolve(line.slice(READY.length))
    })
  })
}

function after (ms, signal) {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => clearTimeout(timer))
  })
}
