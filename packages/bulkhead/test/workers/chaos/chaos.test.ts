// Three callers and four workers fail, with the server and connections, under 2,000 calls (100,000 in `pnpm soak`).
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Store } from '@bulkhead/contract'
import { openPostgresStore } from '@bulkhead/store-postgres'
import { addToFleet, openMachineKey } from '@bulkhead/workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../../scripts/machine.ts'
import {
  newSchema, sharedPostgres, startPostgres, type PostgresServer,
} from '../../../../../scripts/postgres/server.ts'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { createHost } from '../../../src/index.ts'
import { fleetFile, machineKeyFile } from '../../../src/facade/folders.ts'
import { CACHE } from '../../cache.ts'
import { useThreads } from '../../extension-folder.ts'
import { Place } from '../../postgres/chaos/chaos-hosts.ts'
import { insist } from '../../postgres/chaos/patience.ts'
import { FleetRun, insideCaller } from './fleet-run.ts'
import { CALLERS, CALLS, CONFIG, FLEET_TIMES, homeOf, WORKERS, writeActs } from './fleet-work.ts'
import { Ledger } from './ledger.ts'
import { WorkerPlace } from './worker-place.ts'

const CALLER = fileURLToPath(new URL('./chaos-caller.ts', import.meta.url))

let folder: string
let server: PostgresServer
let url: string
let calm: Store
let ledger: Ledger
/** What is open. */
const places: (Place | WorkerPlace)[] = []
let callers: readonly Place[] = []
let workers: readonly WorkerPlace[] = []
beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-fleet-chaos-')))
  ledger = await Ledger.open(join(folder, 'ledger.jsonl'))
  // Every call is a row that goes again. The server of an operator removes such rows for good.
  const settings = { autovacuum: 'on', autovacuum_naptime: '5s' }
  server = await thoroughly(sharedPostgres, () => startPostgres({ settings }))()
  url = server.url(newSchema())
  calm = await insist(() => openPostgresStore({ url: `${url}&name=calm` }, FLEET_TIMES))
})
afterEach(async () => {
  await Promise.all(places.splice(0).map((place) => place.close()))
  await calm.close()
  await thoroughly(async () => undefined, () => server.close())()
  ledger.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The machines trust each other, and the package. */
async function start(): Promise<void> {
  const [home, own] = [homeOf(folder, 'workers'), homeOf(folder, 'callers')]
  useThreads(home)
  mkdirSync(own)
  writeActs(own, ledger.place)
  addToFleet(fleetFile(own), 'worker', 'workers', openMachineKey(machineKeyFile(home)).publicKey)
  addToFleet(fleetFile(home), 'caller', 'callers', openMachineKey(machineKeyFile(own)).publicKey)
  const host = await createHost({
    workspace: folder, home: own, cache: CACHE, trust: 'declined', env: {}, config: CONFIG,
  })
  const { packageDigest } = host.tools().find(({ extension }) => extension === 'acts')!
  await host.close()
  addToFleet(fleetFile(home), 'package', 'acts', packageDigest)
  const ceiling = { net: { hosts: [ledger.place] }, env: ['WORKER'] }
  const openWorkers = WORKERS.map((one, index) =>
    WorkerPlace.open(`worker-${index}`, server, url, one, { home, ceiling }))
  const openCallers = CALLERS.map(({ clockMs, hasProcess, isBehindProxy }, index) =>
    Place.open(folder, server, `caller-${index}`, { ledger: ledger.url, clockMs }, {
      program: hasProcess ? CALLER : insideCaller, url, isBehindProxy,
    }))
  const opened = async <Opened extends Place | WorkerPlace>(opening: Promise<Opened>): Promise<Opened> => {
    const one = await opening
    // A busy machine takes its time: each is progress.
    expect(places.push(one)).toBeGreaterThan(0)
    return one
  }
  workers = await Promise.all(openWorkers.map(opened))
  callers = await Promise.all(openCallers.map(opened))
}

const OPTIONS = { ...needs('PostgreSQL'), timeout: thoroughly(600_000, 4 * 3_600_000) }

describe('three callers and four workers, while machines, server and connections fail', OPTIONS, () => {
  it('make no effect twice, lose no outcome, leave no call open and redeem no ticket twice', async () => {
    await start()
    // A test that runs for long shows its progress by what it expects.
    const onEnd = () => expect(run.ended.size).toBeGreaterThan(0)
    const run: FleetRun = new FleetRun({ callers, workers, server, ledger, onEnd })
    await run.run()
    const faults: string[] = []
    const demand = (holds: boolean, what: string): void => { if (!holds) faults.push(what) }

    const deeds = ledger.deeds()
    for (const [what, { length }] of Map.groupBy(deeds, ({ run: id, at }) => `${id} ${at}`)) {
      demand(length === 1, `the ticket of ${what} was used ${length} times`)
    }
    const ofCall = Map.groupBy(deeds, ({ n, at }) => `${n} ${at}`)
    const ends = new Map<string, number>()
    for (const [n, { call: { tool }, outcome }] of run.ended) {
      const [firsts, seconds] = [ofCall.get(`${n} first`) ?? [], ofCall.get(`${n} second`) ?? []]
      const end = outcome.type === 'output' ? 'output' : outcome.error.code
      ends.set(`${tool} ${end}`, (ends.get(`${tool} ${end}`) ?? 0) + 1)
      const why = outcome.type === 'error' ? outcome.error_text : ''
      demand(['output', 'OutcomeUnknown'].includes(end), `${tool} ${n} ended with ${end}: ${why}`)
      if (tool === 'looks') continue
      demand(tool !== 'acts' || firsts.length <= 1, `${tool} ${n} acted ${firsts.length} times`)
      demand(tool !== 'acts' || seconds.length <= 1, `${tool} ${n} acted ${seconds.length} times again`)
      demand(end !== 'output' || (firsts.length > 0 && seconds.length > 0), `${tool} ${n} succeeded and did not act`)
    }
    demand(ofCall.size > 0 && run.ended.size === CALLS, `${CALLS - run.ended.size} calls have no outcome`)
    for (const { run: id, at } of deeds) {
      demand(at !== 'second' || !ledger.stopped.has(id), `${id} went on after it had lost its lease`)
    }

    // What could not be recorded while the server was away is recorded now.
    const open = async () => (await insist(() => calm.work!.hosts())).flatMap(({ calls }) => calls)
    await expect.poll(open).toEqual([])
    // A worker that was killed may have left what no caller waits for. It is swept later.
    const loads = async () => (await insist(() => calm.placements!.workers()))
      .filter(({ state }) => state !== 'silent').map(({ load }) => load)
    await expect.poll(async () => Math.max(...await loads())).toBe(0)
    expect(faults).toEqual([])
    expect(run.happened.size).toBe(7)
    expect(ledger.stopped.size).toBeGreaterThan(0)
    expect(ends.get('acts OutcomeUnknown')).toBeGreaterThan(0)
    expect(ends.get('looks OutcomeUnknown')).toBeUndefined()
  })
})
