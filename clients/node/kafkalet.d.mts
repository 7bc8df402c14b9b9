// The types of kafkalet.mjs.

import type { AdvanceClock, Api, Group as GroupFields, NewFault, SentRecord, ShareGroup as ShareGroupState, ShareRecord } from './api.mjs'

/** Bytes; a string means its UTF-8 encoding. */
export type Data = string | Uint8Array

/** The options of a broker, all of them optional. */
export interface Options {
  /** Topics to create, each as NAME[:PARTITIONS[:KEY=VALUE,...]], for example 'orders:6'. */
  topics?: string[]
  /** Broker properties, by their Kafka names. */
  properties?: { [name: string]: unknown }
  /** The release of Apache Kafka to emulate, for example '3.9'. By default, every version is accepted. */
  version?: string
  /** The number of brokers; 1 by default. */
  brokers?: number
  /** Further arguments of `kafkalet serve`. */
  arguments?: string[]
  /** How long to wait for the broker; 30000 by default. */
  startTimeoutMs?: number
  /** The command that runs kafkalet, for example ['/opt/venv/bin/python', '-m', 'kafkalet']. */
  command?: string[]
  /** The path of kafkalet.pyz, which then runs instead of the program kafkalet on PATH. */
  pyz?: string
}

/** The longest time of a wait; 10000 by default, and at most 300000, the limit of `fetch`. */
export interface Timeout {
  timeoutMs?: number
}

/** Starts a broker and waits until it accepts connections. */
export function start (options?: Options): Promise<Broker>

/** A running broker, or several. */
export class Broker {
  private constructor ()

  /** The address of every broker as host:port, separated by commas. */
  readonly bootstrapServers: string
  /** The URL of the control API, without a path. */
  readonly controlUrl: string
  /** The clock of the brokers. */
  readonly clock: Clock
  /** All operations of the control API. */
  readonly api: Api

  /** Stops the broker and waits for its process to end. */
  stop (): Promise<void>

  /** Returns a topic, which need not exist. */
  topic (name: string): Topic

  /** Returns a consumer group, which need not exist. */
  group (id: string): Group

  /** Returns a share group, which need not exist. */
  shareGroup (id: string): ShareGroup

  /**
   * Waits until no request is in progress, no group with members has a lag and no transaction is open. After that, a
   * record that is missing will not arrive.
   */
  settle (timeout?: Timeout): Promise<void>

  /**
   * Begins a transaction without a client. It fences an older producer with the transactional id. Call `commit` or
   * `abort` at the end; a transaction that was declared with `await using` is aborted if neither was called.
   */
  openTransaction (transactionalId: string): Promise<Transaction>

  /** Begins a transaction and calls a function; then commits the transaction, or aborts it if the function fails. */
  withTransaction<Result> (
    transactionalId: string, work: (transaction: Transaction) => Promise<Result>
  ): Promise<Result>

  /**
   * Sets a fault for the requests of an API, such as 'Produce', or of several; undefined means all. Call `remove` at
   * the end, or declare the fault with `await using`.
   */
  fault (api: string | string[] | undefined, options: NewFault): Promise<Fault>

  /**
   * Sets a fault, calls a function, removes the fault, and resolves to the result of the function. Rejects if the fault
   * has fired less often than expected.
   */
  withFault<Result> (
    api: string | string[] | undefined, options: NewFault, work: (fault: Fault) => Promise<Result>
  ): Promise<Result>

  /**
   * Calls a path of the control API. Resolves to the JSON or the bytes of the response, or to undefined if it is empty.
   * Rejects with a ControlError if the broker refuses the call. If the environment variable KAFKALET_CONTROL_TOKEN is
   * set, the broker requires it, and the client sends it.
   *
   * @param path the path, which begins with /v1, and optionally a query
   * @param body the body: an object, sent as JSON, or bytes
   */
  control (method: string, path: string, body?: object): Promise<any>
}

/** The broker refused a call. */
export class ControlError extends Error {
  private constructor ()

  /** The HTTP status. */
  readonly status: number
  /** The name of a Kafka error, such as 'TOPIC_ALREADY_EXISTS', or of an HTTP error, such as 'not_found'. */
  readonly code: string
}

/** A record to send. */
export interface Message {
  /** The value; without one, the record is a tombstone. */
  value?: Data | null
  /** The key, which determines the partition unless a partition is given. */
  key?: Data | null
  /** Headers by name, or as pairs. */
  headers?: { [name: string]: Data | null } | Array<[string, Data | null]>
  /** The timestamp in milliseconds since 1970; by default the broker's current time. */
  timestamp?: number | Date
  /** The partition. */
  partition?: number
}

/** The position of a record in a topic. */
export type Position = SentRecord

/** A position in a topic. Only the broker reads it. */
export type Mark = string

/** Selects the records to read. */
export interface Selection {
  /** 'read_committed' skips records of open and aborted transactions; 'read_uncommitted' by default. */
  isolation?: 'read_uncommitted' | 'read_committed'
  /** Records before this mark are skipped. */
  since?: Mark
  /** The only partition; all by default. */
  partition?: number
}

/** A topic, which need not exist. */
export class Topic {
  private constructor ()

  /** The name of the topic. */
  readonly name: string

  /** Creates the topic and resolves to it. Omitted options have the broker's defaults. */
  create (options?: { partitions?: number, config?: { [name: string]: unknown } }): Promise<Topic>

