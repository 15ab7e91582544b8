import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Runner, Side } from '../harness/subject.ts'
import type { Footprint, IdleKind } from '../peers/idle.ts'

const peer = fileURLToPath(new URL('../peers/idle.ts', import.meta.url))

/** Read anew each time in a process of its own: what one reading leaves behind would be missing in the next. */
function idle<const Name extends string>(name: Name, kind: IdleKind, footprint: Footprint) {
  return {
    name,
    answer: (i: number) => i,
    start: async (): Promise<Runner> => ({
      run: async (i) => i,
      megabytes: async () => {
        const { stdout } = await promisify(execFile)(process.execPath, [peer, kind, footprint])
        return Number(stdout)
      },
      stop: async () => {},
    }),
  } as const satisfies Side<Name>
}

export const idleWorker = idle('bare worker', 'worker', 'Rss')
export const awakeThread = idle('thread compartment, awake', 'thread', 'Rss')
export const idleThread = idle('thread compartment, idle', 'given back', 'Rss')
export const nodeShare = idle('share of a bare node', 'node', 'Pss')
export const hullShare = idle('share of a hull', 'process', 'Pss')
export const residentNode = idle('bare node, resident', 'node', 'Rss')
export const residentHull = idle('hull, resident', 'process', 'Rss')
