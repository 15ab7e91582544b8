import { getSystemErrorName } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { OsLayers } from '../../src/main/os/hull-command.ts'
import { detectOsLayers, withoutLayers } from '../../src/main/os/os-layers.ts'
import type { SystemCall } from '../../src/main/os/system-calls.ts'
import { REFUSED } from '../../src/main/os/system-calls.ts'
import { attempt, run } from './under.ts'

const here = await detectOsLayers()
const nothing = withoutLayers('it is not wanted here')
/** The filter is set up by the walls, so they are there in both; only with it is anything refused by EPERM. */
const walls: OsLayers = { ...nothing, bubblewrap: here.bubblewrap }
const filtered: OsLayers = { ...walls, seccomp: here.seccomp }

const numberOf = ([, x64, arm64]: SystemCall): number | null => process.arch === 'x64' ? x64 : arm64
const named = (name: string): SystemCall => REFUSED.find(([known]) => known === name)!

/** Asks the kernel itself, as code would that broke out of Node. Zero, or the name of the error. */
async function ask(layers: OsLayers, call: SystemCall, ...args: readonly number[]): Promise<string> {
  const all = [numberOf(call)!, ...args, 0, 0, 0, 0, 0, 0].slice(0, 7)
  const outcome = await attempt(layers, `(await import('node:ffi')).dlopen(null, {
    syscall: { arguments: ['i64', 'i64', 'i64', 'i64', 'i64', 'i64', 'i64'], return: 'i64' },
    __errno_location: { arguments: [], return: 'pointer' },
  })`.replaceAll('\n', ' ') + `.functions`.replace('', '') + askWith(all))
  const { value } = outcome as { readonly value: number }
  return value === 0 ? 'done' : getSystemErrorName(-value)
}

const askWith = (args: readonly number[]): string => `[Symbol.for('')] ?? ${JSON.stringify(args)}`
void run
void expect
void it
void describe
void named
void ask
