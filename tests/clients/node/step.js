// Steps of a script: each prints "ok NAME", or what differed, which ends the program.

const { isDeepStrictEqual, inspect } = require('util')

const PATIENCE_MS = 30000

const show = value => inspect(value, { depth: 5, breakLength: Infinity })

const run = async (name, body) => {
  try {
    await body()
  } catch (different) {
    console.log(`failed ${name}: ${different.stack}`)
    process.exit(1)
  }
  console.log(`ok ${name}`)
}

const same = (what, expected, found) => {
  if (!isDeepStrictEqual(expected, found)) throw new Error(`${what}: ${show(found)}, not ${show(expected)}`)
}

const holds = (what, condition) => {
  if (!condition) throw new Error(`not so: ${what}`)
}

const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

// Asks again until it is so, or patience ends.
const until = async (what, condition) => {
  const end = Date.now() + PATIENCE_MS
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`never came: ${what}`)
    await pause(5)
  }
}

// The refusal must be of one of those types, itself, as what caused it, or as one of several.
const refused = async (body, ...types) => {
  const parts = error => [error.cause, ...(error.errors || []), ...(error.groups || []).map(group => group.error)]
  const kinds = error => (error ? [error.type, ...parts(error).flatMap(kinds)] : [])
  const found = await Promise.resolve().then(body).then(() => undefined, error => error)
  if (!kinds(found).some(kind => types.includes(kind))) {
    throw new Error(`refused by ${found && found.stack}, not by ${types[0]}`)
  }
}

module.exports = { run, same, holds, pause, until, refused }
