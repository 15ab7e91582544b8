import { setTimeout as pause } from 'node:timers/promises'
import type { Outcome } from '@bulkhead/contract'
import type { PostgresServer } from '../../../../../scripts/postgres/server.ts'
import { CACHE } from '../../cache.ts'
import type { Place, StartInside } from '../../postgres/chaos/chaos-hosts.ts'
import { ALL } from '../../postgres/chaos/chaos-work.ts'
import { type CallerTerms, openCaller } from './caller.ts'
import { callOf, CALLS, FLEET_TIMES, ROUNDS, type FleetCall } from './fleet-work.ts'
import type { Ledger } from './ledger.ts'
import type { WorkerPlace } from './worker-place.ts'

/** Refusals that say that nothing was begun, or that another host is at it. The caller asks again. */
const AGAIN: ReadonlySet<string> = new Set([
  'StoreUnavailable', 'IdempotencyKeyInUse', 'CallInterrupted', 'HostClosed', 'NoWorkerReady', 'CompartmentCrashed',
])
/** How many of them in a row when all is calm. What is recorded for the key by mistake would come for ever. */
const MOST_REFUSALS = 500
/** Calls that are open at once. */
const ABREAST = 32
/** A server that stands still refuses every call for seconds. Asking more often finds no more. */
const AGAIN_MS = 100

/** A caller in this process. */
export const insideCaller: StartInside = async (folder, given) => {
  const caller = await openCaller(folder, CACHE, given as CallerTerms)
  return { ask: (_, call) => caller.call(call as FleetCall), end: () => caller.close() }
}

/** Callers and workers, and what happens to them, the server and the connections meanwhile. */
export class FleetRun {
  readonly ended = new Map<number, { readonly call: FleetCall; readonly outcome: Outcome }>()
  /** How often each fault happened. */
  readonly happened = new Map<string, number>()
  readonly #parts
  #next = 0
  #isCalm = false

  constructor(parts: {
    readonly callers: readonly Place[]; readonly workers: readonly WorkerPlace[]; readonly server: PostgresServer
    readonly ledger: Ledger
    /** Called with each outcome. */
    readonly onEnd: () => void
  }) {
    this.#parts = parts
  }

  /** Resolves when every call has a final outcome. */
  async run(): Promise<void> {
    const all = Array.from({ length: ABREAST }, () => this.#makeCalls())
    await this.#disturb()
    this.#isCalm = true
    await Promise.all(all)
  }

  async #makeCalls(): Promise<void> {
    while (this.#next < CALLS) {
      const n = this.#next++
      let refusals = 0
      for (let attempt = 0; ; attempt++) {
        const call = callOf(n, attempt)
        const outcome = await this.#send(call)
        const code = outcome?.type === 'error' ? outcome.error.code : undefined
        refusals = this.#isCalm && code !== undefined ? refusals + 1 : 0
        const isFinal = code === undefined || !AGAIN.has(code) || outcome?.metadata.replayed === true
        if (outcome && (isFinal || refusals > MOST_REFUSALS)) {
          this.ended.set(n, { call, outcome })
          this.#parts.onEnd()
          break
        }
        await pause(AGAIN_MS)
      }
    }
  }

  /** undefined if the caller has ended, or stands still. */
  async #send(call: FleetCall): Promise<Outcome | undefined> {
    const open = this.#parts.callers.filter(({ isOpen }) => isOpen)
    const caller = open[Math.floor(Math.random() * open.length)]
    if (!caller) return void await pause(20)
    return caller.ask('call', call).catch(() => undefined)
  }

  /** Each fault once, and in `pnpm soak` again until the calls are through. */
  async #disturb(): Promise<void> {
    const { callers, workers, server, ledger } = this.#parts
    const past = FLEET_TIMES.leaseMs * 1.5
    const faults: Readonly<Record<string, (caller: Place, worker: WorkerPlace) => Promise<void>>> = {
      'a connection of a worker that answers no more': async (_, { proxy }) => {
        proxy.hold('answers')
        await pause(past)
        proxy.cut()
        proxy.release()
      },
      'SIGSTOP of a worker between two effects, and of a caller': async (caller, worker) => {
        // A call that the worker has begun keeps it there: the ledger answers when the worker stands still.
        await Promise.race([ledger.hold(worker.name), this.#made(CALLS)])
        const stopped = caller.stop(FLEET_TIMES.goneMs + FLEET_TIMES.calmMs + 600)
        worker.signal('SIGSTOP')
        ledger.release()
        await pause(past)
        worker.signal('SIGCONT')
        await stopped
      },
      'connections cut in the middle of a statement': async (caller, worker) => {
        for (const what of ['requests', 'answers', 'requests', 'answers'] as const) {
          caller.proxy.cutNext(what)
          worker.proxy.cutNext(what)
          await pause(30)
        }
      },
      'restart of the server': () => server.restart(),
      'kill -9 of a caller': async (caller) => {
        await caller.kill()
        await (ALL ? caller.start() : caller.start(insideCaller))
      },
      'kill -9 of a worker': async (_, worker) => {
        await worker.kill()
        await worker.start(ALL)
      },
      'SIGSTOP of the server': async () => {
        await server.pause()
        await pause(FLEET_TIMES.statementMs + 1_300)
        await server.resume()
      },
    }
    const entries = Object.entries(faults)
    for (let round = 0; round === 0 || (round < ROUNDS && this.#next < CALLS); round++) {
      for (const [index, [name, fault]] of entries.entries()) {
        if (round > 0 && this.#next >= CALLS) break
        // The calls are spread over all faults of a round.
        const share = Math.floor(CALLS * index / (entries.length + 1))
        if (round === 0) await this.#made(Math.min(share, 2_000))
        await fault(callers[(round + index) % callers.length]!, workers[(round + index) % workers.length]!)
        this.happened.set(name, (this.happened.get(name) ?? 0) + 1)
      }
    }
  }

  async #made(calls: number): Promise<void> {
    while (this.#next < calls) await pause(5)
  }
}