  /**
   * Appends records as a producer with acks=all does, in one batch for each partition: values, or messages with keys
   * and more. A topic that does not exist is created.
   */
  send (...messages: Array<Data | null | Message>): Promise<Position[]>

  /** Resolves to the current end of the topic, for the option `since`. */
  mark (): Promise<Mark>

  /**
   * Resolves to the records that a consumer can receive now, by partition and offset.
   *
   * @param options.offset the first offset to read in each partition, unless `since` is given
   * @param options.limit the largest number of records per partition
   */
  records (options?: Selection & { offset?: number, limit?: number }): Promise<Record[]>

  /** Resolves to the values of `records` as strings. */
  values (options?: Selection & { offset?: number, limit?: number }): Promise<Array<string | null>>

  /**
   * Waits until n records match, and resolves to the first n, by partition and offset. A record must meet all
   * conditions. Records that are in the topic already count. If they do not arrive in time, the promise rejects with
   * an AssertionError that shows the records that did arrive.
   *
   * @param match.contains a text that the value contains
   */
  waitFor (n: number, match?: Selection & Timeout & { key?: Data, value?: Data, contains?: string }): Promise<Record[]>
}

/** A record in the log of a topic. */
export class Record {
  private constructor ()

  readonly topic: string
  readonly partition: number
  readonly offset: number
  /** Milliseconds since 1970, or -1 if the record has no timestamp. */
  readonly timestamp: number
  readonly key: Buffer | null
  /** The value, or null for a tombstone. */
  readonly value: Buffer | null
  /** The headers as pairs of name and value. */
  readonly headers: Array<[string, Buffer | null]>

  /** The value as a string, or null for a tombstone. */
  text (): string | null

  /** The value, parsed as JSON. */
  json (): any
}

/** A consumer group, which need not exist. */
export class Group {
  private constructor ()

  /** The id of the group. */
  readonly id: string

  /** Resolves to the state, members, committed offsets and lag of the group. */
  state (): Promise<GroupState>

  /** Waits until the lag is at most `lag`; 0 by default. */
  waitForLag (lag?: number, timeout?: Timeout): Promise<GroupState>

  /** Waits until the group has a number of members, by default at least one, all with their assignments. */
  waitUntilStable (options?: Timeout & { members?: number }): Promise<GroupState>

  /** Removes a member, given by its member id or group.instance.id, as if its session had timed out. */
  evict (member: string): Promise<GroupState>

  /**
   * Commits other offsets for the group, which must have no members: an offset, or the offset of the first record
   * at or after a timestamp. The default is all partitions with a committed offset, or all partitions of the topic.
   */
  seek (options: {
    offset?: number | 'earliest' | 'latest', timestamp?: number | Date, topic?: string, partition?: number
  }): Promise<GroupState>
}

/** A snapshot of the state of a group. */
export interface GroupState extends GroupFields {}
export class GroupState {
  private constructor ()

  /** The committed offset of a partition, or null if there is none. */
  committed (topic: string, partition: number): number | null
}

/** A share group, which need not exist. */
export class ShareGroup {
  private constructor ()

  /** The id of the group. */
  readonly id: string

  /** Resolves to the state, members, start offsets and lag of the group, and the number of records in each state. */
  state (): Promise<ShareGroupState>

  /** Resolves to the records with their deliveries, in all states or in one. */
  records (state?: ShareRecord['state']): Promise<ShareRecord[]>

  /** Ends the acquisition locks of all records now, or those of a topic or member. Resolves to their number. */
  expireLocks (options?: { topic?: string, member?: string }): Promise<number>

  /** Waits until at least these numbers of records are in these states. */
  waitFor (options: Timeout & {
    available?: number, acquired?: number, acknowledged?: number, archived?: number, topic?: string
  }): Promise<ShareGroupState>

  /** Sets other start offsets for the group, which must have no members. */
  seek (options: {
    offset?: number | 'earliest' | 'latest', timestamp?: number | Date, topic?: string, partition?: number
  }): Promise<ShareGroupState>
}

/** A transaction without a client. */
export class Transaction {
  private constructor ()

  readonly transactionalId: string

  /** Appends records to a topic in the transaction: values, or messages with keys and more. */
  send (topic: string, ...messages: Array<Data | null | Message>): Promise<void>

  /** Commits the transaction, and waits until all markers are written. */
  commit (): Promise<void>

  /** Aborts the transaction, and waits until all markers are written. */
  abort (): Promise<void>

  /** Aborts the transaction at the end of the block, if it was declared with `await using` and has not ended. */
  [Symbol.asyncDispose] (): Promise<void>
}

/** A fault that is set. */
export class Fault {
  private constructor ()

  /** The id of the fault in the control API. */
  readonly id: number

  /** Resolves to how often the fault has fired. It must not have been removed. */
  fired (): Promise<number>

  /** Waits until the fault has fired n times; 1 by default. */
  wait (n?: number, timeout?: Timeout): Promise<void>

  /** Handles the requests that the fault holds. */
  release (): Promise<void>

  /** Removes the fault. Rejects with an AssertionError if it has fired less often than expected. */
  remove (): Promise<void>

  /** Removes the fault at the end of the block, if it was declared with `await using`. */
  [Symbol.asyncDispose] (): Promise<void>
}

/** The clock of the brokers: real time plus an offset. */
export class Clock {
  private constructor ()

  /** Resolves to the time of the brokers. */
  now (): Promise<Date>

  /** Advances the clock by the sum of the times, and runs everything that becomes due: retention, timeouts, expiration. */
  advance (time: AdvanceClock): Promise<void>
}
