import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { defineSubject, type Runner, type Side } from '../harness/subject.ts'
import type { Footprint, IdleKind } from '../peers/memory.ts'

const peer = fileURLToPath(new URL('../peers/memory.ts', import.meta.url))

/** Each reading uses a new process, because memory that one reading leaves behind would distort the next. */
function idleSide<const Name extends string>(name: Name, kind: IdleKind, footprint: Footprint) {
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

const idleWorker = idleSide('bare worker', 'worker', 'Rss')
export const awakeThread = idleSide('thread compartment, awake', 'thread', 'Rss')
const idleThread = idleSide('thread compartment, idle', 'released', 'Rss')
const nodeShare = idleSide('share of a bare node', 'node', 'Pss')
export const hullShare = idleSide('share of a hull', 'process', 'Pss')
const residentNode = idleSide('bare node, resident', 'node', 'Rss')
export const residentHull = idleSide('hull, resident', 'process', 'Rss')

export const sandboxMemory = defineSubject({
  title: 'Memory of a compartment without calls: one more thread in a process, and the share of a hull',
  compares: 'Eight of each. The share (PSS) divides pages among the processes that use them, such as those of Node. '
    + 'The resident memory (RSS) of a hull counts them fully.',
  sides: [idleWorker, awakeThread, nodeShare, hullShare, residentNode, residentHull],
  modes: [{ kind: 'memory' }],
  ratios: [],
  rounds: 4,
})

export const sandboxIdle = defineSubject({
  title: 'Memory of an idle thread compartment after its thread was released',
  compares: 'Eight compartments, some seconds after their threads were released (`idleMs`), because V8 keeps pages of '
    + 'ended threads for a while. The memory of a running one is in `sandbox-memory`: a bare worker alone has 4.2 MB '
    + 'of objects of Node.',
  sides: [idleThread],
  modes: [{ kind: 'memory' }],
  ratios: [],
  rounds: 4,
})
