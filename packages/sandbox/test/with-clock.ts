import { fileURLToPath } from 'node:url'
import { runInThisContext } from 'node:vm'
import { bundle } from '../src/process/image-code.ts'

/** Advances only when a test sets it. */
export interface Clock {
  nowMs: number
}

/** A copy of a module in `src/wire` that reads its time from this clock. */
export async function withClock<Module>(name: string, clock: Clock): Promise<Module> {
  let replaced = false
  const path = fileURLToPath(new URL(`../src/wire/${name}`, import.meta.url))
  const { code } = await bundle(path, 'iife', (file, text) => {
    if (file !== 'clock.ts') return text
    replaced = true
    return 'export const monotonicMs = () => clock.nowMs'
  })
  if (!replaced) throw new Error(`${name} does not import clock.ts any more.`)
  const load = runInThisContext(`(function (builtin, clock) {${code}\nreturn image})`) as
    (builtin: typeof process.getBuiltinModule, time: Clock) => Module
  return load(process.getBuiltinModule, clock)
}
