import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Store } from '@bulkhead/contract'
import type { PostgresServer } from '../../../../../scripts/postgres/server.ts'
import { CACHE } from '../../cache.ts'
import type { Place, StartInside } from './chaos-hosts.ts'
import {
  AGAIN as SHARE, ALL, CALLS, ROUNDS, TICKETS, TIMES, workOf, type HostOutcome, type Work,
} from './chaos-work.ts'
import { openChaosHost } from './open-host.ts'
import { insist } from './patience.ts'

/** How a call or a ticket has ended for its caller. */
export interface Ended {
  readonly work: Work
  readonly outcome: HostOutcome
}

/** A freeze that was confirmed: what ran until its end, and what had begun before. */
export interface FrozenTime {
  readonly ran: readonly string[]
  readonly begun: ReadonlySet<string>
  /** When what had begun was read. Calls of hosts that were gone before had been settled by then. */
  readonly readAt: number
}

/** Refusals that say that nothing was started now, or that another host is at it. The caller asks again. */
const AGAIN: ReadonlySet<string> = new Set([
  'StoreUnavailable', 'HostFrozen', 'IdempotencyKeyInUse', 'CallInterrupted', 'HostClosed', 'ClarificationNeeded',
])
/** How many of them in a row when all is calm. What is recorded for the key by mistake would come for ever. */
const MOST_REFUSALS = 500
const WORKERS = 24
/** A server that stands still refuses every call for seconds. Asking more often finds no more. */
const AGAIN_MS = 100

/** A host in this process. */
export const insideHost: StartInside = async (folder, given) => {
  const { methods, close } = await openChaosHost(folder, CACHE, (given as { readonly url: string }).url)
  return { ask: async (method, ...args) => methods[method]!(...args as never[]), end: close }
}

/** Callers, and what happens to hosts, server and connections meanwhile. */
export class ChaosRun {
  readonly ended = new Map<string, Ended>()
  readonly frozen: FrozenTime[] = []
  /** How often each thing happened. */
  readonly happened = new Map<string, number>()
  readonly #folder: string
  readonly #places: readonly Place[]
  readonly #server: PostgresServer
  readonly #calm: Store
  readonly #onEnd: () => void
  #next = 0
  #isCalm = false

  constructor(sources: {
    readonly folder: string; readonly places: readonly Place[]; readonly server: PostgresServer; readonly calm: Store
    /** Called with each outcome. */
    readonly onEnd: () => void
  }) {
    this.#onEnd = sources.onEnd
    this.#folder = sources.folder
    this.#places = sources.places
    this.#server = sources.server
    this.#calm = sources.calm
  }

