#!/usr/bin/env node
// Runs kafkalet with the arguments of this program, as in `npx kafkalet serve`. Signals are passed on to kafkalet, and
// the exit status is that of kafkalet.
//
// npm runs this program in a shell, and passes SIGTERM to that shell only. So the end of the shell counts as SIGTERM.

import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import process from 'node:process'

import { findCommand } from './command.mjs'

function fail (message) {
  console.error(message)
  process.exit(127)
}

let command
try {
  command = findCommand()
} catch (error) {
  fail(error.message)
}
const [program, ...words] = command
const child = spawn(program, [...words, ...process.argv.slice(2)], { stdio: 'inherit' })
child.on('error', error => fail(`cannot run kafkalet: ${error.message}`))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    // Ctrl-C in a terminal sends SIGINT to kafkalet, too.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
  })
}
if (process.env.npm_lifecycle_event !== undefined) {
  const parent = process.ppid
  setInterval(() => { if (process.ppid !== parent) child.kill('SIGTERM') }, 200)
}
child.on('exit', (status, signal) => process.exit(status ?? 128 + constants.signals[signal]))
