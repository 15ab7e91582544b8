import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { runInThisContext } from 'node:vm'
import { linkedScript, SourceGraph } from '../src/process/linked-script.ts'

/** Advances only when a test sets it. */
export interface Clock {
  nowMs: number
}

/** A copy of a module in `src/wire` that reads its time from this clock. */
export async function withClock<Module>(name: string, clock: Clock): Promise<Module> {
  let replaced = false
  const path = fileURLToPath(new URL(`../src/wire/${name}`, import.meta.url))
  const graph = await SourceGraph.read([path], (file, text) => {
    if (file !== 'clock.ts') return text
    replaced = true
    return 'export const monotonicMs = () => clock.nowMs'
  })
  if (!replaced) throw new Error(`${name} does not import clock.ts any more.`)
  const modules = graph.inOrder(path)
  const source = `(function (require, clock) {${linkedScript(modules)}\nreturn m${modules.length - 1}\n})`
  const load = runInThisContext(source) as (require: NodeJS.Require, time: Clock) => Module
  return load(createRequire(import.meta.url), clock)
}
