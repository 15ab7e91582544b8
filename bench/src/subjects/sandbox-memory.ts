import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { defineSubject, type Runner, type Side } from '../harness/subject.ts'
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

const idleWorker = idle('bare worker', 'worker', 'Rss')
export const awakeThread = idle('thread compartment, awake', 'thread', 'Rss')
export const idleThread = idle('thread compartment, idle', 'given back', 'Rss')
const nodeShare = idle('share of a bare node', 'node', 'Pss')
export const hullShare = idle('share of a hull', 'process', 'Pss')
const residentNode = idle('bare node, resident', 'node', 'Rss')
export const residentHull = idle('hull, resident', 'process', 'Rss')

export const subject = defineSubject({
  title: 'The memory of a compartment that nobody calls: what one more thread adds to its process, and the share of a hull',
  compares: 'Eight of each. A share (PSS) is what one more takes of the machine: pages that several processes have, such as '
    + 'Node itself, count for each by their part. The goal for a hull is held against its share; all that is resident of it '
    + '(RSS) stands beside.',
  sides: [idleWorker, awakeThread, nodeShare, hullShare, residentNode, residentHull],
  modes: [{ kind: 'memory' }],
  goals: [
    { side: 'share of a hull', measure: 'idle', is: '≤', ratio: 50 },
  ],
  rounds: 4,
})
