import type { Outcome } from '@bulkhead/contract'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { IN_THREADS } from '../../extension-folder.ts'

/** How many calls are made, and how many a payer may make. */
export const CALLS = thoroughly(2_000, 100_000)
export const PAYERS = ['p0', 'p1', 'p2', 'p3']
/** Less than each of them asks for. */
export const LIMIT = Math.floor(CALLS / PAYERS.length * 0.9)
/** One of so many is made again at the end, with its key. */
export const AGAIN = thoroughly(8, 1)
export const TICKETS = thoroughly(8, 400)
/** For what takes its time on a busy machine only. */
export const PATIENT_MS = 600_000
/** In `pnpm soak`, everything happens to each host. Processes and proxies take much processor time. */
export const ALL = thoroughly(false, true)
/** Of faults. A fault waits for a host, or for the server. */
export const ROUNDS = thoroughly(1, Infinity)

/** A busy machine may take its time to start a thread. */
export const CONFIG = { ...IN_THREADS, limits: { startMs: PATIENT_MS, phaseMs: PATIENT_MS } }

/** Short, so that a host that stands still is soon judged. A busy machine may judge more of them. */
export const TIMES =
  { connectMs: 1_000, statementMs: 1_000, patienceMs: 3_000, beatMs: 100, goneMs: 1_200, calmMs: 400 }

/** `mayBeLost`: the host could not store the outcome of some call meanwhile. If it dies, that outcome is lost. */
export type HostOutcome = Outcome & { readonly mayBeLost?: true }

/** A call that is made until it has a final outcome, on any host, with the same key. */
export interface Work {
  readonly id: string
  readonly payer: string
  readonly tool: 'acts' | 'looks' | 'writes' | 'asks_first'
  readonly n: number
  readonly key: string
}

/** Most calls have an effect. Each tenth one has it in a compartment, through the broker. */
export function workOf(n: number, attempt: number): Work {
  const tool = n % 10 === 0 ? 'writes' : n % 5 === 1 ? 'looks' : 'acts'
  return { id: `${n}.${attempt}`, payer: PAYERS[n % PAYERS.length]!, tool, n, key: `key-${n}` }
}
