import { join } from 'node:path'
import type { ManifestInput } from '@bulkhead/contract'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { writeExtension } from '../../extension-folder.ts'
import { ALL, CONFIG as HOSTS, PATIENT_MS, TIMES } from '../../postgres/chaos/chaos-work.ts'

export const CALLS = thoroughly(2_000, 100_000)
/** Of faults. */
export const ROUNDS = thoroughly(1, Infinity)
export const FLEET_TIMES = { ...TIMES, leaseMs: 1_000 }
/** How one of the callers or workers runs. */
export interface Running {
  /** How far its clock is from that of the server. */
  readonly clockMs: number
  /** It has a process of its own, so that it can be killed and stopped. Otherwise it is in that of the test. */
  readonly hasProcess: boolean
  /** Its connections can be cut. */
  readonly isBehindProxy: boolean
}

const killed = (clockMs: number): Running => ({ clockMs, hasProcess: true, isBehindProxy: ALL })
const cut: Running = { clockMs: 0, hasProcess: ALL, isBehindProxy: true }
const quiet: Running = { ...cut, isBehindProxy: ALL }
/** As the faults of a round need them. */
export const CALLERS = [quiet, killed(60_000), cut]
export const WORKERS = [cut, killed(-60_000), cut, quiet]

/** A call that is made until it has a final outcome, from any caller, with the same key. */
export interface FleetCall {
  readonly id: string
  readonly tool: (typeof TOOLS)[number]
  readonly n: number
}

/** Six of ten have no effect, three have two effects that must not happen twice, one has two that may. */
const TOOLS = ['looks', 'acts', 'looks', 'acts', 'looks', 'acts_again', 'looks', 'acts', 'looks', 'looks'] as const

const runsOn = { labels: ['gpu'] }
export const CONFIG = {
  ...HOSTS,
  // On a busy machine, a call that lost its lease ends later. Those beside it would end with its compartment.
  limits: { ...HOSTS.limits, graceMs: PATIENT_MS },
  // Nothing here reads it.
  audit: { enabled: false },
  rules: [...new Set(TOOLS)].map((permission) => ({ permission, pattern: '*', action: 'allow', runsOn }) as const),
}

export const callOf = (n: number, attempt: number): FleetCall =>
  ({ id: `${n}.${attempt}`, tool: TOOLS[n % TOOLS.length]!, n })

/** What a run of a tool tells the ledger. `run`: another one for each ticket. */
export interface Deed {
  readonly tool: FleetCall['tool']
  readonly n: number
  readonly at: 'first' | 'second'
  readonly run: string
  readonly worker: string
}

const CODE = `
const tell = async ({ n, url }, runtime, at) => {
  const worker = await runtime.env.get('WORKER')
  const deed = JSON.stringify({ tool: runtime.toolName, n, at, run: runtime.callId, worker })
  await (await runtime.net.fetch(url + '?' + encodeURIComponent(deed), { method: 'POST' })).text()
}
const acts = async (args, runtime) => {
  await tell(args, runtime, 'first')
  await tell(args, runtime, 'second')
  return args.n
}
export default { tools: {
  acts: { execute: acts }, acts_again: { execute: acts },
  looks: { execute: ({ n }) => n },
} }`

export function writeActs(home: string, place: string): void {
  const tool = (name: string, effects: ManifestInput['tools'][number]['effects']) =>
    ({ name, effects, mode: 'external' as const, gated: true, requires: { net: { hosts: [place] } } })
  writeExtension(home, {
    id: 'acts', env: ['WORKER'],
    tools: [
      tool('acts', 'once'), tool('acts_again', 'idempotent'),
      { name: 'looks', effects: 'none', mode: 'read', gated: false, requires: {} },
    ],
  }, CODE)
}

export const homeOf = (folder: string, name: string): string => join(folder, `home-${name}`)
