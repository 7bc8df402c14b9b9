// The types of command.mjs.

import type { Options } from './kafkalet.mjs'

/** Returns the words of the command that runs kafkalet. */
export function findCommand (options?: Pick<Options, 'command' | 'pyz'>): string[]
