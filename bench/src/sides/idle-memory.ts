import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Runner, Side } from '../harness/subject.ts'
import type { IdleKind } from '../peers/idle.ts'

const peer = fileURLToPath(new URL('../peers/idle.ts', import.meta.url))

/** Read anew each time in a process of its own: what one reading leaves behind would be missing in the next. */
function idle<const Name extends string>(name: Name, kind: IdleKind) {
  return {
    name,
    answer: (i: number) => i,
    start: async (): Promise<Runner> => ({
      run: async (i) => i,
      megabytes: async () => {
        const { stdout } = await promisify(execFile)(process.execPath, [peer, kind])
        return Number(stdout)
      },
      stop: async () => {},
    }),
  } as const satisfies Side<Name>
}

export const idleWorker = idle('bare worker', 'worker')
export const idleThread = idle('thread compartment', 'thread')
export const idleNode = idle('bare node', 'node')
export const idleHull = idle('hull', 'process')
