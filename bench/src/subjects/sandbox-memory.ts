import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { defineSubject, type Runner, type Side } from '../harness/subject.ts'
import type { Footprint, IdleKind } from '../peers/idle.ts'

const peer = fileURLToPath(new URL('../peers/idle.ts', import.meta.url))

/** Each reading uses a new process, because memory that one reading leaves behind would distort the next. */
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
  title: 'Memory of a compartment without calls: one more thread in a process, and the share of a hull',
  compares: 'Eight of each. The share (PSS) divides pages among the processes that use them, such as those of Node. '
    + 'The goal of a hull applies to its share; its resident memory (RSS) is shown for comparison.',
  sides: [idleWorker, awakeThread, nodeShare, hullShare, residentNode, residentHull],
  modes: [{ kind: 'memory' }],
  goals: [
    { side: 'share of a hull', measure: 'idle', is: '≤', ratio: 50 },
  ],
  rounds: 4,
})
