// Compiled, but not run, by the tests: the types accept correct calls and refuse wrong ones.

import { start, type Broker, type Position } from './kafkalet.mjs'

export async function correct (broker: Broker): Promise<void> {
  const topic = await broker.topic('orders').create({ partitions: 2, config: { 'retention.ms': -1 } })
  const sent: Position[] = await topic.send('a', null, { value: new Uint8Array(), headers: { source: 'web' } })
  const [record] = await topic.waitFor(sent.length, { key: '7', isolation: 'read_committed', since: await topic.mark() })
  const text: string | null = record.text()
  const count: number = await broker.withFault(['Fetch'], { delay: 0.005, nth: 2 }, async fault => await fault.fired())
  await using fault = await broker.fault('Produce', { error: 'NOT_LEADER_OR_FOLLOWER', times: count })
  await using transaction = await broker.openTransaction('payments')
  await transaction.send('orders', text, { value: 'b' })
  await fault.wait(1, { timeoutMs: 100 })
  const leader: number | null = (await broker.api.getPartition('orders', 0)).leader
  await broker.api.moveLeader('orders', 0, { to: leader ?? 1 })
}

export async function wrong (broker: Broker): Promise<void> {
  // @ts-expect-error
  await start({ topic: 'orders' })
  // @ts-expect-error
  await broker.topic('orders').records({ isolation: 'committed' })
  // @ts-expect-error
  await broker.topic('orders').waitFor(1, { timeout: 5 })
  // @ts-expect-error
  await broker.fault('Produce', { times: '2' })
  // @ts-expect-error
  await broker.clock.advance({ hour: 2 })
  // @ts-expect-error
  await broker.api.moveLeader('orders', 0, {})
}