  /** Resolves when every call has a final outcome. */
  async run(): Promise<void> {
    const workers = Array.from({ length: WORKERS }, () => this.#work())
    const tickets = this.#redeemAll()
    await this.#disturb()
    this.#isCalm = true
    await Promise.all([...workers, tickets])
  }

  /** Makes some of the calls again with their keys. Resolves with those that have another outcome now. */
  async changedOn(place: Place): Promise<readonly string[]> {
    const left = [...this.ended].filter((_, index) => index % SHARE === 0)
    const changed: string[] = []
    const again = async ([key, { work, outcome }]: typeof left[number]): Promise<void> => {
      for (let attempt = 0; ; attempt++) {
        const next = await this.#send('call', { ...work, id: `${key}.again.${attempt}` }, undefined, place)
        this.#onEnd()
        const code = next?.type === 'error' ? next.error.code : undefined
        if (code !== undefined && AGAIN.has(code) && attempt < MOST_REFUSALS) {
          await pause(AGAIN_MS)
          continue
        }
        const isSame = next?.type === 'output' && outcome.type === 'output'
          && JSON.stringify(next.data) === JSON.stringify(outcome.data)
        // A call without effects may run again, unless its payer has spent all since.
        const lost = work.tool === 'looks' ? 'BudgetExhausted' : 'OutcomeUnknown'
        const isLost = outcome.mayBeLost === true && code === lost
        if (!isSame && !isLost) changed.push(`${key} had an outcome, and then ${code ?? 'another one'}`)
        return
      }
    }
    await Promise.all(Array.from({ length: WORKERS }, async () => {
      for (let one = left.pop(); one; one = left.pop()) if (one[1].outcome.type === 'output') await again(one)
    }))
    return changed
  }

  /** The lines of tools that ran in a host, and the files of those that ran in a compartment. */
  lines(): readonly { readonly tool: string; readonly n: number; readonly callId: string }[] {
    const inHosts = readFileSync(join(this.#folder, 'ran.jsonl'), 'utf8').trim().split('\n')
    return [
      ...inHosts.map((line) => JSON.parse(line) as { tool: string; n: number; callId: string }),
      ...readdirSync(join(this.#folder, 'made')).map((name) => {
        const callId = name.replace(/\.txt$/, '')
        return { tool: 'writes', n: Number(callId.split('.')[0]), callId }
      }),
    ]
  }

  async #work(): Promise<void> {
    while (this.#next < CALLS) {
      const n = this.#next++
      let refusals = 0
      for (let attempt = 0; ; attempt++) {
        const work = workOf(n, attempt)
        const outcome = await this.#send('call', work)
        const code = outcome?.type === 'error' ? outcome.error.code : undefined
        refusals = this.#isCalm && code !== undefined ? refusals + 1 : 0
        const isFinal = code === undefined || !AGAIN.has(code) || outcome?.metadata.replayed === true
        if (outcome && (isFinal || refusals > MOST_REFUSALS)) {
          this.ended.set(work.key, { work, outcome })
          this.#onEnd()
          break
        }
        await pause(AGAIN_MS)
      }
    }
  }

  /** Each answer is given to all hosts at once, until one of them has the outcome of its call. */
  async #redeemAll(): Promise<void> {
    for (let n = 0; n < TICKETS; n++) {
      const work = (attempt: number): Work =>
        ({ id: `ticket-${n}.${attempt}`, payer: 'asks', tool: 'asks_first', n, key: `ticket-${n}` })
      let refusals = 0
      for (let attempt = 0; ; attempt++) {
        const outcome = await this.#send('call', work(attempt))
        if (outcome === undefined) continue
        if (this.#isCalm) refusals++
        if (outcome.type === 'output' || !AGAIN.has(outcome.error.code) || refusals > MOST_REFUSALS) {
          this.ended.set(work(0).key, { work: work(attempt), outcome })
          break
        }
        const { paused } = (outcome.error.data ?? {}) as { readonly paused?: string }
        if (paused !== undefined) {
          await Promise.all(this.#places.map((place) => this.#send('answer', paused, { decision: 'once' }, place)))
          // A host that died after it took the answer: another one continues.
          await this.#send('answer', paused)
        }
        await pause(AGAIN_MS)
      }
    }
  }

  /** undefined if the host has ended, or refused the request itself. */
  async #send(
    method: 'call' | 'answer', what: unknown, more?: unknown, to: Place | undefined = this.#anyPlace(),
  ): Promise<HostOutcome | undefined> {
    if (!to?.isOpen) return void await pause(20)
    return to.ask(method, what, ...(more === undefined ? [] : [more])).catch(() => undefined)
  }

  #anyPlace(): Place | undefined {
    const open = this.#places.filter(({ isOpen }) => isOpen)
    return open[Math.floor(Math.random() * open.length)]
  }

  /** Each fault once, and in `pnpm soak` again until the calls are through. */
  async #disturb(): Promise<void> {
    const server = this.#server
    const faults: Readonly<Record<string, (place: Place) => Promise<void>>> = {
      'SIGSTOP of a host': (place) => place.stop(TIMES.goneMs + TIMES.calmMs + 600),
      'connections cut in the middle of a statement': async ({ proxy }) => {
        for (const what of ['requests', 'answers', 'requests', 'answers'] as const) {
          proxy.cutNext(what)
          await pause(30)
        }
      },
      'a connection that answers no more': async ({ proxy }) => {
        proxy.hold('answers')
        await pause(100)
        proxy.cut()
        proxy.release()
      },
      'kill -9 of a host': async (place) => {
        await place.kill()
        await (ALL ? place.start() : place.start(insideHost))
      },
      'freeze': () => this.#freeze(),
      'restart of the server': () => server.restart(),
      'SIGSTOP of the server': async () => {
        await server.pause()
        await pause(TIMES.statementMs + 1_300)
        await server.resume()
      },
    }
    for (let round = 0; round === 0 || (round < ROUNDS && this.#next < CALLS); round++) {
      for (const [index, [name, fault]] of Object.entries(faults).entries()) {
        if (round > 0 && this.#next >= CALLS) break
        // The calls are spread over all faults of a round.
        const share = Math.floor(CALLS * (index + 1) / (Object.keys(faults).length + 1))
        if (round === 0) await this.#made(Math.min(share, 2_000))
        await fault(this.#places[(round + index) % this.#places.length]!)
        this.happened.set(name, (this.happened.get(name) ?? 0) + 1)
      }
    }
    await this.#freeze()
  }

  async #made(calls: number): Promise<void> {
    while (this.#next < calls) await pause(5)
  }

  async #freeze(): Promise<void> {
    const { work } = this.#calm
    await insist(() => work!.freeze({ by: 'chaos' }))
    const hosts = await insist(() => work!.hosts())
    const readAt = Date.now()
    const begun = hosts.flatMap(({ calls }) => calls)
      .filter((call) => call.begun.length > 0).map(({ callId }) => callId)
    const before = readFileSync(join(this.#folder, 'ran.jsonl'), 'utf8').length
    await pause(150)
    const ran = readFileSync(join(this.#folder, 'ran.jsonl'), 'utf8').slice(before).split('\n')
      .flatMap((line) => line === '' ? [] : [(JSON.parse(line) as { tool: string; callId: string })])
      .filter(({ tool }) => tool !== 'looks').map(({ callId }) => callId)
    this.frozen.push({ ran, begun: new Set(begun), readAt })
    await insist(() => work!.thaw())
  }
}
