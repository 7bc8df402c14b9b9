// Finds the command that runs kafkalet, in the same way as the clients for Java and Go. It is the first of these:
//
// 1. a command that is given, as an option or in the environment variable KAFKALET_COMMAND (spaces separate its words)
// 2. the file kafkalet.pyz that is given, as an option or in the environment variable KAFKALET_PYZ
// 3. the program kafkalet on PATH, except the one of this package
// 4. the file kafkalet.pyz next to this module
// 5. the module kafkalet, as in `python3 -m kafkalet`
//
// 2, 4 and 5 use the first Python 3.11 or newer among python3, python, python3.14 to python3.11 and, on Windows, py -3.

import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const HERE = dirname(fileURLToPath(import.meta.url))
const BUNDLED = join(HERE, 'kafkalet.pyz')
const IS_WINDOWS = process.platform === 'win32'
const PYTHONS = ['python3', 'python', 'python3.14', 'python3.13', 'python3.12', 'python3.11']
const IS_NEW = 'import sys; sys.exit(sys.version_info < (3, 11))'
const HAS_KAFKALET = "import importlib.util, sys; sys.exit(not importlib.util.find_spec('kafkalet.__main__'))"

/** Returns the words of the command. The options are those of `start`. */
export function findCommand ({ command, pyz } = {}) {
  const given = command ?? process.env.KAFKALET_COMMAND?.split(/\s+/).filter(Boolean) ?? []
  if (given.length > 0) return given
  let file = pyz || process.env.KAFKALET_PYZ
  if (file && !existsSync(file)) throw new Error(`cannot run kafkalet: there is no file ${file}`)
  if (!file) {
    const program = onPath('kafkalet', file => !isOfThisPackage(file))
    if (program !== undefined) return [program]
    file = existsSync(BUNDLED) ? BUNDLED : undefined
  }
  const python = findPython()
  if (python === undefined) throw notFound(' and no Python 3.11 or newer (python3, python, python3.14 to python3.11)')
  if (file !== undefined) return [...python, file]
  if (succeeds(python, HAS_KAFKALET)) return [...python, '-m', 'kafkalet']
  throw notFound(`, no file kafkalet.pyz and no module kafkalet of ${python[0]}`)
}

function notFound (missing) {
  return new Error(`cannot run kafkalet: found no program kafkalet on PATH${missing}; install kafkalet with Python ` +
    '3.11 or newer and `pip install .` in a clone of its repository, or set KAFKALET_PYZ to the path of kafkalet.pyz, ' +
    'which `make dist` writes there')
}

function findPython () {
  const commands = PYTHONS.map(name => [name])
  if (IS_WINDOWS) commands.push(['py', '-3'])
  return commands
    .map(([name, ...words]) => [onPath(name), ...words])
    .find(command => command[0] !== undefined && succeeds(command, IS_NEW))
}

function succeeds ([python, ...words], code) {
  return spawnSync(python, [...words, '-c', code], { stdio: 'ignore', windowsHide: true }).status === 0
}

/** Returns the first executable file of this name on PATH that is accepted. Node cannot run the .cmd files of Windows. */
function onPath (name, isAccepted = () => true) {
  return (process.env.PATH ?? '').split(delimiter).filter(Boolean)
    .map(directory => join(directory, IS_WINDOWS ? `${name}.exe` : name))
    .find(file => isExecutable(file) && isAccepted(file))
}

function isExecutable (file) {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

/**
 * Whether a program is bin.mjs of this package, which npm links and pnpm wraps. Scripts of package.json and npx have it
 * on PATH. It would call itself.
 */
function isOfThisPackage (file) {
  const directory = dirname(file)
  const isWrapper = basename(directory) === '.bin' && basename(dirname(directory)) === 'node_modules'
  return isWrapper || dirname(realpathSync(file)) === HERE
}
