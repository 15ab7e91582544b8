import type { Outcome } from '@bulkhead/contract'
import { createWorld, type ToolSketch, type WorldSketch } from '../twin/world.ts'

const WRITES: ToolSketch = { requires: { fs: { write: ['{workspace}'] } } }

/** A tool that counts its runs, and begins an effect unless it is told otherwise. */
export async function counting(sketch: WorldSketch = {}, tool: ToolSketch = {}, acts = true) {
  let runs = 0
  const world = createWorld({
    extensions: [{ tools: { echo: {
      ...WRITES, ...tool, execute: async (args, runtime) => {
        runs++
        if (acts) await world.compartment().calls.at(-1)!.beginEffect!('writes a.ts')
        return tool.execute ? tool.execute(args, runtime) : { runs }
      },
    }, other: {} } }], ...sketch,
  })
  const session = await world.host.openSession({ mode: 'yolo' })
  let count = 0
  const call = (idempotencyKey: string | undefined, args = {}, name = 'echo', from = session): Promise<Outcome> =>
    from.call({ id: `c${++count}`, name, arguments: args, ...(idempotencyKey !== undefined && { idempotencyKey }) })
  return { world, session, call, runs: () => runs }
}
