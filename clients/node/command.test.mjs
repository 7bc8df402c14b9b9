import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { findCommand } from './command.mjs'

const OLD = 'exit 1'
const WITHOUT_KAFKALET = 'case "$*" in *find_spec*) exit 1;; esac'
const WITH_KAFKALET = 'exit 0'

let path
let before

/** Writes a program into the only directory on PATH. */
function program (name, lines = '') {
  writeFileSync(join(path, name), `#!/bin/sh\n${lines}\n`, { mode: 0o755 })
  return join(path, name)
}

function file (name) {
  writeFileSync(join(path, name), '')
  return join(path, name)
}

beforeEach(() => {
  before = { ...process.env }
  path = mkdtempSync(join(tmpdir(), 'kafkalet-path-'))
  Object.assign(process.env, { PATH: path, KAFKALET_COMMAND: '', KAFKALET_PYZ: '' })
})

afterEach(() => {
  process.env = before
  rmSync(path, { recursive: true })
})

test('the option comes before the environment, and both come before the program on PATH', () => {
  program('kafkalet')
  process.env.KAFKALET_COMMAND = ' /opt/python  -m kafkalet '
  assert.deepEqual(findCommand({ command: ['a program', '--verbose'] }), ['a program', '--verbose'])
  assert.deepEqual(findCommand(), ['/opt/python', '-m', 'kafkalet'])
})

test('a given kafkalet.pyz comes before the program on PATH, and that before the module', () => {
  const found = program('kafkalet')
  const python = program('python3', WITH_KAFKALET)
  assert.deepEqual(findCommand({ pyz: file('kafkalet.pyz') }), [python, join(path, 'kafkalet.pyz')])
  assert.deepEqual(findCommand(), [found])
})

test('a file that is not executable is not the program', () => {
  file('kafkalet')
  const python = program('python3', WITH_KAFKALET)
  assert.deepEqual(findCommand(), [python, '-m', 'kafkalet'])
})

test('the program of this package is not the program', () => {
  symlinkSync(fileURLToPath(new URL('bin.mjs', import.meta.url)), join(path, 'kafkalet'))
  const scripts = join(path, 'node_modules', '.bin')
  mkdirSync(scripts, { recursive: true })
  writeFileSync(join(scripts, 'kafkalet'), '', { mode: 0o755 })
  process.env.PATH = `${path}:${scripts}`
  const python = program('python3', WITH_KAFKALET)
  assert.deepEqual(findCommand(), [python, '-m', 'kafkalet'])
})

test('the option for kafkalet.pyz comes before the environment', () => {
  const python = program('python3', WITH_KAFKALET)
  process.env.KAFKALET_PYZ = file('environment.pyz')
  assert.deepEqual(findCommand({ pyz: file('option.pyz') }), [python, join(path, 'option.pyz')])
  assert.deepEqual(findCommand(), [python, join(path, 'environment.pyz')])
})

test('kafkalet.pyz next to the module is used', async () => {
  const python = program('python3', WITHOUT_KAFKALET)
  cpSync(new URL('command.mjs', import.meta.url), join(path, 'command.mjs'))
  const copy = await import(pathToFileURL(join(path, 'command.mjs')).href)
  file('kafkalet.pyz')
  assert.deepEqual(copy.findCommand(), [python, join(path, 'kafkalet.pyz')])
})

test('a kafkalet.pyz that does not exist is named', () => {
  program('python3', WITH_KAFKALET)
  assert.throws(() => findCommand({ pyz: '/no/kafkalet.pyz' }), {
    message: 'cannot run kafkalet: there is no file /no/kafkalet.pyz'
  })
})

test('an old Python is skipped', () => {
  program('python3', OLD)
  program('python', OLD)
  const python = program('python3.12', WITH_KAFKALET)
  program('python3.11', WITH_KAFKALET)
  assert.deepEqual(findCommand(), [python, '-m', 'kafkalet'])
})

test('the newest numbered Python is used', () => {
  for (const minor of [11, 12, 13, 14]) program(`python3.${minor}`, WITH_KAFKALET)
  assert.deepEqual(findCommand(), [join(path, 'python3.14'), '-m', 'kafkalet'])
})

test('the module is not looked for in a second Python', () => {
  const python = program('python3', WITHOUT_KAFKALET)
  program('python', WITH_KAFKALET)
  assert.throws(() => findCommand(), {
    message: `cannot run kafkalet: found no program kafkalet on PATH, no file kafkalet.pyz and no module kafkalet of ${
      python}; install kafkalet with Python 3.11 or newer and \`pip install .\` in a clone of its repository, or set ` +
      'KAFKALET_PYZ to the path of kafkalet.pyz, which `make dist` writes there'
  })
})

test('a missing Python is named', () => {
  program('python3', OLD)
  assert.throws(() => findCommand({ pyz: file('kafkalet.pyz') }), {
    message: 'cannot run kafkalet: found no program kafkalet on PATH and no Python 3.11 or newer (python3, python, ' +
      'python3.14 to python3.11); install kafkalet with Python 3.11 or newer and `pip install .` in a clone of its ' +
      'repository, or set KAFKALET_PYZ to the path of kafkalet.pyz, which `make dist` writes there'
  })
})

const BIN = fileURLToPath(new URL('bin.mjs', import.meta.url))

test('the program of the package passes arguments, output and exit status', () => {
  program('kafkalet', 'for word; do echo "[$word]"; done; exit 3')
  const done = spawnSync(process.execPath, [BIN, 'serve', '--topic', 'two words'])
  assert.equal(done.stdout.toString(), '[serve]\n[--topic]\n[two words]\n')
  assert.equal(done.status, 3)
})

test('the program of the package passes signals', async () => {
  program('kafkalet', 'trap "exit 5" TERM; echo ready; while :; do read line; done')
  const running = spawn(process.execPath, [BIN], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(running.stdout, 'data')
  running.kill('SIGTERM')
  assert.deepEqual(await once(running, 'exit'), [5, null])
})

test('the program of the package says what is missing', () => {
  const done = spawnSync(process.execPath, [BIN, 'serve'])
  assert.match(done.stderr.toString(), /^cannot run kafkalet: found no program kafkalet on PATH and no Python 3\.11 or newer/)
  assert.equal(done.status, 127)
})
