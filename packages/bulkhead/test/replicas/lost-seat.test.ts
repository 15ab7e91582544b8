// Two hosts on one store. One loses its seat, as after it stood still, and makes calls before it has another one.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ErrorOutcome, Seat, SeatListener, Store, Work } from '@bulkhead/contract'
import { openPostgresStore } from '@bulkhead/store-postgres'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { createHost, defineTool, type Host, type Session, type SessionOptions } from '../../src/index.ts'

let folder: string
let url: string
/** How often the tool ran. */
let ran: number
const open: (Host | Store)[] = []
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-seat-')))
  ran = 0
})
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
  rmSync(folder, { recursive: true })
})

/** The seat of a host, which can be taken away. */
class LosableSeat {
  readonly #work: Work
  #last: { readonly seat: Seat; readonly listener: SeatListener } | undefined
  #held: PromiseWithResolvers<void> | undefined

  constructor(work: Work) {
    this.#work = work
    const joins = work.join.bind(work)
    work.join = async (info, listener) => {
      await this.#held?.promise
      const seat = await joins(info, listener)
      this.#last = { seat, listener }
      return seat
    }
  }

  /** Until `rejoin`, the host has none, and others know that. */
  async lose(): Promise<void> {
    this.#held = Promise.withResolvers()
    const { seat, listener } = this.#last!
    await seat.leave()
    listener.onLost()
    expect(await this.#work.isGone(seat.id)).toBe(true)
  }

  rejoin(): void {
    this.#held!.resolve()
  }
}

interface Opened {
  readonly session: Session
  readonly store: Store
  readonly seat: LosableSeat
}

async function opened(options: SessionOptions): Promise<Opened> {
  const store = await openPostgresStore({ url })
  const seat = new LosableSeat(store.work!)
  const host = await createHost({ workspace: folder, home: join(folder, 'home'), store, trust: 'declined', env: {} })
  open.push(host, store)
  await host.register(defineTool({
    name: 'acts', description: 'Acts in the process of the host.', input: { type: 'object' }, requires: {},
    mode: 'external', effects: 'once', gated: true, execute: () => ++ran,
  }))
  return { session: await host.openSession(options), store, seat }
}

describe('of two hosts, one that lost its seat', needs('PostgreSQL'), () => {
  beforeEach(async () => { url = (await sharedPostgres()).url(newSchema()) })

  it('runs a call with a key once, if it claims the key before it has another seat', async () => {
    const [a, b] = [await opened({ mode: 'yolo' }), await opened({ mode: 'yolo' })]
    await a.seat.lose()
    const call = { name: 'acts', arguments: {}, idempotencyKey: 'order-1' }
    const first = a.session.call({ ...call, id: 'a1' })
    const second = await b.session.call({ ...call, id: 'b1' })
    a.seat.rejoin()
    expect([await first, second].map(({ type }) => type)).toEqual(['output', 'output'])
    expect(ran).toBe(1)
  })

  const paused = async ({ session }: Opened): Promise<string> => {
    const { error } = await session.call({ id: 'a1', name: 'acts', arguments: {} }) as ErrorOutcome
    return (error.data as { readonly paused: string }).paused
  }
  /** Of two hosts, the second one continues a call as soon as it may, with the answer that it has or with its own. */
  async function continues({ session }: Opened, id: string): Promise<void> {
    const resumed = () =>
      session.resume(id).catch(() => session.resume(id, { decision: 'once' })).catch(() => undefined)
    await expect.poll(resumed).toMatchObject({ type: 'output' })
  }

  it('uses an answer once, if it claims the call before it has another seat', async () => {
    const [a, b] = [await opened({ pause: true }), await opened({ pause: true })]
    const id = await paused(a)
    await a.seat.lose()
    const first = a.session.resume(id, { decision: 'once' })
    await continues(b, id)
    a.seat.rejoin()
    await Promise.allSettled([first])
    expect(ran).toBe(1)
  })

  it('does not continue a call that it had claimed before', async () => {
    const [a, b] = [await opened({ pause: true }), await opened({ pause: true })]
    const id = await paused(a)
    const update = a.store.update.bind(a.store)
    a.store.update = async (...args) => {
      const updated = await update(...args)
      a.store.update = update
      await a.seat.lose()
      a.seat.rejoin()
      return updated
    }
    expect(await a.session.resume(id, { decision: 'once' })).toMatchObject({ error: { code: 'StoreUnavailable' } })
    expect(ran).toBe(0)
    await continues(b, id)
    expect(ran).toBe(1)
  })
})
