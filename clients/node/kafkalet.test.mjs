import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { start } from './kafkalet.mjs'

async function accepts (address) {
  const [host, port] = address.split(':')
  const socket = connect(Number(port), host)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

test('a stopped broker accepts no connections', async () => {
  const broker = await start()
  assert.ok(await accepts(broker.bootstrapServers))
  await broker.stop()
  assert.ok(!await accepts(broker.bootstrapServers))
  await broker.stop() // has no effect
})

test('every option reaches the broker', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'kafkalet-client-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const broker = await start({
    topics: ['orders:3', 'payments:1:retention.ms=5'],
    properties: { 'num.partitions': 2 },
    version: '3.9',
    brokers: 2,
    arguments: ['--data-dir', directory]
  })
  const addresses = broker.bootstrapServers.split(',')
  assert.equal(addresses.length, 2)
  assert.ok(await accepts(addresses[1]))
  await broker.stop()
  assert.ok(existsSync(join(directory, 'broker-2')))
})

test('a refused option is named', async () => {
  await assert.rejects(start({ properties: { 'num.partitions': 0 } }), {
    message: 'kafkalet ended before it was ready: kafkalet: Invalid value 0 for configuration num.partitions: ' +
      'Value must be at least 1'
  })
})

test('a start that takes too long fails', async () => {
  await assert.rejects(start({ startTimeoutMs: 1 }), { message: 'kafkalet was not ready within 1 ms' })
})

test('a missing command is named', async t => {
  const before = { ...process.env }
  t.after(() => { process.env = before })
  process.env.KAFKALET_COMMAND = 'no-such-command -m kafkalet'
  await assert.rejects(start(), { message: 'cannot run kafkalet: spawn no-such-command ENOENT' })
})

test('a broker that is not stopped does not keep Node running', () => {
  const script = "import { start } from './kafkalet.mjs'; const broker = await start(); " +
    'await broker.settle(); console.log(broker.bootstrapServers)'
  const done = spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd: import.meta.dirname ?? '.' })
  assert.equal(done.status, 0)
  assert.match(done.stdout.toString(), /^127\.0\.0\.1:\d+\n$/)
})
