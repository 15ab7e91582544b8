// Three hosts on one PostgreSQL, while hosts, server and connections fail under 2,000 calls (100,000 in `pnpm soak`).
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '@bulkhead/contract'
import { isJsonObject, type JsonObject } from '@bulkhead/kit/json'
import { verifyAudit } from '@bulkhead/store'
import { openPostgresStore } from '@bulkhead/store-postgres'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../../scripts/machine.ts'
import {
  newSchema, sharedPostgres, startPostgres, type PostgresServer,
} from '../../../../../scripts/postgres/server.ts'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { writeExtension } from '../../extension-folder.ts'
import { Place } from './chaos-hosts.ts'
import { ChaosRun, insideHost } from './chaos-run.ts'
import { insist } from './patience.ts'
import { ALL, CALLS, LIMIT, PAYERS, TICKETS, TIMES } from './chaos-work.ts'

let folder: string
let server: PostgresServer
let url: string
let calm: Store
let places: readonly Place[] = []
beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-chaos-')))
  mkdirSync(join(folder, 'made'))
  writeExtension(join(folder, 'home'), {
    id: 'writes', tools: [{
      name: 'writes', mode: 'safe_write', requires: { fs: { write: ['{workspace}/made/*'] } },
      inputSchema: { type: 'object', properties: { n: { type: 'number' } } },
    }],
  }, `export default { tools: { writes: { async execute({ n }, runtime) {
    await runtime.fs.write('made/' + runtime.callId + '.txt', 'x')
    return { n }
  } } } }`)
  // Every call is a row that goes again. The server of an operator removes such rows for good.
  const settings = { autovacuum: 'on', autovacuum_naptime: '5s' }
  server = await thoroughly(sharedPostgres, () => startPostgres({ settings }))()
  url = server.url(newSchema())
  calm = await insist(() => openPostgresStore({ url: `${url}&name=calm` }, TIMES))
})
afterEach(async () => {
  await Promise.all(places.map((place) => place.close()))
  await calm.close()
  await thoroughly(async () => undefined, () => server.close())()
  rmSync(folder, { recursive: true, force: true })
})

interface Settlement {
  readonly code: string
  readonly at: number
}

/** How other hosts have settled calls, by the ids of the calls. */
async function settledCalls(): Promise<ReadonlyMap<string, readonly Settlement[]>> {
  const found: (readonly [string, Settlement])[] = []
  for (const chain of await calm.chains!()) {
    expect(await verifyAudit(chain)).toMatchObject({ ok: true })
    for (const { record } of await chain.records()) {
      const { type, at, callId, errorCode, durationMs, replayed } = isJsonObject(record) ? record : {} as JsonObject
      const isEnd = (errorCode === 'OutcomeUnknown' || errorCode === 'CallInterrupted') && durationMs === 0
      const isSettled = isEnd && replayed !== true
      if (type !== 'ToolInvocationFailed' || !isSettled) continue
      found.push([String(callId), { code: String(errorCode), at: Date.parse(String(at)) }])
    }
  }
  return new Map([...Map.groupBy(found, ([id]) => id)].map(([id, all]) => [id, all.map(([, one]) => one)]))
}

const OPTIONS = { timeout: thoroughly(600_000, 4 * 3_600_000) }

describe('three hosts, while hosts, server and connections fail', { ...needs('PostgreSQL'), ...OPTIONS }, () => {
  it('lose no outcome, redeem no approval twice, start nothing after a freeze and overspend no budget', async () => {
    // As the faults of a round need them: the first is stopped and killed, and connections of the others are cut.
    places = await Promise.all(['a', 'b', 'c'].map((name, index) => Place.open(folder, server, name, {}, {
      url, ...(!ALL && index > 0 && { program: insideHost }), isBehindProxy: ALL || index > 0,
    })))
    // A test that runs for long shows its progress by what it expects.
    const onEnd = () => expect(run.ended.size).toBeGreaterThan(0)
    const run: ChaosRun = new ChaosRun({ folder, places, server, calm, onEnd })
    await run.run()
    const lines = run.lines()
    const timesRan = Map.groupBy(lines, ({ tool, n }) => tool === 'asks_first' ? `ticket-${n}` : `key-${n}`)
    const faults: string[] = []
    const demand = (holds: boolean, what: string): void => { if (!holds) faults.push(what) }

    expect(run.ended.size).toBe(CALLS + TICKETS)
    for (const [key, { work: { tool }, outcome }] of run.ended) {
      const ran = timesRan.get(key)?.length ?? 0
      const end = outcome.type === 'output' ? 'output' : outcome.error.code
      demand(tool === 'looks' || ran <= 1, `${key} acted ${ran} times`)
      demand(end !== 'output' || ran >= 1, `${key} succeeded and never ran`)
      const mayHaveActed = end === 'output' || end === 'OutcomeUnknown' || tool === 'looks'
      demand(mayHaveActed || ran === 0, `${key} acted, and its caller got ${end}`)
      const ends = ['output', 'OutcomeUnknown', 'BudgetExhausted']
      demand(ends.includes(end), `${key} ended with ${end}`)
    }
    for (const payer of PAYERS) {
      const acted = lines.filter(({ tool, n }) => tool !== 'asks_first' && PAYERS[n % PAYERS.length] === payer).length
      demand(acted <= LIMIT, `${payer} made ${acted} of ${LIMIT} calls`)
    }

    // What could not be recorded while the server was away is recorded now.
    const open = async () => (await insist(() => calm.work!.hosts())).flatMap(({ calls }) => calls)
    await expect.poll(open).toEqual([])
    // All hosts but one die, and that one settles what they left.
    const [last, ...others] = places as [Place, ...Place[]]
    await Promise.all(others.map((place) => place.kill()))
    const left = async () => (await insist(() => calm.work!.hosts())).map(({ calls }) => calls.length)
    await expect.poll(left).toEqual([0])
    const settled = await settledCalls()
    const acted = new Set(lines.filter(({ tool }) => tool !== 'looks').map(({ callId }) => callId))
    for (const [callId, settlements] of settled) {
      // Another host continues the call of a paused question, as the same call, also after that was interrupted.
      if (callId.startsWith('ticket-')) continue
      const codes = settlements.map(({ code }) => code)
      demand(codes.length === 1, `${callId} was settled as ${codes.join()}`)
      const isInterrupted = codes.includes('CallInterrupted')
      demand(!isInterrupted || !acted.has(callId), `${callId} acted, and was settled as interrupted`)
    }
    for (const { ran, begun, readAt } of run.frozen) {
      for (const callId of ran) {
        const hadBegun = begun.has(callId) || (settled.get(callId) ?? []).some(({ at }) => at <= readAt)
        demand(hadBegun, `${callId} started after a freeze was confirmed`)
      }
    }
    faults.push(...await run.changedOn(last))
    expect(faults).toEqual([])
    expect([...run.happened.values()].every((times) => times > 0)).toBe(true)
    expect(lines.length).toBeGreaterThan(CALLS / 2)
    expect(settled.size).toBeGreaterThan(0)
    const ends = [...run.ended.values()].map(({ outcome }) => outcome.type === 'error' && outcome.error.code)
    expect(ends).toContain('BudgetExhausted')
  })
})
