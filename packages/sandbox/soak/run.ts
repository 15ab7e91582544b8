import { getEventListeners, setMaxListeners } from 'node:events'
import type { CompartmentSession } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import type { PooledSandbox, SandboxOptions } from '../src/index.ts'
import { createSandbox } from '../src/index.ts'
import { Slot } from './slot.ts'
import type { Errand } from './errand.ts'
import { COLLATERAL, someErrand } from './errand.ts'
import { Random } from './random.ts'
import { descendants } from './traces.ts'

export interface SoakOptions {
  readonly calls: number
  readonly compartments: number
  readonly seed: number
  readonly os: NonNullable<SandboxOptions['os']>
  /** Called when the call with this number begins. The first is 0. */
  readonly onCall?: (number: number) => void
}

export interface SoakReport {
  readonly settled: number
  readonly opened: number
  readonly killed: number
  /** How many calls ended in each way: with an answer, or with an error code. */
  readonly ends: Readonly<Record<string, number>>
  readonly faults: readonly string[]
}

const AT_ONCE_PER_COMPARTMENT = 2

/** Makes calls of every kind in compartments of both placements. Everything is closed when it resolves. */
export async function soak({ calls, compartments, seed, os, onCall }: SoakOptions): Promise<SoakReport> {
  const random = new Random(seed)
  const sandbox: PooledSandbox = createSandbox({ workspace: '/', os })
  const slots = Array.from({ length: compartments }, (_, n) =>
    new Slot(sandbox, n % 2 === 0 ? 'process' : 'thread', `soak-${n}`))
  const ends = new Map<string, number>()
  const faults: string[] = []
  /** Lives as long as the run, like that of a session: no listener may stay attached to it. */
  const always = new AbortController()
  setMaxListeners(0, always.signal)
  let settled = 0
  let killed = 0
  let next = 0

  const end = (how: string): void => void ends.set(how, (ends.get(how) ?? 0) + 1)
  const lane = async (): Promise<void> => {
    while (next < calls) {
      const number = next++
      onCall?.(number)
      const errand = someErrand(random)
      const session = await random.pick(slots).session().catch((error: unknown) => {
        settled++
        const code = BulkheadError.is(error) ? error.code : undefined
        end(`not opened: ${code}`)
        if (code === undefined || !COLLATERAL.includes(code)) faults.push(
          `no compartment for call ${number}: ${String(error)}`,
        )
      })
      if (session === undefined) continue
      if (errand.killsSome) killed += killOne(random)
      const { times, fault, how } = await run(session, errand, number, always.signal)
      end(how)
      settled += times
      if (fault !== undefined) faults.push(`call ${number} (${errand.args.what}): ${fault}`)
    }
  }
  await Promise.all(Array.from({ length: compartments * AT_ONCE_PER_COMPARTMENT }, lane))
  const { process: hulls, thread: threads } = sandbox.usage()
  if (hulls.inLine + threads.inLine > 0) faults.push('openings still wait in line')
  await sandbox.close()
  const listeners = getEventListeners(always.signal, 'abort').length
  if (listeners > 0) faults.push(`${listeners} listeners are left on a signal that outlives the calls`)
  const opened = slots.reduce((sum, slot) => sum + slot.opened, 0)
  return { settled, opened, killed, ends: Object.fromEntries(ends), faults }
}

/** Kills any child process: a hull, or a wrapper around it. */
function killOne(random: Random): number {
  const pids = descendants()
  if (pids.length === 0) return 0
  try {
    process.kill(random.pick(pids), 'SIGKILL')
    return 1
  } catch {
    return 0
  }
}

interface Ended {
  readonly times: number
  readonly how: string
  readonly fault?: string
}

/** Settles some time after the call, so that a second settlement or a late message is noticed. */
async function run(session: CompartmentSession, errand: Errand, number: number, always: AbortSignal): Promise<Ended> {
  const { args, answer, giveUp, codes } = errand
  const caller = new AbortController()
  let times = 0
  let lateProgress = 0
  const timer = giveUp && setTimeout(() => caller.abort(giveUp.reason), giveUp.afterMs)
  const signal = giveUp === undefined ? always : caller.signal
  const onProgress = (): void => void (times > 0 && lateProgress++)
  let outcome: { readonly value: Json } | { readonly error: unknown }
  try {
    outcome = {
      value: await session.call({ callId: `c${number}`, tool: 'run', args, signal, onProgress }).finally(() => times++),
    }
  } catch (error) {
    outcome = { error }
  }
  clearTimeout(timer)
  await new Promise((resolve) => void setImmediate(resolve))
  const late = lateProgress > 0 ? { fault: 'sent progress after its end' } : {}
  if ('value' in outcome) {
    const right = args.what === 'talk' ? typeof outcome.value === 'string' : outcome.value === answer
    return {
      times, how: 'answered', ...late,
      ...(!right && { fault: `answered ${JSON.stringify(outcome.value)?.slice(0, 100)}` }),
    }
  }
  const { error } = outcome
  if (!BulkheadError.is(error)) return { times, how: 'unknown error', fault: `failed with ${String(error)}` }
  const allowed = [...codes, ...COLLATERAL].includes(error.code)
  return { times, how: error.code, ...late, ...(!allowed && { fault: `failed with ${error.code}: ${error.message}` }) }
}
